"""The leaderboard: one row per model, one dot-and-whisker column per task, one table per condition and scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rescue_pipeline.metrics.catalogue import PRIMARY
from rescue_pipeline.report.formatting import SCENARIO_NAMES, TASK_ORDER, count, listed, metric_format, task_name
from rescue_pipeline.report.reading import Rows
from rescue_pipeline.report.scores import (
    SAME_VENDOR,
    Condition,
    Entry,
    Scores,
    Slot,
    common,
    entry_of,
    score_cell,
)
from rescue_pipeline.report.view import Cell, Column, Group, Row, Strip, Table, words

WORD_OVERLAP = "word overlap, not comparable with an LLM judge"
NO_INTERVALS = "intervals: not computed"


@dataclass(frozen=True)
class Board:
    """One leaderboard. leaders: per column, the models that share its highest printed value (several: a tie)."""

    condition: Condition
    scenario: str
    table: Table
    leaders: list[list[Entry]]
    ranked: list[Entry]
    unranked: list[Entry]
    has_intervals: bool
    by_word_overlap: bool


def boards(scores: Scores, references: Rows) -> list[Board]:
    """Condition by condition; in each both scenarios together, then couples, then families."""
    shown = [row for row in references if row["shown_with_ours"]]
    return [
        board(scores, condition, scenario, shown)
        for condition in scores.conditions
        for scenario in SCENARIO_NAMES
        if _has_scores(scores, condition, scenario)
    ]


def board(scores: Scores, condition: Condition, scenario: str, shown: Rows) -> Board:
    """One table; the paper's rows stand in it only where they are comparable and were asked about plain text."""
    slots = main_slots(scores, paper_base=bool(shown))
    columns = [scores.column(condition, scenario, slot) for slot in slots]
    leaders = [_leaders(rows, slot) for rows, slot in zip(columns, slots, strict=True)]
    ranked, unranked = _ordered(scores, condition, columns, slots)
    body = [_row(scores, condition, scenario, entry, slots, columns, leaders) for entry in [*ranked, *unranked]]
    groups = [Group(body)]
    if shown and condition.modality == "dialogue":
        groups.append(_paper_group(shown, scenario, slots))
    has_intervals = any(row["ci_low"] is not None for rows in columns for row in rows)
    overlap = any(slot.kind == "lexical" for slot in slots)
    table = Table(
        title=f"{SCENARIO_NAMES[scenario]}, {scores.described(condition)}",
        columns=[Column("Model", numeric=False), *map(_column, slots, columns)],
        groups=groups,
    )
    return Board(condition, scenario, table, leaders, ranked, unranked, has_intervals, overlap)


def main_slots(scores: Scores, *, paper_base: bool) -> list[Slot]:
    """One column per task; er and vp one per LLM judge, or the word-overlap score while no LLM judged.

    paper_base: count relation patterns over the paper's base, where its rows stand in the same table.
    """
    slots = []
    for task in TASK_ORDER:
        metric = "accuracy_paper_base" if task == "rpp" and paper_base else PRIMARY[task]
        if metric != "judge":
            slots.append(Slot(task, metric, "none", "none"))
            continue
        for kind in ("llm", "lexical"):
            judged = [slot for slot in scores.slots(task, kind) if slot.metric == metric]
            if judged:
                break
        slots += judged or [Slot(task, metric, "llm", "")]
    return slots


def _has_scores(scores: Scores, condition: Condition, scenario: str) -> bool:
    slots = (slot for task in TASK_ORDER for slot in scores.slots(task))
    return any(row["n_planned"] for slot in slots for row in scores.column(condition, scenario, slot))


def _column(slot: Slot, rows: Rows) -> Column:
    style = metric_format(slot.metric)
    heading = f"{slot.name}, {style.unit}"
    if slot.kind == "llm" and slot.scorer:
        heading = f"{heading}, {slot.scorer}"
    size, chance = common(row["n"] for row in rows if row["complete"]), common(row["chance"] for row in rows)
    details = [f"n = {count(size)}" if size is not None else "n differs" if rows else "not computed"]
    details += [f"chance {style.text(chance)}"] if chance is not None else []
    return Column(task_name(slot.task), heading, " · ".join(details), ends=style.ends)


def _row(
    scores: Scores,
    condition: Condition,
    scenario: str,
    entry: Entry,
    slots: list[Slot],
    columns: list[Rows],
    leaders: list[list[Entry]],
) -> Row:
    cells = [Cell(scores.name(entry))]
    for slot, rows, best in zip(slots, columns, leaders, strict=True):
        size = common(row["n"] for row in rows if row["complete"])
        row = scores.get(condition, scenario, entry, slot)
        if row is not None and row.get("same_vendor"):
            cells.append(words(SAME_VENDOR))
            continue
        cells.append(score_cell(row, metric_format(slot.metric), common_n=size, strong=entry in best))
    return Row(cells)


def _leaders(rows: Rows, slot: Slot) -> list[Entry]:
    """Who has the highest printed value among complete cells; nobody when there is nothing to compare."""
    printed = {entry_of(row): _printed(row, slot) for row in rows if _is_ranked(row)}
    best = max(printed.values(), default=None)
    return [entry for entry, value in printed.items() if value == best] if len(printed) > 1 else []


def _is_ranked(row: dict[str, Any]) -> bool:
    return bool(row["complete"]) and row["value"] is not None and not row.get("same_vendor")


def _ordered(
    scores: Scores, condition: Condition, columns: list[Rows], slots: list[Slot]
) -> tuple[list[Entry], list[Entry]]:
    """Models by their average place over the columns they have a value in; those with an incomplete cell apart."""
    places: dict[Entry, list[int]] = {entry: [] for entry in scores.entries(condition)}
    incomplete = {entry_of(row) for rows in columns for row in rows if not row["complete"]}
    for rows, slot in zip(columns, slots, strict=True):
        printed = {entry_of(row): _printed(row, slot) for row in rows if _is_ranked(row)}
        for entry, value in printed.items():
            places[entry].append(sum(other > value for other in printed.values()))
    ranked = [entry for entry, found in places.items() if found and entry not in incomplete]
    unranked = [entry for entry in places if entry not in ranked]
    return sorted(ranked, key=lambda entry: (sum(places[entry]) / len(places[entry]), entry)), unranked


def _printed(row: dict[str, Any], slot: Slot) -> float:
    """The value as a reader sees it: what looks equal is equal."""
    return float(metric_format(slot.metric).text(row["value"]))


def _paper_group(shown: Rows, scenario: str, slots: list[Slot]) -> Group:
    """The paper's figures as rings; how far they are comparable stands once, above them."""
    figures = {(row["model"], row["task"], row["metric"]): row for row in shown if row["scenario"] == scenario}
    flags = sorted({row["comparable"] for row in figures.values() if row["comparable"] != "no"})
    rows = []
    for model in sorted({model for model, *_ in figures}):
        cells = [_paper_cell(figures.get((model, slot.task, slot.metric)), slot) for slot in slots]
        rows.append(Row([words(model), *cells]))
    return Group(rows, f"Published in the paper on this corpus, comparable: {listed(flags, 'or') or 'no'}")


def _paper_cell(figure: dict[str, Any] | None, slot: Slot) -> Cell:
    style = metric_format(slot.metric)
    if figure is None:
        return words("no figure")
    if figure["comparable"] == "no" or slot.kind == "lexical":
        return words("not comparable")
    return Cell(style.text(figure["value"]), quiet=True, strip=Strip(hollow=style.position(figure["value"])))
