"""The one place where text from outside loses its secrets before it is stored, logged or shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from rescue_pipeline.keys import known_secrets

MAX_CHARACTERS = 400
_QUOTE = 20
_LONGEST_READ = 20_000

_PATTERNS = (
    (re.compile(r"(https?://[^\s?\"'<>]+)\?[^\s\"'<>]+"), r"\1?[query]"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"), r"\1 [key]"),
    (
        re.compile(r"(?i)((?:api[-_]?key|token|secret|authorization)[\"']?\s*[:=]\s*[\"']?)[A-Za-z0-9._~+/=-]{6,}"),
        r"\1[key]",
    ),
    (re.compile(r"\b(?:sk|pk|rk|xai|gsk|hf|AIza)[-_A-Za-z0-9]{12,}"), "[key]"),
)


def redact(text: str, *, secrets: Iterable[str] = (), quotes: Iterable[str] = ()) -> str:
    """`text` without keys, URL queries and quoted prompts, on one line, at most 400 characters.

    secrets: exact values to remove besides what looks like a key and every key-like environment variable.
    quotes: texts that were sent (messages): a provider may echo them in its error, and they may be session text.
    """
    text = text[:_LONGEST_READ]
    for secret in sorted({*secrets, *known_secrets()}, key=len, reverse=True):
        text = text.replace(secret, "[key]")
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    text = _without_quotes(text, quotes)
    text = " ".join(text.split())
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def _without_quotes(text: str, quotes: Iterable[str]) -> str:
    """Remove every run of `_QUOTE` or more characters that was also sent, as it stood or as JSON writes it."""
    sent = {
        form[start : start + _QUOTE]
        for quote in quotes
        for form in (quote, json.dumps(quote)[1:-1], json.dumps(quote, ensure_ascii=False)[1:-1])
        for start in range(len(form) - _QUOTE + 1)
    }
    kept, position = [], 0
    while position < len(text):
        end = position
        while text[end : end + _QUOTE] in sent:
            end += 1
        if end > position:
            kept.append("[prompt]")
            position = end + _QUOTE - 1
        else:
            kept.append(text[position])
            position += 1
    return "".join(kept)
