"""What the protocol changes, and how far the repeats of one question differ: shown where there is something to show."""

from __future__ import annotations

from typing import Any

from rescue_pipeline.metrics.effects import BASE, IMPORTED
from rescue_pipeline.report.formatting import TASK_ORDER, count, counted, listed, metric_format, task_name
from rescue_pipeline.report.reading import Rows
from rescue_pipeline.report.scores import Scores, Slot, condition_of, entry_of
from rescue_pipeline.report.view import Cell, Column, Group, Row, Section, Table, text_cells, words
from rescue_pipeline.tasks.spec import load_protocol, protocol_names

_LEAKS = {
    "ids": "ids that name the gold",
    "shared_requests": "questions of one session in one request",
    "gold_example": "an example from the gold",
}
_HOW_TO_READ = (
    "A cell is the model’s score under the protocol minus its score under clean, over the questions that are settled "
    "under both, in points of the metric’s scale. Below it stands the 95% interval: both scores computed anew from "
    "2,000 draws of whole couples and families. No allowance is made for looking at many differences at once."
)
_SPREAD_SCORES = ("accuracy", "recall_at_1", "intensity_match", "judge")


def protocol_section(rows: Rows, scores: Scores) -> Section | None:
    """The differences to clean (results.protocol_effects); None where questions were asked in one way only."""
    if len({condition.protocol for condition in scores.conditions} - {IMPORTED}) < 2:
        return None
    shown = [row for row in rows if row["scenario"] == "both"]
    section = Section("protocols", "What the protocol changes")
    if not shown:
        return section.saying("No model was asked under clean and under another protocol: nothing can be compared.")
    protocols = sorted({row["protocol"] for row in shown})
    parts = {protocol: [row for row in shown if row["protocol"] == protocol] for protocol in protocols}
    table = _effects_table(parts, scores)
    return section.saying(*(_sentence(protocol, part, scores) for protocol, part in parts.items())).with_tables(table)


def _sentence(protocol: str, rows: Rows, scores: Scores) -> str:
    """How many differences are sure, and the largest one."""
    known = [row for row in rows if row["difference"] is not None]
    if not known:
        return f"{_subject(protocol)}: no question is settled under both yet."
    if not any(row["difference"] for row in known):
        return f"{_subject(protocol)}: no figure differs."
    sure = [row for row in known if row["ci_low"] is not None]
    above, below = sum(row["ci_low"] > 0 for row in sure), sum(row["ci_high"] < 0 for row in sure)
    certain = (
        f"of {counted(len(known), 'difference')} {above} {'lies' if above == 1 else 'lie'} above zero with "
        f"{'its' if above == 1 else 'their'} whole interval, {below} below"
        if sure
        else "no difference has an interval"
    )
    return f"{_subject(protocol)}: {certain}. The largest: {_largest(known, scores)}."


def _subject(protocol: str) -> str:
    leaks = load_protocol(protocol).leaks if protocol in protocol_names() else ()
    if not leaks:
        return f"Protocol {protocol} against {BASE}"
    named = listed([_LEAKS[leak] for leak in leaks])
    return f"What the leaks of the public scripts are worth, protocol {protocol} ({named}) against {BASE}"


def _largest(rows: Rows, scores: Scores) -> str:
    """The difference that is largest on its metric's scale."""

    def share_of_scale(row: dict[str, Any]) -> float:
        style = metric_format(row["metric"])
        return abs(float(row["difference"])) / (style.high - style.low)

    row = max(rows, key=share_of_scale)
    style = metric_format(row["metric"])
    interval = "" if row["ci_low"] is None else f" ({style.signed(row['ci_low'])} to {style.signed(row['ci_high'])})"
    where = f"{scores.name(entry_of(row))} in {task_name(row['task']).lower()}, {row['modality']}"
    return f"{style.signed(row['difference'])}{interval} {_slot(row).name} of {where}"


def _slot(row: dict[str, Any]) -> Slot:
    return Slot(row["task"], row["metric"], row["scorer_kind"], row["scorer"])


