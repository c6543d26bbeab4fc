"""From the text of a response to an answer with exactly one status.

status        when
ok            an answer was read; flags say what had to be set right
empty         no text, or nothing but reasoning; or the answer's field is null, "" or []; an emotion without words;
              viewpoints without text
refused       no answer object, and the text opens as a refusal, or an object has a `refusal` in place of the fields
unparseable   no object with the answer's fields; or a field of another type; er: an intensity that is no whole number
              in 0..10 (`8/10`, 4.5, 11; the text "7" is one); or several objects that answer differently
out_of_set    fields of the right type, but nothing valid in them: itp neither yes nor no; a ranking without a known
              label; viewpoints between people who are not there

Whether a response was cut off, filtered or refused by the provider is decided before its text is parsed.

flag                  what was set right
fenced                a code fence was taken off
surrounding_text      text stood around the object
reasoning_dropped     reasoning blocks stood in the text
repaired              the object was a Python literal, or had small faults of form
nested                the object was wrapped in another one, or was JSON inside a string
bare_list             a list, or a viewpoint, came without the object around it
boolean               itp: true or false for yes or no
unknown_label         ranking: entries that are no label of the set were removed (with out_of_set: all of them)
repeated_label        ranking: repeats were removed
extra_labels          ranking: more than three labels; the first three count
short_list            ranking: fewer labels than were asked for; valid
unknown_person        vp: viewpoints of or about people who are not there were dropped
malformed_viewpoint   vp: items without source, target and viewpoint as text were dropped
empty_viewpoint       vp: items without text were dropped
repeated_viewpoint    vp: identical items were merged
no_emotion, bad_emotion, bad_intensity   er: which field failed
no_answer_object      nothing in the text has the answer's fields
contradictory         the text holds several answers that differ: which one is meant is not for us to choose

Lists of answers have flags of their own (lists.py); a reply to a prompt that the provider cut is over_context, flag
prompt_cut (llm/cut_prompts.py).

Labels are matched after normalisation, names as they are (people.py). A label that a text merely mentions, affirmed
or denied, is never an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rescue_pipeline.tasks.answers import Answer, EmotionAnswer, Ranking, TimingAnswer, choices
from rescue_pipeline.tasks.extraction import (
    PARSER_VERSION,
    Found,
    locate,
    reason_of,
    storable,
    values,
    without_reasoning,
)
from rescue_pipeline.tasks.interpreting import (
    Outcome,
    bare_fields,
    read_emotion,
    read_ranking,
    read_timing,
    read_viewpoints,
)
from rescue_pipeline.tasks.labels import match_label
from rescue_pipeline.tasks.people import match_name
from rescue_pipeline.tasks.spec import TaskSpec, load_tasks

__all__ = ["PARSER_VERSION", "ParsedAnswer", "parse_answer"]

REFUSAL_OPENING = 300  # characters

# Only at the very start, and only with an inability in the first person: a transcript's words may be quoted later.
_APOLOGY = r"(?:(?:i['’]?m|i am)?\s*(?:very |so |really )?sorry\b[,.!]?\s*(?:but\b)?[,\s]*)"
_INABILITY = (
    r"(?:as an ai\b.{0,60}?)?i\s*(?:can['’]?t|cannot|can not|won['’]?t|will not|"
    r"['’]?m (?:unable|not able)|am (?:unable|not able)|must decline|have to decline)\b"
)
_REFUSAL = re.compile(rf"\A\W*(?:{_APOLOGY}?{_INABILITY}|(?:i['’]?m|i am) (?:very |so )?sorry,? but\b)", re.IGNORECASE)


@dataclass(frozen=True)
class ParsedAnswer:
    """An answer as it is stored. `answer` is None unless the status is ok; `reason` is the model's own."""

    status: str
    answer: dict[str, Any] | None = None
    reason: str | None = None
    flags: list[str] = field(default_factory=list)


def parse_answer(
    task: str, instance: Mapping[str, Any], session: Mapping[str, Any], content: str | None
) -> ParsedAnswer:
    """Read the answer in `content`, the visible text of a response or a tool call's arguments. Never raises on text."""
    if content is None or not content.strip():
        return ParsedAnswer("empty")
    spec = load_tasks()[task]
    refusal: str | None = None
    answers: list[ParsedAnswer] = []
    for found in values(content):
        hit = _fields(spec.answer_model, found)
        if hit is None:
            refusal = refusal or _refusal(found)
            continue
        record, source = hit
        outcome = _interpret(spec, instance, session, record)
        answer = outcome.answer.model_dump() if outcome.answer else None
        flags = list(dict.fromkeys([*source.flags, *outcome.flags]))
        answers.append(ParsedAnswer(outcome.status, answer, reason_of(record), flags))
        if found.whole and "surrounding_text" not in found.flags:
            break
    if not answers:
        return _without_answer(content, refusal)
    if any((other.status, other.answer) != (answers[0].status, answers[0].answer) for other in answers):
        return ParsedAnswer("unparseable", flags=["contradictory"])
    return answers[0]


def _fields(model: type[Answer], found: Found) -> tuple[dict[str, Any], Found] | None:
    hit = locate(found, tuple(model.model_fields))
    if hit is not None:
        return hit
    bare = bare_fields(model, found)
    return (bare, found.flagged("bare_list")) if bare is not None else None


def _interpret(
    spec: TaskSpec, instance: Mapping[str, Any], session: Mapping[str, Any], record: dict[str, Any]
) -> Outcome:
    model = spec.answer_model
    if model is TimingAnswer:
        return read_timing(record)
    if model is EmotionAnswer:
        return read_emotion(record)
    allowed = choices(spec, instance, session)
    if issubclass(model, Ranking):
        match = match_name if spec.label_set == "target" else match_label
        return read_ranking(model, record, lambda text: match(text, allowed), allowed)
    return read_viewpoints(record, lambda name: match_name(name, allowed))


def _refusal(found: Found) -> str | None:
    text = found.value.get("refusal") if isinstance(found.value, dict) else None
    return storable(text).strip() or None if isinstance(text, str) else None


def _without_answer(content: str, refusal: str | None) -> ParsedAnswer:
    visible = without_reasoning(content)
    if not visible:
        return ParsedAnswer("empty", flags=["reasoning_dropped"])
    if refusal or _REFUSAL.match(visible[:REFUSAL_OPENING]):
        return ParsedAnswer("refused")
    return ParsedAnswer("unparseable", flags=["no_answer_object"])
