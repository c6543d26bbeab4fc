"""The two streams of the command line: results on stdout, progress and errors on stderr."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rescue_pipeline import progress
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import RescueError

WIDTH = 100
"""Nothing but paths and ids is wider; a narrower terminal is respected, a file gets the full width."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # the error being handled: exits.py says how a command ends, and it is not a failure


def _console(stream_is_stderr: bool) -> Console:
    stream = sys.stderr if stream_is_stderr else sys.stdout
    columns = shutil.get_terminal_size((WIDTH, 24)).columns if stream.isatty() else WIDTH
    return _Console(stderr=stream_is_stderr, highlight=False, markup=False, soft_wrap=True, width=min(columns, WIDTH))


out = _console(stream_is_stderr=False)
err = _console(stream_is_stderr=True)


def print_error(error: RescueError) -> None:
    err.print(f"error: {wrapped(error.what, 7)}", style="bold red")
    for label, text in error.lines():
        err.print(f"  {label + ':':<10}{wrapped(text, 12)}")


def wrapped(text: str, indent: int = 0) -> str:
    """`text` in lines of at most WIDTH, the second and later ones indented; a path or an id is never broken."""
    lines: list[str] = []
    for line in text.splitlines():
        # lines that are laid out already (SQL with a caret below it) keep their blanks
        pieces = textwrap.wrap(line, WIDTH - indent, break_long_words=False, break_on_hyphens=False)
        lines.extend([line] if len(line) <= WIDTH - indent else pieces)
    return f"\n{' ' * indent}".join(lines)


def plain_table(*headings: str, gap: int = 2) -> Table:
    """A table without lines, its columns `gap` apart; a cell that is too long goes on in the next line."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


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
    sessions = "not published yet" if n_sessions is None else f"{n_sessions} sessions"
    err.print(f"corpus {corpus_id} ({sessions}) in {_short(directory)}")


def _short(directory: DataDirectory) -> str:
    root = directory.root
    return str(root.relative_to(Path.cwd())) if root.is_relative_to(Path.cwd()) else str(root)
