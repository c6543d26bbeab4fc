"""Grading the free-text answers (er, vp): one request per answer and judge, on the same path as any question.

A judge that fails leaves judge_failed, never a grade. The lexical judge is a rule of ours and marked as such.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from rescue_pipeline.llm.asking import send
from rescue_pipeline.llm.assignments import Assignment
from rescue_pipeline.llm.bench import Bench, Verdict, Verdicts
from rescue_pipeline.llm.budget import Spending
from rescue_pipeline.llm.client import RetryPolicy
from rescue_pipeline.llm.controls import (
    PROTOCOL,
    SAMPLING,
    Sampling,
    control_verdicts,
    merged,
    partition_of,
    repeat_verdicts,
    repeated_before,
)
from rescue_pipeline.llm.dispatch import OnProgress
from rescue_pipeline.llm.judging import Statuses, store_controls, store_judgements
from rescue_pipeline.llm.lease import HeldElsewhere
from rescue_pipeline.llm.registry import ModelEntry, Registry
from rescue_pipeline.llm.responses import counting_judge_responses
from rescue_pipeline.llm.summaries import JudgeSummary, PartitionSummary
from rescue_pipeline.llm.workspace import Partition, Workspace, known_tasks
from rescue_pipeline.schemas import JUDGED_TASKS

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Judged:
    """What judging came to. partitions: one summary per judge and partition. controls: what else each judge was asked,
    repeats of a partition's answers and the controls, which are of no partition."""

    partitions: list[JudgeSummary]
    controls: list[JudgeSummary]

    def answers_of(self, partition: Partition) -> JudgeSummary:
        """One partition's answers, all judges together."""
        return PartitionSummary.joined([summary for summary in self.partitions if summary.partition == partition])

    def controls_of(self, partition: Partition) -> JudgeSummary:
        """One partition's repeats and the judges' controls."""
        return PartitionSummary.joined(
            [
                summary
                for summary in self.controls
                if summary.partition == partition or summary.partition.protocol == PROTOCOL
            ]
        )


def judge_partitions(
    workspace: Workspace,
    partitions: Sequence[Partition],
    tasks: Sequence[str],
    judges: Sequence[str] | None = None,
    on_progress: OnProgress | None = None,
    *,
    spending: Spending | None = None,
    policy: RetryPolicy | None = None,
    sampling: Sampling = SAMPLING,
    limit: int | None = None,
) -> Judged:
    """Ask every judge about every answer with status ok that it has not judged, and about its controls, all at once.

    Stores lake/judgements_<task> and lake/judge_controls_<task>. judges: ids of models; None or none takes the first
    enabled judge of the registry, else the lexical judge. tasks that have no free text are left out. Identical requests
    (the same answer to the same question, whoever gave it) are asked once per judge. limit: questions per task whose
    answers are asked about; those to other questions keep the judgement that they have. Raises as `ask_partitions`
    does.
    """
    tasks = [task for task in known_tasks(tasks) if task in JUDGED_TASKS]
    spending = spending or Spending()
    benches = [Bench(workspace, entry, spending.run_id) for entry in chosen_judges(workspace.registry, judges)]
    unique = list(dict.fromkeys(partitions))
    with ExitStack() as held:
        for bench in sorted(benches, key=lambda bench: bench.entry.id):
            for partition in sorted(unique):
                held.enter_context(bench.lease(partition))
        parts = [_jobs(bench, unique, tasks, sampling, held, limit) for bench in benches]
        answers, controls = ([job for part in parts for job in part[which]] for which in (0, 1))
        work = [job.work for job in (*answers, *controls)]
        send(workspace, work, spending=spending, policy=policy, on_progress=on_progress)
        return Judged([job.finished() for job in answers], [job.finished() for job in controls])


def chosen_judges(registry: Registry, named: Sequence[str] | None) -> list[ModelEntry]:
    """The named judges, each once, or the registry's choice; raises UsageError for a model that is no judge."""
    return [registry.judge(judge) for judge in dict.fromkeys(named or [])] or [registry.judge()]


