"""From item scores to one figure per cell and metric."""

from __future__ import annotations

import numpy as np
import polars as pl

from rescue_pipeline.metrics import formulas
from rescue_pipeline.metrics.catalogue import CELL
from rescue_pipeline.metrics.figures import DECISIONS, MEANS, figures

LABEL_SET = ["corpus_version", "scenario"]


def label_sets(instances: pl.DataFrame) -> pl.DataFrame:
    """One row per corpus version and scenario: its relation patterns, as the questions offer them."""
    return (
        instances.filter(pl.col("task") == "rpp")
        .group_by(LABEL_SET)
        .agg(pl.col("candidates").explode().unique().sort().alias("labels"))
    )


def estimate(scores: pl.DataFrame, unlabelled: pl.DataFrame, labels: pl.DataFrame, *, guessed: bool) -> pl.DataFrame:
    """CELL, metric, value; a figure that is not defined has no row.

    scores: one of `views`. unlabelled: corpus_version, scenario, n_unlabelled. guessed: labels are expectations.
    """
    # of a score that a cell does not have the sum is null, not 0
    totals = {
        name: pl.when(pl.col(name).count() > 0).then((pl.col(name) * pl.col("weight")).sum())
        for name in [*MEANS, *DECISIONS]
    }
    sums = (
        scores.group_by(CELL)
        .agg(pl.col("instance_id").n_unique().alias("n"), **totals)
        .join(unlabelled, on=LABEL_SET, how="left")
        .with_columns(pl.col("n_unlabelled").fill_null(0))
    )
    arrays = {
        name: sums[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        for name in ["n", "n_unlabelled", *MEANS, *DECISIONS]
    }
    values = figures(arrays)
    long = sums.select(*CELL, **{name: pl.Series(value) for name, value in values.items()}).unpivot(
        list(values), index=CELL, variable_name="metric", value_name="value"
    )
    return pl.concat([long, macro_f1(scores, labels, guessed=guessed)]).filter(pl.col("value").is_not_nan())


def macro_f1(scores: pl.DataFrame, labels: pl.DataFrame, *, guessed: bool) -> pl.DataFrame:
    """CELL, metric, value of relation patterns, per scenario: over both together the label sets differ."""
    asked = scores.filter(pl.col("task") == "rpp")
    parts = [_empty_figures(scores)]
    for version, scenario, names in labels.iter_rows():
        part = asked.filter(pl.col("corpus_version") == version, pl.col("scenario") == scenario)
        counts = part.group_by(CELL).agg(
            pl.col("weight").sum(),
            *(_count(pl.col("gold_label") == name, f"gold {name}") for name in names),
            *(_count(pl.col("predicted_label") == name, f"predicted {name}") for name in names),
            *(
                _count((pl.col("gold_label") == name) & (pl.col("predicted_label") == name), f"hit {name}")
                for name in names
            ),
        )
        support, predicted, hits = (
            counts.select(f"{kind} {name}" for name in names).to_numpy() for kind in ("gold", "predicted", "hit")
        )
        if guessed:
            hits = support / len(names)
            predicted = np.broadcast_to(counts.select("weight").to_numpy() / len(names), support.shape)
        value = pl.Series("value", formulas.macro_f1(hits, predicted, support), dtype=pl.Float64)
        parts.append(counts.select(*CELL, pl.lit("macro_f1").alias("metric"), value))
    return pl.concat(parts)


def _count(condition: pl.Expr, name: str) -> pl.Expr:
    return (condition.fill_null(False) * pl.col("weight")).sum().alias(name)


def _empty_figures(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.clear().select(*CELL, pl.lit("", pl.String).alias("metric"), pl.lit(0.0).alias("value"))
