"""What a reply or an error means: one status of a response, whether to try again, whether to stop the model.

Nothing here looks into the answer itself: that is the parser's work (rescue_pipeline.tasks).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rescue_pipeline.llm.tool import TOOL_NAME
from rescue_pipeline.llm.waits import retry_after_seconds

PERMANENT = frozenset({400, 401, 402, 403, 404, 405, 413, 415, 422, 501})
"""Asking again would be answered the same way."""
_HASTE = frozenset({429, 529})
_DOWN = frozenset({500, 503})
"""LiteLLM gives a lost connection the status 500 too."""
_STOPS = {
    401: "the key was refused",
    402: "the account has no credit",
    403: "access was refused",
    404: "the model or the address does not exist there",
}
_INTERRUPTED = frozenset({"insufficient_system_resource", "error", "abort", "aborted", "cancelled", "timeout"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REDIRECTED = "the endpoint sends its callers to another address, which is not followed (correct api_base of its entry)"
_FILTERED = re.compile(
    r"content_filter|content_policy|responsibleaipolicyviolation|content management policy|data_inspection_failed"
    r"|inappropriate content|flagged|\bmoderat(ion|ed)\b|prohibited_content|sensitive_words"
    r"|(blocked|rejected|refused|violat\w+)[^.]{0,40}\b(usage|content|safety) polic(y|ies)",
    re.IGNORECASE,
)
_OVER_CONTEXT = re.compile(
    r"context_length_exceeded|maximum context length|context window|context size|context length|max_model_len"
    r"|(prompt|input|request)( \w+){0,3} (is )?too (long|large)|too many (input )?tokens|reduce the length"
    r"|exceeds? the (\w+ ){0,3}(limit|maximum|number) of (input )?tokens|input token count",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"insufficient_quota|exceeded your current quota|insufficient balance", re.IGNORECASE)
_DAILY = re.compile(
    r"\bper[-_ ]?day|\bdaily[-_ ](\w+[-_ ])?(limit|quota|requests?|tokens?|cap|allowance)|\b(limit|quota) \w+ daily\b"
    r"|\b[rt]pd\b|(requests?|tokens?)_?per_?day|\b(limit|quota)[^.]{0,40}\b24 ?h(ours)?\b",
    re.IGNORECASE,
)
_DAILY_HEADER = re.compile(r"ratelimit-remaining-(requests|tokens)-day$")
_FORM = {
    "json_schema": r"response_?format|json[_ ]?schema|structured[_ ]?outputs?|guided|grammar|(output|response)_schema",
    "tool": r"\btools?\b|tool_choice|function[_ ]?call|\bfunctions?\b|grammar|input_schema|response_?format",
    "json_object": r"response_?format|json[_ ]?(object|mode|schema)|structured[_ ]?outputs?|guided|grammar",
}
"""What an error speaks of when it is the form of the answer that the server does not take, by rung."""
_FORM_CODES = frozenset({400, 415, 422, 501})
_NOBODY = frozenset({"ConnectError", "ConnectTimeout", "ClientConnectorError", "ConnectionRefusedError", "gaierror"})
_DEEPEST_CAUSE = 10
_NEARLY_ALL = 0.95
"""Of the completion spent on reasoning."""
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
    unread: bool = False
    """The request was refused before a model saw it: it cost nothing."""
    in_other_form: bool = False
    """To be asked again at once: the server takes answers of another form."""

    def about_form(self, rung: str) -> bool:
        """Whether the server takes no request that asks for the answer's form in this way."""
        words = _FORM.get(rung)
        if words is None or self.status != "api_error" or not re.search(words, self.text, re.IGNORECASE):
            return False
        if self.kind == "UnsupportedParamsError" or self.http_status in _FORM_CODES:
            return True
        # some servers fail while they compile a grammar; some routers know no host that takes tools
        lowered = self.text.lower()
        return (self.http_status == 500 and "grammar" in lowered) or (self.http_status == 404 and "support" in lowered)


@dataclass(frozen=True)
class Verdict:
    """A reply, understood, before its content is parsed. truncated_in: what was cut off, `answer` or `reasoning`."""

    status: str
    content: str | None
    finish_reason: str | None
    truncated_in: str | None = None


class MalformedReply(Exception):
    """A reply without any choice in it."""


class InterruptedReply(Exception):
    """A reply that the server broke off, by no limit of ours: what there is of it is no answer."""


def classify_error(error: BaseException) -> Failure:
    """What an exception of LiteLLM (or ours) means. Its text is raw: redact it before it goes anywhere."""
    kind, text = type(error).__name__, str(error)
    code = getattr(error, "status_code", None)
    code = int(code) if isinstance(code, int | str) and str(code).isdigit() else None
    code = _redirect(error) or code
    if code in _REDIRECTS:
        return Failure("api_error", kind, text, code, stops=_REDIRECTED, unread=True)
    if isinstance(error, TimeoutError):
        return Failure("api_error", "timeout", "no reply within the time limit", retryable=True)
    if code in PERMANENT:
        return _permanent(error, kind, text, code)
    headers = _headers(error)
    stops = _used_up(_searched(error), headers) if code in _HASTE else None
    return Failure(
        "api_error",
        kind,
        text,
        code,
        retryable=stops is None,
        throttled=code in _HASTE,
        retry_after=retry_after_seconds(headers),
        stops=stops,
        unread=code in _HASTE or _never_read(error, code),
    )