def judging(registry: Registry, tasks: Sequence[str], named: Sequence[str] | None) -> list[ModelEntry]:
    """Who judges in a run of these tasks: nobody where none has free text."""
    return chosen_judges(registry, named) if any(task in JUDGED_TASKS for task in tasks) else []


def grade_again(workspace: Workspace, judge: ModelEntry, asked: Mapping[Partition, set[str]]) -> int:
    """Store a judge's judgements and controls again from the responses it gave before; asks nothing.

    asked: the tasks of every planned partition that the judge was asked about, none for those it may never have been
    asked about: of these a task is stored where all answers were given elsewhere too, and are judged by that. Returns
    the number of judgements, not counting controls.
    """
    bench = Bench(workspace, judge, run_id="")
    tasks = [task for task in JUDGED_TASKS if any(task in found for found in asked.values())]
    partitions = [part for part, found in asked.items() if found or _is_all_judged(bench, part, tasks)]
    with ExitStack() as held:
        for partition in sorted(partitions):
            held.enter_context(bench.lease(partition))
        answers, controls = _jobs(bench, partitions, tasks, SAMPLING, held)
        stored = [job.finished() for job in answers]
        for job in controls:
            job.finished()
    return sum(summary.planned for summary in stored)


def _is_all_judged(bench: Bench, partition: Partition, tasks: Sequence[str]) -> bool:
    wanted = {task: {verdict.request_id for verdict in bench.verdicts(partition, task)} for task in tasks}
    return any(wanted.values()) and all(
        ids <= set(counting_judge_responses(bench.workspace.lake, task, bench.entry.id)["request_id"])
        for task, ids in wanted.items()
    )


@dataclass(frozen=True)
class _Job:
    """Something to ask of a judge, and how what comes back is stored."""

    work: Assignment[Verdict]
    store: Callable[[], Statuses]

    def finished(self) -> JudgeSummary:
        return JudgeSummary.of(self.work, self.store())


def _jobs(
    bench: Bench,
    partitions: Sequence[Partition],
    tasks: Sequence[str],
    sampling: Sampling,
    held: ExitStack,
    limit: int | None = None,
) -> tuple[list[_Job], list[_Job]]:
    """One judge's work: the partitions' answers; and their repeats with its controls."""
    judge = bench.entry.id
    judged = {partition: {task: bench.verdicts(partition, task) for task in tasks} for partition in partitions}
    asked = {partition: bench.selected(verdicts, limit) for partition, verdicts in judged.items()}
    answers, controls = [], []
    for partition, verdicts in asked.items():
        work = bench.assignment(partition, verdicts, f"judging {partition.model} ({partition.modality}) by {judge}")
        answers.append(_Job(work, partial(store_judgements, bench, partition, judged[partition], verdicts)))
    for partition, verdicts in asked.items():
        repeats = repeat_verdicts(bench, verdicts, sampling)
        stored = merged([repeats, repeated_before(bench, judged[partition], repeats, sampling)])
        work = bench.assignment(partition, repeats, f"judging {partition.model} again by {judge}")
        controls.append(_Job(work, partial(store_controls, bench, partition, stored, repeats)))
    return answers, [*controls, *_controls(bench, merged(asked.values()), sampling, held)]


def _controls(bench: Bench, judged: Verdicts, sampling: Sampling, held: ExitStack) -> list[_Job]:
    """The judge's controls, unless another process is asking them at this moment; then it stores them too."""
    partition, judge = partition_of(bench.entry), bench.entry.id
    try:
        held.enter_context(bench.lease(partition))
    except HeldElsewhere:
        log.info("the controls of %s are asked by another process", judge)
        return []
    verdicts = control_verdicts(bench, judged, sampling)
    work = bench.assignment(partition, verdicts, f"judging controls by {judge}")
    return [_Job(work, partial(store_controls, bench, partition, verdicts, verdicts))]
