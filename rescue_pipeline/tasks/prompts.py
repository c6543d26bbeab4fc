"""From an instance to the messages of its question.

A question holds the turns that the protocol grants, in the modality's detail, and the facts that the task declares;
never an id, a file name, the gold, an annotation of another modality, or a turn after the decision point.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.tasks.answers import choices, wanted_ranks
from rescue_pipeline.tasks.labels import LABEL_FILES, Label, load_labels
from rescue_pipeline.tasks.people import distinct, participants
from rescue_pipeline.tasks.spec import ALL_EARLIER_TURNS, Context, Protocol, TaskSpec, prompt_files
from rescue_pipeline.tasks.templates import quotation_code, render, sha256_of

Row = Mapping[str, Any]
Messages = list[dict[str, str]]
Item = TypeVar("Item", str, Label)

AUDIO = ("tone_of_voice",)
VISUAL = ("body_posture", "facial_expressions", "self_directed_behavior", "interaction_behavior")
CUES = {"dialogue": (), "audio": AUDIO, "visual": VISUAL, "audiovisual": AUDIO + VISUAL}


@dataclass(frozen=True)
class Example:
    """A solved question of another session group, for protocols with few_shot > 0. `answer` includes its reason."""

    instance: Row
    session: Row
    turns: Sequence[Row]
    answer: Mapping[str, Any]


def build_messages(
    spec: TaskSpec,
    protocol: Protocol,
    instance: Row,
    session: Row,
    turns: Sequence[Row],
    modality: str,
    *,
    examples: Sequence[Example] = (),
) -> Messages:
    """The chat messages of one question; the same arguments give the same bytes.

    turns: the rows of the instance's session. instance["gold"] is never read. Raises UsageError for a modality that
    the task does not have, when the number of examples is not the protocol's few_shot, or for a protocol that asks
    lists of questions (lists.py).
    """
    check_modality(spec, modality)
    if protocol.asks_lists:
        raise UsageError("this protocol asks lists of questions", found=protocol.name)
    if len(examples) != protocol.few_shot:
        raise UsageError(
            "the number of worked examples is not the protocol's",
            where=f"protocol {protocol.name}, field few_shot",
            expected=str(protocol.few_shot),
            found=str(len(examples)),
        )
    frame = framing(spec, protocol, instance, session, modality)
    system = render(protocol.templates, spec.prompt, message="system", **frame)
    messages = [{"role": "system", "content": system}]
    for example in examples:
        question = _question(spec, protocol, example.instance, example.session, example.turns, modality)
        answer = json.dumps(dict(example.answer), ensure_ascii=False, allow_nan=False)
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    question = _question(spec, protocol, instance, session, turns, modality)
    return [*messages, {"role": "user", "content": question}]


def check_modality(spec: TaskSpec, modality: str) -> None:
    if modality not in spec.modalities:
        raise UsageError(
            f"{spec.key} is not asked in this modality", expected=", ".join(spec.modalities), found=modality
        )


def template_sha256(spec: TaskSpec, protocol: Protocol) -> str:
    """A hash over the files that this task's prompts are made of under this protocol."""
    return sha256_of(prompt_files(spec, protocol))


def visible_turns(context: Context, row_index: int, turns: Sequence[Row]) -> list[Row]:
    """The turns a question may show, in order: those before `row_index`, then that turn itself where granted.

    Of all other turns nothing but their number is looked at.
    """
    by_number = {row["row_index"]: row for row in turns if row["row_index"] <= row_index}
    earlier = sorted(number for number in by_number if number < row_index)
    kept = earlier if context.before == ALL_EARLIER_TURNS else earlier[max(0, len(earlier) - context.before) :]
    if context.current and row_index not in by_number:
        raise RescueError("the turn that a question is about is missing", where=f"turn {row_index}")
    return [by_number[number] for number in [*kept, *([row_index] if context.current else [])]]


