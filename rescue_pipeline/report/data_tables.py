"""What the scores rest on: the corpus beside the paper's, the labels, the records that were refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rescue_pipeline.report.formatting import SCENARIO_NAMES, TASK_ORDER, count, metric_format, task_name
from rescue_pipeline.report.reading import Rows
from rescue_pipeline.report.view import Cell, Column, Group, Row, Table, text_cells

STATISTICS = {
    "samples": ("Sessions", "", 0),
    "duration_minutes": ("Duration", "minutes", 1),
    "turns": ("Turns", "", 0),
    "mean_duration_minutes": ("Mean duration", "minutes", 2),
    "mean_turns": ("Mean turns", "", 2),
    "mean_speakers": ("Mean speakers", "", 2),
    "therapist_turn_share_percent": ("Therapist’s turns", "%", 1),
}
_SCENARIO_LABELS = {"couple": "Couples", "family": "Families", "both": "Together"}
MAX_REJECTS = 50


def statistics_table(rows: Rows) -> Table:
    """One row per scenario, ours and the paper's, one column per statistic."""
    known = [name for name in STATISTICS if any(row["statistic"] == name for row in rows)]
    known += sorted({row["statistic"] for row in rows} - set(known))
    figures = {(row["statistic"], row["scenario"]): row for row in rows}

    def group(title: str, column: str, quiet: bool) -> Group:
        lines = []
        for scenario, label in _SCENARIO_LABELS.items():
            values = [figures.get((name, scenario), {}).get(column) for name in known]
            if any(value is not None for value in values):
                texts = [_statistic(name, value) for name, value in zip(known, values, strict=True)]
                lines.append(Row(text_cells([label, *texts], quiet=quiet)))
        return Group(lines, title)

    groups = [group("This corpus", "value", False), group("The paper’s corpus", "paper_value", True)]
    columns = [Column(STATISTICS.get(name, (name, "", 2))[0], STATISTICS.get(name, (name, "", 2))[1]) for name in known]
    return Table(
        "Size of the corpus",
        [Column("", numeric=False), *columns],
        [group for group in groups if group.rows],
        notes=_comparability(rows, "statistic"),
    )


def _statistic(name: str, value: float | None) -> str:
    return "not computed" if value is None else f"{value:,.{STATISTICS.get(name, (name, '', 2))[2]}f}"


def instances_table(rows: Rows) -> Table:
    """One row per task: questions and the sessions they come from, ours beside the paper's."""
    figures = {(row["task"], row["scenario"]): row for row in rows}
    lines = []
    for task in [task for task in TASK_ORDER if any(key[0] == task for key in figures)]:
        cells = [Cell(task_name(task))]
        for column in ("n_instances", "n_samples", "paper_instances", "paper_samples"):
            for scenario in ("couple", "family"):
                value = figures.get((task, scenario), {}).get(column)
                cells.append(Cell(count(value) or "none", quiet=column.startswith("paper")))
        lines.append(Row(cells))
    columns = [
        Column(scenario, heading)
        for heading in ("questions", "sessions", "paper’s questions", "paper’s sessions")
        for scenario in ("Couples", "Families")
    ]
    return Table(
        "Questions per task", [Column("Task", numeric=False), *columns], [Group(lines)], _comparability(rows, "task")
    )


def _comparability(rows: Rows, subject: str) -> list[str]:
    """Whether the paper's figures may stand beside ours, and why: one sentence per distinct answer."""
    answers: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["comparable"] is not None:
            key = (row["comparable"], row.get("comparable_reason") or "")
            answers.setdefault(key, []).append(str(row[subject]))
    sentences = []
    for (flag, reason), subjects in sorted(answers.items()):
        which = "" if len(answers) == 1 else f" ({', '.join(sorted(set(subjects)))})"
        sentences.append(
            f"Comparable with the paper: {flag}{which}{'. ' + reason if reason else ''}.".replace("..", ".")
        )
    return sentences


def label_tables(rows: Rows) -> list[Table]:
    """How often each label is the gold answer, per task and scenario; labels that never are stand last, in grey."""
    keys = sorted({(row["task"], row["scenario"]) for row in rows}, key=lambda key: (_place(key[0]), key[1]))
    return [_label_table(task, scenario, rows) for task, scenario in keys]


def _place(task: str) -> int:
    return TASK_ORDER.index(task) if task in TASK_ORDER else len(TASK_ORDER)


def _label_table(task: str, scenario: str, rows: Rows) -> Table:
    own = [row for row in rows if (row["task"], row["scenario"]) == (task, scenario)]
    own.sort(key=lambda row: (-row["n"], row["label"]))
    lines = [_label_row(row) for row in own]
    total = sum(row["n"] for row in own)
    title = f"{task_name(task)}, {SCENARIO_NAMES[scenario].lower()} (n = {count(total)})"
    return Table(
        title, [Column("Gold label", numeric=False), Column("n"), Column("Share", "%")], [Group(lines)], look="bars"
    )


def _label_row(row: dict[str, Any]) -> Row:
    share = row["share"] or 0.0
    never = row["n"] == 0
    cells = [Cell(row["label"], quiet=never), Cell(count(row["n"]), quiet=never)]
    return Row([*cells, Cell(f"{100 * share:.1f}", quiet=never, shade=round(share, 4))])


def published_table(references: Rows) -> Table:
    """The paper's results where they may not stand beside ours."""
    rows = [row for row in references if not row["shown_with_ours"]]
    figures = {(row["model"], row["scenario"], row["task"], row["metric"]): row["value"] for row in rows}
    kinds = sorted({(row["task"], row["metric"]) for row in rows}, key=lambda kind: (_place(kind[0]), kind[1]))
    groups = []
    for scenario, title in SCENARIO_NAMES.items():
        models = sorted({row["model"] for row in rows if row["scenario"] == scenario})
        lines = [
            Row(
                text_cells(
                    [model, *(_published(figures.get((model, scenario, *kind)), kind[1]) for kind in kinds)], quiet=True
                )
            )
            for model in models
        ]
        groups.append(Group(lines, title))
    columns = [Column(task_name(task), metric_format(metric).heading) for task, metric in kinds]
    return Table(
        "Published results on other data: not comparable",
        [Column("Model", numeric=False), *columns],
        [group for group in groups if group.rows],
    )


def _published(value: float | None, metric: str) -> str:
    return metric_format(metric).text(value) or "no figure"


def reject_tables(rejects: Rows) -> list[Table]:
    """Refused records: how many for which reason, then each with its place (the first ones, where there are many)."""
    if not rejects:
        return []
    reasons = Counter((row["reason"] or "no reason given", row["field"] or "") for row in rejects)
    by_reason = [
        Row([Cell(reason), Cell(field), Cell(count(n))])
        for (reason, field), n in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    ]
    names = ("source_path", "source_line", "record", "field", "expected", "found", "reason")
    each = [Row(text_cells([_text(row[name]) for name in names])) for row in rejects[:MAX_REJECTS]]
    more = len(rejects) - len(each)
    left = [Column(label, numeric=False) for label in ("Record", "Field", "Expected", "Found", "Reason")]
    return [
        Table(
            "Refused records by reason",
            [Column("Reason", numeric=False), Column("Field", numeric=False), Column("n")],
            [Group(by_reason)],
        ),
        Table(
            "Where they are",
            [Column("File", numeric=False), Column("Line"), *left],
            [Group(each)],
            notes=[f"{count(more)} more stand in tables/rejects.csv."] if more else [],
        ),
    ]


def _text(value: Any) -> str:
    return "" if value is None else str(value)
