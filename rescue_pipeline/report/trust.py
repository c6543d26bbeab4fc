"""How far the graders can be trusted: what each makes of answers whose worth is known, and how far judges agree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rescue_pipeline.report.formatting import METRICS, TASK_ORDER, count, listed, metric_format, task_name
from rescue_pipeline.report.reading import Results, Rows
from rescue_pipeline.report.view import Cell, Column, Group, Row, Section, Table, words

LOW_CEILING, HIGH_FLOOR = 4.0, 3.0
"""On the scale 1-5: a judge that grades the gold itself lower, or another session's gold higher, tells little."""

_FLOORS = ("other_session", "shuffled")
_NOTES = (
    "Ceiling: the mean grade of the gold itself. Floor: that of another session’s gold, names exchanged. Verbose: that "
    "gold in many confident words. Swapped: the gold with source and target exchanged. A judge’s mean says something "
    "between its floor and its ceiling only.",
    "Same grade again: a tenth of the answers is judged three times; the share with one grade each time, and the mean "
    "standard deviation of the grades of one answer.",
)


def trust_section(results: Results) -> Section | None:
    """Controls, repeats and agreement; None where nothing was graded and nobody tried."""
    rows = newest(results["judge_trust"])
    judged = [row for row in rows if row["scorer_kind"] != "bertscore"]
    compared = [row for row in rows if row["scorer_kind"] == "bertscore"]
    agreement = results["judge_agreement"]
    sentences = [*hints(rows), *_not_computed(results.bertscores)]
    tables = []
    if judged:
        tables.append(_judges_table(judged))
    if agreement:
        tables.append(_agreement_table(agreement))
    if compared:
        tables.append(_bertscore_table(compared, results.bertscores))
    if not tables and not sentences:
        return None
    return Section("trust", "How far to trust the judge", sentences, tables)


def newest(rows: Rows) -> Rows:
    """The controls of each judge's newest generation."""
    last: dict[str, int] = {}
    for row in rows:
        last[row["scorer"]] = max(last.get(row["scorer"], 0), row["generation"])
    return [row for row in rows if row["generation"] == last[row["scorer"]]]


def hints(rows: Iterable[dict[str, Any]]) -> list[str]:
    """A sentence for each judge and task whose controls fail badly (rows of results.judge_trust)."""
    found = []
    for row in rows:
        mean = row["mean"]
        if row["grade"] != "similarity" or mean is None:
            continue
        style, where = METRICS["judge"], f"{row['scorer']} in {task_name(row['task']).lower()}"
        if row["control"] == "gold" and mean < LOW_CEILING:
            found.append(f"{where} gives the gold itself only {style.text(mean)} of 5: its grades say little.")
        if row["control"] == "other_session" and mean > HIGH_FLOOR:
            found.append(f"{where} gives another session’s gold {style.text(mean)} of 5: its grades say little.")
    return found


def _not_computed(bertscores: Rows) -> list[str]:
    reasons: dict[str, set[str]] = {}
    for row in bertscores:
        if row["reason"]:
            reasons.setdefault(row["reason"], set()).add(task_name(row["task"]))
    return [f"BERTScore of {listed(sorted(tasks))}: not computed: {reason}." for reason, tasks in reasons.items()]


def _judges_table(rows: Rows) -> Table:
    figures = _by_control(rows, "similarity")
    columns = [
        Column("Judge", numeric=False),
        Column("Task", numeric=False),
        *(Column(label, "1–5") for label in ("Ceiling", "Floor", "Verbose", "Swapped")),
        Column("controls"),
        Column("Same grade again", "%"),
        Column("Spread", "sd"),
        Column("repeated"),
        Column("not graded"),
    ]
    groups = [Group([_judge_row(*key, found) for key, found in sorted(figures.items(), key=_in_order)])]
    return Table("What each judge makes of answers whose worth is known", columns, groups, _NOTES)


