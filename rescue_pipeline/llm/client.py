"""Asking one model one question: the only retry layer and the only clock.

The client never raises for a reply or an error of the model: whatever happens becomes a Reply with one status.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from typing import Any

from rescue_pipeline.errors import RescueError
from rescue_pipeline.llm.adapter import api_key, complete
from rescue_pipeline.llm.budget import Budget
from rescue_pipeline.llm.capabilities import Capabilities, Ladder, request_fields
from rescue_pipeline.llm.exchange import Exchange, Reply, Request
from rescue_pipeline.llm.limits import Gate, Place
from rescue_pipeline.llm.prices import cost_usd, expected_usd, longest_answer, most_usd, price_of
from rescue_pipeline.llm.redaction import redact
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.statuses import Failure, Verdict, classify_error, classify_reply, cut_prompt, too_long
from rescue_pipeline.llm.usage import Usage

FORM_REFUSED = "the server does not take its structured_output (auto finds out what it takes)"
_LONG_PROMPT = 20_000
"""Characters beyond which the tokenizer would hold up the other requests."""

Outcome = Verdict | Failure


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
        self.entry, self.gate, self.policy, self.budget = entry, gate, policy, budget
        self.ladder = Ladder(entry, capabilities)
        self.price = price_of(entry)
        self.stopped: str | None = None
        self.closing = False
        self._ended = asyncio.Event()
        self._failures_in_a_row = 0
        self._key: str | None = None
        try:
            self._key = api_key(entry)
        except RescueError as error:
            self.stopped = str(error)

    def close(self) -> None:
        """Send no new question and try no failed one again; what is in flight may come back."""
        self.closing = True
        self._ended.set()
        self.gate.throw_open()

    async def ask(self, request: Request) -> Reply:
        """Ask until there is a final answer, a permanent error, or the question's time or tries are over.

        A reply with 0 attempts that is not final was never sent, because the model was stopped meanwhile.
        """
        tokens = None if self.entry.is_baseline else await _counted(request)
        exchange = Exchange(
            self.ladder.rung(request.schema), dict(request.parameters), self.gate.limits.question_seconds
        )
        outcome: Outcome | None = too_long(tokens, longest_answer(request.parameters), self.entry.context_tokens)
        outcome = outcome or await self._try(request, exchange)
        if outcome.status == "truncated" and request.retry_tokens and self._fits(tokens, request.retry_tokens):
            exchange.parameters["max_tokens"] = request.retry_tokens
            again = await self._try(request, exchange)
            # once only: should the second call fail, the cut answer is still all there is
            outcome = outcome if again.status == "api_error" else again
        error = self._safe(outcome.text, request) if isinstance(outcome, Failure) else None
        if exchange.attempts:
            self._watch(outcome, error)
        return exchange.reply(outcome, self.price, error, tokens)

    def _fits(self, tokens: int | None, answer: int) -> bool:
        return too_long(tokens, answer, self.entry.context_tokens) is None

    async def _try(self, request: Request, exchange: Exchange) -> Outcome:
        """Send, and send again while that may help."""
        outcome, failures = await self._send(request, exchange), 0
        while isinstance(outcome, Failure) and outcome.retryable and not self._ended.is_set():
            failures += not outcome.throttled
            paused = outcome.throttled or outcome.retry_after is not None  # then the gate holds everyone back
            pause = self.gate.endpoint.seconds_left() if paused else self.policy.pause(failures)
            if failures >= self.policy.attempts or pause >= exchange.seconds_left():
                return outcome
            try:
                async with asyncio.timeout(exchange.seconds_left()):
                    if not paused:
                        await self._rest(pause)
                    outcome = await self._send(request, exchange)
            except TimeoutError:
                return outcome
        return outcome

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return

    async def _send(self, request: Request, exchange: Exchange) -> Outcome:
        """One request, asked for in the best form that the server takes; finding that out may take several calls."""
        outcome = await self._call(request, exchange)
        while isinstance(outcome, Failure) and outcome.in_other_form:
            outcome = await self._call(request, exchange)
        return outcome

    async def _call(self, request: Request, exchange: Exchange) -> Outcome:
        """One call, in one of the model's places, within the budget."""
        tokens = 0 if self.entry.is_baseline else request.prompt_tokens
        async with self.gate.place(tokens + self.gate.usual_answer(longest_answer(exchange.parameters))) as place:
            most = most_usd(self.price, tokens, exchange.parameters) if self.entry.is_paid else 0.0
            if not self._may_send(exchange):  # waiting for its turn took time
                return Failure("api_error", "stopped", self.stopped or "stopped")
            if not await self.budget.reserve(most):
                self._stop(self.budget.used_up)
                return Failure("api_error", "stopped", self.budget.used_up)
            if not self._may_send(exchange):  # and so did waiting for the budget
                await self.budget.settle(most, 0.0)
                return Failure("api_error", "stopped", self.stopped or "stopped")
            spent = (expected_usd(self.price, tokens, 0) or 0.0) if most else 0.0  # should it never come back
            try:
                outcome, usage = await self._exchanged(request, exchange)
                spent = self._spent(outcome, usage, most, otherwise=spent)
            finally:
                await self.budget.settle(most, spent)
            return self._noted(outcome, usage, place, exchange.rung, request)

    def _may_send(self, exchange: Exchange) -> bool:
        return self.stopped is None and not (self.closing and exchange.attempts == 0)

    async def _exchanged(self, request: Request, exchange: Exchange) -> tuple[Outcome, Usage]:
        """What became of one call, and what it used as far as the provider said so."""
        exchange.rung = self.ladder.rung(request.schema)
        exchange.sending()
        seconds = max(0.001, min(self.gate.limits.call_seconds, exchange.seconds_left()))
        try:
            async with asyncio.timeout(seconds):
                response = await complete(
                    self.entry,
                    request.messages,
                    exchange.parameters,
                    form=request_fields(exchange.rung, request.schema),
                    metadata=request.metadata,
                    seconds=seconds + 1,  # ours ends first: a provider's clock may restart with every byte
                )
            usage = Usage.of(response, zero_is_real=self.entry.is_baseline)
            exchange.received(response, usage)
            return self._whole(request, classify_reply(response), usage), usage
        except Exception as error:
            return classify_error(error), Usage()

    def _whole(self, request: Request, verdict: Verdict, usage: Usage) -> Outcome:
        """An answer to a prompt that the server cut without a word is no answer to the question."""
        if self.entry.is_baseline:
            return verdict
        return cut_prompt(usage.prompt, request.prompt_tokens) or verdict

    def _spent(self, outcome: Outcome, usage: Usage, most: float, *, otherwise: float) -> float:
        """USD of one call. otherwise: what a call costs of which nobody knows whether it was answered."""
        if isinstance(outcome, Failure) and usage.prompt is None:
            return 0.0 if outcome.unread else otherwise
        cost = cost_usd(self.price, usage)
        return most if cost is None else cost

    def _noted(self, outcome: Outcome, usage: Usage, place: Place, rung: str, request: Request) -> Outcome:
        """What the call tells about the endpoint, before its place goes to another."""
        if not isinstance(outcome, Failure):
            self.ladder.accepted(rung, request.schema)
            place.answered(usage.prompt, usage.completion)
            return outcome
        if outcome.about_form(rung) and self.ladder.refused(rung):
            place.inconclusive = True
            return replace(outcome, in_other_form=True)
        limit = self.gate.limits.question_seconds
        if outcome.retryable and (outcome.retry_after or 0.0) > limit:
            why = f"the endpoint asks to wait {outcome.retry_after:.0f} seconds"
            outcome = replace(outcome, retryable=False, stops=why)
        elif outcome.about_form(rung):
            outcome = replace(outcome, stops=FORM_REFUSED)
        if outcome.stops is not None:
            self._stop(outcome.stops)
        elif outcome.throttled:
            place.refused(outcome.retry_after)
        elif outcome.retry_after is not None and outcome.retryable:
            self.gate.endpoint.pause(outcome.retry_after)
        if outcome.unread:
            place.used(0)
        return outcome

    def _stop(self, why: str) -> None:
        if self.stopped is None:
            self.stopped = why
        self._ended.set()
        self.gate.throw_open()

    def _watch(self, outcome: Outcome, error: str | None) -> None:
        """Tell what stopped the model, or stop it after too many failures."""
        if not isinstance(outcome, Failure) or outcome.status != "api_error":
            self._failures_in_a_row = 0
            return
        self._failures_in_a_row += 1
        if outcome.stops is not None and self.stopped == outcome.stops:
            self.stopped = f"{outcome.stops} ({error})"
        elif self._failures_in_a_row >= self.policy.failures_in_a_row:
            self._stop(f"{self._failures_in_a_row} questions failed one after the other ({error})")

    def _safe(self, text: str, request: Request) -> str:
        return redact(text, secrets=[self._key] if self._key else [], quotes=[m["content"] for m in request.messages])


async def _counted(request: Request) -> int:
    """The prompt's tokens; of a long one in a thread, so that nobody waits for the tokenizer."""
    if sum(len(message["content"]) for message in request.messages) < _LONG_PROMPT:
        return request.prompt_tokens
    return await asyncio.to_thread(_count, request)


def _count(request: Any) -> int:
    return int(request.prompt_tokens)
