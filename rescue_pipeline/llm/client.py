"""Asking one model one question: the only retry layer and the only clock.

The client never raises for a reply or an error of the model: whatever happens becomes a Reply with one status.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from rescue_pipeline.errors import RescueError
from rescue_pipeline.llm import storable
from rescue_pipeline.llm.adapter import api_key
from rescue_pipeline.llm.budget import Budget
from rescue_pipeline.llm.capabilities import Capabilities
from rescue_pipeline.llm.exchange import Exchange, Reply, Request
from rescue_pipeline.llm.lengths import too_long
from rescue_pipeline.llm.limits import Gate
from rescue_pipeline.llm.line import Line, Outcome
from rescue_pipeline.llm.prices import longest_answer
from rescue_pipeline.llm.redaction import redact
from rescue_pipeline.llm.registry import ANSWER_LIMITS, ModelEntry
from rescue_pipeline.llm.statuses import Failure

_LONG_PROMPT = 20_000
"""Characters beyond which the tokenizer would hold up the other requests."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how soon a request is repeated. Haste (429) is repeated until the question's time is over."""

    attempts: int = 5
    base_seconds: float = 1.0
    cap_seconds: float = 60.0
    failures_in_a_row: int = 10
    """So many questions failing one after the other end the model: it is down, and asking on would only take time."""

    def pause(self, failures: int) -> float:
        """Seconds before the next try: exponential, with jitter so that workers do not return in step."""
        return min(self.cap_seconds, self.base_seconds * 2.0 ** min(failures - 1, 20)) * random.uniform(0.5, 1.0)


class Client:
    """Asks one model, for all its partitions. `stopped` says why nobody should ask it any more."""

    def __init__(
        self, entry: ModelEntry, gate: Gate, policy: RetryPolicy, budget: Budget, capabilities: Capabilities
    ) -> None:
        self.entry, self.gate, self.policy = entry, gate, policy
        self.line = Line(entry, gate, budget, capabilities)
        self._failures_in_a_row = 0
        self._key: str | None = None
        try:
            self._key = api_key(entry)
        except RescueError as error:
            self.line.stop(str(error))

    @property
    def stopped(self) -> str | None:
        return self.line.stopped

    @property
    def closing(self) -> bool:
        return self.line.closing

    def close(self) -> None:
        """Send no new question and try no failed one again; what is in flight may come back."""
        self.line.close()

    async def ask(self, request: Request) -> Reply:
        """Ask until there is a final answer, a permanent error, or the question's time or tries are over.

        A reply with 0 attempts that is not final was never sent, because the model was stopped meanwhile.
        """
        tokens = None if self.entry.is_baseline else await _counted(request)
        exchange = Exchange(
            self.line.ladder.rung(request.schema), dict(request.parameters), self.gate.limits.question_seconds
        )
        outcome: Outcome | None = too_long(tokens, longest_answer(request.parameters), self.entry.context_tokens)
        outcome = outcome or await self._try(request, exchange)
        if outcome.status == "truncated" and request.retry_tokens and self._fits(tokens, request.retry_tokens):
            limits = [name for name in ANSWER_LIMITS if name in exchange.parameters]
            exchange.parameters.update(dict.fromkeys(limits or ANSWER_LIMITS[:1], request.retry_tokens))
            # once only; should the second call fail, the question is still open, and asked again by the next run
            outcome = await self._try(request, exchange)
        error = self._safe(outcome.text, request) if isinstance(outcome, Failure) else None
        if exchange.attempts:
            self._watch(outcome, error)
        return exchange.reply(outcome, self.line.price, error, tokens)

    def _fits(self, tokens: int | None, answer: int) -> bool:
        return too_long(tokens, answer, self.entry.context_tokens) is None

    async def _try(self, request: Request, exchange: Exchange) -> Outcome:
        """Send, and send again while that may help."""
        outcome, failures = await self.line.send(request, exchange), 0
        while isinstance(outcome, Failure) and outcome.retryable and not self.line.ended.is_set():
            failures += not outcome.throttled
            paused = outcome.throttled or outcome.retry_after is not None  # then the gate holds everyone back
            pause = self.gate.endpoint.seconds_left() if paused else self.policy.pause(failures)
            if failures >= self.policy.attempts or pause >= exchange.seconds_left():
                return outcome
            try:
                async with asyncio.timeout(exchange.seconds_left()):
                    if not paused:
                        await self._rest(pause)
                    outcome = await self.line.send(request, exchange)
            except TimeoutError:
                return outcome
        return outcome

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.line.ended.wait()
        except TimeoutError:
            return

    def _watch(self, outcome: Outcome, error: str | None) -> None:
        """Tell what stopped the model, or stop it after too many failures."""
        if not isinstance(outcome, Failure) or outcome.status != "api_error":
            self._failures_in_a_row = 0
            return
        self._failures_in_a_row += 1
        if outcome.stops is not None and self.stopped == outcome.stops:
            self.line.stopped = f"{outcome.stops} ({error})"
        elif self._failures_in_a_row >= self.policy.failures_in_a_row:
            self.line.stop(f"{self._failures_in_a_row} questions failed one after the other ({error})")

    def _safe(self, text: str, request: Request) -> str:
        text = storable.text(text) or ""  # it is printed too
        return redact(text, secrets=[self._key] if self._key else [], quotes=[m["content"] for m in request.messages])


async def _counted(request: Request) -> int:
    """The prompt's tokens; of a long one in a thread, so that nobody waits for the tokenizer."""
    if sum(len(message["content"]) for message in request.messages) < _LONG_PROMPT:
        return request.prompt_tokens
    return await asyncio.to_thread(lambda: request.prompt_tokens)
