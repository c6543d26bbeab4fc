"""Where plans lie: one file in lake/plan per partition, task, corpus version, generation and epoch, and their journal.

The journal keeps what was planned (ids and hashes, no text), so that a lost lake can be made again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.segments import SUFFIX, Stream, json_lines, read_records, repair, sync_folder, write_durably
from rescue_pipeline.llm.workspace import Partition, Workspace
from rescue_pipeline.schemas import Plan, check_table

TABLE = "plan"
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class PlanKey:
    """Which plan: one file."""

    partition: Partition
    task: str
    corpus_version: str
    generation: int
    epoch: str

    @property
    def columns(self) -> dict[str, Any]:
        names = ("task", "corpus_version", "generation", "epoch")
        return {**self.partition.levels, **{name: getattr(self, name) for name in names}}

    @property
    def levels(self) -> dict[str, str]:
        return {**self.partition.levels, "task": self.task}

    @property
    def name(self) -> str:
        return f"{self.corpus_version}.g{self.generation}.{self.epoch}"


def read_plan(lake: Lake, key: PlanKey) -> pl.DataFrame:
    rows = read_plans(lake, key.partition, key.task)
    return rows.filter(
        pl.col("corpus_version") == key.corpus_version,
        pl.col("generation") == key.generation,
        pl.col("epoch") == key.epoch,
    )


def read_plans(lake: Lake, partition: Partition, task: str) -> pl.DataFrame:
    """Every plan of a partition and task: all corpus versions, generations and epochs."""
    return lake.read(TABLE, Plan, partition={**partition.levels, "task": task})


def store_plan(workspace: Workspace, key: PlanKey, rows: Rows, before: pl.DataFrame) -> pl.DataFrame:
    """Make `rows` the plan of `key`; returns the plan. Nothing is written when nothing changed."""
    if not rows:
        return before.clear()
    frame = check_table(pl.DataFrame(rows), Plan, TABLE)
    known = {row["instance_id"]: row for row in before.to_dicts()}
    changed = [row for row in frame.to_dicts() if known.get(row["instance_id"]) != row]
    if changed:
        _remember(workspace.datadir.journal, key, changed)
        workspace.lake.write(TABLE, frame, partition=key.levels, name=key.name)
    return frame


def _remember(journal: Path, key: PlanKey, rows: Rows) -> None:
    folder = Stream.of(TABLE, key.levels).folder(journal)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key.name}{SUFFIX}"
    if path.exists():
        repair(path)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        write_durably(handle, json_lines(rows))
    finally:
        os.close(handle)
    sync_folder(folder)


def rebuild_plans(journal: Path, lake: Lake) -> int:
    """Make lake/plan again from the journal; returns the number of plans."""
    paths: Sequence[Path] = sorted((journal / TABLE).rglob(f"*{SUFFIX}"))
    for path in paths:
        repair(path)
        latest = {row["instance_id"]: row for row in read_records(path)}
        levels = dict(part.split("=", 1) for part in path.parent.relative_to(journal / TABLE).parts)
        frame = check_table(pl.DataFrame(list(latest.values())), Plan, TABLE)
        lake.write(TABLE, frame, partition=levels, name=path.name.removesuffix(SUFFIX))
    return len(paths)
