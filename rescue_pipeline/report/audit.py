"""The leak audit in the report: what the questions show beyond what they may, and what their structure betrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rescue_pipeline.report.formatting import TASK_ORDER, count, counted, listed, task_name
from rescue_pipeline.report.reading import Rows
from rescue_pipeline.report.view import Cell, Column, Group, Row, Section, Table, text_cells, words

_CHECKS = {
    "gold": "gold shown or marked",
    "ids": "ids",
    "fields": "fields not granted",
    "later_turns": "later turns",
    "shared_requests": "turns of other questions",
    "gold_example": "examples from the gold",
    "unexplained": "unexplained text",
}
_HEADS = {
    "gold": "gold",
    "ids": "ids",
    "fields": "fields",
    "later_turns": "later",
    "shared_requests": "others",
    "gold_example": "example",
    "unexplained": "rest",
}
"""The same in a column's width; the note under the table says what they mean."""
_MEANING = "What was found: " + ", ".join(f"{_HEADS[name]} = {meaning}" for name, meaning in _CHECKS.items()) + "."
_PROBE = (
    "Structure: how well a linear classifier that sees lengths, counts, positions and changes of speaker, and no word, "
    "predicts the gold of couples and families that it was not trained on (balanced accuracy), against the mean of 200 "
    "shuffles of the labels within each of them. It only warns: part of it is how conversations go."
)


def audit_section(rows: Rows) -> Section | None:
    """One line per protocol, modality and task; None where nothing was audited."""
    if not rows:
        return None
    conditions: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        conditions.setdefault((row["protocol"], row["modality"], row["task"]), {})[row["check_name"]] = row
    ordered = sorted(conditions, key=_in_order)
    protocols = list(dict.fromkeys(protocol for protocol, *_ in ordered))
    groups = [
        Group([_line(key, conditions[key]) for key in ordered if key[0] == protocol], f"Protocol {protocol}")
        for protocol in protocols
    ]
    columns = [
        *(Column(label, numeric=False) for label in ("Task", "Shown")),
        Column("requests"),
        *(Column(head) for head in _HEADS.values()),
        Column("planted", "seen"),
        Column("structure", "accuracy"),
        Column("shuffled", "accuracy"),
        Column("p"),
    ]
    table = Table("Leaks found in the requests as they would be sent", columns, groups, [_MEANING, _PROBE])
    return Section("audit", "Leak audit").saying(*_sentences(rows)).with_tables(table)


def _in_order(key: tuple[str, str, str]) -> tuple[str, str, int]:
    protocol, modality, task = key
    return protocol, modality, TASK_ORDER.index(task) if task in TASK_ORDER else len(TASK_ORDER)


def _sentences(rows: Rows) -> list[str]:
    requests = sum(row["n_requests"] for row in rows if row["check_name"] == "gold")
    leaks = [row for row in rows if row["blocking"] and not row["passed"]]
    found = sum(row["n_findings"] for row in leaks)
    first = f"{counted(requests, 'request was', 'requests were')} taken apart: "
    first += f"{counted(found, 'leak')} that no protocol declares." if leaks else "no leak beyond what is declared."
    return [first, *_declared(rows), *_warnings(rows)]


def _declared(rows: Rows) -> list[str]:
    by_protocol: dict[str, set[str]] = {}
    for row in rows:
        if row["declared"] and row["n_findings"]:
            by_protocol.setdefault(row["protocol"], set()).add(_CHECKS[row["check_name"]])
    return [
        f"Protocol {name} leaks on purpose: {listed(sorted(leaks))}." for name, leaks in sorted(by_protocol.items())
    ]


def _warnings(rows: Rows) -> list[str]:
    warned = {row["task"] for row in rows if not row["blocking"] and not row["passed"]}
    names = [task_name(task) for task in TASK_ORDER if task in warned]
    if not names:
        return []
    return [f"Warning: structure alone predicts the gold better than chance for {listed(names).lower()}."]


def _line(key: tuple[str, str, str], checks: Mapping[str, Mapping[str, Any]]) -> Row:
    _, modality, task = key
    controls, structure = checks["controls"], checks["structure"]
    return Row(
        [
            *text_cells([task_name(task), modality, count(checks["gold"]["n_requests"])]),
            *(_found(checks[check]) for check in _CHECKS),
            Cell("all seen" if controls["passed"] else "blind", note=count(controls["n_requests"])),
            *_structure(structure),
        ]
    )


def _found(check: Mapping[str, Any]) -> Cell:
    if not check["n_findings"]:
        return words("none")
    return Cell(count(check["n_findings"]), note="declared" if check["declared"] else "", strong=not check["passed"])


def _structure(check: Mapping[str, Any]) -> list[Cell]:
    if check["score"] is None:
        return [words("too few"), words(""), words("")]
    figures = [f"{check[name]:.2f}" for name in ("score", "chance")]
    return [*map(Cell, figures), Cell(f"{check['p_value']:.3f}", strong=not check["passed"])]
