"""Auditing a condition (task, protocol, modality) of the loaded corpus, once: the outcome is kept in the lake.

It is looked up by corpus version and by a hash over all that makes a request and all that looks at it, so that neither
another model nor another run repeats it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rescue_pipeline import audit as package
from rescue_pipeline import llm, progress, tasks
from rescue_pipeline.audit.asked import AlteredCorpus, Asked, renderer
from rescue_pipeline.audit.checks import findings_of
from rescue_pipeline.audit.controls import control_sessions, run_controls
from rescue_pipeline.audit.examples import template_findings
from rescue_pipeline.audit.explaining import Condition, Subject
from rescue_pipeline.audit.independence import dependence_findings
from rescue_pipeline.audit.material import Hidden, Material
from rescue_pipeline.audit.outcomes import ConditionAudit, Look, Scope, outcome, store, stored
from rescue_pipeline.audit.probe import trait
from rescue_pipeline.audit.templates import planted_findings
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.llm.planning import select
from rescue_pipeline.llm.rendering import Batch, Renderer
from rescue_pipeline.llm.workspace import Workspace, known_tasks
from rescue_pipeline.schemas import Annotations
from rescue_pipeline.tasks.spec import Protocol, load_protocol, load_tasks, question_version
from rescue_pipeline.tasks.templates import sha256_of

MOST_REQUESTS = 5_000
"""Of a task in a modality; a larger corpus is audited on a fixed sample of its questions."""


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
        one = stored(workspace, scope, audit_version(scope.task, protocol))
        if one is None:
            material = material or material_of(workspace, declared)
            one = store(workspace, _audited(workspace, scope, declared, material))
        audits.append(one)
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
        look, batches = Look(), _batches(asking, scope.task)
        _settle(altering, batches)
        look.note(template_findings(condition, material, [batch[0] for batch in batches]))
        look.note(planted_findings(condition, material, [batch[0] for batch in batches]))
        sessions = control_sessions(list({batch[0]["sample_id"] for batch in batches}))
        for batch in batches:
            subject = Subject(condition, Asked(asking.request(*batch), batch), material)
            look.n += 1
            look.note(findings_of(subject))
            look.note(dependence_findings(subject, altered, lambda rows: altering.request(*rows)))
            look.traits += [trait(subject, instance) for instance in batch]
            look.kept += [subject] if subject.asked.sample_id in sessions else []
        controls = run_controls(look.kept, altered, lambda rows: altering.request(*rows))
    return outcome(scope, look, controls, protocol, audit_version(scope.task, scope.protocol))


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
