"""The outcome of an audit: what one look at the requests of a condition gathers, as rows, and where it is kept."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rescue_pipeline.audit.controls import ControlResult, described
from rescue_pipeline.audit.explaining import Subject
from rescue_pipeline.audit.findings import CHECKS, WARNING, Finding
from rescue_pipeline.audit.probe import ProbeResult, Trait, probe
from rescue_pipeline.llm.workspace import Workspace
from rescue_pipeline.schemas import Audit, AuditFindings, check_table
from rescue_pipeline.tasks.spec import Protocol

KEPT_FINDINGS = 50
"""Of each check; the number of all is kept beside them."""


@dataclass(frozen=True)
class Scope:
    """One condition of one corpus version."""

    corpus_id: str
    corpus_version: str
    protocol: str
    modality: str
    task: str

    @property
    def levels(self) -> dict[str, str]:
        """The folder levels below the audit's tables."""
        return {"protocol": self.protocol, "modality": self.modality, "task": self.task}

    @property
    def columns(self) -> dict[str, str]:
        return {"corpus_id": self.corpus_id, "corpus_version": self.corpus_version, **self.levels}


@dataclass(frozen=True)
class ConditionAudit:
    """The outcome: one row per check as in lake/audit, and the first findings as in lake/audit_findings."""

    scope: Scope
    checks: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    reused: bool = False

    @property
    def leaks(self) -> list[dict[str, Any]]:
        """The blocking checks that failed and that the protocol does not declare."""
        return [check for check in self.checks if check["blocking"] and not check["passed"]]


@dataclass
class Look:
    """What one pass over the requests of a condition brings together."""

    n: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    findings: dict[str, list[Finding]] = field(default_factory=lambda: defaultdict(list))
    traits: list[Trait] = field(default_factory=list)
    kept: list[Subject] = field(default_factory=list)

    def note(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self.counts[finding.check] += 1
            if len(self.findings[finding.check]) < KEPT_FINDINGS:
                self.findings[finding.check].append(finding)


def outcome(scope: Scope, look: Look, controls: ControlResult, protocol: Protocol, version: str) -> ConditionAudit:
    """The rows of an audit: the checks, the controls, the probe, the first findings."""
    rows = list(_check_rows(scope, look, protocol, version))
    rows.append(_row(rows[0], "controls", sum(controls.planted.values()), len(controls.blind_to), described(controls)))
    rows.append(_structure_row(rows[0], probe(look.traits)))
    return ConditionAudit(scope, rows, list(_finding_rows(scope, look)))


def _check_rows(scope: Scope, look: Look, protocol: Protocol, version: str) -> Iterator[dict[str, Any]]:
    for check in CHECKS:
        if check not in ("controls", "structure"):
            found, declared = look.counts[check], check in protocol.leaks
            yield {
                **scope.columns,
                "check_name": check,
                "audit_version": version,
                "blocking": True,
                "declared": declared,
                "passed": declared or not found,
                "n_requests": look.n,
                "n_findings": found,
                "score": None,
                "chance": None,
                "p_value": None,
                "detail": _detail(found, declared),
            }


def _detail(found: int, declared: bool) -> str:
    if declared:
        return "declared by the protocol, and found" if found else "declared by the protocol, but not found"
    return "" if not found else "the findings name question and place"


def _row(like: dict[str, Any], check: str, n: int, found: int, detail: str) -> dict[str, Any]:
    changed = {"check_name": check, "declared": False, "passed": not found, "n_requests": n, "n_findings": found}
    return {**like, **changed, "blocking": check not in WARNING, "detail": detail}


def _structure_row(like: dict[str, Any], result: ProbeResult) -> dict[str, Any]:
    detail = "too few questions, groups or classes to try" if result.score is None else ""
    if result.warns:
        detail = "structure predicts the gold better than chance across session groups"
    row = _row(like, "structure", result.n, int(result.warns), detail)
    return {**row, "score": result.score, "chance": result.chance, "p_value": result.p_value}


def _finding_rows(scope: Scope, look: Look) -> Iterator[dict[str, Any]]:
    for check, findings in look.findings.items():
        for finding in findings:
            where = {"instance_id": finding.instance_id, "place": finding.place, "found": finding.found}
            yield {**scope.columns, "check_name": check, **where}


def stored(workspace: Workspace, scope: Scope, version: str) -> ConditionAudit | None:
    """The outcome as it was kept, if nothing that it depends on has changed since."""
    wanted = pl.col("corpus_version") == scope.corpus_version
    rows = workspace.lake.read("audit", Audit, partition=scope.levels).filter(wanted)
    if rows.is_empty() or set(rows["audit_version"]) != {version}:
        return None
    findings = workspace.lake.read("audit_findings", AuditFindings, partition=scope.levels).filter(wanted)
    return ConditionAudit(scope, rows.to_dicts(), findings.to_dicts(), reused=True)


def store(workspace: Workspace, done: ConditionAudit) -> ConditionAudit:
    """Keep the outcome; its findings first, so that an outcome never stands without them."""
    for table, rows, schema in (("audit_findings", done.findings, AuditFindings), ("audit", done.checks, Audit)):
        frame = pl.DataFrame(rows, schema=schema.empty().schema, strict=False)
        name = done.scope.corpus_version
        workspace.lake.write(table, check_table(frame, schema, table), partition=done.scope.levels, name=name)
    return done
