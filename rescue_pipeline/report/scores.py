"""Finding a figure of results.leaderboard_long, and printing it as a cell that says what it rests on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rescue_pipeline.report.formatting import MetricFormat, count, metric_format
from rescue_pipeline.report.reading import Rows
from rescue_pipeline.report.view import Cell, Strip, words
from rescue_pipeline.report.wording import protocol_label

WORD_OVERLAP = "Word overlap"
SAME_VENDOR = "same vendor"
"""Stands for a figure whose judge is of the judged model's vendor, where a headline would stand."""


@dataclass(frozen=True, order=True)
class Condition:
    """How the questions were asked: figures of different conditions never share a table."""

    modality: str
    protocol: str

    @property
    def name(self) -> str:
        return f"{self.modality}, {protocol_label(self.protocol)}"


@dataclass(frozen=True, order=True)
class Entry:
    """A model at one of its generations."""

    model: str
    generation: int


@dataclass(frozen=True, order=True)
class Slot:
    """A figure's kind: what a column of a score table holds."""

    task: str
    metric: str
    kind: str
    scorer: str

    @property
    def name(self) -> str:
        """What stands above its column: a score by word overlap is never called a judge's."""
        named_overlap = self.kind == "lexical" and self.metric == "judge"
        return WORD_OVERLAP if named_overlap else metric_format(self.metric).name


def condition_of(row: dict[str, Any]) -> Condition:
    return Condition(row["modality"], row["protocol"])


def entry_of(row: dict[str, Any]) -> Entry:
    return Entry(row["model"], row["generation"])


class Scores:
    """leaderboard_long by condition, scenario, model and slot."""

    def __init__(self, rows: Rows) -> None:
        self._rows: dict[tuple[Condition, str, Entry, Slot], dict[str, Any]] = {}
        self._entries: dict[Condition, set[Entry]] = defaultdict(set)
        generations: dict[str, set[int]] = defaultdict(set)
        for row in rows:
            slot = Slot(row["task"], row["metric"], row["scorer_kind"], row["scorer"])
            self._rows[condition_of(row), row["scenario"], entry_of(row), slot] = row
            self._entries[condition_of(row)].add(entry_of(row))
            generations[row["model"]].add(row["generation"])
        self._several = {model for model, known in generations.items() if len(known) > 1}

    @property
    def conditions(self) -> list[Condition]:
        """By protocol, clean first; within one plain text first: it is what every model is asked by default."""
        return sorted(
            self._entries, key=lambda c: (c.protocol != "clean", c.protocol, c.modality != "dialogue", c.modality)
        )

    def described(self, condition: Condition) -> str:
        """The condition, and how often its questions were asked where that is more than once."""
        repeats = max(
            (row.get("n_repeats") or 1 for (found, *_), row in self._rows.items() if found == condition), default=1
        )
        return condition.name if repeats == 1 else f"{condition.name}, mean of {repeats} repeats"

    def entries(self, condition: Condition) -> list[Entry]:
        return sorted(self._entries[condition])

    def name(self, entry: Entry) -> str:
        """The model's id, with its generation only where there are several."""
        return f"{entry.model} (generation {entry.generation})" if entry.model in self._several else entry.model

    def slots(self, task: str, kind: str | None = None) -> list[Slot]:
        """What was computed for a task in any condition."""
        found = {slot for *_, slot in self._rows if slot.task == task and kind in (None, slot.kind)}
        return sorted(found)

    @property
    def tasks(self) -> set[str]:
        return {slot.task for *_, slot in self._rows}

    @property
    def models(self) -> list[Entry]:
        """Every model that has figures, in any condition."""
        return sorted(set().union(*self._entries.values()))

    def get(self, condition: Condition, scenario: str, entry: Entry, slot: Slot) -> dict[str, Any] | None:
        return self._rows.get((condition, scenario, entry, slot))

    def column(self, condition: Condition, scenario: str, slot: Slot) -> list[dict[str, Any]]:
        """A column's figures, in the order of the models."""
        found = (self.get(condition, scenario, entry, slot) for entry in self.entries(condition))
        return [row for row in found if row is not None]


def common(values: Iterable[Any]) -> Any:
    """The one value that all share; None when they differ or there are none."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def score_cell(
    row: dict[str, Any] | None,
    style: MetricFormat,
    *,
    common_n: int | None = None,
    strong: bool = False,
    with_failures: bool = True,
) -> Cell:
    """The figure, or the words that stand for it: bounds in grey while questions are open, never an empty cell.

    common_n: what the column or row says already; with_failures: name failed and open questions below the figure.
    """
    if row is None:
        return words("not computed")
    notes = _notes(row, style, common_n) + (_failure_notes(row) if with_failures else [])
    # where repeats are open, every question can be open and some be answered: then there are bounds
    if row["n_planned"] and row["n_unanswered"] == row["n_planned"] and row["bound_low"] is None:
        return words("no answer", f"none of {count(row['n_planned'])} answered" if with_failures else "")
    if row["n"] == 0 and not row["n_unanswered"] and not row["complete"]:
        return words("not graded")
    if row["n_unanswered"] or row["n"] < row["n_planned"]:
        low, high = style.text(row["bound_low"]), style.text(row["bound_high"])
        text = f"{low} to {high}" if low and high else "incomplete"
        return Cell(text, ", ".join(notes), quiet=True, strip=_strip(row, style, is_open=True))
    if row["value"] is None:
        return words("no data" if row["complete"] else "incomplete")
    text = style.text(row["value"])
    return Cell(text, ", ".join(notes), quiet=not row["complete"], strong=strong, strip=_strip(row, style))


def _notes(row: dict[str, Any], style: MetricFormat, common_n: int | None) -> list[str]:
    notes = []
    if row["ci_low"] is not None and row["ci_high"] is not None:
        notes.append(f"{style.text(row['ci_low'])} to {style.text(row['ci_high'])}")
    if row["n_planned"] < row["n_instances"]:
        notes.append(f"asked {count(row['n_planned'])} of {count(row['n_instances'])}")
    elif row["n"] != common_n and row["complete"]:
        notes.append(f"n = {count(row['n'])}")
    return notes


def _failure_notes(row: dict[str, Any]) -> list[str]:
    notes = [f"{count(row['n_failed'])} failed"] if row["n_failed"] else []
    if row["n_unanswered"]:
        return [*notes, f"incomplete: {count(row['n_unanswered'])} open"]
    ungraded = row["n_planned"] - row["n"]
    return [*notes, f"incomplete: {count(ungraded)} not graded"] if ungraded > 0 else notes


def _strip(row: dict[str, Any], style: MetricFormat, *, is_open: bool = False) -> Strip:
    low, high = style.position(row["bound_low"]), style.position(row["bound_high"])
    return Strip(
        dot=None if is_open else style.position(row["value"]),
        low=style.position(row["ci_low"]),
        high=style.position(row["ci_high"]),
        bounds=(low, high) if is_open and low is not None and high is not None else None,
        chance=style.position(row["chance"]),
    )