def framing(spec: TaskSpec, protocol: Protocol, instance: Row, session: Row, modality: str) -> dict[str, Any]:
    """What a template is told about a question besides the session's data: for the task, the labels and the form."""
    labels: list[Label] = []
    if spec.label_set in LABEL_FILES:
        labels = load_labels().definitions(str(spec.label_set), session["scenario"])
    return {
        "scenario": session["scenario"],
        "modality": modality,
        "has_audio": "tone_of_voice" in CUES[modality],
        "has_visual": "body_posture" in CUES[modality],
        "labels": _ordered(labels, protocol, instance),
        "ranks": wanted_ranks(choices(spec, instance, session)),
    }


def session_data(
    spec: TaskSpec, protocol: Protocol, instance: Row, session: Row, turns: Sequence[Row], modality: str
) -> dict[str, Any]:
    """What a question shows of its session: turns and facts, and which turn it is about."""
    context = protocol.context[spec.key]
    return {
        "turns": [_turn(row, modality) for row in visible_turns(context, instance["row_index"], turns)],
        "facts": {fact: _fact(fact, spec, protocol, instance, session) for fact in spec.facts},
        "turn_number": instance["row_index"],
        "current_shown": context.current,
    }


def _question(
    spec: TaskSpec, protocol: Protocol, instance: Row, session: Row, turns: Sequence[Row], modality: str
) -> str:
    shown = session_data(spec, protocol, instance, session, turns, modality)
    code = quotation_code(json.dumps([shown["turns"], shown["facts"]], ensure_ascii=False))
    frame = framing(spec, protocol, instance, session, modality)
    return render(protocol.templates, spec.prompt, message="user", code=code, **frame, **shown)


def _fact(fact: str, spec: TaskSpec, protocol: Protocol, instance: Row, session: Row) -> Any:
    if fact == "participants":
        return participants(session)
    if fact == "candidates":
        return _ordered(choices(spec, instance, session), protocol, instance)
    return instance[fact]


def _ordered(items: list[Item], protocol: Protocol, instance: Row) -> list[Item]:
    """The items in the benchmark's order, or in one that the protocol's seed and the question determine."""
    if protocol.order_seed is None:
        return items
    return random.Random(f"{protocol.order_seed}:{instance['instance_id']}").sample(items, len(items))


def _turn(row: Row, modality: str) -> dict[str, Any]:
    """What a template sees of a turn: the spoken part, and the cues of the modality; empty cues are left out."""
    return {
        "number": row["row_index"],
        "time": _time_span(row["start_time"], row["end_time"]),
        "speaker": row["speaker"],
        "targets": _names(row["target"]),
        "words": row["dialogue"] or "",
        "background": [
            {"who": f"{item['speaker']} -> {_names(item['target'])}", "text": item["content"]}
            for item in row["background_dialogue"] or []
        ],
        "cues": {cue: notes for cue in CUES[modality] if (notes := _notes(row[cue]))},
    }


def _notes(cue: str | Sequence[Row] | None) -> list[dict[str, str]]:
    """The notes of one cue, each with whom it is about ("" for the tone of voice, which is the speaker's)."""
    if isinstance(cue, str):
        return [{"who": "", "text": cue}] if cue.strip() else []
    return [{"who": _whose(item), "text": item["description"]} for item in cue or [] if item["description"]]


def _whose(item: Row) -> str:
    return str(item["person"]) if "person" in item else f"{item['initiator']} -> {_names(item['target'])}"


def _names(names: Sequence[str] | None) -> str:
    return ", ".join(distinct(names or [])) or "not stated"


def _time_span(start: float | None, end: float | None) -> str:
    """Seconds from the session's start with two decimals: turns of a hundredth of a second occur."""
    return f"{_seconds(start)}-{_seconds(end)} s"


def _seconds(time: float | None) -> str:
    return "?" if time is None or not math.isfinite(time) else f"{time:.2f}"
