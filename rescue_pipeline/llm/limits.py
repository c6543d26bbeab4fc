"""How hard a model is pressed: requests in flight, requests and tokens a minute, and pauses the endpoint asked for.

All waiting for a turn happens here; retrying is the client's.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rescue_pipeline.llm.registry import Limits

_SECONDS_PER_MINUTE = 60.0


class TokenBucket:
    """Lets `per_minute` units through a minute, evenly: at most one second's worth (or one unit) at once."""

    def __init__(self, per_minute: float) -> None:
        self._rate = per_minute / _SECONDS_PER_MINUTE
        self._capacity = max(self._rate, 1.0)
        self._balance = self._capacity
        self._updated = time.monotonic()

    async def take(self, units: float) -> None:
        """Wait for `units`. More than the capacity is lent at once and paid back before the next one starts."""
        now = time.monotonic()
        self._balance = min(self._capacity, self._balance + (now - self._updated) * self._rate)
        self._updated = now
        self._balance -= units
        # lending before waiting keeps the order of arrival without a queue
        debt = min(units, self._capacity) - units - self._balance
        if debt > 0:
            await asyncio.sleep(debt / self._rate)


class Endpoint:
    """A server and account that several models and all their workers share: one pause holds them all."""

    def __init__(self) -> None:
        self._resume_at = 0.0

    def pause(self, seconds: float) -> None:
        self._resume_at = max(self._resume_at, time.monotonic() + seconds)

    def seconds_left(self) -> float:
        return max(0.0, self._resume_at - time.monotonic())


class Gate:
    """Admits the requests of one model. After a refusal for haste it opens again one by one, not all at once."""

    def __init__(self, limits: Limits, endpoint: Endpoint) -> None:
        self.limits, self.endpoint = limits, endpoint
        self._window, self._in_flight = limits.concurrency, 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._requests = TokenBucket(limits.rpm) if limits.rpm else None
        self._tokens = TokenBucket(limits.tpm) if limits.tpm else None

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[None]:
        """Hold one of the model's places; tokens: how many the request may use, for the tpm limit."""
        if self._requests:
            await self._requests.take(1)
        if self._tokens:
            await self._tokens.take(tokens)
        await self._admitted()
        try:
            yield
        finally:
            self._in_flight -= 1
            self._wake()

    def succeeded(self) -> None:
        self._window = min(self.limits.concurrency, self._window + 1)

    def throttled(self, pause_seconds: float) -> None:
        """The endpoint said: slower. Nobody asks until the pause is over, then one asks first."""
        self._window = 1
        self.endpoint.pause(pause_seconds)

    async def _admitted(self) -> None:
        while True:
            pause = self.endpoint.seconds_left()
            if pause > 0:
                await asyncio.sleep(pause + random.uniform(0.0, 0.05))
            elif self._in_flight < self._window:
                self._in_flight += 1
                return
            else:
                turn = asyncio.get_running_loop().create_future()
                self._waiting.append(turn)
                try:
                    await turn
                except asyncio.CancelledError:
                    self._wake()  # the place this one was called to may go to another
                    raise

    def _wake(self) -> None:
        free = self._window - self._in_flight
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1
