"""Stopping on Ctrl-C or SIGTERM without losing what is paid for: the first asks to stop, the second leaves at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

GRACE_SECONDS = 20.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


insisted = threading.Event()
"""Set once a second signal has come: whoever sent it waits for nothing more, nor for what could be published."""


class Interruption:
    """The signals while questions are asked. Whoever handled them before (Dagster, Python) does so again afterwards."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, Any] = {}
        self._stop: Callable[[], None] | None = None

    @contextmanager
    def handled(self) -> Iterator[Interruption]:
        """Take the signals over. Only a main thread can; elsewhere they stay with whoever has them."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        self._before = {number: signal.signal(number, self._received) for number in _SIGNALS}
        try:
            yield self
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def on_first(self, stop: Callable[[], None]) -> None:
        """What the first signal does, in the event loop that runs now."""
        loop = asyncio.get_running_loop()

        def stop_soon() -> None:
            loop.call_soon_threadsafe(stop)

        self._stop = stop_soon
        if self.signal is not None:  # it came before anybody listened
            stop_soon()

    def raise_again(self) -> None:
        """End as the signal would have ended it; nothing when there was none."""
        if self.signal is not None:
            self._pass_on(self.signal, None)

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal = number
            if self._stop is not None:
                self._stop()
        else:
            insisted.set()
            self._pass_on(number, frame)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        before = self._before.get(number)
        if callable(before):
            before(number, frame)
        raise KeyboardInterrupt
