"""score: aggregates over the item scores that dbt derives."""

import dagster as dg

from rescue_pipeline import datadir
from rescue_pipeline.defs.policies import FOLLOW_ANSWERS, OWNERS, WAREHOUSE_POOL
from rescue_pipeline.lake import Lake
from rescue_pipeline.metrics.compute import compute_metrics
from rescue_pipeline.schemas import Gradings, Instances, Items, Metrics, UnlabelledRows, check_table
from rescue_pipeline.warehouse import open_duckdb


@dg.asset(
    key=["lake", "metrics"],
    deps=[["scores", "items"], ["scores", "gradings"], ["lake", "instances"], ["lake", "unlabelled_rows"]],
    description="One row per model, generation, modality, protocol, scorer, scenario, task and metric.",
    group_name="score",
    owners=OWNERS,
    kinds={"python", "polars", "parquet"},
    pool=WAREHOUSE_POOL,
    automation_condition=FOLLOW_ANSWERS,
    check_specs=[dg.AssetCheckSpec("contract", asset=["lake", "metrics"], blocking=True)],
)
def metrics() -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Every metric of every cell, from item scores."""
    directory = datadir.current()
    lake = Lake(directory.lake)
    with open_duckdb(directory.warehouse, read_only=True) as connection:
        items = check_table(connection.sql("select * from scores.items").pl(), Items, "scores.items")
        gradings = check_table(connection.sql("select * from scores.gradings").pl(), Gradings, "scores.gradings")
    frame = compute_metrics(
        items, gradings, lake.read("instances", Instances), lake.read("unlabelled_rows", UnlabelledRows)
    )
    lake.write("metrics", check_table(frame, Metrics, "lake.metrics"))
    return dg.MaterializeResult(
        metadata={"dagster/row_count": frame.height, "items": items.height, "gradings": gradings.height},
        check_results=[dg.AssetCheckResult(check_name="contract", passed=True)],
    )
