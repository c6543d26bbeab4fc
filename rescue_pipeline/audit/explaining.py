"""What a request may be made of, and which of its parts are nothing of that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from rescue_pipeline.audit.asked import Asked
from rescue_pipeline.audit.covering import Pieces, unexplained
from rescue_pipeline.audit.literals import (
    FORMATTING,
    counting_words,
    label_texts,
    literals_of,
    schema_words,
)
from rescue_pipeline.audit.material import Material, Runs, runs, turn_texts, window
from rescue_pipeline.llm.workspace import Row
from rescue_pipeline.tasks.people import GROUPS, THERAPIST
from rescue_pipeline.tasks.spec import Protocol, TaskSpec

_TAG = re.compile(r"</?[\w-]*?-([0-9a-f]{8})>")
_EFFORTS = ("minimal", "low", "medium", "high")


class Gap(NamedTuple):
    """A part of a request that nothing explains."""

    role: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Condition:
    """A task under a protocol in a modality."""

    spec: TaskSpec
    protocol: Protocol
    modality: str

    @cached_property
    def literals(self) -> frozenset[str]:
        return literals_of(self.spec, self.protocol)

    @cached_property
    def template(self) -> Pieces:
        return Pieces(self.literals, bounded=False)


@dataclass(frozen=True)
class Subject:
    """A request of a condition, with what its questions may show."""

    condition: Condition
    asked: Asked
    material: Material

    @property
    def instance_id(self) -> str:
        return str(self.asked.instances[0]["instance_id"])

    @cached_property
    def session(self) -> Row:
        return self.material.session(self.asked.sample_id)

    @cached_property
    def turns(self) -> Sequence[Row]:
        return self.material.turns(self.asked.sample_id)

    def window(self, instance: Row) -> list[Row]:
        context = self.condition.protocol.context[self.condition.spec.key]
        return window(context, instance["row_index"], self.turns)

    @cached_property
    def granted(self) -> dict[int, Row]:
        """The turns that the request's questions may show, by number."""
        return {row["row_index"]: row for instance in self.asked.instances for row in self.window(instance)}

    @cached_property
    def names(self) -> list[str]:
        """Values that are no text of a turn: counts, and what stands for a missing value."""
        number = [str(len(self.asked.instances))] if len(self.asked.instances) > 1 else []
        scenario = str(self.session["scenario"])
        return [*FORMATTING, *counting_words(), *number, scenario, scenario.upper(), GROUPS[scenario], THERAPIST]

    @property
    def labels(self) -> Pieces:
        """The closed labels with their definitions, and the numbers that a list of them may bear."""
        texts = label_texts(self.condition.spec, self.session["scenario"])
        return Pieces([*texts, *map(str, range(1, len(texts) + 1))])

    @property
    def data(self) -> Pieces:
        """What the question may quote. Not kept: the turns of a long session are many."""
        facts = [
            text
            for instance in self.asked.instances
            for text in self.material.facts(instance, self.condition.spec.facts)
        ]
        return Pieces([*facts, *self.granted_texts])

    @property
    def granted_texts(self) -> list[str]:
        return [text for row in self.granted.values() for text in turn_texts(row, self.condition.modality)]

    @cached_property
    def granted_runs(self) -> Runs:
        """The runs of words that the question may show."""
        return {run for text in self.granted_texts for run in runs(text)}

    @property
    def question(self) -> dict[str, str]:
        """The message that asks: the last one."""
        return self.asked.request.messages[-1]


def gaps(subject: Subject) -> Iterator[Gap]:
    """The unexplained parts of the system message, the question, the schema and the parameters."""
    frame = [subject.condition.template, Pieces(subject.names)]
    system, content = subject.asked.request.messages[0]["content"], subject.question["content"]
    definitions = label_texts(subject.condition.spec, subject.session["scenario"])[1:2]
    # labels are allowed where they are explained, and nowhere else: in the question one of them could be the gold
    explained = [subject.labels] if any(text in content for text in definitions) else []
    yield from message_gaps("system", system, [*frame, *([] if explained else [subject.labels])])
    yield from message_gaps("user", content, [*frame, *explained, subject.data, codes(content)])
    yield from _value_gaps(subject)


def message_gaps(role: str, text: str, layers: Sequence[Pieces]) -> Iterator[Gap]:
    for start, end in unexplained(text, layers):
        yield Gap(role, text, start, end)


def codes(text: str) -> Pieces:
    """The codes of the tags around quoted text."""
    return Pieces(set(_TAG.findall(text)), bounded=False)


def without_codes(text: str) -> str:
    """The text with blanks for its codes, which are hashes over all that they enclose."""
    return _TAG.sub(lambda found: found[0].replace(found[1], " " * len(found[1])), text)


def _value_gaps(subject: Subject) -> Iterator[Gap]:
    """Texts in the schema that are no choice of the task, and texts in the parameters."""
    options = [option for row in subject.asked.instances for option in subject.material.options(row)]
    numbers = [str(row["row_index"]) for row in subject.asked.instances] if len(subject.asked.instances) > 1 else []
    known = schema_words() | set(options) | set(numbers)
    for role, value, allowed in (
        ("schema", subject.asked.request.schema, known),
        ("parameters", dict(subject.asked.request.parameters), frozenset(_EFFORTS)),
        ("metadata", subject.asked.request.metadata, frozenset()),
    ):
        for text in texts_in(value):
            if text not in allowed:
                yield Gap(role, text, 0, len(text))


def texts_in(value: Any) -> Iterator[str]:
    """The texts among the values of a nested structure; a schema's names of required fields are its own."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key != "required":
                yield from texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)
