"""What will be asked: one row per question in lake/plan, with its request_id, written before anything is asked.

A plan never shrinks: a smaller limit asks fewer of its questions and leaves the others as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.baselines import corpus_key
from rescue_pipeline.llm.exchange import Request
from rescue_pipeline.llm.generations import generation_of
from rescue_pipeline.llm.identity import CORPUS, parameters_of, request_id
from rescue_pipeline.llm.plans import PlanKey, read_plan, store_plan
from rescue_pipeline.llm.registry import LEXICAL_JUDGE, ModelEntry
from rescue_pipeline.llm.workspace import IMPORTED, Partition, Row, Workspace, known_tasks
from rescue_pipeline.tasks.answers import answer_schema
from rescue_pipeline.tasks.prompts import build_messages, template_sha256
from rescue_pipeline.tasks.spec import Protocol, TaskSpec, load_protocol, load_tasks

SELECTION_SEED = 20260911


@dataclass(frozen=True)
class Question:
    """A planned question of one partition; what is sent is rendered when its turn comes."""

    request_id: str
    instance_id: str
    task: str
    generation: int
    epoch: str


@dataclass(frozen=True)
class PlanSummary:
    """planned: rows of the plan now. selected: those within this run's limit."""

    partition: Partition
    planned: int
    selected: int


class Renderer:
    """Renders the requests of one partition; the same instance gives the same bytes."""

    def __init__(self, workspace: Workspace, partition: Partition) -> None:
        if partition.protocol == IMPORTED:
            raise UsageError(
                "imported answers cannot be asked", found=partition.model, advice="rescue import-predictions"
            )
        self.workspace, self.partition = workspace, partition
        self.entry: ModelEntry = workspace.registry.get(partition.model)
        if self.entry.id == LEXICAL_JUDGE:
            raise UsageError("the lexical judge grades answers, it gives none", found=LEXICAL_JUDGE, advice="--judge")
        self.protocol: Protocol = load_protocol(partition.protocol)
        self.generation = generation_of(workspace, self.entry)
        asked = {
            "temperature": self.protocol.temperature,
            "max_tokens": self.protocol.max_answer_tokens,
            "reasoning_effort": self.protocol.reasoning_effort,
        }
        self.parameters = parameters_of(asked, self.entry)

    @property
    def epochs(self) -> list[str]:
        return [str(number) for number in range(1, self.protocol.epochs + 1)]

    def request(self, instance: Row) -> Request:
        """The request of an instance's question."""
        corpus, modality = self.workspace.corpus, self.partition.modality
        spec, session = load_tasks()[instance["task"]], corpus.session_of(instance)

        def render() -> list[dict[str, str]]:
            turns = corpus.turns_of(instance["sample_id"])
            return build_messages(spec, self.protocol, instance, session, turns, modality)

        return Request(
            messages=corpus.rendered((self.partition.protocol, modality, instance["instance_id"]), render),
            parameters=self.parameters,
            schema=None if self.entry.structured_output == "none" else answer_schema(spec, instance, session),
            metadata=self._metadata(instance) if self.entry.is_baseline else None,
            retry_tokens=self.protocol.retry_answer_tokens if "max_tokens" in self.parameters else None,
        )

    def _metadata(self, instance: Row) -> dict[str, Any]:
        """What our own provider is told beside the messages; no other provider gets it."""
        return {
            "instance_id": instance["instance_id"],
            "session_group": instance["session_group"],
            "modality": self.partition.modality,
            CORPUS: corpus_key(self.workspace),
        }

    def plan_key(self, task: str, epoch: str) -> PlanKey:
        return PlanKey(self.partition, task, self.workspace.corpus_version, self.generation, epoch)

    def plan_rows(self, spec: TaskSpec, epoch: str, instances: Sequence[Row]) -> Iterator[dict[str, Any]]:
        """The rows of lake/plan for some instances."""
        sha256 = template_sha256(spec, self.protocol)
        for instance in instances:
            request = self.request(instance)
            identity = request_id(self.entry, request, generation=self.generation, epoch=epoch)
            key = self.plan_key(spec.key, epoch)
            yield plan_row(self.workspace, key, instance, identity, task_version=spec.version, template=sha256)


def plan_row(
    workspace: Workspace, key: PlanKey, instance: Row, request: str, *, task_version: str, template: str
) -> dict[str, Any]:
    return {
        **key.columns,
        "instance_id": instance["instance_id"],
        "corpus_id": workspace.corpus_id,
        "task_version": task_version,
        "scenario": instance["scenario"],
        "request_id": request,
        "template_sha256": template,
    }


def write_plan(
    workspace: Workspace,
    partition: Partition,
    tasks: Sequence[str],
    limit: int | None = None,
    retry: Sequence[str] = (),
) -> PlanSummary:
    """Write the plan of a partition; asks nothing and costs nothing. limit: questions per task.

    Raises UsageError for an unknown model, task, modality or protocol, or a limit below 1.
    """
    renderer = Renderer(workspace, partition)
    plans = [plan_questions(renderer, task, limit) for task in known_tasks(tasks)]
    return PlanSummary(partition, sum(rows for rows, _ in plans), sum(len(chosen) for _, chosen in plans))


def plan_questions(renderer: Renderer, task: str, limit: int | None) -> tuple[int, list[Question]]:
    """Write one task's plan; returns the number of its rows and the questions within `limit`, session by session."""
    spec, instances = load_tasks()[task], renderer.workspace.corpus.of_task(task)
    if renderer.partition.modality not in spec.modalities:
        found = f"{task} in {renderer.partition.modality}"
        raise UsageError("the task has no such modality", expected=", ".join(spec.modalities), found=found)
    chosen = [row["instance_id"] for row in select(instances, limit)]
    rows = [_planned_rows(renderer, spec, epoch, limit) for epoch in renderer.epochs]
    questions = [question for part in rows for question in _questions(part.filter(pl.col("instance_id").is_in(chosen)))]
    return sum(part.height for part in rows), questions


def _planned_rows(renderer: Renderer, spec: TaskSpec, epoch: str, limit: int | None) -> pl.DataFrame:
    """The plan of one task: the selected instances and those planned before, all with today's prompt."""
    workspace, key = renderer.workspace, renderer.plan_key(spec.key, epoch)
    instances = workspace.corpus.of_task(spec.key)
    before = read_plan(workspace.lake, key)
    wanted = {row["instance_id"] for row in select(instances, limit)} | set(before["instance_id"])
    rows = list(renderer.plan_rows(spec, epoch, [row for row in instances if row["instance_id"] in wanted]))
    return store_plan(workspace, key, rows, before)


def select(instances: Sequence[Row], limit: int | None) -> list[Row]:
    """The first `limit` instances of a fixed shuffle: a smaller selection is always part of a larger one."""
    if limit is not None and limit < 1:
        raise UsageError("the limit is too small", expected="1 or more questions per task", found=str(limit))
    if limit is None or limit >= len(instances):
        return list(instances)

    def rank(row: Row) -> str:
        return hashlib.sha256(f"{SELECTION_SEED}:{row['instance_id']}".encode()).hexdigest()

    return sorted(instances, key=rank)[:limit]


def _questions(rows: pl.DataFrame) -> list[Question]:
    columns = ["request_id", "instance_id", "task", "generation", "epoch"]
    return [Question(**row) for row in rows.select(columns).iter_rows(named=True)]
