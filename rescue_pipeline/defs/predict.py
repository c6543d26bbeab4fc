"""predict: the plan, the responses to it, and the answers parsed from them. Reads and writes the lake only."""

from collections.abc import Iterator

import dagster as dg

from rescue_pipeline import progress
from rescue_pipeline.defs.partitions import MODEL_BY_MODALITY, ONE_RUN, partition_key
from rescue_pipeline.defs.resources import OWNERS, RunOptions, open_workspace, partitions_of
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.planning import write_plan
from rescue_pipeline.llm.summaries import PartitionSummary
from rescue_pipeline.schemas import TASKS
from rescue_pipeline.tasks.spec import asset_version, question_version


@dg.multi_asset(
    name="plan_questions",
    specs=[
        dg.AssetSpec(
            ["lake", "plan"],
            deps=[["lake", table] for table in ("instances", "sessions", "turns")],
            description="One row per planned question: instance x model x modality x protocol x epoch, "
            "written before anything is asked.",
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
    """Render every question of the partition and note which request will carry it."""
    workspace = open_workspace()
    for partition in partitions_of(context, options):
        summary = write_plan(workspace, partition, options.tasks, options.limit)
        yield dg.AssetMaterialization(
            ["lake", "plan"],
            partition=partition_key(partition.model, partition.modality),
            metadata={"dagster/row_count": summary.planned, "protocol": partition.protocol},
        )


@dg.multi_asset(
    name="ask_models",
    specs=[
        dg.AssetSpec(
            ["lake", f"responses_{task}"],
            deps=[["lake", "plan"]],
            description=f"One row per response to a question of {task}, as journaled: status, text, tokens, seconds.",
            group_name="predict",
            owners=OWNERS,
            kinds={"python", "litellm", "parquet"},
            code_version=question_version(task),
            skippable=True,
        )
        for task in TASKS
    ],
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
    can_subset=True,
)
def ask_models(context: dg.AssetExecutionContext, options: RunOptions) -> Iterator[dg.AssetMaterialization]:
    """Ask what has no final response yet; what was answered before is never asked again."""
    tasks = selected_tasks(context, options, "responses")
    summaries = ask_partitions(
        open_workspace(),
        partitions_of(context, options),
        tasks,
        options.limit,
        progress.report,
        allow_paid=options.allow_paid,
    )
    for summary in summaries:
        if summary.stopped_reason:
            context.log.warning(f"{summary.asked_of}: stopped: {summary.stopped_reason}")
        yield from materializations(summary, "responses", tasks)


def materializations(summary: PartitionSummary, table: str, tasks: list[str]) -> Iterator[dg.AssetMaterialization]:
    """One event per task of a partition, with that task's counts, tokens and cost."""
    for task in tasks:
        yield dg.AssetMaterialization(
            ["lake", f"{table}_{task}"],
            partition=partition_key(summary.partition.model, summary.partition.modality),
            metadata={name: value for name, value in summary.metadata(task).items() if value is not None},
        )


@dg.multi_asset(
    name="parse_answers",
    specs=[
        dg.AssetSpec(
            ["lake", f"answers_{task}"],
            deps=[["lake", f"responses_{task}"], ["lake", "plan"]],
            description=f"One row per planned question of {task} that has a response, parsed; a failure keeps why.",
            group_name="predict",
            owners=OWNERS,
            kinds={"python", "pydantic", "parquet"},
            code_version=asset_version(task),
            skippable=True,
        )
        for task in TASKS
    ],
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
    can_subset=True,
)
def parse_answers(context: dg.AssetExecutionContext, options: RunOptions) -> Iterator[dg.AssetMaterialization]:
    """Parse the counting response of every planned question; asks nothing."""
    workspace = open_workspace()
    for partition in partitions_of(context, options):
        for task in selected_tasks(context, options, "answers"):
            summary = parse_partition(workspace, partition, task)
            yield dg.AssetMaterialization(
                ["lake", f"answers_{task}"],
                partition=partition_key(partition.model, partition.modality),
                metadata={"dagster/row_count": summary.rows, **summary.by_status},
            )


def selected_tasks(context: dg.AssetExecutionContext, options: RunOptions, table: str) -> list[str]:
    """The tasks whose asset of this step is selected, in the benchmark's order."""
    return [
        task
        for task in TASKS
        if task in options.tasks and dg.AssetKey(["lake", f"{table}_{task}"]) in context.selected_asset_keys
    ]
