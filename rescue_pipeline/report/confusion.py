"""Which label was answered for which: one heat table per model, task and scenario."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from rescue_pipeline.report.formatting import SCENARIO_NAMES, TASK_ORDER, count, task_name
from rescue_pipeline.report.reading import Rows
from rescue_pipeline.report.scores import Condition, Scores, condition_of, entry_of
from rescue_pipeline.report.view import Cell, Column, Group, Row, Table

FAILED = "no valid answer"


@dataclass(frozen=True)
class ModelConfusions:
    """The heat tables of one model under one condition."""

    title: str
    tables: list[Table]


def confusion_sections(rows: Rows, scores: Scores) -> list[ModelConfusions]:
    """Model by model, in alphabetical order; within one the tasks in the paper's order."""
    grouped: dict[tuple[Condition, str], dict[tuple[int, str, str], Rows]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        place = TASK_ORDER.index(row["task"]) if row["task"] in TASK_ORDER else len(TASK_ORDER)
        grouped[condition_of(row), scores.name(entry_of(row))][place, row["task"], row["scenario"]].append(row)
    several = len({condition for condition, _ in grouped}) > 1
    return [
        ModelConfusions(
            f"{name}, {condition.name}" if several else name,
            [_matrix(task, scenario, parts[place, task, scenario]) for place, task, scenario in sorted(parts)],
        )
        for (condition, name), parts in sorted(grouped.items(), key=lambda item: (item[0][1], item[0][0]))
    ]


def _matrix(task: str, scenario: str, rows: Rows) -> Table:
    counts: dict[tuple[str, str | None], int] = defaultdict(int)
    for row in rows:
        counts[row["gold_label"], row["predicted_label"]] += row["n"]
    golds = sorted({gold for gold, _ in counts})
    labels = sorted({*golds, *(label for _, label in counts if label is not None)})
    columns: list[str | None] = [*labels]
    if any(label is None for _, label in counts):
        columns.append(None)
    return Table(
        title=f"{task_name(task)}, {SCENARIO_NAMES[scenario].lower()} (n = {count(sum(counts.values()))})",
        columns=[Column("gold ↓  answered →", numeric=False), *(Column(label or FAILED) for label in columns)],
        groups=[Group([_line(gold, columns, counts) for gold in golds])],
        look="heat",
    )


def _line(gold: str, columns: list[str | None], counts: dict[tuple[str, str | None], int]) -> Row:
    total = sum(counts.get((gold, label), 0) for label in columns)
    cells = [Cell(gold)]
    for label in columns:
        n = counts.get((gold, label), 0)
        cells.append(Cell(count(n), quiet=n == 0, strong=label == gold, shade=round(n / total, 4) if total else 0.0))
    return Row(cells)
