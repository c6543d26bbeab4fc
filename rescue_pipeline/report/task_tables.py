"""One table per task and condition: every metric per model and scenario, with what each figure rests on.

Scores by word overlap have tables of their own: they never stand in a column beside an LLM judge's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rescue_pipeline.report.formatting import (
    SCENARIO_NAMES,
    SCENARIO_ORDER,
    TASK_ORDER,
    TASK_QUESTIONS,
    count,
    metric_format,
    task_name,
)
from rescue_pipeline.report.leaderboard import WORD_OVERLAP
from rescue_pipeline.report.reading import Rows
from rescue_pipeline.report.scores import Condition, Scores, Slot, common, score_cell
from rescue_pipeline.report.view import Cell, Column, Group, Row, Table, words

_RANKING = ("recall_at_1", "recall_at_2", "recall_at_3", "mrr")
TASK_METRICS = {
    "itp": ("precision", "recall", "f1", "accuracy"),
    "rpp": ("accuracy", "accuracy_paper_base", "mrr", "macro_f1"),
    "stp": _RANKING,
    "ssp": _RANKING,
    "er": ("intensity_match", "judge", "er_score", "bertscore_f1"),
    "vp": ("judge", "pairing", "content", "judge_total", "bertscore_f1"),
}
_KINDS = {"intensity_match": "none", "bertscore_f1": "bertscore"}
_JUDGED_TASKS = ("er", "vp")
_COUNTS = ("n", "n_groups", "n_failed", "n_unanswered")


@dataclass(frozen=True)
class TaskSection:
    """All tables of one task."""

    task: str
    title: str
    question: str
    tables: list[Table]


def task_sections(scores: Scores, references: Rows) -> list[TaskSection]:
    """The six tasks in the paper's order, each with its tables; tasks that nobody was asked have none."""
    known = [*TASK_ORDER, *sorted(scores.tasks - set(TASK_ORDER))]
    shown = [row for row in references if row["shown_with_ours"]]
    return [
        TaskSection(task, task_name(task), TASK_QUESTIONS.get(task, ""), _task_tables(scores, task, shown))
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
    if task in _JUDGED_TASKS:
        present = {slot.metric for slot in found}
        missing = [metric for metric in TASK_METRICS[task] if metric not in present]
        found += [Slot(task, metric, _KINDS.get(metric, "llm"), "") for metric in missing]
    return _in_order(task, found)


def _in_order(task: str, slots: list[Slot]) -> list[Slot]:
    order = TASK_METRICS.get(task, ())
    return sorted(slots, key=lambda s: (order.index(s.metric) if s.metric in order else len(order), s))


def _table(scores: Scores, condition: Condition, slots: list[Slot], paper: Rows) -> Table:
    groups = [_group(scores, condition, scenario, slots, paper) for scenario in SCENARIO_ORDER]
    counts = [Column(label) for label in ("n", "groups", "failed", "open")]
    return Table(
        title=condition.name,
        columns=[Column("Model", numeric=False), *map(_column, slots), *counts],
        groups=[group for group in groups if group.rows],
    )


def _column(slot: Slot) -> Column:
    style = metric_format(slot.metric)
    named = slot.kind != "none" and slot.scorer
    return Column(style.name, style.unit, slot.scorer if named else "")


def _group(scores: Scores, condition: Condition, scenario: str, slots: list[Slot], paper: Rows) -> Group:
    rows: list[Row] = []
    for entry in scores.entries(condition):
        found = [scores.get(condition, scenario, entry, slot) for slot in slots]
        if any(found):
            rows += _model_rows(scores.name(entry), scenario, slots, found)
    if rows:
        rows += _chance_rows([scores.column(condition, scenario, slot) for slot in slots], slots)
        rows += _paper_rows([row for row in paper if row["scenario"] == scenario], slots)
    return Group(rows, SCENARIO_NAMES[scenario])


def _model_rows(name: str, scenario: str, slots: list[Slot], found: list[dict[str, Any] | None]) -> list[Row]:
    base = next(row for row in found if row is not None)
    cells = [_cell(row, slot, scenario, base["n"]) for row, slot in zip(found, slots, strict=True)]
    rows = [Row([Cell(name), *cells, *(Cell(count(base[column])) for column in _COUNTS)])]
    if any(row and row["n_failed"] and row["value_without_failures"] is not None for row in found):
        without = [
            words(metric_format(slot.metric).text(row["value_without_failures"]) if row else "")
            for row, slot in zip(found, slots, strict=True)
        ]
        rows.append(Row([words("without its failures"), *without, *_blank()], quiet=True))
    return rows


def _cell(row: dict[str, Any] | None, slot: Slot, scenario: str, common_n: int) -> Cell:
    if row is None and slot.metric == "macro_f1" and scenario == "both":
        return words("per scenario only")
    cell = score_cell(row, metric_format(slot.metric), common_n=common_n)
    # failures have a column here
    note = ", ".join(part for part in cell.note.split(", ") if not part.endswith(" failed"))
    return replace(cell, note=note, strip=None)


def _chance_rows(columns: list[Rows], slots: list[Slot]) -> list[Row]:
    floors = [common(row["chance"] for row in column) for column in columns]
    if all(floor is None for floor in floors):
        return []
    cells = [words(metric_format(slot.metric).text(floor)) for slot, floor in zip(slots, floors, strict=True)]
    return [Row([words("chance"), *cells, *_blank()], quiet=True)]


def _paper_rows(paper: Rows, slots: list[Slot]) -> list[Row]:
    figures = {(row["model"], row["metric"]): row for row in paper}
    rows = []
    for model in sorted({model for model, _ in figures}):
        cells = [_paper_cell(figures.get((model, slot.metric)), slot) for slot in slots]
        rows.append(Row([words(f"{model}, paper"), *cells, *_blank()], quiet=True))
    return rows


def _paper_cell(figure: dict[str, Any] | None, slot: Slot) -> Cell:
    if figure is None:
        return words("")
    if figure["comparable"] == "no":
        return words("not comparable")
    return words(metric_format(slot.metric).text(figure["value"]))


def _blank() -> list[Cell]:
    return [words("") for _ in _COUNTS]
