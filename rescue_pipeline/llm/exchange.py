"""A question as it is sent (Request), as it is stored (Reply), and what adds up between the two (Exchange)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from rescue_pipeline.llm import storable
from rescue_pipeline.llm.prices import cost_usd
from rescue_pipeline.llm.registry import Price
from rescue_pipeline.llm.statuses import Failure, Verdict
from rescue_pipeline.llm.tokens import count_tokens
from rescue_pipeline.llm.usage import Usage


@dataclass(frozen=True)
class Request:
    """One question, ready to send. retry_tokens: the larger answer budget if the first answer is cut off."""

    messages: list[dict[str, str]]
    parameters: Mapping[str, Any]
    schema: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    retry_tokens: int | None = None

    @cached_property
    def prompt_tokens(self) -> int:
        """The prompt as our own tokenizer counts it, once."""
        return count_tokens(self.messages)


@dataclass(frozen=True)
class Reply:
    """The outcome of a question; its fields are columns of the response table."""

    status: str
    final: bool
    content: str | None
    finish_reason: str | None
    error_type: str | None
    error: str | None
    http_status: int | None
    rung: str | None
    parameters: str
    attempts: int
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None
    cache_write_tokens: int | None
    usage: str | None
    cost_usd: float | None
    provider_model: str | None
    system_fingerprint: str | None
    counted_tokens: int | None
    charged_usd: float | None
    truncated_in: str | None
    sent_at: str
    seconds: float


@dataclass
class Exchange:
    """What accumulates over the calls of one question: every call that was billed counts. rung: of the last call."""

    rung: str
    parameters: dict[str, Any]
    question_seconds: float
    attempts: int = 0
    reported: int = 0
    """Replies, good or bad, whose provider said what they used; errors are not replies."""
    unreported: int = 0
    """Replies whose provider did not."""
    charged_usd: float = 0.0
    """What the budget was charged for the calls: their cost, else the most they can have cost."""
    usage: Usage = field(default_factory=Usage)
    provider_model: str | None = None
    fingerprint: str | None = None
    _sent_at: datetime | None = None
    _started: float = 0.0

    def sending(self) -> None:
        self.attempts += 1
        if self._sent_at is None:
            self._sent_at, self._started = datetime.now(UTC), time.monotonic()

    def received(self, response: Any, usage: Usage) -> None:
        self.reported += usage.prompt is not None
        self.unreported += usage.prompt is None
        self.usage += usage
        self.provider_model = getattr(response, "model", None)
        self.fingerprint = getattr(response, "system_fingerprint", None)

    def _cost_usd(self, price: Price | None) -> float | None:
        """None when any reply said nothing of its usage: what the others cost is not the cost of the question."""
        unknown = self.unreported and not (price is not None and price.is_free)
        return None if unknown else cost_usd(price, self.usage)

    def seconds_left(self) -> float:
        """Of the question's time; its clock starts with the first call, not while it waits for its turn."""
        used = time.monotonic() - self._started if self._sent_at else 0.0
        return self.question_seconds - used

    def reply(
        self, outcome: Verdict | Failure, price: Price | None, error: str | None, prompt_tokens: int | None
    ) -> Reply:
        """The row to store; error: the failure's text, already redacted; prompt_tokens: by our own count."""
        failure = outcome if isinstance(outcome, Failure) else None
        verdict = outcome if isinstance(outcome, Verdict) else None
        return Reply(
            status=outcome.status,
            final=outcome.status != "api_error",
            content=storable.text(verdict.content) if verdict else None,
            finish_reason=storable.text(verdict.finish_reason) if verdict else None,
            error_type=failure.kind if failure else None,
            error=storable.text(error),
            http_status=failure.http_status if failure else None,
            rung=self.rung,
            parameters=json.dumps(self.parameters, sort_keys=True, allow_nan=False),
            attempts=self.attempts,
            prompt_tokens=self.usage.prompt,
            completion_tokens=self.usage.completion,
            reasoning_tokens=self.usage.reasoning,
            cached_tokens=self.usage.cached,
            cache_write_tokens=self.usage.cache_write,
            usage=self.usage.as_reported(),
            cost_usd=self._cost_usd(price),
            provider_model=storable.text(self.provider_model),
            system_fingerprint=storable.text(self.fingerprint),
            counted_tokens=None if prompt_tokens is None else prompt_tokens * self.reported,
            charged_usd=self.charged_usd,
            truncated_in=verdict.truncated_in if verdict else None,
            sent_at=(self._sent_at or datetime.now(UTC)).isoformat(),
            seconds=round(time.monotonic() - self._started, 6) if self._sent_at else 0.0,
        )
