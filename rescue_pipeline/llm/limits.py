"""How hard a model is pressed: requests in flight, requests and tokens a minute, and pauses the endpoint asked for.

All waiting for a turn happens here; retrying is the client's, the arithmetic of rates is in pace.py.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rescue_pipeline.llm.pace import LearnedPace, TokenBucket
from rescue_pipeline.llm.registry import Limits

FIRST_WINDOW = 16
"""Requests at once after the very first one, which goes alone."""
GROWTH = 2
"""Places won by an answer while the window opens: it triples per round trip."""
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 60.0
"""Seconds, where the endpoint does not say how long."""
_REMEMBERED_ANSWERS = 20


class Endpoint:
    """A server and account that several models and all their workers share: one pause holds them all."""

    def __init__(self) -> None:
        self._resume_at = 0.0

    def pause(self, seconds: float) -> None:
        self._resume_at = max(self._resume_at, time.monotonic() + seconds)

    def seconds_left(self) -> float:
        return max(0.0, self._resume_at - time.monotonic())


class Place:
    """One request's turn. tokens: what it is expected to use.

    inconclusive: how to ask, or how fast, is still open; while the very first requests are, they go one by one.
    """

    def __init__(self, gate: Gate, tokens: float) -> None:
        self._gate, self.tokens = gate, tokens
        self.turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.sent_at, self.inconclusive = 0.0, False

    def answered(self, prompt_tokens: int | None = None, answer_tokens: int | None = None) -> None:
        """The endpoint answered; tokens as it reported them."""
        self._gate.answered(self)
        if prompt_tokens is not None:
            self.used(prompt_tokens + (answer_tokens or 0))
            self._gate.saw_answer(answer_tokens or 0)

    def refused(self, retry_after: float | None) -> None:
        """The endpoint said: slower. Nobody asks until the pause is over, then one asks first."""
        self.inconclusive = True
        self._gate.refused(self, retry_after)

    def used(self, tokens: float) -> None:
        """What the request really used, in tokens."""
        self._gate.settle(self, tokens)


class Gate:
    """Admits the requests of one model, in the order in which they came.

    The first goes alone: a wrong key costs one request. Then the window opens quickly, up to the configured number. A
    refusal for haste halves it and shuts it until the pause is over; from the second refusal on the learnt pace holds
    requests back, and the window need not.
    """

    def __init__(self, limits: Limits, endpoint: Endpoint) -> None:
        self.limits, self.endpoint = limits, endpoint
        self.pace = LearnedPace()
        self._window, self._threshold = 1.0, float(limits.concurrency)
        self._in_flight, self._begun, self._resuming, self._open = 0, False, False, False
        self._refused_at, self._refusals = float("-inf"), 0
        self._waiting: deque[Place] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._requests = TokenBucket.per_minute(limits.rpm) if limits.rpm else None
        self._tokens = TokenBucket.per_minute(limits.tpm) if limits.tpm else None
        self._usual: float | None = None

    @asynccontextmanager
    async def place(self, tokens: float = 0) -> AsyncIterator[Place]:
        """Hold one of the model's places; tokens: how many the request may use, for the tpm limit."""
        place = Place(self, tokens)
        self._waiting.append(place)
        self._admit()
        try:
            await place.turn
        except asyncio.CancelledError:
            self._withdraw(place)
            raise
        try:
            yield place
        finally:
            if not (self._begun or place.inconclusive):
                self._begun, self._window = True, float(min(FIRST_WINDOW, self.limits.concurrency))
            self._leave()

    def usual_answer(self, most: int) -> float:
        """Tokens that an answer is expected to have: what they had so far; before the first one, the most."""
        return most if self._usual is None else min(most, self._usual)

    def saw_answer(self, tokens: int) -> None:
        self._usual = tokens if self._usual is None else self._usual + (tokens - self._usual) / _REMEMBERED_ANSWERS

    def throw_open(self) -> None:
        """Nobody is to wait any more: asking has ended, and whoever waits is to learn why."""
        self._open = True
        self._admit()

    def answered(self, place: Place) -> None:
        if self._begun and place.sent_at > self._refused_at:
            self._refusals = 0
            grown = self._window + (GROWTH if self._window < self._threshold else 1 / self._window)
            self._window = min(grown, float(self.limits.concurrency))

    def refused(self, place: Place, retry_after: float | None) -> None:
        if place.sent_at <= self._refused_at:  # of the same moment: the same news
            self.pace.refused_too()
            if retry_after is not None:
                self.endpoint.pause(retry_after)
            return
        self._refusals += 1
        pause = retry_after
        if pause is None:
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._refusals, 20)) * random.uniform(0.5, 1.0)
        self.pace.refused(pause_seconds=pause)
        self._threshold = float(self.limits.concurrency) if self.pace.rate() else max(1.0, self._in_flight / 2)
        self._refused_at, self._resuming = time.monotonic(), True
        self.endpoint.pause(pause)

    def settle(self, place: Place, tokens: float) -> None:
        if self._tokens:
            self._tokens.give_back(place.tokens - tokens)

    def _admit(self) -> None:
        """Let in whoever may go now, first come, first served."""
        if self._timer is not None and not self._open:
            return  # the first in the row waits for the clock
        while self._waiting:
            seconds = self._seconds_until(self._waiting[0])
            if seconds is None:
                return
            if seconds > 0:
                self._timer = asyncio.get_running_loop().call_later(seconds, self._try_again)
                return
            self._let_in(self._waiting.popleft())

    def _try_again(self) -> None:
        self._timer = None
        self._admit()

    def _seconds_until(self, place: Place) -> float | None:
        """How long this one waits for the clock; None where it waits for another's place."""
        if self._open:
            return 0.0
        pause = self.endpoint.seconds_left()
        if pause > 0:
            self._resuming = True
            return pause + random.uniform(0.0, 0.05)
        if self._resuming:  # one asks first, beside those that are still out; its answer opens the window again
            self._resuming, self._window = False, float(min(self._in_flight + 1, self.limits.concurrency))
        if self._in_flight >= int(self._window):
            return None
        waits = [self.pace.seconds_until_next()]
        waits += [self._requests.seconds_until(1)] if self._requests else []
        waits += [self._tokens.seconds_until(place.tokens)] if self._tokens else []
        return max(waits)

    def _let_in(self, place: Place) -> None:
        self.pace.sent()
        if self._requests:
            self._requests.take(1)
        if self._tokens:
            self._tokens.take(place.tokens)
        self._in_flight += 1
        place.sent_at = time.monotonic()
        if not place.turn.done():
            place.turn.set_result(None)

    def _leave(self) -> None:
        self._in_flight -= 1
        self._admit()

    def _withdraw(self, place: Place) -> None:
        if place in self._waiting:
            self._waiting.remove(place)
        else:
            self._leave()  # it had been let in and did not learn of it
