"""score: aggregates over the item scores that dbt derives."""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from rescue_pipeline import datadir
from rescue_pipeline.defs.gates import contract_specs, kept, under_contract
from rescue_pipeline.defs.policies import FOLLOW_ANSWERS, OWNERS, WAREHOUSE_POOL
from rescue_pipeline.lake import Lake
from rescue_pipeline.metrics.compute import compute_metrics
from rescue_pipeline.metrics.effects import protocol_effects
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
    check_specs=contract_specs(["metrics"]),
)
def metrics() -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:  # type: ignore[type-arg]
    """Every metric of every cell, from item scores."""
    lake, items, gradings = _scores()
    frame = yield from under_contract(["metrics"], _computed, items, gradings, lake)
    path = lake.write("metrics", frame)
    yield dg.MaterializeResult(
        metadata={
            "dagster/row_count": frame.height,
            "items": items.height,
            "gradings": gradings.height,
            "path": dg.MetadataValue.path(path),
        },
        check_results=[kept("metrics")],
    )


def _computed(items: pl.DataFrame, gradings: pl.DataFrame, lake: Lake) -> pl.DataFrame:
    """The metrics; what goes in and what comes out keep their contracts."""
    frame = compute_metrics(
        check_table(items, Items, "scores.items"),
        check_table(gradings, Gradings, "scores.gradings"),
        lake.read("instances", Instances),
        lake.read("unlabelled_rows", UnlabelledRows),
    )
    return check_table(frame, Metrics, "lake.metrics")


@dg.asset(
    key=["lake", "protocol_effects"],
    deps=[["scores", "items"], ["scores", "gradings"], ["lake", "instances"]],
    description="One row per model, modality, protocol other than clean, scorer, scenario, task and main metric: "
    "the paired difference to clean, with its interval.",
    group_name="score",
    owners=OWNERS,
    kinds={"python", "numpy", "parquet"},
    pool=WAREHOUSE_POOL,
    automation_condition=FOLLOW_ANSWERS,
    check_specs=contract_specs(["protocol_effects"]),
)
def effects_of_protocols() -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:  # type: ignore[type-arg]
    """Each model against itself under clean, over the same questions; empty while everything is asked under one."""
    lake, items, gradings = _scores()
    frame = yield from under_contract(
        ["protocol_effects"], protocol_effects, items, gradings, lake.read("instances", Instances)
    )
    path = lake.write("protocol_effects", frame)
    yield dg.MaterializeResult(
        metadata={"dagster/row_count": frame.height, "path": dg.MetadataValue.path(path)},
        check_results=[kept("protocol_effects")],
    )


def _scores() -> tuple[Lake, pl.DataFrame, pl.DataFrame]:
    """The lake, and the warehouse's item scores and gradings."""
    directory = datadir.current()
    with open_duckdb(directory.warehouse, read_only=True) as connection:
        items, gradings = (connection.sql(f"select * from scores.{name}").pl() for name in ("items", "gradings"))
    return Lake(directory.lake), items, gradings
