"""Auditing a condition (task, protocol, modality) of the loaded corpus, once: the outcome is kept in the lake.

It is looked up by corpus version and by a hash over all that makes a request and all that looks at it, so that neither
another model nor another run repeats it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from rescue_pipeline import audit as package
from rescue_pipeline import llm, progress, tasks
from rescue_pipeline.audit.asked import AlteredCorpus, Asked, renderer
from rescue_pipeline.audit.checks import findings_of
from rescue_pipeline.audit.controls import control_sessions, described, run_controls
from rescue_pipeline.audit.examples import template_findings
from rescue_pipeline.audit.explaining import Condition, Subject
from rescue_pipeline.audit.findings import CHECKS, WARNING, Finding
from rescue_pipeline.audit.independence import dependence_findings
from rescue_pipeline.audit.material import Hidden, Material
from rescue_pipeline.audit.probe import ProbeResult, Trait, probe, trait
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.llm.planning import select
from rescue_pipeline.llm.rendering import Batch, Renderer
from rescue_pipeline.llm.workspace import Workspace, known_tasks
from rescue_pipeline.schemas import Annotations, Audit, AuditFindings, check_table
from rescue_pipeline.tasks.spec import Protocol, load_protocol, load_tasks, question_version
from rescue_pipeline.tasks.templates import sha256_of

KEPT_FINDINGS = 50
"""Of each check; the number of all is kept beside them."""
MOST_REQUESTS = 5_000
"""Of a task in a modality; a larger corpus is audited on a fixed sample of its questions."""


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
class _Look:
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


def audit(
    workspace: Workspace, protocol: str, modalities: Sequence[str], task_keys: Sequence[str]
) -> list[ConditionAudit]:
    """Audit every task in every modality that it has; what was audited before is read from the lake.

    Raises UsageError for an unknown task, modality or protocol, RescueError when the annotations were not exported.
    """
    declared, specs = load_protocol(protocol), load_tasks()
    scopes = [
        Scope(workspace.corpus_id, workspace.corpus_version, protocol, modality, task)
        for modality in dict.fromkeys(modalities)
        for task in known_tasks(task_keys)
        if modality in specs[task].modalities
    ]
    if not scopes:
        raise UsageError("there is nothing to audit", found=f"{', '.join(task_keys)} in {', '.join(modalities)}")
    audits: list[ConditionAudit] = []
    material: Material | None = None
    for done, scope in enumerate(scopes, start=1):
        outcome = _stored(workspace, scope)
        if outcome is None:
            material = material or material_of(workspace, declared)
            outcome = _store(workspace, _audited(workspace, scope, declared, material))
        audits.append(outcome)
        progress.report(f"auditing protocol {protocol}", done, len(scopes))
    return audits


def audit_version(task: str, protocol: str) -> str:
    """A hash over what makes the questions of a task, and over the code that renders and audits them."""
    code = [path for part in (package, tasks) for path in Path(str(part.__file__)).parent.glob("*.py")]
    code += [Path(str(llm.__file__)).parent / f"{name}.py" for name in ("rendering", "views", "workspace")]
    return sha256_of(sorted(code), question_version(task, protocol))[:16]


def material_of(workspace: Workspace, protocol: Protocol) -> Material:
    """What a protocol's questions about the corpus may show and must not."""
    corpus, annotations = workspace.corpus, _annotations(workspace)
    if protocol.renamed:
        return Material(corpus, annotations, lambda group, value: corpus.renaming_of(group).rename(value))
    return Material(corpus, annotations)


def _annotations(workspace: Workspace) -> dict[str, list[Hidden]]:
    frame = workspace.lake.read("annotations", Annotations).filter(pl.col("corpus_version") == workspace.corpus_version)
    if frame.is_empty():
        raise RescueError(
            "the audit cannot see what annotators wrote, so it could not tell whether a question shows it",
            where=workspace.lake.folder("annotations"),
            expected=f"annotations of corpus version {workspace.corpus_version}",
            found="none",
            advice="materialize the job `prepare` again (`rescue run --corpus PATH` does so)",
        )
    notes: dict[str, list[Hidden]] = defaultdict(list)
    columns = ["sample_id", "row_index", "field", "text"]
    for sample_id, *note in frame.select(columns).sort(columns).iter_rows():
        notes[sample_id].append(Hidden(*note))
    return notes


