"""What the command line prints of results: plain words, one table at the end, at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb
from rich.table import Table

from rescue_pipeline import console
from rescue_pipeline.corpus.validate import ValidationReport
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.doctoring import Finding
from rescue_pipeline.llm.checking import ModelCheck
from rescue_pipeline.llm.registry import ModelEntry, Registry
from rescue_pipeline.running import ModelOutcome, RunOutcome
from rescue_pipeline.warehouse import open_results

MOST_LINES = 10
RESEARCH_ONLY = "For research only: never for clinical use, and no judgement of any person."

# What one line of the final table shows: heading, column of results.leaderboard, how it is printed.
_COLUMNS = (
    ("itp\nF1", "itp_f1", "percent"),
    ("rpp\nacc.", "rpp_accuracy", "percent"),
    ("stp\nR@1", "stp_recall_at_1", "percent"),
    ("ssp\nR@1", "ssp_recall_at_1", "percent"),
    ("er\nintensity", "er_intensity_match", "scale"),
    ("er\njudge", "er_judge", "scale"),
    ("vp\njudge", "vp_judge", "scale"),
    ("er\noverlap*", "er_lexical_judge", "scale"),
    ("vp\noverlap*", "vp_lexical_judge", "scale"),
)


def print_leaderboard(directory: DataDirectory) -> None:
    """The newest corpus version's leaderboard over both scenarios, one line per model, modality and protocol."""
    with open_results(directory.results) as connection:
        rows = _leaderboard(connection)
    if not rows:
        console.out.print("No answers yet.")
        return
    table = Table(box=None, pad_edge=False, title="Leaderboard, couples and families together", title_justify="left")
    several = {key: len({row[key] for row in rows}) > 1 for key in ("modality", "protocol", "generation")}
    table.add_column("model\n")
    for key, shown in several.items():
        if shown:
            table.add_column(f"{key}\n")
    columns = [spec for spec in _COLUMNS if any(row[spec[1]] is not None for row in rows)]
    for heading, _, _ in columns:
        table.add_column(heading, justify="right")
    table.add_column("failed\n", justify="right")
    table.add_column("of\n", justify="right")
    for row in rows:
        values = [_print_value(row[column], kind) for _, column, kind in columns]
        head = [row["model"], *(str(row[key]) for key, shown in several.items() if shown)]
        tail = ["" if row["complete"] else "incomplete"]
        table.add_row(*head, *values, str(row["n_failed"] + row["n_unanswered"]), str(row["n_planned"]), *tail)
    if any(not row["complete"] for row in rows):
        table.add_column("")
    console.out.print(table)
    if any(row["er_lexical_judge"] is not None for row in rows):
        console.out.print("* word overlap with the gold (1-5), no language model's judgement", style="dim")


def _leaderboard(connection: duckdb.DuckDBPyConnection) -> list[dict[str, object]]:
    relation = connection.sql(
        "select * from results.leaderboard where scenario = 'both' "
        "and corpus_version = (select corpus_version from raw.corpus) order by protocol, modality, model, generation"
    )
    return relation.pl().to_dicts()


def _print_value(value: object, kind: str) -> str:
    if value is None:
        return "–"
    return f"{float(value) * 100:.1f}" if kind == "percent" else f"{float(value):.2f}"  # type: ignore[arg-type]


def print_outcome(outcome: RunOutcome) -> None:
    for model in outcome.models:
        console.out.print(_model_line(model), markup=False)
    for line in outcome.bad_lines[:MOST_LINES]:
        console.out.print(f"not imported: {line}", markup=False)
    if len(outcome.bad_lines) > MOST_LINES:
        console.out.print(f"not imported: {len(outcome.bad_lines) - MOST_LINES} more lines", markup=False)
    if outcome.rejected:
        console.out.print(
            f'{outcome.rejected} records were rejected: rescue sql "select * from raw.rejects"', markup=False
        )
    spent = ", ".join(f"{job} {seconds:.1f} s" for job, seconds in outcome.seconds.items())
    report = outcome.directory.reports / "report.html"
    console.out.print(f"\nreport    {report}", markup=False)
    console.out.print(
        f'tables    rescue sql "select * from results.leaderboard"   ({outcome.directory.results.name})', markup=False
    )
    console.out.print(f"time      {spent}", markup=False)
    console.out.print("graph     rescue ui", markup=False)
    console.out.print(RESEARCH_ONLY, style="dim")


