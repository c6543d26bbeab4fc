"""Asking one model one question: the only retry layer and the only clock.

The client never raises for a reply or an error of the model: whatever happens becomes a Reply with one status.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace

from rescue_pipeline.errors import RescueError
from rescue_pipeline.llm.adapter import api_key, complete, response_format, rung_of
from rescue_pipeline.llm.exchange import Exchange, Reply, Request
from rescue_pipeline.llm.limits import Gate
from rescue_pipeline.llm.prices import price_of
from rescue_pipeline.llm.redaction import redact
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.statuses import Failure, Verdict, classify_error, classify_reply


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how soon a request is repeated. Haste (429) is repeated until the question's time is over."""

    attempts: int = 5
    base_seconds: float = 1.0
    cap_seconds: float = 60.0
    failures_in_a_row: int = 10
    """So many questions failing one after the other end the model: it is down, and asking on would only take time."""

    def pause(self, attempt: int) -> float:
        """Seconds before the next try: exponential, with jitter so that workers do not return in step."""
        return min(self.cap_seconds, self.base_seconds * 2.0 ** min(attempt - 1, 20)) * random.uniform(0.5, 1.0)


class Client:
    """Asks one model, for all its partitions. `stopped` says why nobody should ask it any more."""

    def __init__(self, entry: ModelEntry, gate: Gate, policy: RetryPolicy) -> None:
        self.entry, self.gate, self.policy = entry, gate, policy
        self.price = price_of(entry)
        self.stopped: str | None = None
        self._failures_in_a_row = 0
        self._key: str | None = None
        try:
            self._key = api_key(entry)
        except RescueError as error:
            self.stopped = str(error)

    async def ask(self, request: Request) -> Reply:
        """Ask until there is a final answer, a permanent error, or the question's time or tries are over.

        A reply with 0 attempts was never sent, because the model was stopped meanwhile.
        """
        exchange = Exchange(
            rung_of(self.entry, request.schema), dict(request.parameters), self.gate.limits.question_seconds
        )
        outcome = await self._try(request, exchange)
        if outcome.status == "truncated" and request.retry_tokens:
            exchange.parameters["max_tokens"] = request.retry_tokens
            again = await self._try(request, exchange)
            # once only: should the second call fail, the cut answer is still all there is
            outcome = outcome if again.status == "api_error" else again
        error = self._safe(outcome.text, request) if isinstance(outcome, Failure) else None
        if exchange.attempts:
            self._watch(outcome, error)
        return exchange.reply(outcome, self.price, error)

    async def _try(self, request: Request, exchange: Exchange) -> Verdict | Failure:
        """Send, and send again while that may help."""
        outcome, failures = await self._send(request, exchange), 0
        while isinstance(outcome, Failure) and outcome.retryable and self.stopped is None:
            failures += not outcome.throttled
            pause = self.policy.pause(exchange.attempts) if outcome.retry_after is None else outcome.retry_after
            if pause > self.gate.limits.question_seconds:
                return replace(outcome, stops=f"the endpoint asks to wait {pause:.0f} seconds")
            shared = outcome.throttled or outcome.retry_after is not None
            if shared:
                self.gate.throttled(pause)  # everyone who asks there waits, this question too
            if failures >= self.policy.attempts or pause >= exchange.seconds_left():
                return outcome
            if not shared:
                await asyncio.sleep(pause)
            try:
                async with asyncio.timeout(exchange.seconds_left()):
                    outcome = await self._send(request, exchange)
            except TimeoutError:
                return outcome
        return outcome

    async def _send(self, request: Request, exchange: Exchange) -> Verdict | Failure:
        """One call, in one of the model's places."""
        async with self.gate.slot(request.expected_tokens()):
            if self.stopped is not None:
                return Failure("api_error", "stopped", self.stopped)
            exchange.sending()
            seconds = max(0.001, min(self.gate.limits.call_seconds, exchange.seconds_left()))
            try:
                async with asyncio.timeout(seconds):
                    response = await complete(
                        self.entry,
                        request.messages,
                        exchange.parameters,
                        form=response_format(exchange.rung, request.schema),
                        metadata=request.metadata,
                        seconds=seconds + 1,  # ours ends first: a provider's clock may restart with every byte
                    )
                exchange.received(response, zero_is_real=self.entry.is_baseline)
                verdict = classify_reply(response)
            except Exception as error:
                return classify_error(error)
            self.gate.succeeded()
            return verdict

    def _watch(self, outcome: Verdict | Failure, error: str | None) -> None:
        """Stop the model on an error that every question would meet."""
        if not isinstance(outcome, Failure) or outcome.status != "api_error":
            self._failures_in_a_row = 0
            return
        self._failures_in_a_row += 1
        if self.stopped is not None:
            return
        if outcome.stops is not None:
            self.stopped = f"{outcome.stops} ({error})"
        elif self._failures_in_a_row >= self.policy.failures_in_a_row:
            self.stopped = f"{self._failures_in_a_row} questions failed one after the other ({error})"

    def _safe(self, text: str, request: Request) -> str:
        return redact(text, secrets=[self._key] if self._key else [], quotes=[m["content"] for m in request.messages])