def _audited(workspace: Workspace, scope: Scope, protocol: Protocol, material: Material) -> ConditionAudit:
    condition = Condition(load_tasks()[scope.task], protocol, scope.modality)
    altered = AlteredCorpus(workspace.corpus)
    with (
        renderer(workspace, scope.modality, scope.protocol, workspace.corpus) as asking,
        renderer(workspace, scope.modality, scope.protocol, altered) as altering,
    ):
        look, batches = _Look(), _batches(asking, scope.task)
        _settle(altering, batches)
        look.note(template_findings(condition, material, [batch[0] for batch in batches]))
        sessions = control_sessions(list({batch[0]["sample_id"] for batch in batches}))
        for batch in batches:
            subject = Subject(condition, Asked(asking.request(*batch), batch), material)
            look.n += 1
            look.note(findings_of(subject))
            look.note(dependence_findings(subject, altered, lambda rows: altering.request(*rows)))
            look.traits += [trait(subject, instance) for instance in batch]
            look.kept += [subject] if subject.asked.sample_id in sessions else []
        controls = run_controls(look.kept, altered, lambda rows: altering.request(*rows))
    rows = list(_check_rows(scope, look, protocol, audit_version(scope.task, scope.protocol)))
    rows.append(_row(rows[0], "controls", sum(controls.planted.values()), len(controls.blind_to), described(controls)))
    rows.append(_structure_row(rows[0], probe(look.traits)))
    return ConditionAudit(scope, rows, list(_finding_rows(scope, look)))


def _settle(altering: Renderer, batches: Sequence[Batch]) -> None:
    """Let it choose what it keeps (worked examples) while nothing is altered yet."""
    for batch in {batch[0]["scenario"]: batch for batch in batches}.values():
        altering.request(*batch)


def _batches(asking: Renderer, task: str) -> list[Batch]:
    """The requests to look at: all, or those that hold the first questions of a fixed shuffle."""
    batches, instances = asking.batches(task), asking.workspace.corpus.of_task(task)
    if len(instances) <= MOST_REQUESTS:
        return batches
    chosen = {row["instance_id"] for row in select(instances, MOST_REQUESTS)}
    return [batch for batch in batches if any(row["instance_id"] in chosen for row in batch)]


def _check_rows(scope: Scope, look: _Look, protocol: Protocol, version: str) -> Iterator[dict[str, Any]]:
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


def _finding_rows(scope: Scope, look: _Look) -> Iterator[dict[str, Any]]:
    for check, findings in look.findings.items():
        for finding in findings:
            where = {"instance_id": finding.instance_id, "place": finding.place, "found": finding.found}
            yield {**scope.columns, "check_name": check, **where}


def _stored(workspace: Workspace, scope: Scope) -> ConditionAudit | None:
    """The outcome as it was kept, if nothing that it depends on has changed since."""
    wanted = pl.col("corpus_version") == scope.corpus_version
    rows = workspace.lake.read("audit", Audit, partition=scope.levels).filter(wanted)
    if rows.is_empty() or set(rows["audit_version"]) != {audit_version(scope.task, scope.protocol)}:
        return None
    findings = workspace.lake.read("audit_findings", AuditFindings, partition=scope.levels).filter(wanted)
    return ConditionAudit(scope, rows.to_dicts(), findings.to_dicts(), reused=True)


def _store(workspace: Workspace, done: ConditionAudit) -> ConditionAudit:
    """Keep the outcome; its findings first, so that an outcome never stands without them."""
    for table, rows, schema in (("audit_findings", done.findings, AuditFindings), ("audit", done.checks, Audit)):
        frame = pl.DataFrame(rows, schema=schema.empty().schema, strict=False)
        name = done.scope.corpus_version
        workspace.lake.write(table, check_table(frame, schema, table), partition=done.scope.levels, name=name)
    return done