def _used_up(text: str, headers: Mapping[str, str]) -> str | None:
    """Why waiting for a pause would not help; None when it would."""
    if _NO_CREDIT.search(text):
        return _STOPS[402]
    gone = any(_DAILY_HEADER.search(name.lower()) and value.strip() == "0" for name, value in headers.items())
    return "the daily quota is used up" if gone or _DAILY.search(text) else None


def _never_read(error: BaseException, code: int | None) -> bool:
    """Whether no model saw the request: nobody was there, or the server said that it is down."""
    causes = _causes(error)
    return bool(causes & _NOBODY) or (code in _DOWN and "HTTPStatusError" in causes)


def _causes(error: BaseException) -> set[str]:
    """What an error comes from; LiteLLM tells it in no other way."""
    return {type(cause).__name__ for cause in _chain(error)}


def _chain(error: BaseException) -> list[BaseException]:
    chain, cause = [error], error.__cause__ or error.__context__
    while cause is not None and len(chain) < _DEEPEST_CAUSE:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    return chain


def _searched(error: BaseException) -> str:
    """All that an error says: some servers name the reason in a code alone."""
    chain = [f"{getattr(one, 'code', '')} {getattr(one, 'body', '')}" for one in _chain(error)]
    return " ".join([type(error).__name__, *chain, str(error)])


def _redirect(error: BaseException) -> int | None:
    """The status of a redirect that was not followed; LiteLLM gives it others."""
    codes = [getattr(getattr(one, "response", None), "status_code", None) for one in _chain(error)]
    return next((code for code in codes if isinstance(code, int) and code in _REDIRECTS), None)


def _permanent(error: BaseException, kind: str, text: str, code: int) -> Failure:
    searched = _searched(error)
    if kind == "ContentPolicyViolationError" or _FILTERED.search(searched):
        return Failure("filtered", kind, text, code, unread=True)
    if kind == "ContextWindowExceededError" or (code in (400, 413, 422) and _OVER_CONTEXT.search(searched)):
        return Failure("over_context", kind, text, code, unread=True)
    stops = _STOPS.get(code)
    if kind == "UnsupportedParamsError":
        stops = "the model does not accept one of the parameters (set it to null under `params` of its entry)"
    elif _UNKNOWN_PROVIDER.search(text):
        stops = "LiteLLM does not know this provider (correct `litellm` of its entry)"
    return Failure("api_error", kind, text, code, stops=stops, unread=True)


def _headers(error: BaseException) -> Mapping[str, str]:
    own = getattr(error, "litellm_response_headers", None)
    headers = own if own else getattr(getattr(error, "response", None), "headers", None)
    return headers if isinstance(headers, Mapping) else {}


def classify_reply(response: Any) -> Verdict:
    """What a reply is, from its signals alone; a reply that was cut off is truncated whatever it holds.

    Raises MalformedReply when there is no choice in it, InterruptedReply when the server broke off.
    """
    choices = getattr(response, "choices", None)
    if not choices:
        raise MalformedReply("the reply holds no choice")
    message, finish = choices[0].message, choices[0].finish_reason
    own = (getattr(choices[0], "provider_specific_fields", None) or {}).get("native_finish_reason")
    if own in _INTERRUPTED:  # LiteLLM makes a "stop" of it
        raise InterruptedReply(f"the server broke off: {own}")
    content, refusal = _content(message), getattr(message, "refusal", None)
    if refusal or finish == "refusal":
        return Verdict("refused", content or refusal, finish)
    if finish == "content_filter":
        return Verdict("filtered", content, finish)
    if finish == "length":
        return Verdict("truncated", content, finish, _cut_in(content, getattr(response, "usage", None)))
    # an answer that stands only in the reasoning is no answer: that text is not read
    return Verdict("ok" if content and content.strip() else "empty", content, finish)


def _content(message: Any) -> str | None:
    """The answer's text: the arguments of the call where the answer was given as a call of the tool asked for."""
    calls = [getattr(call, "function", None) for call in getattr(message, "tool_calls", None) or []]
    given = dict.fromkeys(call.arguments for call in calls if call and call.name == TOOL_NAME and call.arguments)
    # calls that differ all stand in the text: which one is meant is not for us to choose, and the parser sees it
    content: str | None = "\n".join(given) or message.content
    return content


def _cut_in(content: str | None, usage: Any) -> str:
    """Where a reply was cut off: in the reasoning when nothing of an answer is to be seen, or hardly anything."""
    visible = (content or "").strip().lower()
    thinking = visible.startswith("<think") and "</think" not in visible
    reasoning = getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None) or 0
    completion = getattr(usage, "completion_tokens", None) or 0
    mostly = completion > 0 and reasoning >= _NEARLY_ALL * completion
    return "reasoning" if not visible or thinking or mostly else "answer"
