"""An event loop whose time passes only while everybody waits: minutes of pacing in milliseconds."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


class _Skipping(selectors.SelectSelector):
    """Instead of waiting, moves the clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> Any:
        self._clock.now += timeout or 0.0
        return super().select(0)


class Clock:
    """Replaces time.monotonic while the test lasts; `run` runs a coroutine on it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        loop = asyncio.SelectorEventLoop(_Skipping(self))
        try:
            return loop.run_until_complete(coroutine)
        finally:
            loop.close()
