"""Reading a text that is meant to be one JSON value and may have small faults of form; content is never invented."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

REPAIR_LIMIT = 20_000  # characters; repair is guesswork and slow on long texts

_PUNCTUATION = re.compile(r"[\s{}\[\],:\"'\\]+")


def read_value(text: str) -> tuple[Any, tuple[str, ...]] | None:
    """An object or array and the flags of how it was read: as JSON, from a JSON string, or as a Python literal."""
    for strict in (True, False):
        try:
            value = json.loads(text, strict=strict, object_pairs_hook=_one_value_a_key)
        except _ContradictionError:
            return None
        except (ValueError, RecursionError):
            continue
        decoded = decoded_value(value)
        flags = (() if strict else ("repaired",)) + (("nested",) if decoded is not value else ())
        return (decoded, flags) if isinstance(decoded, dict | list) else None
    return _literal(text)


class _ContradictionError(ValueError):
    """An object gives one key two different values."""


def _one_value_a_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for key, value in pairs:
        if record.setdefault(key, value) != value:
            raise _ContradictionError
    return record


def _literal(text: str) -> tuple[Any, tuple[str, ...]] | None:
    if not text.startswith(("{", "[")):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a backslash in a text is no reason to speak
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return (value, ("repaired",)) if isinstance(value, dict | list) else None


def decoded_value(value: Any) -> Any:
    """The value that a string holds as JSON (a tool call's arguments come so), else the value itself."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def repair_object(text: str) -> dict[str, Any] | None:
    """The object at the end of `text` with its form repaired, if punctuation is all that the repair changed."""
    source = text[max(text.find("{"), 0) :]
    if not source.startswith("{") or not source.endswith("}") or len(source) > REPAIR_LIMIT:
        return None
    import json_repair

    try:
        value = json_repair.loads(source)
        faithful = isinstance(value, dict) and _bare("".join(_leaves(value))) == _bare(source)
    except Exception:  # its guesses fail in many ways, and none of them matters
        return None
    return value if faithful else None


def _bare(text: str) -> str:
    """What is left of a text without punctuation and case: equal when nothing was invented, lost or moved."""
    return _PUNCTUATION.sub("", text).casefold()


def _leaves(value: Any) -> Iterator[str]:
    """Every key and value in it as text, in order."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield json.dumps(value) if isinstance(value, bool | None) else str(value)
