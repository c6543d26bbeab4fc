"""The two streams of the command line: results on stdout, progress and errors on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rescue_pipeline import progress
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import RescueError

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def print_error(error: RescueError) -> None:
    err.print(f"error: {error.what}", style="bold red", markup=False)
    for label, text in error.lines():
        err.print(f"  {label + ':':<10}{text}", markup=False)


@contextmanager
def stages(quiet: bool) -> Iterator[None]:
    """Show how far long steps are, on a terminal as bars, elsewhere as a line per finished step."""
    if quiet:
        yield
        return
    if not err.is_terminal:
        with _lines():
            yield
        return
    columns = (TextColumn("{task.description:<34}"), BarColumn(24), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bars:
        tasks: dict[str, int] = {}

        def show(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)  # type: ignore[arg-type]

        with progress.listening(show):
            yield


@contextmanager
def _lines() -> Iterator[None]:
    started = time.monotonic()

    def show(what: str, done: int, total: int | None) -> None:
        if done == total:
            print(f"{time.monotonic() - started:6.1f} s  {what}: {done}", file=sys.stderr, flush=True)

    with progress.listening(show):
        yield


def print_place(directory: DataDirectory, corpus_id: str, n_sessions: int | None) -> None:
    sessions = "not loaded yet" if n_sessions is None else f"{n_sessions} sessions"
    err.print(f"corpus {corpus_id} ({sessions}) in {_short(directory)}", markup=False)


def _short(directory: DataDirectory) -> str:
    root = directory.root
    return str(root.relative_to(Path.cwd())) if root.is_relative_to(Path.cwd()) else str(root)
