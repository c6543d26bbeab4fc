"""The requests of one partition: which questions share one, and everything that is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.baselines import ITEMS, RENAMED, corpus_key
from rescue_pipeline.llm.exchange import Request
from rescue_pipeline.llm.generations import generation_of
from rescue_pipeline.llm.identity import CORPUS, parameters_of, request_id
from rescue_pipeline.llm.registry import ANSWER_LIMITS, LEXICAL_JUDGE, ModelEntry
from rescue_pipeline.llm.views import Views
from rescue_pipeline.llm.workspace import IMPORTED, Messages, Partition, Row, Workspace
from rescue_pipeline.tasks.answers import JsonSchema, answer_schema
from rescue_pipeline.tasks.examples import ExamplePool, example_answer
from rescue_pipeline.tasks.leaks import TASK_OF_GOLD_EXAMPLE, item_id
from rescue_pipeline.tasks.lists import batches, build_list_messages, list_schema
from rescue_pipeline.tasks.prompts import Example, build_messages
from rescue_pipeline.tasks.spec import Protocol, TaskSpec, load_protocol, load_tasks

Batch = tuple[Row, ...]
"""The instances that one request asks about, all of one task and session."""


class Renderer:
    """Renders the requests of one partition; the same instances give the same bytes."""

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
        self.views = Views(workspace.corpus, renamed=self.protocol.renamed)
        self._pools: dict[tuple[str, str], ExamplePool] = {}

    @property
    def repeats(self) -> list[str]:
        """The epochs of the protocol; each may have later tries."""
        return [str(number) for number in range(1, self.protocol.epochs + 1)]

    def batches(self, task: str) -> list[Batch]:
        """The instances of a task by request, session by session."""
        return batches(self.protocol, task, self.workspace.corpus.of_task(task))

    def request(self, *instances: Row) -> Request:
        """The request that asks about these instances: one, or a whole batch."""
        spec = load_tasks()[instances[0]["task"]]
        key = (self.partition.protocol, self.partition.modality, *(row["instance_id"] for row in instances))
        parameters = self.parameters(len(instances))
        return Request(
            messages=self.workspace.corpus.rendered(key, lambda: self._messages(spec, instances)),
            parameters=parameters,
            schema=None if self.entry.structured_output == "none" else self._schema(spec, instances),
            metadata=self._metadata(instances) if self.entry.is_baseline else None,
            retry_tokens=self._retry_tokens(len(instances), parameters),
        )

    def identity(self, instances: Iterable[Row], epoch: str) -> str:
        """The request_id of these instances' request, first planned in `epoch`."""
        return request_id(self.entry, self.request(*instances), generation=self.generation, epoch=epoch)

    def parameters(self, n: int) -> dict[str, Any]:
        """The parameters of a request for n answers."""
        reasoning = self.protocol.reasoning_tokens if self.entry.reasoning else 0
        asked = {
            "temperature": self.protocol.temperature,
            "max_tokens": n * self.protocol.max_answer_tokens + reasoning,
            "reasoning_effort": self.protocol.reasoning_effort,
        }
        return parameters_of(asked, self.entry)

    def _retry_tokens(self, n: int, parameters: Mapping[str, Any]) -> int | None:
        """The larger budget of a second try, never below the first; None where the first has no limit."""
        first = max((parameters[name] for name in ANSWER_LIMITS if name in parameters), default=None)
        if first is None:
            return None
        if any(self.entry.params.get(name) is not None for name in ANSWER_LIMITS):
            return 2 * int(first)
        # which of the two ran out is known only when the answer is there, so both get more room
        reasoning = 2 * self.protocol.reasoning_tokens if self.entry.reasoning else 0
        return max(int(first), n * self.protocol.retry_answer_tokens + reasoning)

    def _messages(self, spec: TaskSpec, instances: Batch) -> Messages:
        first, views, modality = instances[0], self.views, self.partition.modality
        session, turns = views.session(first), views.turns(first)
        if not self.protocol.asks_lists:
            examples, question = self._examples(spec, first), views.instance(first)
            return build_messages(spec, self.protocol, question, session, turns, modality, examples=examples)
        shown = [views.instance(row) for row in instances]
        example = self._gold_example(spec)
        return build_list_messages(spec, self.protocol, shown, session, turns, modality, example=example)

    def _schema(self, spec: TaskSpec, instances: Batch) -> JsonSchema:
        session, shown = self.views.session(instances[0]), [self.views.instance(row) for row in instances]
        if self.protocol.asks_lists:
            return list_schema(spec, self.protocol, shown, session)
        return answer_schema(spec, shown[0], session)

    def _examples(self, spec: TaskSpec, instance: Row) -> list[Example]:
        """Solved questions of other session groups, of the same task and scenario."""
        if not self.protocol.few_shot:
            return []
        key = (spec.key, str(instance["scenario"]))
        if key not in self._pools:
            rows = self.workspace.corpus.of_task(spec.key)
            self._pools[key] = ExamplePool([row for row in rows if row["scenario"] == instance["scenario"]])
        return [self._example(spec, row) for row in self._pools[key].of(spec, self.protocol, instance)]

    def _example(self, spec: TaskSpec, instance: Row) -> Example:
        answer = example_answer(spec, instance, self.workspace.corpus.session_of(instance))
        views = self.views
        return Example(
            views.instance(instance), views.session(instance), views.turns(instance), views.answer(instance, answer)
        )

    def _gold_example(self, spec: TaskSpec) -> Row | None:
        """The first question of the corpus, where the protocol gives its gold away as the example of an answer."""
        leaks = "gold_example" in self.protocol.leaks and spec.key == TASK_OF_GOLD_EXAMPLE
        return self.workspace.corpus.of_task(spec.key)[0] if leaks else None

    def _metadata(self, instances: Batch) -> dict[str, Any]:
        """What our own provider is told beside the messages; no other provider gets it."""
        about: dict[str, Any] = {"instance_id": instances[0]["instance_id"]}
        if self.protocol.asks_lists:
            about = {ITEMS: {item_id(self.protocol, row): row["instance_id"] for row in instances}}
        return {
            **about,
            **({RENAMED: True} if self.protocol.renamed else {}),
            "session_group": instances[0]["session_group"],
            "modality": self.partition.modality,
            CORPUS: corpus_key(self.workspace),
        }
