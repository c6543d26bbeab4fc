"""What became of a run: read from the published tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.warehouse import open_results


@dataclass(frozen=True)
class ModelOutcome:
    """What became of one model's planned questions in this run."""

    model: str
    planned: int
    asked: int
    reused: int
    by_status: dict[str, int]
    stopped: str | None = None

    @property
    def unanswered(self) -> int:
        return self.by_status.get("api_error", 0) + self.by_status.get("not_run", 0)


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
    rejected: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """By job: prepare, answer, publish."""
    bad_lines: list[str] = field(default_factory=list)
    """Lines of an imported file that were not taken in."""
    costs: list[Cost] = field(default_factory=list)
    budget_usd: float | None = None

    @property
    def exit_code(self) -> int:
        """0 done, 1 a model answered nothing at all, 3 something is missing (rejected records, open questions)."""
        if any(model.planned and model.unanswered == model.planned for model in self.models):
            return 1
        incomplete = self.rejected or self.bad_lines or any(model.unanswered for model in self.models)
        return 3 if incomplete else 0


class Scope(NamedTuple):
    """Which partitions a run was about."""

    models: Sequence[str]
    modalities: Sequence[str]
    tasks: Sequence[str]
    protocol: str


def outcome_of(
    directory: DataDirectory,
    scope: Scope,
    asked: list[dict[str, Any]],
    seconds: dict[str, float],
    bad_lines: Sequence[str] = (),
) -> RunOutcome:
    """What the published tables say of this run's models."""
    with open_results(directory.results) as connection:
        rejected = connection.execute("select count(*) from raw.rejects").fetchall()[0][0]
        rows = connection.execute(
            """
            select model, status, count(*) from scores.items
            where corpus_version = (select corpus_version from raw.corpus)
                and list_contains($models, model) and list_contains($modalities, modality)
                and list_contains($tasks, task) and protocol = $protocol
            group by all
            """,
            {name: value if isinstance(value, str) else list(value) for name, value in scope._asdict().items()},
        ).fetchall()
    models = [
        _model_outcome(model, {status: n for name, status, n in rows if name == model}, asked) for model in scope.models
    ]
    return RunOutcome(directory, models, rejected, dict(seconds), list(bad_lines))


def _model_outcome(model: str, by_status: dict[str, int], asked: list[dict[str, Any]]) -> ModelOutcome:
    mine = [entry for entry in asked if entry["model"] == model]
    return ModelOutcome(
        model=model,
        planned=sum(by_status.values()),
        asked=sum(entry["asked"] for entry in mine),
        reused=sum(entry["reused"] for entry in mine),
        by_status=by_status,
        stopped=next((entry["stopped"] for entry in mine if entry.get("stopped")), None),
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
