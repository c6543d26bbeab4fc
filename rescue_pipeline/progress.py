"""How long steps tell how far they are, without knowing who listens: the console, Dagster's log, or nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int | None], None]
"""Called with what is being done, how many are done, and of how many (None: unknown)."""

_listeners: list[Listener] = []


def report(what: str, done: int, total: int | None = None) -> None:
    for listener in _listeners:
        listener(what, done, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
