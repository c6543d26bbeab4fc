"""What a table can hold of what a server said: text without half characters, counts that are counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

LARGEST_COUNT = 10**12
"""Tokens; no call uses more, and the sum over all calls of a question stays a 64-bit integer."""
_INTEGERS = range(-(2**63), 2**63)


def text(value: Any) -> str | None:
    """A text with half surrogate pairs replaced: a model can send one, Parquet cannot store it. No text is None."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else None


def count(value: Any) -> int | None:
    """A count of tokens; None for anything that cannot be one (negative, fractional, absurdly large)."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and 0 <= value <= LARGEST_COUNT else None


def row(fields: Mapping[str, Any], counts: Iterable[str]) -> dict[str, Any]:
    """A journaled record as a table can hold it; counts: the fields that are whole numbers or null."""
    whole = set(counts)
    return {name: _cell(value, whole=name in whole) for name, value in fields.items()}


def _cell(value: Any, *, whole: bool) -> Any:
    if whole:
        return value if isinstance(value, int) and value in _INTEGERS else None
    return text(value) if isinstance(value, str) else value
