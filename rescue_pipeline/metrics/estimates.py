"""From item scores to one figure per cell and metric."""

from __future__ import annotations

import numpy as np
import polars as pl

from rescue_pipeline.metrics import formulas
from rescue_pipeline.metrics.catalogue import CELL
from rescue_pipeline.metrics.views import DECISIONS, MEANS

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
    sums = scores.group_by(CELL).agg(
        pl.len().alias("n"), pl.col(MEANS).mean(), pl.col(DECISIONS).sum(), pl.col("accuracy").sum().alias("n_correct")
    )
    figures = sums.join(unlabelled, on=LABEL_SET, how="left").with_columns(pl.col("n_unlabelled").fill_null(0))
    hits, false_alarms, misses = (figures[column].to_numpy() for column in DECISIONS)
    figures = figures.with_columns(
        precision=formulas.precision(hits, false_alarms),
        recall=formulas.recall(hits, misses),
        f1=formulas.f1(hits, false_alarms, misses),
        accuracy_paper_base=formulas.ratio(
            figures["n_correct"].to_numpy(), (figures["n"] + figures["n_unlabelled"]).to_numpy()
        ),
    )
    metrics = [*MEANS, "precision", "recall", "f1", "accuracy_paper_base"]
    long = figures.unpivot(metrics, index=CELL, variable_name="metric", value_name="value")
    return pl.concat([long, macro_f1(scores, labels, guessed=guessed)]).filter(
        pl.col("value").is_not_null() & pl.col("value").is_not_nan()
    )


def macro_f1(scores: pl.DataFrame, labels: pl.DataFrame, *, guessed: bool) -> pl.DataFrame:
    """CELL, metric, value of relation patterns, per scenario: over both together the label sets differ."""
    asked = scores.filter(pl.col("task") == "rpp")
    parts = [_empty_figures(scores)]
    for version, scenario, names in labels.iter_rows():
        part = asked.filter(pl.col("corpus_version") == version, pl.col("scenario") == scenario)
        counts = part.group_by(CELL).agg(
            pl.len().cast(pl.Float64),
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
            predicted = np.broadcast_to(counts.select("len").to_numpy() / len(names), support.shape)
        value = pl.Series("value", formulas.macro_f1(hits, predicted, support), dtype=pl.Float64)
        parts.append(counts.select(*CELL, pl.lit("macro_f1").alias("metric"), value))
    return pl.concat(parts)


def _count(condition: pl.Expr, name: str) -> pl.Expr:
    return condition.fill_null(False).sum().cast(pl.Float64).alias(name)


def _empty_figures(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.clear().select(*CELL, pl.lit("", pl.String).alias("metric"), pl.lit(0.0).alias("value"))
