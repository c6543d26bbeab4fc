"""What will be asked: one row per question in lake/plan, with its request_id, written before anything is asked.

A plan never shrinks: a smaller limit asks fewer of its questions and leaves the others as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.plans import PlanKey, read_plans, store_plan
from rescue_pipeline.llm.rendering import Batch, Renderer
from rescue_pipeline.llm.tries import newest_try, next_try, retryable, try_of
from rescue_pipeline.llm.workspace import Partition, Row, Workspace, known_tasks
from rescue_pipeline.schemas import Answers
from rescue_pipeline.tasks.prompts import template_sha256
from rescue_pipeline.tasks.spec import TaskSpec, load_tasks

__all__ = ["PlanSummary", "Question", "Renderer", "plan_questions", "plan_row", "select", "write_plan"]

SELECTION_SEED = 20260911


@dataclass(frozen=True)
class Question:
    """A planned request of one partition and the instances it asks about; it is rendered when its turn comes."""

    request_id: str
    instance_ids: tuple[str, ...]
    task: str
    generation: int
    epoch: str


@dataclass(frozen=True)
class PlanSummary:
    """planned: rows of the plan now. selected: those within this run's limit."""

    partition: Partition
    planned: int
    selected: int


def plan_row(
    workspace: Workspace,
    key: PlanKey,
    instance: Row,
    request: str,
    *,
    task_version: str,
    template: str,
    asked_in: str | None = None,
) -> dict[str, Any]:
    """asked_in: the epoch that is part of the request's identity, when that is an earlier one."""
    return {
        **key.columns,
        "instance_id": instance["instance_id"],
        "corpus_id": workspace.corpus_id,
        "task_version": task_version,
        "scenario": instance["scenario"],
        "request_id": request,
        "template_sha256": template,
        "asked_in": asked_in or key.epoch,
    }


def write_plan(
    workspace: Workspace,
    partition: Partition,
    tasks: Sequence[str],
    limit: int | None = None,
    retry: Sequence[str] = (),
) -> PlanSummary:
    """Write the plan of a partition; asks nothing and costs nothing. limit: questions per task.

    retry: statuses of answers; where one of the selected questions has such an answer in the newest try of a repeat, a
    new try is planned (tries.py). Raises UsageError for an unknown model, task, modality, protocol or status, or a
    limit below 1.
    """
    statuses, renderer = retryable(retry), Renderer(workspace, partition)
    plans = [plan_questions(renderer, task, limit, statuses) for task in known_tasks(tasks)]
    selected = sum(len(question.instance_ids) for _, questions in plans for question in questions)
    return PlanSummary(partition, sum(rows for rows, _ in plans), selected)


def plan_questions(
    renderer: Renderer, task: str, limit: int | None, retry: Sequence[str] = ()
) -> tuple[int, list[Question]]:
    """Write one task's plan; returns the number of its rows and the requests within `limit`, session by session.

    Requests are whole: one that holds a selected question is asked with all its questions.
    """
    plan = _TaskPlan(renderer, load_tasks()[task])
    chosen = plan.whole({row["instance_id"] for row in select(renderer.workspace.corpus.of_task(task), limit)})
    rows = [plan.of_repeat(repeat, chosen, retry) for repeat in renderer.repeats]
    questions = [question for part in rows for question in plan.questions(part, chosen)]
    return sum(part.height for part in rows), questions


