"""The readings of one set of item scores whose figures are published side by side.

value: what was answered and graded. without_failures: of that, what did not fail. bound_low and bound_high: everything
planned, what is still open taken as wrong or as right. chance: the expectation of answers drawn uniformly.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rescue_pipeline.metrics import formulas
from rescue_pipeline.metrics.catalogue import CELL, GRADES, INTENSITY_MATCH, NO_SCORER

DECISIONS = ["true_positive", "false_positive", "false_negative"]
MEANS = ["accuracy", "recall_at_1", "recall_at_2", "recall_at_3", "mrr", "intensity_match", *GRADES, "er_score"]
"""Metrics that are the mean of an item score of the same name."""

_OPEN = ~pl.col("settled")
_GOLD_YES = pl.col("gold_label") == "yes"


def views(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each reading's name and frame, with CELL, the labels and a column per item score (DECISIONS, MEANS).

    rows: one per cell and planned question, with `settled`, `status` and the columns of scores.items and
    scores.gradings.
    """
    settled = rows.filter("settled")
    unsure = rows.filter(_OPEN.any().over(CELL) & pl.col("settled").any().over(CELL))
    yield "value", _scored(settled)
    yield "without_failures", _scored(settled.filter(pl.col("status") == "ok"))
    yield "bound_low", _scored(_closed(unsure, right=False))
    yield "bound_high", _scored(_closed(unsure, right=True))
    yield "chance", _guessed(rows.filter(pl.col("scorer_kind") == NO_SCORER))


def _scored(rows: pl.DataFrame) -> pl.DataFrame:
    says_yes = pl.col("predicted_label") == "yes"
    scores = rows.with_columns(
        true_positive=_GOLD_YES & says_yes,
        false_positive=~_GOLD_YES & says_yes,
        false_negative=_GOLD_YES & ~says_yes,
        accuracy=pl.col("correct"),
        mrr=pl.col("reciprocal_rank"),
        **{f"recall_at_{k}": (pl.col("rank") <= k).fill_null(False) for k in (1, 2, 3)},
    )
    return scores.select(*CELL, "gold_label", "predicted_label", pl.col(*DECISIONS, *MEANS).cast(pl.Float64))


def _closed(rows: pl.DataFrame, *, right: bool) -> pl.DataFrame:
    """What is still open, taken as answered and graded: all right, or all failed."""
    opposite = pl.when(pl.col("task") == "itp").then(pl.when(_GOLD_YES).then(pl.lit("no")).otherwise(pl.lit("yes")))
    taken = {
        "predicted_label": pl.col("gold_label") if right else opposite,
        "correct": pl.lit(right),
        "rank": pl.lit(1 if right else None, dtype=pl.Int64),
        "reciprocal_rank": pl.lit(float(right)),
        **{grade: pl.lit(scale[right]) for grade, scale in GRADES.items()},
    }
    return rows.with_columns(
        pl.col("intensity_match").fill_null(INTENSITY_MATCH[right]),
        **{column: pl.when(_OPEN).then(score).otherwise(column) for column, score in taken.items()},
    ).with_columns(er_score=(pl.col("judge") + pl.col("intensity_match")) / 2)


def _guessed(rows: pl.DataFrame) -> pl.DataFrame:
    """Each item score replaced by its expectation under uniform answers (yes or no; an order of candidates; 0-10)."""
    n_candidates = rows["n_candidates"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    recalls = {f"recall_at_{k}": pl.Series(formulas.chance_recall_at(k, n_candidates)) for k in (1, 2, 3)}
    yes = _GOLD_YES.cast(pl.Float64)
    return rows.with_columns(
        true_positive=yes / 2,
        false_positive=(1 - yes) / 2,
        false_negative=yes / 2,
        mrr=pl.Series(formulas.chance_reciprocal_rank(n_candidates)),
        intensity_match=pl.col("chance_intensity_match"),
        **recalls,
    ).with_columns(accuracy=pl.when(pl.col("task") == "itp").then(0.5).otherwise("recall_at_1"))
