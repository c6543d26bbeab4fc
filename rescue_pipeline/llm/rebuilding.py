"""The lake again, from the journal alone: plans, responses, the answers and the judgements read from them."""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass

from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.judges import grade_again
from rescue_pipeline.llm.lease import lease, lease_file
from rescue_pipeline.llm.plans import TABLE, rebuild_plans
from rescue_pipeline.llm.segments import SUFFIX, Stream, repair, seal
from rescue_pipeline.llm.workspace import Partition, Workspace
from rescue_pipeline.schemas import LAKE_TABLES

log = logging.getLogger(__name__)
_JUDGE = "judge_responses_"


@dataclass(frozen=True)
class RebuildSummary:
    plans: int
    segments: int
    rows: int
    answers: int
    judgements: int


def rebuild_lake(workspace: Workspace) -> RebuildSummary:
    """Project every plan and segment of the journal into the lake again, read answers and verdicts anew; asks nothing.

    Raises RescueError when a partition is being asked at the moment.
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
    return RebuildSummary(plans, segments, rows, _parse_all(workspace), _grade_all(workspace))


def restore_lost_plans(workspace: Workspace) -> RebuildSummary | None:
    """Rebuild the lake when it lacks plans that the journal holds (a deleted or half-copied lake); None otherwise."""
    kept = sum(1 for _ in (workspace.datadir.journal / TABLE).rglob(f"*{SUFFIX}"))
    return rebuild_lake(workspace) if kept > len(workspace.lake.files(TABLE)) else None


def _parse_all(workspace: Workspace) -> int:
    """Parse every planned partition and task; returns the number of answers."""
    planned = _planned(workspace)
    return sum(parse_partition(workspace, part, task).rows for part, tasks in planned.items() for task in sorted(tasks))


def _planned(workspace: Workspace) -> dict[Partition, set[str]]:
    """The tasks of every partition that was ever planned."""
    folder = workspace.datadir.journal / TABLE
    planned: dict[Partition, set[str]] = defaultdict(set)
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        levels = _levels(path.parent.relative_to(folder).parts)
        task = levels.pop("task")
        planned[Partition(**levels)].add(task)
    return planned


def _grade_all(workspace: Workspace) -> int:
    """Read what every judge said; returns the number of judgements."""
    asked: dict[str, dict[Partition, set[str]]] = defaultdict(lambda: {part: set() for part in _planned(workspace)})
    for path in sorted(workspace.datadir.journal.glob(f"{_JUDGE}*/**/*{SUFFIX}")):
        table, *folders = path.parent.relative_to(workspace.datadir.journal).parts
        levels = _levels(folders)
        partition = asked[levels.pop("judge")].get(Partition(**levels))
        if partition is not None:  # controls belong to no partition that was planned
            partition.add(table.removeprefix(_JUDGE))
    total = 0
    for judge, partitions in asked.items():
        if judge in workspace.registry.models:
            total += grade_again(workspace, workspace.registry.models[judge], partitions)
        else:
            log.warning("the judge %s is in no models.yaml any more; its judgements stay in the journal only", judge)
    return total


def _levels(folders: tuple[str, ...] | list[str]) -> dict[str, str]:
    return dict(folder.split("=", 1) for folder in folders)
