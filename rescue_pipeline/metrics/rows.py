"""The rows that every figure is computed from: scored questions, once per scorer, with what is settled about them."""

from __future__ import annotations

import polars as pl

from rescue_pipeline.metrics.catalogue import CELL, NO_SCORER
from rescue_pipeline.schemas.predictions import UNANSWERED_STATUSES

ITEM = [*CELL, "instance_id"]
"""An item is a question of a cell; a protocol that asks several times has several rows of it, its repeats."""


def scored_rows(items: pl.DataFrame, gradings: pl.DataFrame) -> pl.DataFrame:
    """Scored questions under the scorer `none`, and again under each scorer that grades them.

    One row per cell, item and repeat, in the order of the items. settled: the row has its (item) score.
    n_repeats: how often its cell asks each item. item_settled: every one of these repeats is there and settled.
    """
    answered = items.with_columns(
        scorer=pl.lit(NO_SCORER),
        scorer_kind=pl.lit(NO_SCORER),
        settled=~pl.col("status").is_in(UNANSWERED_STATUSES),
    ).filter(pl.col("task") != "vp")
    graded = gradings.with_columns(settled=pl.col("grading_status") == "ok")
    # sums of floats depend on the order: a rebuilt table must not differ in the last digit
    rows = pl.concat([answered, graded], how="diagonal").filter("scored").sort("instance_id", "epoch")
    repeats = rows.group_by(ITEM).agg(pl.len().alias("n_asked"), pl.col("settled").sum().alias("n_settled"))
    repeats = repeats.with_columns(n_repeats=pl.col("n_asked").max().over([c for c in CELL if c != "scenario"]))
    item_settled = pl.col("n_settled") == pl.col("n_repeats")
    return rows.join(
        repeats.select(*ITEM, "n_repeats", item_settled.alias("item_settled")), on=ITEM, maintain_order="left"
    )


def with_both(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of couples and families, and all of them again as scenario `both`."""
    return pl.concat([rows, rows.with_columns(scenario=pl.lit("both"))])


def per_cell(rows: pl.DataFrame) -> pl.DataFrame:
    """What each cell rests on, in items: n are settled, n_failed and n_unanswered have such a repeat."""
    unanswered = pl.col("status").is_in(UNANSWERED_STATUSES)
    items = rows.group_by(ITEM).agg(
        pl.col("task_version").max(),
        pl.col("session_group").first(),
        pl.col("n_repeats").first(),
        pl.col("item_settled").first(),
        failed=(~unanswered & (pl.col("status") != "ok")).any(),
        unanswered=unanswered.any() | (pl.len() < pl.col("n_repeats").first()),
    )
    return items.group_by(CELL).agg(
        pl.col("task_version").max(),
        pl.col("n_repeats").max(),
        pl.len().alias("n_planned"),
        pl.col("item_settled").sum().alias("n"),
        pl.col("session_group").filter("item_settled").n_unique().alias("n_groups"),
        pl.col("failed").sum().alias("n_failed"),
        pl.col("unanswered").sum().alias("n_unanswered"),
    )
