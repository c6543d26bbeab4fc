"""`rescue compare`: two models, protocols, modalities or generations on the same questions, from results.duckdb."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import duckdb
import polars as pl

from rescue_pipeline.errors import UsageError
from rescue_pipeline.metrics.comparing import differences
from rescue_pipeline.metrics.effects import BASE, IMPORTED
from rescue_pipeline.metrics.estimates import label_sets
from rescue_pipeline.metrics.rows import scored_rows
from rescue_pipeline.report.formatting import listed
from rescue_pipeline.schemas import Gradings, Items, check_table
from rescue_pipeline.warehouse import open_results

Dimension = Literal["model", "protocol", "modality", "generation"]
_VERSION = "corpus_version = (select corpus_version from raw.corpus)"


class Run(NamedTuple):
    """What one side was: a model at one of its generations, asked in one way."""

    model: str
    generation: int
    modality: str
    protocol: str

    @property
    def name(self) -> str:
        return f"{self.model} (generation {self.generation}), {self.modality}, protocol {self.protocol}"


@dataclass(frozen=True)
class Wanted:
    """What to compare, as it was typed. What is not given is plain: protocol clean, dialogue, newest generation."""

    a: str
    b: str
    by: Dimension = "model"
    model: str | None = None
    protocol: str | None = None
    modality: str | None = None
    generation: str | None = None
    scenario: str = "both"


@dataclass(frozen=True)
class Comparison:
    """table: the rows of `differences` of one scenario."""

    a: Run
    b: Run
    table: pl.DataFrame


def compare(database: Path, wanted: Wanted) -> list[Comparison]:
    """One comparison per model (one in all when models are compared).

    Raises UsageError for a name that has no results, for two names that are one, and when no question is in common.
    """
    if wanted.a == wanted.b:
        raise UsageError("a comparison needs two different names", found=f"{wanted.a} twice")
    with open_results(database) as connection:
        pairs = list(_pairs(wanted, _runs(connection)))
        found = [Comparison(a, b, _table(connection, a, b, wanted.scenario)) for a, b in pairs]
    shown = [comparison for comparison in found if comparison.table["n"].sum()]
    if not shown:
        raise UsageError(
            "there is no question that both sides have settled",
            found=f"{pairs[0][0].name}; {pairs[0][1].name}",
            advice='rescue sql "select * from results.failures" shows who was asked what',
        )
    return shown


def as_frame(comparisons: Iterable[Comparison]) -> pl.DataFrame:
    """All comparisons in one table, each row with what its sides were."""
    sides = [f"{field}_{side}" for side in ("a", "b") for field in Run._fields]
    return pl.concat(
        comparison.table.select(
            *(pl.lit(value).alias(name) for name, value in zip(sides, (*comparison.a, *comparison.b), strict=True)),
            pl.all(),
        )
        for comparison in comparisons
    )


def _runs(connection: duckdb.DuckDBPyConnection) -> list[Run]:
    rows = connection.execute(
        f"select distinct model, generation, modality, protocol from scores.items where {_VERSION} order by all"
    ).fetchall()
    if not rows:
        raise UsageError("nothing is answered yet, so nothing can be compared", advice="rescue run --corpus ...")
    return [Run(*row) for row in rows]


def _pairs(wanted: Wanted, runs: list[Run]) -> Iterator[tuple[Run, Run]]:
    """The two runs of each comparison."""
    fixed = {name: value for name in Run._fields if (value := getattr(wanted, name)) is not None}
    if wanted.by in fixed:
        raise UsageError(f"--{wanted.by} cannot be fixed and compared at once", advice=f"leave --{wanted.by} out")
    for name, value in [*fixed.items(), (wanted.by, wanted.a), (wanted.by, wanted.b)]:
        _require_known(name, value, runs)
    if wanted.by == "model":
        a, b = (_matching(runs, {**fixed, "model": model}) for model in (wanted.a, wanted.b))
        yield a[-1], b[-1]
        return
    models = [wanted.model] if wanted.model else sorted({run.model for run in runs})
    pairs = [_within(runs, wanted, {**fixed, "model": model}) for model in models]
    if not any(pairs):
        raise UsageError(
            f"no model has results under both {wanted.by} {wanted.a} and {wanted.b}, of one generation",
            expected=listed([run.name for run in runs if run.model in models], "or"),
        )
    yield from (pair for pair in pairs if pair)


def _within(runs: list[Run], wanted: Wanted, fixed: dict[str, str]) -> tuple[Run, Run] | None:
    """The two runs of one model, of the newest generation that has both unless generations are compared."""
    a, b = (_plainest(runs, {**fixed, wanted.by: side}) for side in (wanted.a, wanted.b))
    pairs = [
        (left, right) for left in a for right in b if wanted.by == "generation" or left.generation == right.generation
    ]
    return pairs[-1] if pairs else None


def _require_known(kind: str, name: str, runs: list[Run]) -> None:
    known = sorted({str(getattr(run, kind)) for run in runs})
    if name not in known:
        raise UsageError(f"there are no results of this {kind}", expected=listed(known, "or"), found=name)


def _plainest(runs: list[Run], wanted: dict[str, str]) -> list[Run]:
    """The runs that were meant, by ascending generation; what is not stated is the plain way of asking."""
    asked = {run.protocol for run in runs if run.model == wanted["model"]}
    # whose answers were made elsewhere has no other protocol
    plain = {"protocol": IMPORTED if asked == {IMPORTED} else BASE, "modality": "dialogue"}
    return [run for run in runs if all(str(getattr(run, name)) == value for name, value in {**plain, **wanted}.items())]


def _matching(runs: list[Run], wanted: dict[str, str]) -> list[Run]:
    """The same, where there must be one."""
    if found := _plainest(runs, wanted):
        return found
    stated = ", ".join(f"{name} {value}" for name, value in wanted.items() if name != "model")
    raise UsageError(
        f"{wanted['model']} has no results of this kind",
        expected=listed([run.name for run in runs if run.model == wanted["model"]], "or"),
        found=stated or f"protocol {BASE}, modality dialogue (what is compared unless you name another)",
        advice="--protocol and --modality name what else to compare under",
    )


def _table(connection: duckdb.DuckDBPyConnection, a: Run, b: Run, scenario: str) -> pl.DataFrame:
    labels = label_sets(connection.sql(f"select * from tasks.instances where {_VERSION} and task = 'rpp'").pl())
    found = differences(_rows(connection, a), _rows(connection, b), labels)
    return found.filter(pl.col("scenario") == scenario)


def _rows(connection: duckdb.DuckDBPyConnection, run: Run) -> pl.DataFrame:
    condition = f"{_VERSION} and scored and " + " and ".join(f"{name} = ${name}" for name in Run._fields)
    items, gradings = (
        connection.sql(f"select * from scores.{table} where {condition}", params=run._asdict()).pl()
        for table in ("items", "gradings")
    )
    return scored_rows(check_table(items, Items, "scores.items"), check_table(gradings, Gradings, "scores.gradings"))
