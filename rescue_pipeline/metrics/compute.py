"""The table of metrics: every published figure of every cell, with what it rests on."""

from __future__ import annotations

import polars as pl

from rescue_pipeline.metrics.catalogue import CELL, published
from rescue_pipeline.metrics.estimates import LABEL_SET, estimate, label_sets
from rescue_pipeline.metrics.rows import per_cell, scored_rows, with_both
from rescue_pipeline.metrics.views import views
from rescue_pipeline.schemas import Gradings, Instances, Items, Metrics, UnlabelledRows, check_table

_ESTIMATES = ["value", "without_failures", "bound_low", "bound_high", "chance"]


def compute_metrics(
    items: pl.DataFrame, gradings: pl.DataFrame, instances: pl.DataFrame, unlabelled_rows: pl.DataFrame
) -> pl.DataFrame:
    """One row per model, generation, modality, protocol, scorer, scenario (couple, family, both), task and metric.

    items and gradings: the tables of scores.*; instances and unlabelled_rows: the lake's, of all corpus versions.
    Fractions are 0-1, grades on their own scale; what no data supports is null. Items that are asked several times
    are averaged over their repeats first. Raises RescueError when a frame breaks its schema. docs/metrics.md defines
    each metric and each column.
    """
    instances = check_table(instances, Instances, "lake/instances")
    unlabelled_rows = check_table(unlabelled_rows, UnlabelledRows, "lake/unlabelled_rows")
    rows = with_both(
        scored_rows(check_table(items, Items, "scores/items"), check_table(gradings, Gradings, "scores/gradings"))
    )
    n_unlabelled = _counts(unlabelled_rows, LABEL_SET, "n_unlabelled")
    labels = label_sets(instances)
    figures = pl.concat(
        estimate(frame, n_unlabelled, labels, guessed=name == "chance").with_columns(view=pl.lit(name, pl.String))
        for name, frame in views(rows)
    )
    wide = figures.pivot("view", on_columns=_ESTIMATES, index=[*CELL, "metric"], values="value")
    table = (
        _cells(rows, instances)
        .join(published(), on=["task", "scorer_kind"])
        .filter((pl.col("metric") != "macro_f1") | (pl.col("scenario") != "both"))
        .join(wide, on=[*CELL, "metric"], how="left")
        .join(n_unlabelled, on=LABEL_SET, how="left")
    )
    return check_table(_finished(table), Metrics, "lake/metrics")


def _counts(rows: pl.DataFrame, by: list[str], name: str) -> pl.DataFrame:
    return with_both(rows).group_by(by).agg(pl.len().cast(pl.Int64).alias(name))


def _cells(rows: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """What each cell rests on, and how many questions exist."""
    existing = ["corpus_version", "scenario", "task"]
    return per_cell(rows).join(_counts(instances, existing, "n_instances"), on=existing, how="left")


def _finished(table: pl.DataFrame) -> pl.DataFrame:
    """The paper's base is known only when every instance is planned: without it that metric has no figure."""
    paper_base = pl.col("metric") == "accuracy_paper_base"
    whole = pl.col("n_planned") == pl.col("n_instances")
    return (
        table.with_columns(
            complete=whole & (pl.col("n") == pl.col("n_planned")),
            ci_low=pl.lit(None, pl.Float64),
            ci_high=pl.lit(None, pl.Float64),
            n=pl.when(paper_base & (pl.col("n") > 0))
            .then(pl.col("n") + pl.col("n_unlabelled").fill_null(0))
            .otherwise("n"),
        )
        .with_columns(pl.when(~paper_base | whole).then(pl.col(*_ESTIMATES)))
        .rename({"without_failures": "value_without_failures"})
        .select(Metrics.empty().columns)
        .sort(*CELL, "metric")
    )
