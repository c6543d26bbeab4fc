"""The leaderboard as the command line prints it: one table of at most 100 columns, a line per model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from rescue_pipeline import console
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.report.formatting import metric_format
from rescue_pipeline.report.scores import SAME_VENDOR
from rescue_pipeline.report.trust import hints, newest
from rescue_pipeline.report.wording import protocol_label
from rescue_pipeline.warehouse import open_results

Row = dict[str, Any]
_Column = tuple[str, str, str]

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
_JUDGED = ("er_judge", "vp_judge")
_TITLE = "Leaderboard, couples and families together"
_INCOMPLETE = "incomplete"
_GOOD_NAME_WIDTH = 24


def print_leaderboard(directory: DataDirectory) -> None:
    """The loaded corpus version's leaderboard over both scenarios."""
    with open_results(directory.results) as connection:
        rows = connection.sql(
            "select * from results.leaderboard where scenario = 'both' "
            "and corpus_version = (select corpus_version from raw.corpus) "
            "order by protocol != 'clean', protocol, modality != 'dialogue', modality, model, generation"
        )
        print_rows(rows.pl().to_dicts())
        controls = connection.sql(
            "select * from results.judge_trust "
            "where corpus_version = (select corpus_version from raw.corpus) order by all"
        )
        for hint in hints(newest(controls.pl().to_dicts())):
            console.out.print(console.wrapped(hint), style="dim")


def print_rows(rows: Sequence[Row]) -> None:
    """Rows of results.leaderboard, in the order of protocols and modalities; these stand above their models when they
    differ."""
    if not rows:
        console.out.print("No answers yet.")
        return
    columns = [spec for spec in _COLUMNS if any(_figure(row, spec) for row in rows)]
    parts = [(name, list(part)) for name, part in groupby(rows, key=_part)]
    layout = _Layout.of(columns, rows)
    only = parts[0][0] if len(parts) == 1 else None
    console.out.print(f"{_TITLE}: {only}" if only else _TITLE, style="bold")
    console.out.print(layout.head())
    for name, part in parts:
        if not only:
            console.out.print(name, style="bold")
        for row in part:
            console.out.print(layout.line(_name(row, part), _cells(row, columns), complete=row["complete"]))
    for note in _notes(rows):
        console.out.print(note, style="dim")


def _part(row: Row) -> str:
    return f"{protocol_label(row['protocol'])}, {row['modality']}"


def _name(row: Row, part: Sequence[Row]) -> str:
    """The model, with its generation where several were asked."""
    several = sum(other["model"] == row["model"] for other in part) > 1
    return f"{row['model']} (generation {row['generation']})" if several else str(row["model"])


def _cells(row: Row, columns: Sequence[_Column]) -> list[str]:
    values = [_figure(row, spec) or "–" for spec in columns]
    return [*values, str(row["n_failed"] + row["n_unanswered"]), str(row["n_planned"])]


def _figure(row: Row, spec: _Column) -> str:
    """A printed figure; empty where there is none, but for a judge that its vendor's model may not be graded by."""
    _, column, metric = spec
    left_out = row[column] is None and column in _JUDGED and row.get("same_vendor")
    return SAME_VENDOR if left_out else metric_format(metric).text(row[column])


class _Layout(NamedTuple):
    """Where the columns stand: names to the left, figures to the right, and a word for what is incomplete."""

    headings: list[list[str]]
    """Per column its lines."""
    name_width: int
    widths: list[int]
    gap: str

    @classmethod
    def of(cls, columns: Sequence[_Column], rows: Sequence[Row]) -> _Layout:
        headings = [heading.split("\n") for heading in (*(heading for heading, _, _ in columns), "failed\n", "of\n")]
        cells = zip(*(_cells(row, columns) for row in rows), strict=True)
        widths = [max(map(len, (*lines, *column))) for lines, column in zip(headings, cells, strict=True)]
        tail = 0 if all(row["complete"] for row in rows) else len(_INCOMPLETE)
        longest = max(len(_name(row, rows)) for row in rows)
        for gap in (2, 1):
            room = console.WIDTH - sum(widths) - tail - gap * (len(widths) + bool(tail))
            if room >= min(longest, _GOOD_NAME_WIDTH):
                break
        return cls(headings, min(longest, room), widths, gap * " ")

    def head(self) -> str:
        lines = zip(*self.headings, strict=True)
        return "\n".join(
            self._joined("model" if first else "", line) for first, line in zip((1, 0), lines, strict=True)
        )

    def line(self, name: str, cells: Sequence[str], *, complete: bool) -> str:
        pieces = [name[at : at + self.name_width] for at in range(0, len(name), self.name_width)]
        return "\n".join([self._joined(pieces[0], cells, "" if complete else _INCOMPLETE), *pieces[1:]])

    def _joined(self, name: str, cells: Sequence[str], tail: str = "") -> str:
        figures = (cell.rjust(width) for cell, width in zip(cells, self.widths, strict=True))
        return self.gap.join([name.ljust(self.name_width), *figures, tail]).rstrip()


def _notes(rows: Sequence[Row]) -> Iterable[str]:
    yield from (note for column, note in _NOTES if any(row[column] is not None for row in rows))
    if any(row.get("same_vendor") for row in rows):
        yield f"{SAME_VENDOR}: the only judge is of the model's own vendor, so its grades are left out here."
    if any(not row["complete"] for row in rows):
        yield "incomplete: some questions were not asked or not answered, so the figures have no rank."
