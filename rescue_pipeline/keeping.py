"""Which records of the journal may stay when a session is erased: those that are known to be about other sessions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.registry import load_registry
from rescue_pipeline.llm.segments import SUFFIX, read_records, repair
from rescue_pipeline.schemas import JUDGED_TASKS, JudgeControls, Judgements, Sessions
from rescue_pipeline.settings import Settings

_OF_ITS_OWN_SESSION = ("gold", "swapped", "repeat")
"""Controls whose answer comes from the session they are about; the others are borrowed from another one."""


@dataclass
class Kept:
    """Requests that stay. is_known: whether anything of the erased session is here at all."""

    is_known: bool = False
    answers: set[str] = field(default_factory=set)
    judgements: set[str] = field(default_factory=set)

    def of(self, table: str) -> set[str]:
        return self.judgements if table.startswith("judge_") else self.answers


def sample_of(instance_id: str) -> str:
    """The session of `task:sample_id:row_index`."""
    return instance_id.split(":", 1)[1].rsplit(":", 1)[0]


def kept_requests(directory: DataDirectory, sample_id: str) -> Kept:
    """The requests that are about other sessions and no session's gold but their own can be read from their answers.

    Baselines answer with the gold of other sessions, so nothing of theirs stays: they cost nothing to ask again.
    """
    baselines = {entry.id for entry in load_registry(Settings().models_file).models.values() if entry.is_baseline}
    lake, kept = Lake(directory.lake), Kept()
    sessions = lake.read("sessions", Sessions, columns=["sample_id"])["sample_id"]
    kept.is_known = sample_id in set(sessions)
    plans = _plan_rows(directory.journal)
    kept.answers = _of_others(plans, sample_id, baselines, kept)
    for task in JUDGED_TASKS:
        judged = lake.read(f"judgements_{task}", Judgements, columns=["instance_id", "model", "request_id"])
        columns = ["instance_id", "control", "request_id", "first_request_id"]
        controls = lake.read(f"judge_controls_{task}", JudgeControls, columns=columns)
        answers = _of_others(judged.iter_rows(named=True), sample_id, baselines, kept)
        kept.judgements |= answers | _controls_of_others(controls, sample_id, answers)
    return kept


def _of_others(rows: Iterable[dict[str, Any]], sample_id: str, baselines: set[str], kept: Kept) -> set[str]:
    """Requests that only other sessions need, and no baseline."""
    stay: set[str] = set()
    go: set[str] = set()
    for row in rows:
        is_its = sample_of(row["instance_id"]) == sample_id
        kept.is_known = kept.is_known or is_its
        (go if is_its or row["model"] in baselines else stay).add(row["request_id"])
    return stay - go


def _controls_of_others(controls: pl.DataFrame, sample_id: str, answers: set[str]) -> set[str]:
    """Controls made of their own session's gold, and repeats of judgements that stay."""
    return {
        row["request_id"]
        for row in controls.iter_rows(named=True)
        if row["control"] in _OF_ITS_OWN_SESSION
        and sample_of(row["instance_id"]) != sample_id
        and (row["control"] != "repeat" or row["first_request_id"] in answers)
    }


def _plan_rows(journal: Path) -> Iterable[dict[str, Any]]:
    """Every question that was ever planned."""
    for path in sorted((journal / "plan").rglob(f"*{SUFFIX}")):
        repair(path)
        yield from read_records(path)
