"""From the text of a response to the JSON values it holds: a ladder that repairs form and never invents content.

The rungs, each tried only when those above gave nothing:

1. the whole text as JSON (control characters inside strings allowed), as one code fence, as a Python literal;
2. the same after reasoning is dropped: closed blocks, an unclosed block to its end, all before a stray closing tag;
3. each code fence, closed or not;
4. each balanced object in running text, from left to right; an object that never closes ends the search;
5. `json_repair` on a text that ends where its object ends, kept only if punctuation is all that it changed.

Whether a value is an answer is decided in parsing.py and judging.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rescue_pipeline.tasks.jsonlike import decoded_value, read_value, repair_object
from rescue_pipeline.tasks.labels import normalise_label

PARSER_VERSION = "2"
"""Names how answers are read (here, jsonlike.py, interpreting.py, parsing.py, lists.py, and cut_prompts.py in llm);
raised with every change of that."""

NESTING_LIMIT = 3

_REASONING = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_REASONING_TAG = re.compile(
    rf"(?P<open><\s*(?:{_REASONING})\b[^<>]*>|(?-i:\[THINK\])|◁think▷)"
    rf"|(?P<close><\s*/\s*(?:{_REASONING})\s*>|(?-i:\[/THINK\])|◁/think▷)",
    re.IGNORECASE,
)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]*<\|message\|>")
_FENCE = re.compile(r"```[ \t]*[\w+-]*[ \t]*\r?\n?(.*?)(?:```|\Z)", re.DOTALL)
_FENCE_OPENING = re.compile(r"\A```[ \t]*[\w+-]*")
_BRACE = re.compile(r"[{}]")
_REASON_KEYS = ("reason", "reasoning", "rationale", "explanation")
THOUGHT_KEYS = frozenset({*_REASON_KEYS, "thinking", "thought", "thoughts", "analysis"})


@dataclass(frozen=True)
class Found:
    """A value read from a text. `whole` says that the text, or a code fence, was this value and nothing else."""

    value: Any
    flags: tuple[str, ...] = ()
    whole: bool = True

    def flagged(self, *flags: str) -> Found:
        return replace(self, flags=(*self.flags, *flags))


def values(text: str) -> Iterator[Found]:
    """The objects and arrays in `text`, in the order of the ladder. Never raises."""
    text = text.strip().lstrip("\ufeff").strip()
    found = _whole(text)
    if found is not None:
        yield found
        return
    answer = without_reasoning(text)
    dropped = ("reasoning_dropped",) if answer != text else ()
    for found in _in_answer(answer, changed=bool(dropped)):
        yield found.flagged(*dropped)


def without_reasoning(text: str) -> str:
    """`text` without its reasoning blocks; "" when nothing but reasoning is there."""
    channels = list(_CHANNEL.finditer(text))
    if channels:
        return text[channels[-1].end() :].strip() if channels[-1][1] == "final" else ""
    kept: list[str] = []
    position, inside = 0, False
    for tag in _REASONING_TAG.finditer(text):
        if tag["close"]:
            # a closing tag without an opening one: a chat template had opened the block before the text began
            kept = kept if inside else []
            position, inside = tag.end(), False
        elif not inside:
            kept.append(text[position : tag.start()])
            inside = True
    return "".join([*kept, "" if inside else text[position:]]).strip()


def locate(found: Found, fields: tuple[str, ...], depth: int = NESTING_LIMIT) -> tuple[dict[str, Any], Found] | None:
    """The one object in a value that has any of `fields`, keys in normal form; wrappers are opened, reasons are not."""
    value = decoded_value(found.value)
    if isinstance(value, list):
        value = {"item": value[0]} if len(value) == 1 else {}
    if not isinstance(value, dict):
        return None
    record = {normalise_label(key): item for key, item in value.items() if isinstance(key, str)}
    if any(field in record for field in fields):
        return record, found
    if depth == 0:
        return None
    inner = [Found(item, found.flags, found.whole) for key, item in record.items() if key not in THOUGHT_KEYS]
    hits = [hit for item in inner if (hit := locate(item, fields, depth - 1)) is not None]
    return (hits[0][0], hits[0][1].flagged("nested")) if len(hits) == 1 else None


def reason_of(record: dict[str, Any]) -> str | None:
    """The reason an answer gives, or None."""
    texts = (record.get(key) for key in _REASON_KEYS)
    return next((storable(text).strip() for text in texts if isinstance(text, str) and text.strip()), None)


def storable(text: str) -> str:
    """`text` as valid Unicode: JSON can escape half a surrogate pair, which no file can hold."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _in_answer(text: str, *, changed: bool) -> Iterator[Found]:
    found = _whole(text) if changed else None
    if found is not None:
        yield found
        return
    for fence in _FENCE.finditer(text):
        found = _whole(fence[1].strip())
        if found is not None:
            yield found.flagged("fenced", "surrounding_text")
    yield from _balanced(text)
    repaired = repair_object(_unfenced(text))
    if repaired is not None:
        yield Found(repaired, ("repaired",), whole=False)


def _whole(text: str) -> Found | None:
    if (read := read_value(text)) is not None:
        return Found(*read)
    if text.startswith("```") and (read := read_value(_unfenced(text))) is not None:
        return Found(*read).flagged("fenced")
    return None


def _unfenced(text: str) -> str:
    return _FENCE_OPENING.sub("", text).removesuffix("```").strip()


def _balanced(text: str) -> Iterator[Found]:
    """Each outermost `{...}` that reads as an object."""
    start = text.find("{")
    while start >= 0:
        end = _closing(text, start)
        if end is None:
            return  # cut off: an inner object that is complete would pass for the answer
        read = read_value(text[start:end])
        if read is not None:
            yield Found(*read, whole=False).flagged("surrounding_text")
        start = text.find("{", end)


def _closing(text: str, start: int) -> int | None:
    """Where the object that begins at `start` ends: as JSON knows strings, else by counting braces alone."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return None
