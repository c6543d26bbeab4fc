"""What a reply or an error means: one status of a response, whether to try again, whether to stop the model.

Nothing here looks into the answer itself: that is the parser's work (rescue_pipeline.tasks).
"""

from __future__ import annotations

import email.utils
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

PERMANENT = frozenset({400, 401, 402, 403, 404, 405, 413, 422})
"""Asking again would be answered the same way."""
_STOPS = {
    401: "the key was refused",
    402: "the account has no credit",
    403: "access was refused",
    404: "the model or the address does not exist there",
}
_FILTERED = re.compile(
    r"content_filter|content_policy|responsibleaipolicyviolation|content management policy|data_inspection_failed"
    r"|inappropriate content|flagged|requires moderation|prohibited_content|sensitive_words",
    re.IGNORECASE,
)
_OVER_CONTEXT = re.compile(
    r"context_length_exceeded|maximum context length|context window|context size|context length|max_model_len"
    r"|(prompt|input|request)( \w+){0,3} (is )?too (long|large)|too many (input )?tokens|reduce the length"
    r"|exceeds? the (\w+ ){0,3}(limit|maximum|number) of (input )?tokens|input token count",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"insufficient_quota|exceeded your current quota|insufficient balance", re.IGNORECASE)
_UNKNOWN_PROVIDER = re.compile(r"LLM Provider NOT provided", re.IGNORECASE)


@dataclass(frozen=True)
class Failure:
    """An error, understood. status: of the response if this is the last word. stops: why the whole model must stop."""

    status: str
    kind: str
    text: str
    http_status: int | None = None
    retryable: bool = False
    throttled: bool = False
    retry_after: float | None = None
    stops: str | None = None


@dataclass(frozen=True)
class Verdict:
    """A reply, understood, before its content is parsed."""

    status: str
    content: str | None
    finish_reason: str | None


class MalformedReply(Exception):
    """A reply without any choice in it."""


def classify_error(error: BaseException) -> Failure:
    """What an exception of LiteLLM (or ours) means. Its text is raw: redact it before it goes anywhere."""
    kind, text = type(error).__name__, str(error)
    code = getattr(error, "status_code", None)
    code = int(code) if isinstance(code, int | str) and str(code).isdigit() else None
    if isinstance(error, TimeoutError):
        return Failure("api_error", "timeout", "no reply within the time limit", retryable=True)
    if code in PERMANENT:
        return _permanent(error, kind, text, code)
    if code == 429 and _NO_CREDIT.search(text):
        return Failure("api_error", kind, text, code, stops=_STOPS[402])
    return Failure(
        "api_error",
        kind,
        text,
        code,
        retryable=True,
        throttled=code == 429,
        retry_after=retry_after_seconds(_headers(error)),
    )


def _permanent(error: BaseException, kind: str, text: str, code: int) -> Failure:
    searched = f"{kind} {getattr(error, 'code', '')} {getattr(error, 'body', '')} {text}"
    if kind == "ContentPolicyViolationError" or _FILTERED.search(searched):
        return Failure("filtered", kind, text, code)
    if kind == "ContextWindowExceededError" or (code in (400, 413, 422) and _OVER_CONTEXT.search(searched)):
        return Failure("over_context", kind, text, code)
    stops = _STOPS.get(code)
    if kind == "UnsupportedParamsError":
        stops = "the model does not accept one of the parameters (set it to null under `params` of its entry)"
    elif _UNKNOWN_PROVIDER.search(text):
        stops = "LiteLLM does not know this provider (correct `litellm` of its entry)"
    return Failure("api_error", kind, text, code, stops=stops)


def _headers(error: BaseException) -> Mapping[str, str]:
    own = getattr(error, "litellm_response_headers", None)
    headers = own if own else getattr(getattr(error, "response", None), "headers", None)
    return headers if isinstance(headers, Mapping) else {}


def retry_after_seconds(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """How long the server asks to wait: `Retry-After` in seconds or as an HTTP date; None when it does not say."""
    values = {name.lower(): value for name, value in headers.items()}
    value = values.get("retry-after", "").strip()
    try:
        if values.get("retry-after-ms"):
            return max(0.0, float(values["retry-after-ms"]) / 1000)
        if value and not value[0].isalpha():
            return max(0.0, float(value))
        when = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (aware - (now or datetime.now(UTC))).total_seconds())


def classify_reply(response: Any) -> Verdict:
    """What a reply is, from its signals alone; a reply that was cut off is truncated whatever it holds.

    Raises MalformedReply when there is no choice in it.
    """
    choices = getattr(response, "choices", None)
    if not choices:
        raise MalformedReply("the reply holds no choice")
    message, finish = choices[0].message, choices[0].finish_reason
    content, refusal = message.content, getattr(message, "refusal", None)
    if refusal or finish == "refusal":
        return Verdict("refused", content or refusal, finish)
    if finish == "content_filter":
        return Verdict("filtered", content, finish)
    if finish == "length":
        return Verdict("truncated", content, finish)
    # an answer that stands only in the reasoning is no answer: that text is not read
    return Verdict("ok" if content and content.strip() else "empty", content, finish)
