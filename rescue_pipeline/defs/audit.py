"""predict: the leak audit, a check before the plan: questions that leak are neither planned nor paid for."""

from collections.abc import Iterator, Sequence

import dagster as dg

from rescue_pipeline.audit.auditing import audit
from rescue_pipeline.audit.outcomes import ConditionAudit
from rescue_pipeline.defs.policies import OWNERS
from rescue_pipeline.defs.resources import RunOptions
from rescue_pipeline.errors import RescueError
from rescue_pipeline.llm.workspace import Partition, Workspace
from rescue_pipeline.schemas import Audit, AuditFindings

LEAK_AUDIT = "leak_audit"
_PLAN = dg.AssetKey(["lake", "plan"])

audit_tables = [
    dg.AssetSpec(
        ["lake", table],
        deps=[["lake", name] for name in ("corpus", "instances", "sessions", "turns", "annotations")],
        description=f"{(schema.__doc__ or '').splitlines()[0]} Written by the check leak_audit of lake/plan, "
        "and by `rescue audit`.",
        group_name="predict",
        owners=OWNERS,
        kinds={"python", "parquet"},
    )
    for table, schema in (("audit", Audit), ("audit_findings", AuditFindings))
]
"""What a check writes has no step of its own."""


def leak_audit_spec() -> dg.AssetCheckSpec:
    return dg.AssetCheckSpec(
        LEAK_AUDIT,
        asset=_PLAN,
        blocking=True,
        description="The rendered requests show nothing of the gold, of later turns or of other fields, beyond what "
        "their protocol declares. Audited once per corpus version, protocol, modality and task.",
    )


def without_leaks(
    context: dg.AssetExecutionContext, workspace: Workspace, partitions: Sequence[Partition], options: RunOptions
) -> Iterator[dg.AssetCheckResult]:
    """Audit what these partitions will ask (`yield from`, before planning); a leak fails the check and the step."""
    modalities = [partition.modality for partition in partitions]
    audits = audit(workspace, options.protocol, modalities, options.tasks)
    for table in audit_tables:
        folder = dg.MetadataValue.path(workspace.lake.folder(table.key.path[-1]))
        context.log_event(dg.AssetMaterialization(table.key, metadata={"path": folder}))
    leaks = [leak for one in audits for leak in one.leaks]
    yield dg.AssetCheckResult(
        check_name=LEAK_AUDIT,
        asset_key=_PLAN,
        passed=not leaks,
        severity=dg.AssetCheckSeverity.ERROR,
        metadata=_metadata(audits),
    )
    if leaks:
        raise leaking(audits)


def _metadata(audits: Sequence[ConditionAudit]) -> dict[str, int | str]:
    """Counts only: what was found where is in lake/audit_findings."""
    checks = [check for one in audits for check in one.checks]
    warnings = sorted({check["task"] for check in checks if not check["blocking"] and not check["passed"]})
    declared = sorted({check["check_name"] for check in checks if check["declared"] and check["n_findings"]})
    return {
        "requests": sum(one.checks[0]["n_requests"] for one in audits),
        "leaks": sum(check["n_findings"] for one in audits for check in one.leaks),
        "declared leaks": ", ".join(declared) or "none",
        "structure predicts the gold of": ", ".join(warnings) or "none",
        "audited now": sum(not one.reused for one in audits),
    }


def leaking(audits: Sequence[ConditionAudit]) -> RescueError:
    """What to tell somebody whose questions leak."""
    leaks = [leak for one in audits for leak in one.leaks]
    checks = ", ".join(dict.fromkeys(f"{leak['check_name']} ({leak['task']})" for leak in leaks))
    return RescueError(
        "the questions give something of the gold away; nothing was planned or asked",
        where=f"protocol {leaks[0]['protocol']}",
        expected="requests that show only what the protocol grants or declares",
        found=checks,
        advice=f"rescue audit --protocol {leaks[0]['protocol']}",
    )
