"""The lake again, from the journal alone: plans, responses, and the answers parsed from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.lease import lease, lease_file
from rescue_pipeline.llm.plans import TABLE, rebuild_plans
from rescue_pipeline.llm.segments import SUFFIX, Stream, repair, seal
from rescue_pipeline.llm.workspace import Partition, Workspace
from rescue_pipeline.schemas import LAKE_TABLES


@dataclass(frozen=True)
class RebuildSummary:
    plans: int
    segments: int
    rows: int
    answers: int


def rebuild_lake(workspace: Workspace) -> RebuildSummary:
    """Project every plan and segment of the journal into the lake again and parse the answers anew; asks nothing.

    Judgements come back with the next judge step, which finds all its responses. Raises RescueError when a partition
    is being asked at the moment.
    """
    journal, lake = workspace.datadir.journal, workspace.lake
    lake.declare(LAKE_TABLES)
    plans, segments, rows = rebuild_plans(journal, lake), 0, 0
    for path in sorted(journal.glob(f"*responses_*/**/*{SUFFIX}")):
        table, *levels = path.parent.relative_to(journal).parts
        stream = Stream.of(table, _levels(levels))
        with lease(lease_file(journal, dict(stream.levels)), " | ".join(value for _, value in stream.levels)):
            repair(path)
            rows += seal(path, stream, lake)
            segments += 1
    return RebuildSummary(plans, segments, rows, _parse_all(workspace, journal / TABLE))


def restore_lost_plans(workspace: Workspace) -> RebuildSummary | None:
    """Rebuild the lake when it lacks plans that the journal holds (a deleted or half-copied lake); None otherwise."""
    kept = sum(1 for _ in (workspace.datadir.journal / TABLE).rglob(f"*{SUFFIX}"))
    return rebuild_lake(workspace) if kept > len(workspace.lake.files(TABLE)) else None


def _parse_all(workspace: Workspace, plans: Path) -> int:
    """Parse every planned partition and task; returns the number of answers."""
    planned = {tuple(_levels(path.parent.relative_to(plans).parts).items()) for path in plans.rglob(f"*{SUFFIX}")}
    total = 0
    for key in sorted(planned):
        levels = dict(key)
        task = levels.pop("task")
        total += parse_partition(workspace, Partition(**levels), task).rows
    return total


def _levels(folders: tuple[str, ...] | list[str]) -> dict[str, str]:
    return dict(folder.split("=", 1) for folder in folders)
