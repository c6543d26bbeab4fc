"""From an object that holds an answer's fields to the canonical answer: one reader per answer model.

A reader reads fields; it never searches a text for a label. The statuses and flags are explained in parsing.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rescue_pipeline.tasks.answers import (
    INTENSITIES,
    MAX_RANKS,
    Answer,
    EmotionAnswer,
    Ranking,
    TimingAnswer,
    Viewpoint,
    ViewpointsAnswer,
    wanted_ranks,
)
from rescue_pipeline.tasks.extraction import Found, storable
from rescue_pipeline.tasks.labels import normalise_label

Matcher = Callable[[str], str | None]

_RANK_WORDS = {"first": 1, "second": 2, "third": 3}
_ITEM_KEYS = ("label", "name", "value", "pattern", "strategy", "target")
_WHOLE_NUMBER = re.compile(r"\s*([0-9]{1,4})(?:\.0+)?\s*")


class Outcome(NamedTuple):
    """What a reader made of an object."""

    status: str
    answer: Answer | None = None
    flags: tuple[str, ...] = ()


def read_timing(record: dict[str, Any]) -> Outcome:
    value = record.get("should_speak")
    if isinstance(value, bool):
        return Outcome("ok", TimingAnswer(should_speak="yes" if value else "no"), ("boolean",))
    if not isinstance(value, str):
        return Outcome("empty" if value is None else "unparseable")
    label = normalise_label(value)
    if label in ("true", "false"):
        return read_timing({"should_speak": label == "true"})
    if label not in ("yes", "no"):
        return Outcome("out_of_set" if label else "empty")
    return Outcome("ok", TimingAnswer.model_validate({"should_speak": label}))


def read_ranking(model: type[Ranking], record: dict[str, Any], match: Matcher, choices: Sequence[str]) -> Outcome:
    """Unknown labels and repeats are removed before ranks are read; so neither costs or earns a rank."""
    items = _ranked_items(record.get(model.field))
    if items is None:
        return Outcome("unparseable")
    texts = [text for item in items if (text := _item_text(item)).strip()]
    if not texts:
        return Outcome("empty" if all(item is None or isinstance(item, str) for item in items) else "unparseable")
    matched = [(text, match(text)) for text in texts]
    known = [label for _, label in matched if label is not None]
    ranks = list(dict.fromkeys(known))
    flags = {
        "unknown_label": len(known) < len(items),
        "repeated_label": len(ranks) < len(known),
        "extra_labels": len(ranks) > MAX_RANKS,
        "short_list": len(ranks) < wanted_ranks(choices),
    }
    raised = tuple(flag for flag, holds in flags.items() if holds)
    if not ranks:
        return Outcome("out_of_set", None, ("unknown_label",))
    return Outcome("ok", model.model_validate({model.field: ranks[:MAX_RANKS]}), raised)


def read_emotion(record: dict[str, Any]) -> Outcome:
    emotion, intensity = record.get("emotion"), whole_number(record.get("intensity"))
    if emotion is None or (isinstance(emotion, str) and not emotion.strip()):
        return Outcome("empty", None, ("no_emotion",))
    if not isinstance(emotion, str):
        return Outcome("unparseable", None, ("bad_emotion",))
    if intensity not in INTENSITIES:
        return Outcome("unparseable", None, ("bad_intensity",))
    return Outcome("ok", EmotionAnswer.model_validate({"emotion": storable(emotion), "intensity": intensity}))


def read_viewpoints(record: dict[str, Any], match: Matcher) -> Outcome:
    """Items that name someone who is not there are dropped; a target list counts as one viewpoint for each name."""
    items = record.get("viewpoints")
    if items in (None, "", [], {}):
        return Outcome("empty")
    items = [items] if isinstance(items, dict) else items
    if not isinstance(items, list):
        return Outcome("unparseable")
    flags: dict[str, None] = {}
    kept: dict[Viewpoint, None] = {}
    for item in items:
        for entry in _viewpoint_entries(item):
            viewpoint, flag = _viewpoint(entry, match)
            if flag is not None:
                flags[flag] = None
            elif viewpoint in kept:
                flags["repeated_viewpoint"] = None
            elif viewpoint is not None:
                kept[viewpoint] = None
    if kept:
        return Outcome("ok", ViewpointsAnswer(viewpoints=list(kept)), tuple(flags))
    return Outcome(_why_none(flags), None, tuple(flags))


def bare_fields(model: type[Answer], found: Found) -> dict[str, Any] | None:
    """The fields of an answer that came without its object: a list of labels, or of viewpoints, or one viewpoint.

    Only where the whole text is that value: inside running text it could be a part of something else.
    """
    if not found.whole:
        return None
    items = found.value if isinstance(found.value, list) else [found.value]
    if issubclass(model, Ranking) and items and all(isinstance(item, str) for item in items):
        return {model.field: items}
    if model is ViewpointsAnswer and items and all(_is_viewpoint(item) for item in items):
        return {"viewpoints": items}
    return None


def whole_number(value: Any) -> int | None:
    """An integer, an integer-valued number, or either as text; None for all else (a boolean, `8/10`, 4.5, 4-5)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        number = _WHOLE_NUMBER.fullmatch(value)
        return int(number[1]) if number else None
    return value if isinstance(value, int) else None


def _ranked_items(value: Any) -> list[Any] | None:
    if value is None or isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        ranks = {_rank(key): item for key, item in value.items()}
        return None if None in ranks else [ranks[rank] for rank in sorted(ranks)]  # type: ignore[type-var]
    return value if isinstance(value, list) else None


def _rank(key: Any) -> int | None:
    """The rank that a key stands for: "1", "rank_1", "first"."""
    name = normalise_label(str(key))
    digits = re.fullmatch(r"(?:rank|top|choice)?_?([0-9]{1,3})", name)
    return int(digits[1]) if digits else _RANK_WORDS.get(name)


def _item_text(item: Any) -> str:
    if isinstance(item, dict):
        item = next((item[key] for key in _ITEM_KEYS if isinstance(item.get(key), str)), "")
    return item if isinstance(item, str) else ""


def _is_viewpoint(item: Any) -> bool:
    keys = {normalise_label(key) for key in item if isinstance(key, str)} if isinstance(item, dict) else set()
    return keys >= set(Viewpoint.model_fields)


def _viewpoint_entries(item: Any) -> list[Any]:
    """The item, once for each of its targets."""
    if not isinstance(item, dict):
        return [item]
    entry = {normalise_label(key): value for key, value in item.items() if isinstance(key, str)}
    target = entry.get("target")
    return [{**entry, "target": name} for name in target] if isinstance(target, list) and target else [entry]


def _viewpoint(entry: Any, match: Matcher) -> tuple[Viewpoint | None, str | None]:
    """A viewpoint, or the flag that says why it was dropped."""
    texts = [entry.get(field) for field in Viewpoint.model_fields] if isinstance(entry, dict) else [None]
    source, target, viewpoint = texts if all(isinstance(text, str) for text in texts) else (None, None, None)
    if source is None or target is None or viewpoint is None:
        return None, "malformed_viewpoint"
    if not viewpoint.strip():
        return None, "empty_viewpoint"
    people = {"source": match(source), "target": match(target)}
    if None in people.values():
        return None, "unknown_person"
    return Viewpoint.model_validate({**people, "viewpoint": storable(viewpoint)}), None


def _why_none(flags: dict[str, None]) -> str:
    """The status of an answer none of whose viewpoints is left: the most informative reason."""
    if "unknown_person" in flags:
        return "out_of_set"
    return "empty" if "empty_viewpoint" in flags else "unparseable"