def _effects_table(parts: dict[str, Rows], scores: Scores) -> Table:
    """One row per protocol, model and modality, one column per task's main metric."""
    slots = sorted(
        {_slot(row) for rows in parts.values() for row in rows}, key=lambda slot: (TASK_ORDER.index(slot.task), slot)
    )
    groups = []
    for protocol, rows in parts.items():
        found = {(scores.name(entry_of(row)), row["modality"], _slot(row)): row for row in rows}
        runs = sorted({key[:2] for key in found}, key=lambda run: (run[1] != "dialogue", run[1], run[0]))
        lines = [
            Row([*text_cells(run), *(_effect_cell(found.get((*run, slot)), slot) for slot in slots)]) for run in runs
        ]
        groups.append(Group(lines, f"{protocol} minus {BASE}"))
    columns = [Column("Model", numeric=False), Column("Modality", numeric=False), *map(_column, slots)]
    return Table("Difference to clean, by task", columns, groups, [_HOW_TO_READ, *_exceptions(parts)])


def _column(slot: Slot) -> Column:
    unit = metric_format(slot.metric).unit
    return Column(task_name(slot.task), f"{slot.name}, {unit}", slot.scorer if slot.kind == "llm" else "")


def _effect_cell(row: dict[str, Any] | None, slot: Slot) -> Cell:
    if row is None:
        return words("not asked under both")
    style = metric_format(slot.metric)
    if row["difference"] is None:
        return words("no data" if row["n"] == 0 else "not defined", f"n = {count(row['n'])}")
    interval = (
        "no interval" if row["ci_low"] is None else f"{style.signed(row['ci_low'])} to {style.signed(row['ci_high'])}"
    )
    return Cell(style.signed(row["difference"]), f"{interval}, n = {count(row['n'])}")


def _exceptions(parts: dict[str, Rows]) -> list[str]:
    """Why intervals are missing, and what was left out."""
    rows = [row for part in parts.values() for row in part]
    reasons = sorted({row["no_interval"] for row in rows if row["no_interval"]})
    notes = [f"No interval: {listed(reasons, 'or')}."] if reasons else []
    if any(row["n_open"] or row["n_one_sided"] for row in rows):
        notes.append("Questions that were asked or settled under one of the two only are left out.")
    return notes


def spread_section(rows: Rows, scores: Scores) -> Section | None:
    """How far repeats differ (results.epoch_spread); None where every question was asked once."""
    shown = [row for row in rows if row["scenario"] == "both" and row["metric"] in _SPREAD_SCORES]
    if not shown:
        return None
    order = sorted(shown, key=lambda row: (condition_of(row).name, entry_of(row), TASK_ORDER.index(row["task"])))
    labels = ("Model", "Asked", "Task", "Score")
    columns = [
        *(Column(label, numeric=False) for label in labels),
        Column("repeats"),
        Column("n"),
        Column("answered differently", "% of questions"),
        Column("standard deviation", "points of the score"),
    ]
    table = Table(
        "Repeats of one question, by model and task",
        columns,
        [Group([_spread_row(row, scores) for row in order])],
        [
            "Scores of repeats are averaged within each question before anything else. Answered differently: not the "
            "same first label, or not the same intensity; free text is not compared. Standard deviation: of a "
            "question’s score over its repeats, averaged over the questions."
        ],
    )
    return Section("repeats", "How far repeats differ").saying(_spread_sentence(shown)).with_tables(table)


def _spread_row(row: dict[str, Any], scores: Scores) -> Row:
    style = metric_format(row["metric"])
    differing = row["share_differing"]
    scorer = "" if row["scorer"] == "none" else f", {row['scorer']}"
    score = f"{metric_format(row['metric']).name}{scorer}"
    names = [scores.name(entry_of(row)), condition_of(row).name, task_name(row["task"]), score]
    return Row(
        [
            *text_cells(names),
            Cell(count(row["n_repeats"])),
            Cell(count(row["n"])),
            words("not compared") if differing is None else Cell(f"{100 * differing:.1f}"),
            Cell(f"{row['mean_deviation'] * style.factor:.{style.decimals}f}"),
        ]
    )


def _spread_sentence(rows: Rows) -> str:
    shares = [row["share_differing"] for row in rows if row["share_differing"] is not None]
    repeats = listed([str(n) for n in sorted({row["n_repeats"] for row in rows})], "or")
    asked = f"Some questions were asked {repeats} times in the same way"
    if not shares:
        return f"{asked}."
    low, high = (f"{100 * share:.1f}" for share in (min(shares), max(shares)))
    return f"{asked}: {low if low == high else f'{low} to {high}'}% of them were not answered alike, by model and task."
