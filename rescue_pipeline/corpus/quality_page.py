"""The quality gate's page: one self-contained HTML file that fetches nothing, in the design of the report."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from rescue_pipeline.corpus.expectations import ExpectationResult, QualityReport
from rescue_pipeline.corpus.facts import CorpusFacts
from rescue_pipeline.corpus.oddities import FLAGS
from rescue_pipeline.corpus.quality_rules import Severity
from rescue_pipeline.report.view import Cell, Column, Group, Row, Table, text_cells, words

_HEADINGS: dict[Severity, str] = {"blocking": "Blocking checks", "warning": "Warnings"}


def render_quality_page(report: QualityReport) -> str:
    """The page as HTML. Every value is escaped: ids, labels and file names are strangers' text."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("rescue_pipeline.corpus"), PackageLoader("rescue_pipeline.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("quality.html.j2").render(
        corpus=report.facts,
        verdict=_verdict(report),
        pairs=_pairs(report.facts),
        checks=[_checks(report, severity) for severity in _HEADINGS],
        rejects=_rejects(report.facts),
        flags=_flags(report.facts),
    )


def _verdict(report: QualityReport) -> str:
    blocking, warnings = len(report.failed("blocking")), len(report.failed("warning"))
    parts = [
        f"{_n(blocking, 'blocking check')} failed: the pipeline stops here." if blocking else "The pipeline may go on.",
        f"{_n(warnings, 'warning')}." if warnings else "No warnings.",
        f"{_n(report.facts.n_rejected, 'record or transcript', 'records or transcripts')} refused."
        if report.facts.n_rejected
        else "Nothing was refused.",
    ]
    return " ".join(parts)


def _n(count: int, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def _pairs(facts: CorpusFacts) -> list[tuple[str, str]]:
    return [
        ("Corpus version", facts.corpus_version),
        ("Loaded", facts.loaded_at),
        ("Data class", facts.data_class + (", the released corpus" if facts.is_released else "")),
        ("Sessions", _by_scenario(facts.sessions)),
        ("Turns", _by_scenario(facts.turns)),
        ("Hours", f"{facts.hours:.1f}"),
        ("Transcripts", f"{facts.n_transcripts} with {_n(facts.n_cues, 'cue')}" if facts.n_transcripts else "none"),
        ("Declared session groups", str(facts.n_session_groups)),
    ]


def _by_scenario(counts: dict[str, int]) -> str:
    parts = ", ".join(f"{n} {scenario}" for scenario, n in counts.items())
    return f"{sum(counts.values())} ({parts})"


def _checks(report: QualityReport, severity: Severity) -> Table:
    results = [result for result in report.results if result.severity == severity]
    rows = [_check(result) for result in sorted(results, key=lambda result: result.success)]
    return _table(_HEADINGS[severity], ["Check", "Outcome", "Against it", "Column"], rows)


def _check(result: ExpectationResult) -> Row:
    failure = "failed" if result.severity == "blocking" else "warning"
    outcome = Cell("passed") if result.success else Cell(failure, strong=True)
    if not result.n_checked and result.success:
        outcome = words("not applicable")
    return Row([Cell(result.description), outcome, Cell(result.observed), words(f"raw.{result.table}.{result.column}")])


def _rejects(facts: CorpusFacts) -> Table:
    keys = ("source_path", "source_line", "record", "reason", "field", "expected", "found")
    rows = [Row(text_cells(["" if item[key] is None else str(item[key]) for key in keys])) for item in facts.rejects]
    listed = f", the first {len(rows)} of {facts.n_rejected}" if facts.n_rejected > len(rows) else ""
    headings = ["File", "Line", "Record", "Reason", "Field", "Expected", "Found"]
    return _table(f"Refused records and transcripts{listed}", headings, rows, numeric="Line")


def _flags(facts: CorpusFacts) -> Table:
    rows = [Row([Cell(flag), Cell(f"the turn {FLAGS[flag]}"), Cell(str(n))]) for flag, n in facts.flags.items()]
    return _table("Turns that were stored unaltered and flagged", ["Flag", "Meaning", "Turns"], rows, numeric="Turns")


def _table(title: str, headings: Sequence[str], rows: Sequence[Row], numeric: str = "") -> Table:
    columns = [Column(heading, numeric=heading == numeric) for heading in headings]
    return Table(title, columns, [Group(rows)])
