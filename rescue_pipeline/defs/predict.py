"""predict: the plan, the responses to it, and the answers parsed from them. Reads and writes the lake only."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

from rescue_pipeline import progress
from rescue_pipeline.defs.partitions import MODEL_BY_MODALITY, partition_key, partitions_of
from rescue_pipeline.defs.resources import OWNERS, RunOptions, open_workspace
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.planning import write_plan
from rescue_pipeline.schemas import TASKS
from rescue_pipeline.tasks.spec import asset_version

ONE_RUN = dg.BackfillPolicy.single_run()
"""A batch of partitions is one run with one event loop, so that models wait for their providers side by side."""


@dg.multi_asset(
    name="plan_questions",
    specs=[
        dg.AssetSpec(
            ["lake", "plan"],
            deps=[["lake", table] for table in ("instances", "sessions", "turns")],
            description="One row per planned question: instance x model x modality x protocol x epoch, written before asking.",
            group_name="predict",
            owners=OWNERS,
            kinds={"python", "parquet"},
            skippable=True,
        )
    ],
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
)
def plan_questions(context: dg.AssetExecutionContext, options: RunOptions) -> Iterator[dg.AssetMaterialization]:
    workspace = open_workspace()
    for partition in partitions_of(context, options):
        summary = write_plan(workspace, partition, options.tasks, options.limit)
        yield dg.AssetMaterialization(
            ["lake", "plan"],
            partition=partition_key(partition.model, partition.modality),
            metadata={"dagster/row_count": summary.planned, "protocol": partition.protocol},
        )
