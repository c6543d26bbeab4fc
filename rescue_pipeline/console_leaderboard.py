"""The leaderboard as the command line prints it: one table of at most 100 columns, a line per model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from rich.table import Table

from rescue_pipeline import console
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.report.formatting import metric_format
from rescue_pipeline.warehouse import open_results

Row = dict[str, Any]

# heading, column of results.leaderboard, the metric whose units and decimals it has
_COLUMNS = (
    ("itp\nF1", "itp_f1", "f1"),
    ("rpp\nacc.", "rpp_accuracy", "accuracy"),
    ("stp\nR@1", "stp_recall_at_1", "recall_at_1"),
    ("ssp\nR@1", "ssp_recall_at_1", "recall_at_1"),
    ("er\nmatch", "er_intensity_match", "intensity_match"),
    ("er\njudge", "er_judge", "judge"),
    ("vp\njudge", "vp_judge", "judge"),
    ("er\nwords", "er_lexical_judge", "judge"),
    ("vp\nwords", "vp_lexical_judge", "judge"),
)
_NOTES = (
    ("er_intensity_match", "match: how close the intensity is, 1-5."),
    ("er_judge", "judge: a language model's grade, 1-5."),
    ("er_lexical_judge", "words: overlap with the gold's words, 1-5; no language model's judgement."),
)
_LEAST_MODEL_WIDTH = 12


def print_leaderboard(directory: DataDirectory) -> None:
    """The loaded corpus version's leaderboard over both scenarios."""
    with open_results(directory.results) as connection:
        rows = connection.sql(
            "select * from results.leaderboard where scenario = 'both' "
            "and corpus_version = (select corpus_version from raw.corpus) order by protocol, modality, model, generation"
        )
        print_rows(rows.pl().to_dicts())


def print_rows(rows: Sequence[Row]) -> None:
    """Rows of results.leaderboard, sorted by protocol and modality; these stand above their models when they differ."""
    if not rows:
        console.out.print("No answers yet.")
        return
    columns = [spec for spec in _COLUMNS if any(row[spec[1]] is not None for row in rows)]
    parts = [(name, list(part)) for name, part in groupby(rows, key=_part)]
    names = {id(row): _name(row, part) for _, part in parts for row in part}
    table = _table(columns, rows, max(map(len, names.values())))
    for name, part in parts:
        if len(parts) > 1:
            table.add_row(name, style="bold")
        for row in part:
            values = [metric_format(metric).text(row[column]) or "–" for _, column, metric in columns]
            counts = [str(row["n_failed"] + row["n_unanswered"]), str(row["n_planned"])]
            table.add_row(names[id(row)], *values, *counts, "" if row["complete"] else "incomplete")
    console.out.print(_title(parts), style="bold")
    console.out.print(table)
    for note in _notes(rows):
        console.out.print(note, style="dim")


def _title(parts: Sequence[tuple[str, Sequence[Row]]]) -> str:
    title = "Leaderboard, couples and families together"
    return f"{title}: {parts[0][0]}" if len(parts) == 1 else title


def _part(row: Row) -> str:
    return f"protocol {row['protocol']}, {row['modality']}"


def _name(row: Row, part: Sequence[Row]) -> str:
    """The model, with its generation where several were asked."""
    several = sum(other["model"] == row["model"] for other in part) > 1
    return f"{row['model']} (generation {row['generation']})" if several else str(row["model"])


def _table(columns: Sequence[tuple[str, str, str]], rows: Sequence[Row], longest: int) -> Table:
    headings = [*(heading for heading, _, _ in columns), "failed\n", "of\n"]
    last = [] if all(row["complete"] for row in rows) else ["incomplete"]
    widths = [max(5, *map(len, heading.split("\n"))) for heading in headings] + [len(word) for word in last]
    gap = 2 if sum(widths) + 2 * len(widths) + min(longest, 2 * _LEAST_MODEL_WIDTH) <= console.WIDTH else 1
    table = console.plain_table(gap=gap)
    room = console.WIDTH - sum(widths) - gap * len(widths)
    table.add_column("model\n", overflow="fold", max_width=max(room, _LEAST_MODEL_WIDTH))
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    return table


def _notes(rows: Sequence[Row]) -> Iterable[str]:
    yield from (note for column, note in _NOTES if any(row[column] is not None for row in rows))
    if any(not row["complete"] for row in rows):
        yield "incomplete: some questions were not asked or not answered, so the figures have no rank."