class _TaskPlan:
    """The plan of one partition and task under the present corpus version, generation and prompt."""

    def __init__(self, renderer: Renderer, spec: TaskSpec) -> None:
        modality = renderer.partition.modality
        if modality not in spec.modalities:
            found = f"{spec.key} in {modality}"
            raise UsageError("the task has no such modality", expected=", ".join(spec.modalities), found=found)
        self.renderer, self.spec = renderer, spec
        self.batches = renderer.batches(spec.key)
        self.sha256 = template_sha256(spec, renderer.protocol)
        self._before = read_plans(renderer.workspace.lake, renderer.partition, spec.key).filter(
            pl.col("corpus_version") == renderer.workspace.corpus_version,
            pl.col("generation") == renderer.generation,
        )

    def whole(self, instance_ids: set[str]) -> set[str]:
        """These instances and those that share a request with one of them."""
        ids = [[row["instance_id"] for row in batch] for batch in self.batches]
        return {key for batch in ids if not instance_ids.isdisjoint(batch) for key in batch}

    def of_repeat(self, repeat: str, chosen: set[str], retry: Sequence[str]) -> pl.DataFrame:
        """The newest try of a repeat: the chosen questions and those planned before, all with today's prompt.

        A further try is opened when a chosen question's answer has a status to `retry`.
        """
        epoch = newest_try(repeat, self._before["epoch"].unique())
        before = self._before.filter(pl.col("epoch") == epoch)
        earlier = before.with_columns(pl.col("asked_in").fill_null(pl.col("epoch")))
        asked_in = dict(zip(earlier["instance_id"], earlier["asked_in"], strict=True))
        wanted = self.whole(chosen | set(before["instance_id"]))
        rows = self._store(epoch, wanted, asked_in, before)
        again = chosen & self._answered_with(rows, retry)
        if not again:
            return rows
        opened = next_try(epoch)
        return self._store(opened, wanted, {**asked_in, **dict.fromkeys(self.whole(again), opened)}, before.clear())

    def questions(self, rows: pl.DataFrame, chosen: set[str]) -> list[Question]:
        """The requests of a plan that ask about chosen instances."""
        planned = {row["instance_id"]: row for row in rows.to_dicts()}
        asked = [batch for batch in self.batches if batch[0]["instance_id"] in chosen]
        return [_question([planned[row["instance_id"]] for row in batch]) for batch in asked]

    def _store(self, epoch: str, wanted: set[str], asked_in: Mapping[str, str], before: pl.DataFrame) -> pl.DataFrame:
        key = PlanKey(
            self.renderer.partition,
            self.spec.key,
            self.renderer.workspace.corpus_version,
            self.renderer.generation,
            epoch,
        )
        rows = [
            row
            for batch in self.batches
            if batch[0]["instance_id"] in wanted
            for row in self._rows(key, batch, asked_in)
        ]
        return store_plan(self.renderer.workspace, key, rows, before)

    def _rows(self, key: PlanKey, batch: Batch, asked_in: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """The rows of one request. A question that no try has asked anew is asked as in the first one."""
        first = key.epoch.partition(".")[0]
        epoch = max((asked_in.get(row["instance_id"], first) for row in batch), key=try_of)
        identity = self.renderer.identity(batch, epoch)
        for instance in batch:
            yield plan_row(
                self.renderer.workspace,
                key,
                instance,
                identity,
                task_version=self.spec.version,
                template=self.sha256,
                asked_in=epoch,
            )

    def _answered_with(self, rows: pl.DataFrame, statuses: Sequence[str]) -> set[str]:
        """The instances whose answer to the request planned in `rows` has one of the statuses."""
        if not statuses:
            return set()
        lake, partition = self.renderer.workspace.lake, self.renderer.partition
        answers = lake.read(f"answers_{self.spec.key}", Answers, partition=partition.levels)
        found = answers.filter(pl.col("status").is_in(statuses))
        return set(rows.join(found, on=["request_id", "instance_id"], how="semi")["instance_id"])


def select(instances: Sequence[Row], limit: int | None) -> list[Row]:
    """The first `limit` instances of a fixed shuffle: a smaller selection is always part of a larger one."""
    if limit is not None and limit < 1:
        raise UsageError("the limit is too small", expected="1 or more questions per task", found=str(limit))
    if limit is None or limit >= len(instances):
        return list(instances)

    def rank(row: Row) -> str:
        return hashlib.sha256(f"{SELECTION_SEED}:{row['instance_id']}".encode()).hexdigest()

    return sorted(instances, key=rank)[:limit]


def _question(rows: Sequence[Mapping[str, Any]]) -> Question:
    first = rows[0]
    ids = tuple(row["instance_id"] for row in rows)
    return Question(first["request_id"], ids, first["task"], first["generation"], first["epoch"])
