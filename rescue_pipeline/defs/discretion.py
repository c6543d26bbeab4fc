"""What errors may say inside the graph: Dagster keeps their text, so they name neither files nor records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rescue_pipeline.errors import RescueError


class Discreet(RescueError):
    """An error whose text, which Dagster stores, says what failed; only its lines, for the console, say where."""

    def __init__(self, error: RescueError) -> None:
        self.exit_code = error.exit_code
        super().__init__(error.what, where=error.where, expected=error.expected, found=error.found, advice=error.advice)

    def __str__(self) -> str:
        return f"{self.what}. The command line says where: rescue validate PATH"


@contextmanager
def discreet() -> Iterator[None]:
    """Around work on session files, which are often named after people."""
    try:
        yield
    except RescueError as error:
        raise Discreet(error) from None  # the cause would be stored with it
