"""What a parameter of a model may be: something that can be sent and stored as JSON."""

from __future__ import annotations

import math
from typing import Any

from pydantic_core import PydanticCustomError


def refuse_unsendable(value: Any, where: str = "") -> None:
    """Raise a validation error that names the first value, at any depth, that is no JSON."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise wrong_parameter(where, "texts as keys (in quotes)", name)
            refuse_unsendable(inner, f"{where}.{name}".lstrip("."))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            refuse_unsendable(inner, f"{where}.{number}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise wrong_parameter(where, "a finite number", value)
    elif value is not None and not isinstance(value, str | int | float):
        raise wrong_parameter(where, "what JSON can hold: text, number, true, false, null, list or mapping", value)


def wrong_parameter(name: str, expected: str, value: Any) -> PydanticCustomError:
    """name: below `params`. The value itself is shown only when it is a number: a text may be a key."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    found = repr(value) if is_number else type(value).__name__
    return PydanticCustomError("parameter", "{expected}", {"expected": expected, "field": name, "found": found})
