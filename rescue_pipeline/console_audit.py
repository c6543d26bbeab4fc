"""What `rescue audit` prints: a line per condition, then where the leaks are; never a word of a session."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from rescue_pipeline import console
from rescue_pipeline.audit.outcomes import ConditionAudit

MOST_LINES = 10
"""Findings shown of each check of a condition."""


def print_audits(audits: Sequence[ConditionAudit]) -> None:
    table = console.plain_table("modality", "task", "requests", "leaks", "declared", "controls", "structure, p")
    for one in audits:
        table.add_row(one.scope.modality, one.scope.task, *_cells(one))
    console.out.print(table)
    for one in audits:
        for line in _lines(one):
            console.out.print(console.wrapped(line, 2))
    if warned := _warned(audits):
        text = "warning: lengths, counts and positions alone predict the gold better than chance: "
        console.out.print(console.wrapped(text + ", ".join(warned), 2))
    console.out.print(_verdict(audits))


def _cells(one: ConditionAudit) -> Iterator[str]:
    by_name = {check["check_name"]: check for check in one.checks}
    structure, controls = by_name["structure"], by_name["controls"]
    declared = [f"{name} {check['n_findings']}" for name, check in by_name.items() if check["declared"]]
    yield str(one.checks[0]["n_requests"])
    yield ", ".join(f"{leak['check_name']} {leak['n_findings']}" for leak in one.leaks) or "none"
    yield ", ".join(declared) or "none"
    yield f"{controls['n_requests']} seen" if controls["passed"] else "blind"
    yield _structure(structure)


def _structure(check: dict[str, Any]) -> str:
    if check["score"] is None:
        return "too few"
    warning = "" if check["passed"] else ", warning"
    return f"{check['score']:.2f} against {check['chance']:.2f}, {check['p_value']:.3f}{warning}"


def _lines(one: ConditionAudit) -> Iterator[str]:
    """The findings that block, by check, and what else there is to say."""
    for leak in one.leaks:
        found = [row for row in one.findings if row["check_name"] == leak["check_name"]]
        for row in found[:MOST_LINES]:
            where = f"{row['instance_id']} ({one.scope.modality}): {row['place']}"
            yield f"leak: {leak['check_name']}: {where}: {row['found']}"
        if leak["n_findings"] > MOST_LINES and found:
            more = leak["n_findings"] - MOST_LINES
            yield f"leak: {leak['check_name']}: {more} more ({one.scope.task}, {one.scope.modality})"
        if not found:
            yield f"leak: {leak['check_name']} ({one.scope.task}, {one.scope.modality}): {leak['detail']}"


def _warned(audits: Sequence[ConditionAudit]) -> list[str]:
    """The tasks whose gold structure predicts, in some modality."""
    warned = [one.scope.task for one in audits for check in one.checks if not check["blocking"] and not check["passed"]]
    return list(dict.fromkeys(warned))


def _verdict(audits: Sequence[ConditionAudit]) -> str:
    leaks = sum(bool(one.leaks) for one in audits)
    if leaks:
        return (
            f"{leaks} of {len(audits)} conditions leak: they are not asked. docs/audit.md says what each check means."
        )
    return f"No leak beyond what protocol {audits[0].scope.protocol} declares; all planted leaks were seen."


def write_json(audits: Sequence[ConditionAudit]) -> None:
    rows = {
        "checks": [check for one in audits for check in one.checks],
        "findings": [finding for one in audits for finding in one.findings],
    }
    sys.stdout.write(json.dumps(rows, ensure_ascii=False, allow_nan=False, indent=1) + "\n")
