"""The readings of one set of item scores whose figures are published side by side.

value: what was answered and graded. without_failures: of that, what did not fail. bound_low and bound_high: everything
planned, what is still open taken as wrong or as right. chance: the expectation of answers drawn uniformly.

An item that was asked several times has several rows. They share its weight of 1, so that sums over weighted rows are
sums over items of the mean over the item's repeats: repeats are averaged, and the best one never chosen.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rescue_pipeline.metrics import formulas
from rescue_pipeline.metrics.catalogue import CELL, GRADES, INTENSITY_MATCH, NO_SCORER
from rescue_pipeline.metrics.figures import DECISIONS, MEANS
from rescue_pipeline.metrics.rows import ITEM

_OPEN = ~pl.col("settled")
_GOLD_YES = pl.col("gold_label") == "yes"


def views(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each reading's name and frame: CELL, instance_id, weight, the labels, a column per item score (DECISIONS, MEANS).

    rows: one per cell, item and repeat, as `scored_rows` gives them.
    """
    settled = rows.filter("item_settled")
    unsure = rows.filter(_OPEN.any().over(CELL) & pl.col("settled").any().over(CELL))
    yield "value", item_scores(settled)
    yield "without_failures", item_scores(settled.filter(pl.col("status") == "ok"))
    yield "bound_low", item_scores(_closed(unsure, right=False))
    yield "bound_high", item_scores(_closed(unsure, right=True))
    yield "chance", _weighted(_guessed(rows.filter(pl.col("scorer_kind") == NO_SCORER)))


def item_scores(rows: pl.DataFrame) -> pl.DataFrame:
    """What each row is worth, by the names of the figures that count it; rows: as those of `scored_rows`."""
    says_yes = pl.col("predicted_label") == "yes"
    scores = rows.with_columns(
        true_positive=_GOLD_YES & says_yes,
        false_positive=~_GOLD_YES & says_yes,
        false_negative=_GOLD_YES & ~says_yes,
        accuracy=pl.col("correct"),
        mrr=pl.col("reciprocal_rank"),
        **{f"recall_at_{k}": (pl.col("rank") <= k).fill_null(False) for k in (1, 2, 3)},
    )
    return _weighted(scores).select(
        *ITEM, "session_group", "weight", "gold_label", "predicted_label", pl.col(*DECISIONS, *MEANS).cast(pl.Float64)
    )


def _weighted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(weight=1 / pl.len().over(ITEM))


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