def _judge_row(scorer: str, task: str, found: dict[str, dict[str, Any]]) -> Row:
    style, repeat = METRICS["judge"], found.get("repeat", {})
    controls = {name: row for name, row in found.items() if name != "repeat"}
    means = [_mean(found.get(name), style.text) for name in ("gold", "other_session", "verbose_wrong", "swapped")]
    same, spread = repeat.get("share_identical"), repeat.get("mean_within_sd")
    return Row(
        [
            Cell(scorer),
            Cell(task_name(task)),
            *means,
            Cell(count(max((row["n"] for row in controls.values()), default=0))),
            words("none") if same is None else Cell(f"{100 * same:.1f}"),
            words("none") if spread is None else Cell(f"{spread:.2f}"),
            Cell(count(repeat.get("n", 0))),
            Cell(count(sum(row["n_ungraded"] for row in found.values()))),
        ]
    )


def _mean(row: dict[str, Any] | None, text: Any) -> Cell:
    return words("none") if row is None or row["mean"] is None else Cell(text(row["mean"]))


def _bertscore_table(rows: Rows, runs: Rows) -> Table:
    style, figures = metric_format("bertscore_f1"), _by_control(rows, "f1")
    cut: dict[tuple[str, str], int] = {}
    for run in runs:
        cut[run["scorer"], run["task"]] = cut.get((run["scorer"], run["task"]), 0) + run["n_cut"]
    lines = []
    for (scorer, task), found in sorted(figures.items(), key=_in_order):
        floor = next((found[name] for name in _FLOORS if name in found), None)
        cells = [_mean(found.get("gold"), style.text), _mean(floor, style.text)]
        n = max(row["n"] for row in found.values())
        lines.append(Row([Cell(scorer), Cell(task_name(task)), *cells, Cell(count(n)), _cut(cut.get((scorer, task)))]))
    left = [Column("BERTScore", numeric=False), Column("Task", numeric=False)]
    columns = [*left, *map(Column, ("Ceiling", "Floor", "controls", "answers cut"))]
    note = "F1s are not rescaled, so unrelated texts score far above 0: the floor is the mean of shuffled pairs."
    return Table("BERTScore between its floor and its ceiling", columns, [Group(lines)], [note])


def _cut(n: int | None) -> Cell:
    return words("none") if not n else Cell(count(n))


def _agreement_table(rows: Rows) -> Table:
    lines = [
        Row(
            [
                Cell(f"{row['judge']} and {row['other_judge']}"),
                Cell(f"{task_name(row['task'])}, {row['grade']}"),
                Cell(count(row["n"])),
                Cell(f"{100 * row['share_exact']:.1f}"),
                Cell(f"{100 * row['share_off_by_one']:.1f}"),
                Cell(f"{row['mean_absolute_difference']:.2f}"),
                words("not defined") if row["quadratic_kappa"] is None else Cell(f"{row['quadratic_kappa']:.2f}"),
            ]
        )
        for row in rows
    ]
    columns = [
        Column("Judges", numeric=False),
        Column("Grade", numeric=False),
        Column("answers"),
        Column("Same grade", "%"),
        Column("Off by one", "%"),
        Column("Difference", "points"),
        Column("Kappa", "quadratic"),
    ]
    reasons = sorted({row["comparable_reason"] for row in rows})
    notes = [
        f"Comparable with the paper’s figures on its judge: no. {reason[0].upper()}{reason[1:]}." for reason in reasons
    ]
    return Table("How far judges agree on the same answers", columns, [Group(lines)], notes)


def _by_control(rows: Rows, grade: str) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    figures: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        if row["grade"] == grade:
            figures.setdefault((row["scorer"], row["task"]), {})[row["control"]] = row
    return figures


def _in_order(item: tuple[tuple[str, str], Any]) -> tuple[str, int]:
    (scorer, task), _ = item
    return scorer, TASK_ORDER.index(task) if task in TASK_ORDER else len(TASK_ORDER)
