"""What the command line prints of results: plain words, one table at the end, at most 100 columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from rescue_pipeline import console
from rescue_pipeline.corpus.validate import ValidationReport
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.doctoring import Finding
from rescue_pipeline.llm.checking import ModelCheck
from rescue_pipeline.llm.prices import pinned_prices
from rescue_pipeline.llm.registry import ModelEntry, Registry
from rescue_pipeline.outcomes import JudgeOutcome, ModelOutcome, RunOutcome
from rescue_pipeline.purging import Purged
from rescue_pipeline.report.formatting import counted

MOST_LINES = 10
READABLE_QUERY = "select model, itp_f1 from results.leaderboard where scenario = 'both'"
MOST_REJECTS = 50
RESEARCH_ONLY = "For research only: never for clinical use, and no judgement of any person."


def print_outcome(outcome: RunOutcome) -> None:
    """A line per model, what was left out and why, and where to go on."""
    console.out.print()
    for model in outcome.models:
        console.out.print(_model_line(model))
    for judge in outcome.judges:
        if not judge.is_complete:
            console.out.print(_judge_line(judge))
    for line in cost_lines(outcome):
        console.out.print(console.wrapped(line, 2))
    for line in outcome.bad_lines[:MOST_LINES]:
        console.out.print(f"not imported: {console.wrapped(line, 2)}")
    if len(outcome.bad_lines) > MOST_LINES:
        console.out.print(f"not imported: {len(outcome.bad_lines) - MOST_LINES} more lines")
    if outcome.rejected:
        console.out.print(f"{counted(outcome.rejected, 'record was', 'records were')} rejected: raw.rejects says why")
    console.out.print()
    spent = ", ".join(f"{job} {seconds:.1f} s" for job, seconds in outcome.seconds.items())
    for label, text in [("report", outcome.directory.reports / "report.html"), *_next(outcome), ("time", spent)]:
        console.out.print(f"{label:<10}{text}")
    console.out.print(RESEARCH_ONLY, style="dim")


def _next(outcome: RunOutcome) -> Iterator[tuple[str, str]]:
    query = "select * from raw.rejects" if outcome.rejected else READABLE_QUERY
    yield "tables", f'rescue sql "{query}"'
    yield "graph", "rescue ui"


def _model_line(model: ModelOutcome) -> str:
    failures = [f"{n} {status}" for status, n in sorted(model.by_status.items()) if status != "ok"]
    parts = [
        f"{model.planned} planned",
        f"{model.planned - model.unanswered} answered",
        f"{model.asked} asked now",
        f"{model.reused} reused",
        *failures,
    ]
    lines = [console.wrapped(f"{model.model}: {', '.join(parts)}", 2), *_stopped(model.stopped)]
    if model.failure:
        lines.append(f"  most frequent error: {console.wrapped(model.failure, 4)}")
        lines.append(f"  next: rescue models check {model.model}")
    return "\n".join(lines)


def _judge_line(judge: JudgeOutcome) -> str:
    gaps = ", ".join(f"{n} {status}" for status, n in sorted(judge.by_status.items()) if status != "ok")
    missing = (
        f"{judge.missing} of {counted(judge.planned, 'judgement')} missing ({gaps})" if gaps else "controls missing"
    )
    lines = [console.wrapped(f"{judge.judge} as judge: {missing}", 2), *_stopped(judge.stopped)]
    return "\n".join(lines)


def _stopped(reason: str | None) -> list[str]:
    return [f"  stopped: {console.wrapped(reason, 11)}"] if reason else []


def cost_lines(outcome: RunOutcome) -> Iterator[str]:
    """A line per paid model and judge of this run, and what is left of the budget."""
    budget = "" if outcome.budget_usd is None else f" of {outcome.budget_usd:.2f} USD budget"
    for cost in outcome.costs:
        what = "judgements" if cost.purpose == "judge" else "answers"
        usd = "unknown, the provider reported no tokens," if cost.usd is None else f"{cost.usd:.4f}"
        yield f"{cost.model}: {cost.requests} {what} cost {usd}{budget} ({cost.expected_usd:.4f} expected)"


def print_models(registry: Registry) -> None:
    table = console.plain_table("model", "enabled", "asked as", "needs", "USD per M tokens")
    for entry in registry.models.values():
        enabled = "yes" if entry.enabled else "no"
        role = ", judge" if entry.judge else ""
        table.add_row(entry.id, enabled + role, entry.litellm, _needs(entry), _price(entry))
    console.out.print(table)
    console.out.print("\nenabled: asked when --models names none. Yours: ./models.yaml", style="dim")


def _needs(entry: ModelEntry) -> str:
    if entry.is_baseline:
        return "nothing"
    needs = [entry.api_key_env, entry.api_base or ("a local server" if entry.local else None)]
    return ", ".join(need for need in needs if need) or "nothing known"


def _price(entry: ModelEntry) -> str:
    price = entry.price or (None if entry.api_base else pinned_prices().get(entry.litellm))
    if price is None:
        return "unknown" if entry.is_paid and entry.api_base else "LiteLLM's list" if entry.is_paid else "free"
    return "free" if price.is_free else f"{price.input:g} in, {price.output:g} out"


def print_findings(findings: Iterable[Finding]) -> None:
    table = console.plain_table("", "what", "found")
    for finding in findings:
        advice = "" if finding.ok or finding.advice is None else f"\ntry: {finding.advice}"
        table.add_row("ok" if finding.ok else "!!", finding.what, finding.detail + advice)
    console.out.print(table)


def print_validation(report: ValidationReport) -> None:
    """What would be loaded, what would be refused and why, and which expectations failed."""
    load = report.load
    console.out.print(
        f"{load.n_samples} sessions, {load.n_turns} turns, {load.n_cues} transcript cues; "
        f"{load.n_rejected} rejected; corpus version {load.corpus_version}"
    )
    for line in _remarks(report):
        console.out.print(console.wrapped(line, 2))
    console.out.print("The corpus can be run." if report.quality.passed else "The pipeline would stop at this corpus.")


def _remarks(report: ValidationReport) -> Iterator[str]:
    yield from (f"note: {note}" for note in report.load.notes)
    rejects = report.quality.facts.rejects
    for reject in rejects[:MOST_REJECTS]:
        place = f"{reject['source_path']} line {reject['source_line']}, record {reject['record'] or 'unknown'}"
        found = f"expected {reject['expected']}, found {reject['found']}"
        yield f"rejected: {place}, {reject['field']}: {reject['reason']} ({found})"
    if report.load.n_rejected > MOST_REJECTS:
        yield f"rejected: {report.load.n_rejected - MOST_REJECTS} more"
    for result in report.quality.results:
        if not result.success:
            kind = "error" if result.severity == "blocking" else "warning"
            yield f"{kind}: broken: {result.description.rstrip('.')} ({result.observed})"


def print_checks(checks: Sequence[ModelCheck]) -> None:
    table = console.plain_table("model", "key", "answers", "structured", "price", "seconds", "")
    for check in checks:
        seconds = "" if check.latency_seconds is None else f"{check.latency_seconds:.2f}"
        price = "known" if check.price_known else "unknown"
        form = check.rung if check.structured_output else _tried(check.structured_output)
        table.add_row(check.id, check.key, _tried(check.reachable), form, price, seconds, check.message)
    console.out.print(table)


def _tried(outcome: bool | None) -> str:
    return {True: "yes", False: "no", None: "-"}[outcome]


def print_purged(purged: Purged, directory: DataDirectory) -> None:
    """What was removed, what is not ours to remove, and how to get the rest back."""
    recorded = json.loads(directory.corpus_file.read_text(encoding="utf-8"))
    deleted = ", ".join(purged.deleted) or "nothing"
    counts = f"{counted(purged.planned, 'planned question')}, {counted(purged.records, 'response')}"
    for line in (
        f"erased from the journal: {counts} in {counted(purged.files, 'file')} "
        "(all of the baselines' among them: they answer with other sessions' gold)",
        f"deleted, to be made again without it: {deleted}",
        f"not touched: the corpus itself ({recorded.get('path')}), exports, copies and backups, and what models "
        "answered about other sessions",
        f"next: rescue run --corpus {recorded.get('path')} --models NAME,... names every model whose results you want: "
        "the corpus is another one now, and what was answered about its sessions is not asked again",
    ):
        console.out.print(console.wrapped(line, 2))
