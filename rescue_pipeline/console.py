"""What the command line prints: plain words, one table at the end, at most 100 columns."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rescue_pipeline import progress
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import RescueError
from rescue_pipeline.running import ModelOutcome, RunOutcome
from rescue_pipeline.warehouse import open_duckdb

RESEARCH_ONLY = "For research only: never for clinical use, and no judgement of any person."

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
    from pathlib import Path

    root = directory.root
    return str(root.relative_to(Path.cwd())) if root.is_relative_to(Path.cwd()) else str(root)


# What one line of the final table shows: heading, column of results.leaderboard, how it is printed.
_COLUMNS = (
    ("itp\nF1", "itp_f1", "percent"),
    ("rpp\nacc.", "rpp_accuracy", "percent"),
    ("stp\nR@1", "stp_recall_at_1", "percent"),
    ("ssp\nR@1", "ssp_recall_at_1", "percent"),
    ("er\nintensity", "er_intensity_match", "scale"),
    ("er\njudge", "er_judge", "scale"),
    ("vp\njudge", "vp_judge", "scale"),
    ("er\noverlap*", "er_lexical_judge", "scale"),
    ("vp\noverlap*", "vp_lexical_judge", "scale"),
)


def print_leaderboard(directory: DataDirectory) -> None:
    """The newest corpus version's leaderboard over both scenarios, one line per model, modality and protocol."""
    with open_duckdb(directory.results, read_only=True) as connection:
        rows = _leaderboard(connection)
    if not rows:
        out.print("No answers yet.")
        return
    table = Table(box=None, pad_edge=False, title="Leaderboard, couples and families together", title_justify="left")
    several = {key: len({row[key] for row in rows}) > 1 for key in ("modality", "protocol", "generation")}
    table.add_column("model\n")
    for key, shown in several.items():
        if shown:
            table.add_column(f"{key}\n")
    for heading, column, _ in _COLUMNS:
        if any(row[column] is not None for row in rows):
            table.add_column(heading, justify="right")
    table.add_column("failed\n", justify="right")
    table.add_column("of\n", justify="right")
    for row in rows:
        values = [_print_value(row[column], kind) for _, column, kind in _COLUMNS if any(r[column] is not None for r in rows)]
        head = [row["model"], *(str(row[key]) for key, shown in several.items() if shown)]
        tail = ["" if row["complete"] else "incomplete"]
        table.add_row(*head, *values, str(row["n_failed"] + row["n_unanswered"]), str(row["n_planned"]), *tail)
    if any(not row["complete"] for row in rows):
        table.add_column("")
    out.print(table)
    if any(row["er_lexical_judge"] is not None for row in rows):
        out.print("* word overlap with the gold (1-5), no language model's judgement", style="dim")


def _leaderboard(connection: duckdb.DuckDBPyConnection) -> list[dict[str, object]]:
    relation = connection.sql(
        "select * from results.leaderboard where scenario = 'both' "
        "and corpus_version = (select corpus_version from raw.corpus) order by protocol, modality, model, generation"
    )
    return relation.pl().to_dicts()


def _print_value(value: object, kind: str) -> str:
    if value is None:
        return "–"
    return f"{float(value) * 100:.1f}" if kind == "percent" else f"{float(value):.2f}"  # type: ignore[arg-type]


def print_outcome(outcome: RunOutcome) -> None:
    for model in outcome.models:
        out.print(_model_line(model), markup=False)
    if outcome.rejected:
        out.print(f"{outcome.rejected} records were rejected: rescue sql \"select * from raw.rejects\"", markup=False)
    report = outcome.directory.reports / "report.html"
    out.print(f"\nreport    {report}", markup=False)
    out.print(f"tables    rescue sql \"select * from results.leaderboard\"   ({outcome.directory.results.name})", markup=False)
    out.print("graph     rescue ui", markup=False)
    out.print(RESEARCH_ONLY, style="dim")


def _model_line(model: ModelOutcome) -> str:
    failures = [f"{n} {status}" for status, n in sorted(model.by_status.items()) if status != "ok"]
    parts = [
        f"{model.planned} planned",
        f"{model.planned - model.unanswered} answered",
        f"{model.asked} asked now",
        f"{model.reused} reused",
        *failures,
    ]
    if model.cost_usd:
        parts.append(f"{model.cost_usd:.4f} USD")
    line = f"{model.model}: {', '.join(parts)}"
    return f"{line}\n  stopped: {model.stopped}" if model.stopped else line
