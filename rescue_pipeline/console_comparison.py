"""A comparison as the command line prints it: who A and B are, a line per task and metric, what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from rescue_pipeline import console
from rescue_pipeline.comparison import Comparison
from rescue_pipeline.report.formatting import SCENARIO_NAMES, count, metric_format
from rescue_pipeline.report.scores import WORD_OVERLAP, Slot

_NUMBERS = ("A", "B", "A - B", "95% interval", "n", "groups", "A better", "B better")
_LEGEND = (
    "A - B is over the questions that both settled; in points of the metric's scale, which is percent where it says %.",
    "Interval: both sides computed anew from 2,000 draws of whole couples and families. Better: questions one side "
    "got more for.",
)


def print_comparisons(comparisons: Sequence[Comparison]) -> None:
    for comparison in comparisons:
        _print_one(comparison)
        console.out.print()
    for line in _LEGEND:
        console.out.print(console.wrapped(line), style="dim")


def _print_one(comparison: Comparison) -> None:
    for side, run in (("A", comparison.a), ("B", comparison.b)):
        console.out.print(f"{side}  {run.name}", style="bold")
    scenario = comparison.table["scenario"][0]
    console.out.print(SCENARIO_NAMES[scenario])
    table = console.plain_table("task", "metric")
    for heading in _NUMBERS:
        table.add_column(heading, justify="right", no_wrap=heading != "95% interval")
    for row in comparison.table.iter_rows(named=True):
        table.add_row(*_cells(row))
    console.out.print(table)
    for note in _notes(comparison.table):
        console.out.print(console.wrapped(note, 2))


def _cells(row: dict[str, Any]) -> list[str]:
    style = metric_format(row["metric"])
    slot = Slot(row["task"], row["metric"], row["scorer_kind"], row["scorer"])
    # "Word overlap" says itself whose score it is
    scorer = f" ({slot.scorer})" if slot.kind != "none" and slot.name != WORD_OVERLAP else ""
    interval = f"{style.signed(row['ci_low'])} to {style.signed(row['ci_high'])}"
    return [
        row["task"],
        f"{slot.name}{f', {style.unit}' if style.unit else ''}{scorer}",
        *(style.text(row[name]) or "none" for name in ("value_a", "value_b")),
        style.signed(row["difference"]) or "none",
        "none" if row["ci_low"] is None else interval,
        *(count(row[name]) for name in ("n", "n_groups", "n_better_a", "n_better_b")),
    ]


def _notes(table: pl.DataFrame) -> Iterator[str]:
    """Why there is no interval or figure, and which questions do not count."""
    for (reason,), rows in table.filter(pl.col("no_interval").is_not_null()).group_by("no_interval"):
        yield f"no interval: {reason} ({', '.join(rows['task'].unique(maintain_order=True))})"
    if table["value_a"].has_nulls() or table["value_b"].has_nulls():
        yield "none: the figure is not defined, for example a precision where no turn was answered “yes”"
    left_out = table.group_by("task", "scorer", "n_open", "n_one_sided", maintain_order=True).len()
    for task, scorer, n_open, n_one_sided, _ in left_out.iter_rows():
        parts = [f"{count(n_open)} open on one side"] if n_open else []
        parts += [f"{count(n_one_sided)} asked of one side only"] if n_one_sided else []
        if parts:
            yield f"left out: {task}{'' if scorer == 'none' else f' by {scorer}'}: {', '.join(parts)}"
