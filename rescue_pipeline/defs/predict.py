"""predict: the plan, the responses to it, and the answers parsed from them. Reads and writes the lake only."""

from collections.abc import Iterator

import dagster as dg

from rescue_pipeline import progress
from rescue_pipeline.defs.partitions import MODEL_BY_MODALITY, ONE_RUN, partition_key
from rescue_pipeline.defs.policies import OWNERS
from rescue_pipeline.defs.resources import RunOptions, open_workspace, partitions_of
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
        )
    ],
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
)
def plan_questions(context: dg.AssetExecutionContext, options: RunOptions) -> Iterator[dg.MaterializeResult]:
    """Render every question of the partition and note which request will carry it."""
    workspace = open_workspace()
    for partition in partitions_of(context, options):
        summary = write_plan(workspace, partition, options.tasks, options.limit)
        context.add_asset_metadata(
            {"dagster/row_count": summary.planned, "protocol": partition.protocol},
            asset_key=["lake", "plan"],
            partition_key=partition_key(partition.model, partition.modality),
        )
    yield dg.MaterializeResult(asset_key=["lake", "plan"])


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
        )
        for task in TASKS
    ],
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
    can_subset=True,
)
def ask_models(context: dg.AssetExecutionContext, options: RunOptions) -> Iterator[dg.MaterializeResult]:
    """Ask what has no final response yet; what was answered before is never asked again."""
    tasks = selected_tasks(context, "responses")
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
        add_metadata(context, summary, "responses", tasks)
    yield from (dg.MaterializeResult(asset_key=["lake", f"responses_{task}"]) for task in tasks)


def add_metadata(context: dg.AssetExecutionContext, summary: PartitionSummary, table: str, tasks: list[str]) -> None:
    """Give each task's event of this partition its own counts, tokens and cost."""
    for task in tasks:
        context.add_asset_metadata(
            {name: value for name, value in summary.metadata(task).items() if value is not None},
            asset_key=["lake", f"{table}_{task}"],
            partition_key=partition_key(summary.partition.model, summary.partition.modality),
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
        )
        for task in TASKS
    ],
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
    can_subset=True,
)
def parse_answers(context: dg.AssetExecutionContext, options: RunOptions) -> Iterator[dg.MaterializeResult]:
    """Parse the counting response of every planned question; asks nothing."""
    workspace, tasks = open_workspace(), selected_tasks(context, "answers")
    for partition in partitions_of(context, options):
        for task in tasks:
            summary = parse_partition(workspace, partition, task)
            context.add_asset_metadata(
                {"dagster/row_count": summary.rows, **summary.by_status},
                asset_key=["lake", f"answers_{task}"],
                partition_key=partition_key(partition.model, partition.modality),
            )
    yield from (dg.MaterializeResult(asset_key=["lake", f"answers_{task}"]) for task in tasks)


def selected_tasks(context: dg.AssetExecutionContext, table: str) -> list[str]:
    """The tasks whose asset of this step is selected, in the benchmark's order."""
    return [task for task in TASKS if dg.AssetKey(["lake", f"{table}_{task}"]) in context.selected_asset_keys]
