"""The quality gate over the raw corpus: Great Expectations really runs every rule of quality_rules.py.

DuckDB counts, Great Expectations judges. What it is given are ids, labels and numbers, what comes back are counts: no
session text gets into a result. Great Expectations is imported when the gate runs, for it takes seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from rescue_pipeline.corpus.facts import CorpusFacts, corpus_facts
from rescue_pipeline.corpus.quality_frames import allowed_values, frames
from rescue_pipeline.corpus.quality_rules import EXPECTATIONS, Expectation, Severity
from rescue_pipeline.corpus.rejects import short_code

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPECTATIONS", "Expectation", "ExpectationResult", "QualityReport", "check_corpus"]

_COUNTS_ONLY = {"result_format": "BASIC", "partial_unexpected_count": 0}


@dataclass(frozen=True)
class ExpectationResult:
    """What became of one expectation. n_checked 0: there was nothing to check, which counts as success."""

    name: str
    table: str
    column: str
    severity: Severity
    description: str
    unit: str
    success: bool
    n_checked: int
    n_unexpected: int
    observed: str


@dataclass(frozen=True)
class QualityReport:
    """All results in the order of EXPECTATIONS, and what the corpus is."""

    facts: CorpusFacts
    results: tuple[ExpectationResult, ...]

    def failed(self, severity: Severity) -> list[ExpectationResult]:
        return [result for result in self.results if result.severity == severity and not result.success]

    @property
    def passed(self) -> bool:
        """Whether the pipeline may go on."""
        return not self.failed("blocking")


def check_corpus(connection: duckdb.DuckDBPyConnection) -> QualityReport:
    """Run every expectation on raw.*, which is only read."""
    suites: dict[str, list[Expectation]] = {}
    for expectation in EXPECTATIONS:
        suites.setdefault(expectation.frame, []).append(expectation)
    allowed = allowed_values(connection)
    source = _gx_source()
    results: dict[str, ExpectationResult] = {}
    for name, relation in frames(connection).items():
        frame, rules = relation.df(), suites[name]
        for rule, outcome in zip(rules, _validate(source, name, frame, rules, allowed.get(name)), strict=True):
            results[rule.name] = _result(rule, outcome, frame[rule.name], allowed.get(name, []))
    return QualityReport(corpus_facts(connection), tuple(results[rule.name] for rule in EXPECTATIONS))


def _gx_source() -> Any:
    """A data source for frames in a context that leaves no files behind."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
    return context.data_sources.add_pandas("raw")


def _validate(
    source: Any, name: str, frame: pd.DataFrame, rules: list[Expectation], value_set: list[str] | None
) -> list[Any]:
    """Great Expectations' results for one frame, in the order of `rules`."""
    import great_expectations as gx
    import great_expectations.expectations as gxe

    classes: dict[str, Any] = {
        "in_set": gxe.ExpectColumnValuesToBeInSet,
        "between": gxe.ExpectColumnValuesToBeBetween,
        "unique": gxe.ExpectColumnValuesToBeUnique,
    }
    suite = gx.ExpectationSuite(name=name)
    for rule in rules:
        arguments = {**({"value_set": value_set} if value_set is not None else {}), **rule.arguments}
        severity = "critical" if rule.severity == "blocking" else "warning"
        suite.add_expectation(classes[rule.kind](column=rule.name, severity=severity, **arguments))
    batch = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
    outcomes = batch.validate(suite, result_format=_COUNTS_ONLY).results
    by_column = {outcome.expectation_config.kwargs["column"]: outcome for outcome in outcomes}
    return [by_column[rule.name] for rule in rules]


def _result(rule: Expectation, outcome: Any, column: pd.Series[Any], value_set: list[str]) -> ExpectationResult:
    n_checked, n_unexpected = outcome.result.get("element_count", 0), outcome.result.get("unexpected_count", 0)
    return ExpectationResult(
        **{key: getattr(rule, key) for key in ("name", "table", "column", "severity", "description", "unit")},
        success=bool(outcome.success),
        n_checked=n_checked,
        n_unexpected=n_unexpected,
        observed=_observed(rule, outcome, column, value_set),
    )


def _observed(rule: Expectation, outcome: Any, column: pd.Series[Any], value_set: list[str]) -> str:
    if outcome.exception_info.get("raised_exception"):
        return "the check itself failed"
    if not len(column):
        return "nothing to check"
    text = f"{outcome.result['unexpected_count']} of {outcome.result['element_count']} {rule.unit}"
    if rule.names_values and not outcome.success:
        unknown = sorted(set(column.dropna()) - set(value_set))
        text += ": " + ", ".join(_code(value) for value in unknown[:5]) + (", ..." if len(unknown) > 5 else "")
    if rule.kind == "between" and column.notna().any() and (rule.shows_range or not outcome.success):
        text += f" (values from {column.min():g} to {column.max():g})"
    return text


def _code(value: str) -> str:
    """`couple: some_label`, or the length of what should have been a label."""
    scenario, separator, label = value.rpartition(": ")
    return f"{scenario}{separator}{short_code(label)}"
