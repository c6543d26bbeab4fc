"""What became of a run: read from the published tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import duckdb

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.warehouse import open_results

ASKING, JUDGING = "ask_models", "judge_answers"
"""The steps whose reports are told: of answers and of judgements."""


@dataclass(frozen=True)
class ModelOutcome:
    """What became of one model's planned questions in this run."""

    model: str
    planned: int
    asked: int
    reused: int
    by_status: dict[str, int]
    stopped: str | None = None
    failure: str | None = None
    """The most frequent error of this run's requests, without keys and prompts, as it is stored."""

    @property
    def unanswered(self) -> int:
        return self.by_status.get("api_error", 0) + self.by_status.get("not_run", 0)


@dataclass(frozen=True)
class JudgeOutcome:
    """What became of one judge's judgements of this run's answers. stopped: why it was given up, if it was."""

    judge: str
    by_status: dict[str, int]
    stopped: str | None = None

    @property
    def planned(self) -> int:
        return sum(self.by_status.values())

    @property
    def missing(self) -> int:
        return self.planned - self.by_status.get("ok", 0)

    @property
    def is_complete(self) -> bool:
        return not self.missing and self.stopped is None


class Cost(NamedTuple):
    """What a paid model or judge cost in one run; usd is None where a provider did not say."""

    model: str
    purpose: str
    requests: int
    usd: float | None
    expected_usd: float


@dataclass(frozen=True)
class RunOutcome:
    directory: DataDirectory
    models: list[ModelOutcome] = field(default_factory=list)
    judges: list[JudgeOutcome] = field(default_factory=list)
    rejected: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """By job: prepare, answer, publish."""
    bad_lines: list[str] = field(default_factory=list)
    """Lines of an imported file that were not taken in."""
    costs: list[Cost] = field(default_factory=list)
    budget_usd: float | None = None

    @property
    def exit_code(self) -> int:
        """0 done, 1 a model answered nothing at all, 3 something is missing: records, answers or judgements."""
        if any(model.planned and model.unanswered == model.planned for model in self.models):
            return 1
        incomplete = any(model.unanswered for model in self.models) or any(
            not judge.is_complete for judge in self.judges
        )
        return 3 if self.rejected or self.bad_lines or incomplete else 0


class Scope(NamedTuple):
    """Which partitions a run was about, and who judged them."""

    models: Sequence[str]
    modalities: Sequence[str]
    tasks: Sequence[str]
    protocol: str
    judges: Sequence[str] = ()
    run_id: str = ""


_OF_SCOPE = """
    list_contains($models, model) and list_contains($modalities, modality)
    and list_contains($tasks, task) and protocol = $protocol
"""
_OF_CORPUS = f"corpus_version = (select corpus_version from raw.corpus) and {_OF_SCOPE}"


def outcome_of(
    directory: DataDirectory,
    scope: Scope,
    reports: list[dict[str, Any]],
    seconds: dict[str, float],
    bad_lines: Sequence[str] = (),
) -> RunOutcome:
    """What the published tables say of this run's models and judges. reports: what the steps said of themselves."""
    with open_results(directory.results) as connection:
        rejected = connection.execute("select count(*) from raw.rejects").fetchall()[0][0]
        answers, judgements, failures = (_told(connection, query, scope) for query in (_ANSWERS, _JUDGEMENTS, _ERRORS))
    asked = [report for report in reports if report["step"] == ASKING]
    stops: dict[str, str] = {}
    for report in reports:
        if report["step"] == JUDGING:
            stops |= report.get("stops") or {}
    return RunOutcome(
        directory,
        [_model_outcome(model, answers.get(model, {}), failures.get(model), asked) for model in scope.models],
        [JudgeOutcome(judge, judgements.get(judge, {}), stops.get(judge)) for judge in scope.judges],
        rejected,
        dict(seconds),
        list(bad_lines),
    )


_ANSWERS = f"select model, status, count(*) from scores.items where {_OF_CORPUS} group by all"
_JUDGEMENTS = f"""
select judge, status, count(*) from predictions.judgements
where {_OF_CORPUS} and list_contains($judges, judge) group by all
"""
_ERRORS = f"""
select model, concat_ws(', ', 'HTTP ' || http_status, coalesce(error, error_type)), count(*)
from predictions.responses
where {_OF_SCOPE} and status = 'api_error' and run_id = $run_id
group by all order by count(*) desc, 2
"""


def _told(connection: duckdb.DuckDBPyConnection, query: str, scope: Scope) -> dict[str, dict[str, int]]:
    """The counts of a query, by who and what, in its order."""
    values = {name: value if isinstance(value, str) else list(value) for name, value in scope._asdict().items()}
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    named = {name: value for name, value in values.items() if f"${name}" in query}
    for who, what, n in connection.execute(query, named).fetchall():
        counts[who][what] = n
    return counts


def _model_outcome(
    model: str, by_status: dict[str, int], failures: dict[str, int] | None, asked: list[dict[str, Any]]
) -> ModelOutcome:
    mine = [entry for entry in asked if entry["model"] == model]
    return ModelOutcome(
        model=model,
        planned=sum(by_status.values()),
        asked=sum(entry["asked"] for entry in mine),
        reused=sum(entry["reused"] for entry in mine),
        by_status=by_status,
        stopped=next((entry["stopped"] for entry in mine if entry.get("stopped")), None),
        failure=next(iter(failures or {}), None),
    )


def costs_of(directory: DataDirectory, run_id: str) -> list[Cost]:
    """What the run's paid models cost, from the published ledger."""
    with open_results(directory.results) as connection:
        rows = connection.execute(
            """
            select
                model, purpose, sum(requests), case when bool_and(cost_usd is not null or requests = 0)
                then coalesce(sum(cost_usd), 0) end, sum(expected_cost_usd)
            from results.run_costs
            where run_id = ?
            group by all
            having sum(expected_cost_usd) > 0
            order by purpose, model
            """,
            [run_id],
        ).fetchall()
    return [Cost(model, purpose, int(n), usd, float(expected)) for model, purpose, n, usd, expected in rows]
