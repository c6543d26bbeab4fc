"""The lake again, from the journal alone: plans, responses, the answers and the judgements read from them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.judges import grade_again
from rescue_pipeline.llm.lease import lease, lease_file
from rescue_pipeline.llm.plans import TABLE, rebuild_plans
from rescue_pipeline.llm.segments import SUFFIX, Stream, repair, seal
from rescue_pipeline.llm.workspace import Partition, Workspace
from rescue_pipeline.schemas import LAKE_TABLES, Instances

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
    """Parse every planned partition and task of every corpus version that is still there; returns how many answers."""
    total = 0
    for version, planned in _planned_by_version(workspace).items():
        at = replace(workspace, corpus_version=version)
        total += sum(parse_partition(at, part, task).rows for part, tasks in planned.items() for task in sorted(tasks))
    return total


def _planned_by_version(workspace: Workspace) -> dict[str, dict[Partition, set[str]]]:
    """What was planned of each corpus version whose questions the lake still has: only these can be read again."""
    known = set(workspace.lake.read("instances", Instances, columns=["corpus_version"])["corpus_version"])
    found: dict[str, dict[Partition, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path, partition, task in _plan_files(workspace):
        if (version := path.name.split(".", 1)[0]) in known:
            found[version][partition].add(task)
    return found


def _plan_files(workspace: Workspace) -> Iterator[tuple[Path, Partition, str]]:
    folder = workspace.datadir.journal / TABLE
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        levels = _levels(path.parent.relative_to(folder).parts)
        task = levels.pop("task")
        yield path, Partition(**levels), task


def _grade_all(workspace: Workspace) -> int:
    """Read what every judge said of every corpus version; returns the number of judgements."""
    judged = _judged_tasks(workspace)
    total = 0
    for version, planned in _planned_by_version(workspace).items():
        at = replace(workspace, corpus_version=version)
        for judge, tasks in judged.items():
            if judge in workspace.registry.models:
                asked = {partition: tasks.get(partition, set()) for partition in planned}
                total += grade_again(at, workspace.registry.models[judge], asked)
            else:
                log.warning("the judge %s is in no models.yaml any more: its judgements stay in the journal", judge)
    return total


def _judged_tasks(workspace: Workspace) -> dict[str, dict[Partition, set[str]]]:
    """By judge: the tasks of each partition of which the journal holds its responses."""
    judged: dict[str, dict[Partition, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in sorted(workspace.datadir.journal.glob(f"{_JUDGE}*/**/*{SUFFIX}")):
        table, *folders = path.parent.relative_to(workspace.datadir.journal).parts
        levels = _levels(folders)
        judge = levels.pop("judge")
        judged[judge][Partition(**levels)].add(table.removeprefix(_JUDGE))
    return judged


def _levels(folders: tuple[str, ...] | list[str]) -> dict[str, str]:
    return dict(folder.split("=", 1) for folder in folders)
