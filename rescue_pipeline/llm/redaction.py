"""The one place where text from outside loses its secrets before it is stored, logged or shown."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

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
    text = _without(text, _forms({*secrets, *known_secrets()}))
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    text = _without_quotes(text, quotes)
    text = " ".join(text.split())
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def without_keys(record: Mapping[str, Any], secrets: Iterable[str]) -> dict[str, Any]:
    """A record whose texts hold none of the secrets, in no form: a server may echo a key in what it answers."""
    forms = _forms(set(secrets))
    return {name: _without(value, forms) if isinstance(value, str) else value for name, value in record.items()}


def _without(text: str, forms: Sequence[str]) -> str:
    for form in forms:
        text = text.replace(form, "[key]")
    return text


def _forms(secrets: set[str]) -> list[str]:
    """The secrets as they are and as URLs, JSON and base64 write them, the longest first."""
    forms = set(secrets)
    for secret in secrets:
        escaped = json.dumps(secret)[1:-1]
        encoded = secret.encode("utf-8", "surrogatepass")
        forms |= {escaped, escaped.replace("/", "\\/"), quote(secret, safe=""), quote(secret)}
        for variant in (base64.b64encode(encoded), base64.urlsafe_b64encode(encoded)):
            forms |= {variant.decode("ascii"), variant.decode("ascii").rstrip("=")}
    return sorted(forms - {""}, key=len, reverse=True)


def _without_quotes(text: str, quotes: Iterable[str]) -> str:
    """Remove every run of `_QUOTE` or more characters that was also sent, as it stood or as JSON writes it."""
    sent = {
        form[start : start + _QUOTE]
        for told in quotes
        for form in (told, json.dumps(told)[1:-1], json.dumps(told, ensure_ascii=False)[1:-1])
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
