"""Several questions of one session in one request, and the list of answers that comes back.

Such questions show each other's turns; that is what the leak `shared_requests` means. Each bears an id, and each answer
names the id it is for: the reply is taken apart by these, never by position, and each part is read as any answer is.

flag                  what happened
missing_in_batch      no answer bears the question's id (status unparseable)
contradictory         several answers bear it and differ (status unparseable)
repeated_in_batch     several answers bear it and say the same
unknown_id            the list also holds answers with ids that were not asked, or with none; they are ignored
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from rescue_pipeline.tasks.answers import REASON, JsonSchema, choices, strict_object
from rescue_pipeline.tasks.examples import solved
from rescue_pipeline.tasks.extraction import THOUGHT_KEYS, Found, values
from rescue_pipeline.tasks.jsonlike import decoded_value
from rescue_pipeline.tasks.labels import normalise_label
from rescue_pipeline.tasks.leaks import declared_gold, item_id, telling_fields
from rescue_pipeline.tasks.parsing import ParsedAnswer, parse_answer
from rescue_pipeline.tasks.prompts import Messages, Row, check_modality, framing, session_data
from rescue_pipeline.tasks.protocol import WHOLE_SESSION, Protocol
from rescue_pipeline.tasks.spec import TaskSpec
from rescue_pipeline.tasks.templates import quotation_code, render

ANSWERS = "answers"
ID = "id"
NESTING_LIMIT = 3


def batches(protocol: Protocol, task: str, instances: Sequence[Row]) -> list[tuple[Row, ...]]:
    """The instances of a task by request: consecutive ones of one session, as many as the protocol says."""
    size, parts = protocol.batching[task], []
    for _, session in groupby(instances, key=lambda row: row["sample_id"]):
        rows = sorted(session, key=lambda row: row["row_index"])
        step = len(rows) if size == WHOLE_SESSION else int(size)
        parts += [tuple(rows[start : start + step]) for start in range(0, len(rows), step)]
    return parts


def build_list_messages(
    spec: TaskSpec,
    protocol: Protocol,
    instances: Sequence[Row],
    session: Row,
    turns: Sequence[Row],
    modality: str,
    *,
    example: Row | None = None,
) -> Messages:
    """The chat messages of a list of questions about one session.

    example: the instance whose gold is the example of an answer, under the leak `gold_example`. Raises UsageError for a
    modality that the task does not have.
    """
    check_modality(spec, modality)
    shown = None
    if example is not None:
        answer = solved(spec, declared_gold(protocol, "gold_example", example))
        shown = json.dumps({ID: item_id(protocol, example), **answer}, ensure_ascii=False, allow_nan=False)
    items = [
        {
            "id": item_id(protocol, instance),
            "fields": telling_fields(protocol, instance),
            **session_data(spec, protocol, instance, session, turns, modality),
        }
        for instance in instances
    ]
    code = quotation_code(json.dumps(items, ensure_ascii=False))
    frame = {**framing(spec, protocol, instances[0], session, modality), "example": shown, "n": len(items)}
    return [
        {
            "role": role,
            "content": render(
                protocol.templates, spec.prompt, message=role, **frame, **({} if role == "system" else data)
            ),
        }
        for role, data in (("system", {}), ("user", {"items": items, "code": code}))
    ]


def list_schema(spec: TaskSpec, protocol: Protocol, instances: Sequence[Row], session: Row) -> JsonSchema:
    """The strict JSON schema of a list of answers, one for each id."""
    options = list(dict.fromkeys(option for row in instances for option in choices(spec, row, session)))
    ids = [item_id(protocol, instance) for instance in instances]
    named: dict[str, JsonSchema] = {ID: {"type": "string", "enum": ids}, REASON: {"type": "string"}}
    one = {**named, **spec.answer_model.field_schemas(options)}
    items = {"type": "array", "items": strict_object(one), "minItems": len(ids), "maxItems": len(ids)}
    return strict_object({ANSWERS: items})


def parse_list(task: str, asked: Mapping[str, tuple[Row, Row]], content: str | None) -> dict[str, ParsedAnswer]:
    """Read the answers to a list of questions; asked: instance and session by id. Never raises on text."""
    found, unknown = _by_id(content or "", asked)
    if not found:
        return {key: _without_list(task, *about, content, unknown=unknown) for key, about in asked.items()}
    answers = {}
    for key, (instance, session) in asked.items():
        read = [_read(task, instance, session, *entry) for entry in found.get(key, [])]
        answers[key] = _flagged(_agreed(read), unknown_id=unknown)
    return answers


Entry = tuple[dict[str, Any], tuple[str, ...]]


def _by_id(content: str, asked: Mapping[str, Any]) -> tuple[dict[str, list[Entry]], bool]:
    """The objects that bear an id which was asked, with how they were read; and whether there were others."""
    found: dict[str, list[Entry]] = defaultdict(list)
    unknown = False
    for value in values(content):
        for entry in _entries(value.value, NESTING_LIMIT):
            key = next((text for name, text in entry.items() if normalise_label(name) == ID), None)
            known = str(key).strip()
            if known in asked:
                found[known].append((entry, value.flags))
            else:
                unknown = True
        if found and _is_all(value):
            break
    return found, unknown


def _is_all(found: Found) -> bool:
    return found.whole and "surrounding_text" not in found.flags


def _entries(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """The objects of a list of answers, wherever it stands but in a reason; an object with an id is a list of one."""
    value = decoded_value(value)
    if isinstance(value, list):
        for item in value:
            item = decoded_value(item)
            if isinstance(item, dict):
                yield {str(name): field for name, field in item.items()}
    elif isinstance(value, dict):
        names = {normalise_label(str(name)): name for name in value}
        if ID in names:
            yield {str(name): field for name, field in value.items()}
        elif depth:
            for name, original in names.items():
                if name not in THOUGHT_KEYS:
                    yield from _entries(value[original], depth - 1)


def _read(task: str, instance: Row, session: Row, entry: dict[str, Any], flags: tuple[str, ...]) -> ParsedAnswer:
    """One entry, read as a reply that holds this answer alone."""
    fields = {name: field for name, field in entry.items() if normalise_label(name) != ID}
    answer = parse_answer(task, instance, session, json.dumps(fields, ensure_ascii=False))
    return replace(answer, flags=list(dict.fromkeys([*flags, *answer.flags])))


def _agreed(read: Sequence[ParsedAnswer]) -> ParsedAnswer:
    if not read:
        return ParsedAnswer("unparseable", flags=["missing_in_batch"])
    if any((other.status, other.answer) != (read[0].status, read[0].answer) for other in read):
        return ParsedAnswer("unparseable", flags=["contradictory"])
    return _flagged(read[0], repeated_in_batch=len(read) > 1)


def _without_list(task: str, instance: Row, session: Row, content: str | None, *, unknown: bool) -> ParsedAnswer:
    """What a reply without any entry means for a question: empty, refused, or not readable; never an answer."""
    read = parse_answer(task, instance, session, content)
    if read.status in ("empty", "refused") and not unknown:
        return read
    return _flagged(ParsedAnswer("unparseable", flags=["missing_in_batch"]), unknown_id=unknown)


def _flagged(answer: ParsedAnswer, **raised: bool) -> ParsedAnswer:
    return replace(answer, flags=[*answer.flags, *(flag for flag, holds in raised.items() if holds)])
