"""One table per task and condition: every metric per model and scenario, with what each figure rests on.

Scores by word overlap have tables of their own: they never stand in a column beside an LLM judge's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rescue_pipeline.metrics.catalogue import BERTSCORE_METRICS, ITEM_METRICS, JUDGED_METRICS
from rescue_pipeline.report.formatting import (
    SCENARIO_NAMES,
    SCENARIO_ORDER,
    TASK_ORDER,
    TASK_QUESTIONS,
    count,
    listed,
    metric_format,
    task_name,
)
from rescue_pipeline.report.leaderboard import WORD_OVERLAP
from rescue_pipeline.report.reading import Rows
from rescue_pipeline.report.scores import SAME_VENDOR, Condition, Scores, Slot, common, score_cell
from rescue_pipeline.report.view import Cell, Column, Group, Row, Table, words

_KINDS = {"none": ITEM_METRICS, "llm": JUDGED_METRICS, "bertscore": BERTSCORE_METRICS}
_COUNTS = ("n", "n_groups", "n_failed", "n_unanswered")


@dataclass(frozen=True)
class TaskSection:
    """All tables of one task."""

    task: str
    title: str
    question: str
    tables: list[Table]
    missing: list[str]


def task_sections(scores: Scores, references: Rows) -> list[TaskSection]:
    """The six tasks in the paper's order, each with its tables; tasks that nobody was asked have none."""
    known = [*TASK_ORDER, *sorted(scores.tasks - set(TASK_ORDER))]
    shown = [row for row in references if row["shown_with_ours"]]
    return [
        TaskSection(
            task,
            task_name(task),
            TASK_QUESTIONS.get(task, ""),
            _task_tables(scores, task, shown),
            _not_computed(scores, task),
        )
        for task in known
    ]


def _task_tables(scores: Scores, task: str, shown: Rows) -> list[Table]:
    tables = []
    for condition in scores.conditions:
        paper = [row for row in shown if row["task"] == task] if condition.modality == "dialogue" else []
        tables.append(_table(scores, condition, _slots(scores, task), paper))
        lexical = _in_order(task, scores.slots(task, "lexical"))
        if lexical:
            overlap = _table(scores, condition, lexical, [])
            tables.append(replace(overlap, title=f"{overlap.title}: {WORD_OVERLAP}"))
    return [table for table in tables if not table.empty]


def _slots(scores: Scores, task: str) -> list[Slot]:
    """The task's columns; what was not computed keeps its column where a reader would look for it."""
    found = [slot for slot in scores.slots(task) if slot.kind != "lexical"]
    present = {(slot.kind, slot.metric) for slot in found}
    missing = [
        Slot(task, metric, kind, "")
        for kind, metrics in _KINDS.items()
        for metric in metrics.get(task, [])
        if (kind, metric) not in present
    ]
    return _in_order(task, [*found, *missing])


def _not_computed(scores: Scores, task: str) -> list[str]:
    """What a reader would look for and no table of the task shows."""
    slots = _slots(scores, task)
    if not scores.slots(task) or any(slot.scorer for slot in slots):
        return []
    return [f"{listed([slot.name for slot in slots])}: not computed."]


def _in_order(task: str, slots: list[Slot]) -> list[Slot]:
    order = [metric for metrics in _KINDS.values() for metric in metrics.get(task, [])]
    return sorted(slots, key=lambda s: (order.index(s.metric) if s.metric in order else len(order), s))


def _table(scores: Scores, condition: Condition, slots: list[Slot], paper: Rows) -> Table:
    groups = [_group(scores, condition, scenario, slots, paper) for scenario in SCENARIO_ORDER]
    counts = [Column(label) for label in ("n", "groups", "failed", "open")]
    return Table(
        title=scores.described(condition),
        columns=[Column("Model", numeric=False), *map(_column, slots), *counts],
        groups=[group for group in groups if group.rows],
    )


def _column(slot: Slot) -> Column:
    # a BERTScore's id is long; "How far to trust the judge" has it whole
    scorer = {"none": "", "bertscore": slot.scorer.partition("_no-idf")[0]}.get(slot.kind, slot.scorer)
    return Column(slot.name, metric_format(slot.metric).unit, scorer)


def _group(scores: Scores, condition: Condition, scenario: str, slots: list[Slot], paper: Rows) -> Group:
    columns = [scores.column(condition, scenario, slot) for slot in slots]
    sizes = [common(row["n"] for row in column if row["complete"]) for column in columns]
    rows: list[Row] = []
    for entry in scores.entries(condition):
        found = [scores.get(condition, scenario, entry, slot) for slot in slots]
        if any(found):
            rows += _model_rows(scores.name(entry), scenario, slots, found, sizes)
    if rows:
        rows += _chance_rows(columns, slots) + _size_rows(sizes)
        rows += _paper_rows([row for row in paper if row["scenario"] == scenario], slots)
    return Group(rows, SCENARIO_NAMES[scenario])


def _model_rows(
    name: str, scenario: str, slots: list[Slot], found: list[dict[str, Any] | None], sizes: list[int | None]
) -> list[Row]:
    base = next(row for row in found if row is not None)
    cells = [
        _cell(row, slot, scenario, base["n"] if size is None else size)
        for row, slot, size in zip(found, slots, sizes, strict=True)
    ]
    rows = [Row([Cell(name), *cells, *(Cell(count(base[column]), quiet=not base[column]) for column in _COUNTS)])]
    if any(row and row["n_failed"] and row["value_without_failures"] is not None for row in found):
        without = [
            metric_format(slot.metric).text(row["value_without_failures"]) if row else ""
            for row, slot in zip(found, slots, strict=True)
        ]
        rows.append(_sub_row("without its failures", without))
    return rows


def _cell(row: dict[str, Any] | None, slot: Slot, scenario: str, common_n: int) -> Cell:
    if row is None and slot.metric == "macro_f1" and scenario == "both":
        return words("per scenario only")
    # failed and open questions have columns of their own here
    cell = score_cell(row, metric_format(slot.metric), common_n=common_n, with_failures=False)
    vendor = [SAME_VENDOR] if row and row.get("same_vendor") else []
    return replace(cell, strip=None, note=", ".join([*vendor, *filter(None, [cell.note])]))


def _chance_rows(columns: list[Rows], slots: list[Slot]) -> list[Row]:
    floors = [common(row["chance"] for row in column) for column in columns]
    if all(floor is None for floor in floors):
        return []
    texts = [metric_format(slot.metric).text(floor) for slot, floor in zip(slots, floors, strict=True)]
    return [_sub_row("chance", texts)]


def _size_rows(sizes: list[int | None]) -> list[Row]:
    """What a figure is counted over, where that differs from the row's n (the paper's base of relation patterns)."""
    base = next((size for size in sizes if size is not None), None)
    texts = [count(size) if size not in (None, base) else "" for size in sizes]
    return [_sub_row("n, where it differs", texts)] if any(texts) else []


def _sub_row(name: str, texts: list[str]) -> Row:
    return Row([words(name), *map(words, texts), *(words("") for _ in _COUNTS)], sub=True)


def _paper_rows(paper: Rows, slots: list[Slot]) -> list[Row]:
    figures = {(row["model"], row["metric"]): row for row in paper}
    return [
        _sub_row(f"{model}, paper", [_paper_text(figures.get((model, slot.metric)), slot) for slot in slots])
        for model in sorted({model for model, _ in figures})
    ]


def _paper_text(figure: dict[str, Any] | None, slot: Slot) -> str:
    if figure is None:
        return ""
    return "not comparable" if figure["comparable"] == "no" else metric_format(slot.metric).text(figure["value"])
