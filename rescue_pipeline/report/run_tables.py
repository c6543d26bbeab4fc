"""What happened during the run and what it was made with: failures, usage, versions."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rescue_pipeline.report.formatting import TASK_ORDER, count, listed, task_name
from rescue_pipeline.report.reading import Results, Rows
from rescue_pipeline.report.scores import Scores, condition_of, entry_of
from rescue_pipeline.report.verdict import is_demo
from rescue_pipeline.report.view import Cell, Column, Group, Row, Table, text_cells, words
from rescue_pipeline.schemas.scores import ITEM_STATUSES

_FAILURES = [status for status in ITEM_STATUSES if status != "ok"]
_CUT = {"n_cut_in_reasoning": "cut in reasoning", "n_cut_in_answer": "cut in the answer"}
_COUNTED_FAILURES = [name for s in _FAILURES for name in ([s, *_CUT] if s == "truncated" else [s])]
_CUT_NOTE = (
    "Of the truncated ones, those cut while the model was still reasoning and those cut in the answer itself, where "
    "the provider’s counts tell; below the number its share of the planned questions."
)
_PURPOSES = {"answer": "Answers", "judge": "Judgements"}
_COUNTED = ("requests", "finals", "attempts")
_TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")


def failures_table(rows: Rows, scores: Scores) -> Table:
    """One row per model, condition and task with at least one question that was not answered validly."""
    counts = _failure_counts(rows, scores)
    failed = {key: found for key, found in counts.items() if any(found[status] for status in _FAILURES)}
    statuses = [name for name in _COUNTED_FAILURES if any(found[name] for found in failed.values())]
    lines = [
        Row(
            [
                *text_cells([name, condition, task_name(task), count(found["planned"])]),
                *(_failure_cell(status, found[status], found["planned"]) for status in ["ok", *statuses]),
            ]
        )
        for (name, condition, task), found in sorted(failed.items(), key=lambda item: _in_order(*item[0]))
    ]
    left = [Column(label, numeric=False) for label in ("Model", "Asked", "Task")]
    columns = [*left, *(Column(_CUT.get(label, label)) for label in ["planned", "ok", *statuses])]
    clean = sorted({name for name, *_ in counts} - {name for name, *_ in failed})
    notes = [f"Every planned question was answered validly by {listed(clean)}."] if clean else []
    notes += [] if counts else ["Nothing was asked, so nothing failed."]
    notes += [_CUT_NOTE] if any(name in _CUT for name in statuses) else []
    return Table("Questions without a valid answer, by reason", columns, [Group(lines)], notes)


def _failure_counts(rows: Rows, scores: Scores) -> dict[tuple[str, str, str], dict[str, int]]:
    """Per model, condition and task: questions planned, by status, and where the truncated ones were cut."""
    counts: dict[tuple[str, str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        found = counts[scores.name(entry_of(row)), condition_of(row).name, row["task"]]
        for name, n in ((row["status"], row["n"]), ("planned", row["n"]), *((name, row.get(name)) for name in _CUT)):
            found[name] += n or 0
    return counts


def _failure_cell(status: str, n: int, planned: int) -> Cell:
    rate = f"{100 * n / planned:.1f}%" if n and status in _CUT else ""
    return Cell(count(n), rate, quiet=not n)


def _in_order(name: str, condition: str, task: str) -> tuple[str, str, int]:
    return name, condition, TASK_ORDER.index(task) if task in TASK_ORDER else len(TASK_ORDER)


def usage_table(rows: Rows, scores: Scores) -> Table:
    """One row per model, condition and purpose: what was sent, what it cost, how long it took."""
    grouped: dict[tuple[str, str, str], Rows] = defaultdict(list)
    for row in rows:
        grouped[row["purpose"], scores.name(entry_of(row)), condition_of(row).name].append(row)
    groups = [
        Group([_usage_row(*key[1:], grouped[key]) for key in sorted(grouped) if key[0] == purpose], title)
        for purpose, title in _PURPOSES.items()
    ]
    headings = [name.replace("_", " ") for name in (*_COUNTED, *_TOKENS)]
    columns = [
        Column("Model", numeric=False),
        Column("Asked", numeric=False),
        *map(Column, headings),
        Column("cost", "USD"),
        Column("time", "seconds"),
    ]
    return Table("Requests, tokens, cost and time", columns, [group for group in groups if group.rows])


def _usage_row(name: str, condition: str, rows: Rows) -> Row:
    tokens = [_sum(rows, column) for column in _TOKENS]
    cost, seconds = _sum(rows, "cost_usd"), _sum(rows, "seconds_total")
    return Row(
        [
            *text_cells([name, condition]),
            *(Cell(count(_sum(rows, column))) for column in _COUNTED),
            *(words("not reported") if value is None else Cell(count(value)) for value in tokens),
            words("not known") if cost is None else Cell(f"{cost:.4f}"),
            words("not known") if seconds is None else Cell(f"{seconds:,.1f}"),
        ]
    )


def _sum(rows: Rows, column: str) -> Any:
    """The total; None when a part of it is not known, since a sum without it would be too small."""
    values = [row[column] for row in rows]
    return None if any(value is None for value in values) else sum(values)


def corpus_facts(results: Results) -> list[tuple[str, str]]:
    """What was loaded, in words; nothing about where it lies on this machine."""
    corpus = results.corpus
    names = {
        "corpus_id": "Corpus",
        "corpus_version": "Corpus version",
        "data_class": "Data class",
        "annotations_sha256": "SHA-256 of the annotations",
        "ingest_version": "Ingest version",
        "n_records": "Records accepted",
        "n_rejected": "Records refused",
        "loaded_at": "Loaded",
    }
    return [(title, _fact(corpus[name])) for name, title in names.items() if corpus.get(name) is not None]


def _fact(value: Any) -> str:
    if isinstance(value, datetime):
        return timestamp(value)
    return count(value) if isinstance(value, int) else str(value)


def timestamp(moment: datetime) -> str:
    """UTC with its offset, to the second."""
    return in_utc(moment).isoformat(sep=" ", timespec="seconds")


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC; a naive one is UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def versions_table(results: Results) -> Table:
    """One row per task, protocol and modality: the task's version and the prompt template's hash."""
    versions: Mapping[str, set[str]] = defaultdict(set)
    for row in results["leaderboard_long"]:
        versions[row["task"]].add(row["task_version"])
    lines = [
        Row(
            text_cells(
                [
                    task_name(row["task"]),
                    listed(sorted(versions.get(row["task"], set()))) or "no scores",
                    f"{row['modality']}, protocol {row['protocol']}",
                    (row["template_sha256"] or "none")[:16],
                    count(row["n"]),
                ]
            )
        )
        for row in sorted(results.templates, key=lambda row: _in_order("", "", row["task"]))
    ]
    left = [Column(label, numeric=False) for label in ("Task", "Version", "Asked", "Template, SHA-256")]
    return Table("Task versions and prompt templates", [*left, Column("questions")], [Group(lines)])


def models_table(results: Results) -> Table:
    """One row per model and generation: how many questions, asked when."""
    lines = [
        Row(
            [
                *text_cells([row["model"], count(row["generation"]), count(row["n_planned"])]),
                *(_moment(row[name]) for name in ("first_sent_at", "last_sent_at")),
            ]
        )
        for row in results.generations
    ]
    columns = [Column("Model", numeric=False), *map(Column, ("generation", "questions", "first sent", "last sent"))]
    return Table("Models and their generations", columns, [Group(lines)])


def _moment(value: datetime | None) -> Cell:
    return words("never") if value is None else Cell(timestamp(value))


def commands(results: Results) -> list[str]:
    """What to type to make this report again."""
    if is_demo(results.corpus):
        return ["rescue demo"]
    rows = results.generations or results["leaderboard_long"]
    models = ",".join(sorted({row["model"] for row in rows}))
    start = "rescue run --corpus PATH" + (f" --models {shlex.quote(models)}" if models else "")
    modalities: dict[str, set[str]] = defaultdict(set)
    for row in results.templates:
        modalities[row["protocol"]].add(row["modality"])
    return [
        f"{start} --modalities {','.join(sorted(asked))} --protocol {shlex.quote(protocol)}"
        for protocol, asked in sorted(modalities.items())
    ] or [start]
