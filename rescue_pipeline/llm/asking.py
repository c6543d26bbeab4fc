"""Asking partitions: plan, leave out what already has a final response, ask the rest, report.

Whoever asks holds the lease of every partition it works on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import polars as pl

from rescue_pipeline.llm.assignments import Assignment, Tally
from rescue_pipeline.llm.baselines import register_baselines
from rescue_pipeline.llm.budget import Spending
from rescue_pipeline.llm.client import RetryPolicy
from rescue_pipeline.llm.dispatch import OnProgress, dispatch
from rescue_pipeline.llm.journal import Journal, recover
from rescue_pipeline.llm.lease import lease, lease_file
from rescue_pipeline.llm.permission import permitted
from rescue_pipeline.llm.planning import Question, Renderer, plan_questions
from rescue_pipeline.llm.responses import counting_responses
from rescue_pipeline.llm.segments import Stream
from rescue_pipeline.llm.summaries import PartitionSummary
from rescue_pipeline.llm.workspace import Partition, Workspace, known_tasks
from rescue_pipeline.schemas import TASKS

Planned = dict[str, list[Question]]


def ask_partitions(
    workspace: Workspace,
    partitions: Sequence[Partition],
    tasks: Sequence[str],
    limit: int | None = None,
    on_progress: OnProgress | None = None,
    *,
    spending: Spending | None = None,
    policy: RetryPolicy | None = None,
) -> list[PartitionSummary]:
    """Write the plans and ask every planned question that has no final response, all models at once.

    limit: questions per task. Raises UsageError before anything is asked when a name is unknown or a model may not be
    asked (permission.py); RescueError when another process asks one of the partitions or the
    journal cannot be written. A model that cannot be asked at all (wrong key, no such model) is stopped and reported;
    the others go on.
    """
    tasks, spending = known_tasks(tasks), spending or Spending()
    renderers = [Renderer(workspace, partition) for partition in dict.fromkeys(partitions)]
    with ExitStack() as held:
        for partition in sorted(renderer.partition for renderer in renderers):
            held.enter_context(partition_lease(workspace, partition))
        claimed: dict[str, set[str]] = defaultdict(set)
        jobs = [open_work(renderer, tasks, limit, claimed, spending.run_id) for renderer in renderers]
        send(workspace, [work for _, work in jobs], spending=spending, policy=policy, on_progress=on_progress)
    return [PartitionSummary.of(work, _statuses(workspace, planned, work)) for planned, work in jobs]


def open_work(
    renderer: Renderer, tasks: Sequence[str], limit: int | None, claimed: dict[str, set[str]], run_id: str
) -> tuple[Planned, Assignment[Question]]:
    """A partition's questions and the open ones among them. claimed: what other partitions ask of the model."""
    workspace, partition = renderer.workspace, renderer.partition
    planned: Planned = {task: plan_questions(renderer, task, limit)[1] for task in tasks}
    tallies, questions = {}, []
    for task, all_questions in planned.items():
        responses = counting_responses(workspace.lake, task, partition).filter(pl.col("final"))
        open_ones = unclaimed(all_questions, set(responses["request_id"]), claimed[partition.model])
        planned_here = _size(all_questions)
        tallies[task] = Tally(planned=planned_here, reused=planned_here - _size(open_ones))
        questions += open_ones
    return planned, Assignment(
        partition=partition,
        entry=renderer.entry,
        questions=questions,
        request=lambda question: renderer.request(*(workspace.corpus.instances[key] for key in question.instance_ids)),
        identity=lambda question: _identity(partition, question, run_id),
        stream=lambda task: response_stream(partition, task),
        tallies=tallies,
        what=f"asking {partition.model} ({partition.modality})",
        size=lambda question: len(question.instance_ids),
    )


def _size(requests: Sequence[Question]) -> int:
    """How many questions the requests ask."""
    return sum(len(question.instance_ids) for question in requests)


def unclaimed(questions: Sequence[Any], final: set[str], claimed: set[str]) -> list[Any]:
    """The questions whose request has no final response and is not asked elsewhere in this run; claims them."""
    open_ones = []
    for question in questions:
        if question.request_id not in final and question.request_id not in claimed:
            claimed.add(question.request_id)
            open_ones.append(question)
    return open_ones


def send(
    workspace: Workspace,
    assignments: Sequence[Assignment[Any]],
    *,
    spending: Spending,
    policy: RetryPolicy | None,
    on_progress: OnProgress | None,
) -> None:
    """Ask the open questions of all assignments and journal the replies; the caller holds the leases."""
    budget = permitted(workspace, assignments, spending)
    if any(work.questions and work.entry.is_baseline for work in assignments):
        register_baselines(workspace)
    with Journal(workspace.datadir.journal, workspace.lake) as journal:
        dispatch(assignments, journal, budget=budget, policy=policy, on_progress=on_progress)


def _identity(partition: Partition, question: Question, run_id: str) -> dict[str, Any]:
    # without the instance: a request that two of them share is one request
    return {
        "task": question.task,
        "generation": question.generation,
        "epoch": question.epoch,
        "run_id": run_id,
        **partition.levels,
    }


def response_stream(partition: Partition, task: str) -> Stream:
    return Stream.of(f"responses_{task}", partition.levels)


@contextmanager
def partition_lease(workspace: Workspace, partition: Partition) -> Iterator[None]:
    """Hold a partition, and put in order what a process that died in it left behind."""
    journal = workspace.datadir.journal
    with lease(lease_file(journal, partition.levels), str(partition)):
        recover(journal, workspace.lake, [response_stream(partition, task) for task in TASKS])
        yield


def _statuses(workspace: Workspace, planned: Planned, work: Assignment[Question]) -> dict[str, Counter[str]]:
    """Per task, how many planned questions have which response status; not_run where there is none."""
    counts = {}
    for task, questions in planned.items():
        rows = counting_responses(workspace.lake, task, work.partition)
        statuses = dict(zip(rows["request_id"], rows["status"], strict=True))
        counts[task] = Counter(
            statuses.get(question.request_id, "not_run") for question in questions for _ in question.instance_ids
        )
    return counts
