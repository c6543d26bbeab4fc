"""One model's line to its endpoint: one call at a time in its place, within the budget, in the form the server takes.

What a call tells about the endpoint is noted here. Whether to ask again is the client's business.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from rescue_pipeline.llm.adapter import complete, prepare_litellm
from rescue_pipeline.llm.budget import Budget
from rescue_pipeline.llm.capabilities import Capabilities, Ladder, request_fields
from rescue_pipeline.llm.exchange import Exchange, Request
from rescue_pipeline.llm.lengths import cut_prompt
from rescue_pipeline.llm.limits import Gate, Place
from rescue_pipeline.llm.prices import cost_usd, longest_answer, most_usd, price_of
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.statuses import Failure, Verdict, classify_error, classify_reply
from rescue_pipeline.llm.usage import Usage

FORM_REFUSED = "the server does not take its structured_output (auto finds out what it takes)"

Outcome = Verdict | Failure


class Line:
    """`stopped` says why nobody should call any more; `closing`: no new question is sent; `ended`: one of the two."""

    def __init__(self, entry: ModelEntry, gate: Gate, budget: Budget, capabilities: Capabilities) -> None:
        self.entry, self.gate, self.budget = entry, gate, budget
        self.ladder = Ladder(entry, capabilities)
        self.price = price_of(entry)
        self.stopped: str | None = None
        self.closing = False
        self.ended = asyncio.Event()

    def close(self) -> None:
        """Send no new question; what is in flight may come back."""
        self.closing = True
        self.ended.set()
        self.gate.throw_open()

    def stop(self, why: str) -> None:
        if self.stopped is None:
            self.stopped = why
        self.ended.set()
        self.gate.throw_open()

    async def send(self, request: Request, exchange: Exchange) -> Outcome:
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
                self.stop(self.budget.used_up)
                return Failure("api_error", "stopped", self.budget.used_up)
            if not self._may_send(exchange):  # and so did waiting for the budget
                await self.budget.settle(most, 0.0)
                return Failure("api_error", "stopped", self.stopped or "stopped")
            spent = most  # should it never come back: the provider may bill a whole answer that nobody waited for
            try:
                outcome, usage = await self._exchanged(request, exchange)
                spent = self._spent(outcome, usage, most)
            finally:
                exchange.charged_usd += spent
                await self.budget.settle(most, spent)
            return self._noted(outcome, usage, place, exchange.rung, request)

    def _may_send(self, exchange: Exchange) -> bool:
        return self.stopped is None and not (self.closing and exchange.attempts == 0)

    async def _exchanged(self, request: Request, exchange: Exchange) -> tuple[Outcome, Usage]:
        """What became of one call, and what it used as far as the provider said so."""
        exchange.rung = self.ladder.rung(request.schema)
        prepare_litellm()  # its import takes seconds, which are not the call's
        exchange.sending()
        seconds = max(0.001, min(self.gate.limits.call_seconds, exchange.seconds_left()))
        usage = Usage()
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
            return classify_error(error), usage

    def _whole(self, request: Request, verdict: Verdict, usage: Usage) -> Outcome:
        """An answer to a prompt that the server cut without a word is no answer to the question."""
        if self.entry.is_baseline:
            return verdict
        return cut_prompt(usage.prompt, request.prompt_tokens) or verdict

    def _spent(self, outcome: Outcome, usage: Usage, most: float) -> float:
        """USD of one call; the most it can have cost where nobody knows whether it was answered, or at what length."""
        if not most or (isinstance(outcome, Failure) and outcome.unread):
            return 0.0
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
            self.stop(outcome.stops)
        elif outcome.throttled:
            place.refused(outcome.retry_after)
        elif outcome.retry_after is not None and outcome.retryable:
            self.gate.endpoint.pause(outcome.retry_after)
        if outcome.unread:
            place.used(0)
        return outcome
