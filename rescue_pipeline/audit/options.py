"""gold: the options stand in the declared order (or the seeded one), each in the same form, and none is missing."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rescue_pipeline.audit.explaining import Subject
from rescue_pipeline.audit.findings import Finding, place
from rescue_pipeline.audit.material import has_closed_labels

_BULLET = re.compile(r"^[\W\d_]*")
_MARKED = "options not in their order, or one in another form"


class OptionLine(NamedTuple):
    """A line that begins with an option: where the option stands, and the signs before it (digits as #)."""

    start: int
    option: str
    signs: str


def option_findings(subject: Subject) -> Iterator[Finding]:
    """Look at the candidates of the question, at the list in the messages, and at the schema."""
    instance = subject.asked.instances[0]
    declared = subject.material.options(instance)
    if instance["candidates"] and subject.condition.spec.label_set is not None:
        candidates = subject.material.named(subject.asked.sample_id, list(instance["candidates"]))
        if candidates != declared:
            yield Finding("gold", subject.instance_id, "candidates of the question", "options not in their order")
    yield from _listed(subject, declared)
    for allowed in _enums(subject.asked.request.schema):
        if set(allowed) & set(declared) and list(allowed) != list(declared):
            yield Finding("gold", subject.instance_id, "schema", "options not in their order, or one is missing")


def _listed(subject: Subject, declared: Sequence[str]) -> Iterator[Finding]:
    """Labels stand in whichever message explains them; candidates in the question, once for each that it holds."""
    messages = subject.asked.request.messages
    expected = _expected_order(subject, declared)
    if has_closed_labels(subject.condition.spec):
        lines = {role: label_lines(messages[at]["content"], declared) for role, at in (("system", 0), ("user", -1))}
        if sum(_complete(found, expected) for found in lines.values()) != 1:
            role = "user" if lines["user"] else "system"
            offset = lines[role][0].start if lines[role] else 0
            yield _marked(subject, role, messages[-1 if role == "user" else 0]["content"], offset)
    elif "candidates" in subject.condition.spec.facts:
        text = messages[-1]["content"]
        if len(list(candidate_lists(text, expected))) != len(subject.asked.instances):
            yield _marked(subject, "user", text, max(text.find(expected[0]), 0))


def _marked(subject: Subject, role: str, text: str, offset: int) -> Finding:
    return Finding("gold", subject.instance_id, place(role, text, offset, subject.condition.literals), _MARKED)


def candidate_lists(text: str, options: Sequence[str]) -> Iterator[re.Match[str]]:
    """Where all options follow each other with the same signs between them."""
    first, *others = [re.escape(option) for option in options]
    if others:
        rest = others[0] + "".join(rf"(?P=signs){option}" for option in others[1:])
        yield from re.finditer(rf"(?<!\w){first}(?P<signs>\W{{1,12}}){rest}(?=\s|$)", text)


def label_lines(text: str, options: Sequence[str]) -> list[OptionLine]:
    """The lines that begin with a label, after bullets or numbers."""
    found, offset = [], 0
    for line in text.splitlines(keepends=True):
        bullet = _BULLET.match(line)
        start = bullet.end() if bullet else 0
        for option in sorted(options, key=len, reverse=True):
            if line.startswith(option, start) and not re.match(r"\w", line[start + len(option) :]):
                found.append(OptionLine(offset + start, option, re.sub(r"\d+", "#", line[:start])))
                break
        offset += len(line)
    return found


def _complete(lines: Sequence[OptionLine], expected: Sequence[str]) -> int:
    """How often all options follow each other in the expected order, each after the same signs."""
    size = len(expected)
    parts = [lines[at : at + size] for at in range(len(lines) - size + 1)]
    return sum(
        [line.option for line in part] == list(expected) and len({line.signs for line in part}) == 1 for part in parts
    )


def _expected_order(subject: Subject, declared: Sequence[str]) -> list[str]:
    seed = subject.condition.protocol.order_seed
    if seed is None:
        return list(declared)
    return random.Random(f"{seed}:{subject.instance_id}").sample(list(declared), len(declared))


def _enums(schema: object) -> Iterator[list[str]]:
    if isinstance(schema, dict):
        if isinstance(schema.get("enum"), list):
            yield schema["enum"]
        for value in schema.values():
            yield from _enums(value)