def _model_line(model: ModelOutcome) -> str:
    failures = [f"{n} {status}" for status, n in sorted(model.by_status.items()) if status != "ok"]
    parts = [
        f"{model.planned} planned",
        f"{model.planned - model.unanswered} answered",
        f"{model.asked} asked now",
        f"{model.reused} reused",
        *failures,
    ]
    if model.cost_usd:
        parts.append(f"{model.cost_usd:.4f} USD")
    line = f"{model.model}: {', '.join(parts)}"
    return f"{line}\n  stopped: {model.stopped}" if model.stopped else line


def _plain_table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def print_models(registry: Registry) -> None:
    table = _plain_table("model", "enabled", "asked as", "where", "key", "USD per million tokens")
    for entry in registry.models.values():
        role = "judge" if entry.judge else ""
        enabled = "yes" if entry.enabled else "no"
        table.add_row(
            entry.id, f"{enabled} {role}".strip(), entry.litellm, _where(entry), entry.api_key_env or "", _price(entry)
        )
    console.out.print(table)


def _where(entry: ModelEntry) -> str:
    if entry.is_baseline:
        return "this process"
    return entry.api_base or ("this machine" if entry.local else "its provider")


def _price(entry: ModelEntry) -> str:
    if entry.is_baseline:
        return "free"
    if entry.price is None:
        return "unknown"
    return "free" if entry.price.is_free else f"{entry.price.input:g} in, {entry.price.output:g} out"


def print_findings(findings: Iterable[Finding]) -> None:
    table = _plain_table("", "what", "found", "advice")
    for finding in findings:
        table.add_row(
            "ok" if finding.ok else "!!", finding.what, finding.detail, "" if finding.ok else finding.advice or ""
        )
    console.out.print(table)


def print_validation(report: ValidationReport) -> None:
    """What would be loaded, what would be refused and why, and which expectations failed."""
    load, facts = report.load, report.quality.facts
    console.out.print(
        f"{load.n_samples} sessions, {load.n_turns} turns, {load.n_cues} transcript cues; "
        f"{load.n_rejected} rejected; corpus version {load.corpus_version}"
    )
    for note in load.notes:
        console.out.print(f"note: {note}", markup=False)
    for reject in facts.rejects:
        place = f"{reject['source_path']} line {reject['source_line']}, record {reject['record'] or 'unknown'}"
        found = f"expected {reject['expected']}, found {reject['found']}"
        console.out.print(f"rejected: {place}, {reject['field']}: {reject['reason']} ({found})", markup=False)
    for result in report.quality.results:
        if not result.success:
            kind = "error" if result.severity == "blocking" else "warning"
            console.out.print(f"{kind}: {result.description}: {result.observed}", markup=False)
    console.out.print("The corpus can be run." if report.quality.passed else "The pipeline would stop at this corpus.")


def print_checks(checks: Sequence[ModelCheck]) -> None:
    table = _plain_table("model", "key", "answers", "structured", "price", "seconds", "")
    for check in checks:
        seconds = "" if check.latency_seconds is None else f"{check.latency_seconds:.2f}"
        price = "known" if check.price_known else "unknown"
        table.add_row(
            check.id, check.key, _tried(check.reachable), _tried(check.structured_output), price, seconds, check.message
        )
    console.out.print(table)


def _tried(outcome: bool | None) -> str:
    return {True: "yes", False: "no", None: "-"}[outcome]
