"""How long a server asks to wait, read from the headers of its refusal."""

from __future__ import annotations

import email.utils
import re
from collections.abc import Mapping
from datetime import UTC, datetime

_RESETS = ("x-ratelimit-%s-requests", "x-ratelimit-%s-tokens", "x-ratelimit-%s")
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_EPOCH = 1e9
"""Seconds; a reset above it is a moment, not a duration."""


def retry_after_seconds(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """How long the server asks to wait: `Retry-After` in seconds or as an HTTP date, else when a used-up limit is
    renewed (x-ratelimit-reset-*); None when it does not say.
    """
    values, now = {name.lower(): value.strip() for name, value in headers.items()}, now or datetime.now(UTC)
    value = values.get("retry-after", "")
    try:
        if values.get("retry-after-ms"):
            return _positive(float(values["retry-after-ms"]) / 1000)
        if value and not value[0].isalpha():
            return _positive(float(value))
        when = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return _reset_seconds(values, now)
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return _positive((aware - now).total_seconds())


def _positive(seconds: float) -> float | None:
    """A wait; no wait at all says nothing: who is refused and asks again at once is refused again."""
    return seconds if seconds > 0 else None


def _reset_seconds(values: Mapping[str, str], now: datetime) -> float | None:
    """Of the limits with nothing remaining: when the last of them is renewed."""
    waits = [_seconds(values.get(name % "reset", ""), now) for name in _RESETS if values.get(name % "remaining") == "0"]
    return max((wait for wait in waits if wait is not None), default=None)


def _seconds(text: str, now: datetime) -> float | None:
    """`1.5`, `6m0s`, `120ms`, or a moment in seconds or milliseconds since 1970."""
    try:
        number = float(text)
    except ValueError:
        parts = _DURATION.fullmatch(text)
        if not text or parts is None:
            return None
        days, hours, minutes, seconds, milliseconds = (float(part or 0) for part in parts.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds + milliseconds / 1000
    if number > _EPOCH * 1000:
        number /= 1000
    return max(0.0, number - now.timestamp() if number > _EPOCH else number)
