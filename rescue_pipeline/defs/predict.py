"""predict: the plan, the responses to it, and the answers parsed from them. Reads and writes the lake only."""

from collections.abc import Iterator

import dagster as dg

from rescue_pipeline import datadir, progress
from rescue_pipeline.defs.audit import leak_audit_spec, without_leaks
from rescue_pipeline.defs.gates import contract_specs, kept, under_contract
from rescue_pipeline.defs.partitions import MODEL_BY_MODALITY, ONE_RUN, partition_key
from rescue_pipeline.defs.policies import OWNERS
from rescue_pipeline.defs.resources import RunOptions, open_workspace, partitions_of
from rescue_pipeline.errors import UsageError
from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.estimating import expected_cost
from rescue_pipeline.llm.planning import write_plan
from rescue_pipeline.llm.summaries import PartitionSummary
from rescue_pipeline.llm.workspace import Partition
from rescue_pipeline.schemas import TASKS
from rescue_pipeline.tasks.spec import asset_version, load_tasks, question_version

Results = Iterator[dg.MaterializeResult | dg.AssetCheckResult]  # type: ignore[type-arg]
NAMES = {key: f"{spec.name.lower()} ({key})" for key, spec in load_tasks().items()}


@dg.multi_asset(
    name="plan_questions",
    specs=[
        dg.AssetSpec(
            ["lake", "plan"],
            deps=[["lake", table] for table in ("corpus", "instances", "sessions", "turns", "annotations")],
            description="One row per planned question: instance x model x modality x protocol x epoch, "
            "written before anything is asked.",
            group_name="predict",
            owners=OWNERS,
            kinds={"python", "parquet"},
        )
    ],
    check_specs=[*contract_specs(["plan"]), leak_audit_spec()],
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
)
def plan_questions(context: dg.AssetExecutionContext, options: RunOptions) -> Results:
    """Render every question of the partition and note which request will carry it, and what asking is to cost."""
    workspace, partitions = open_workspace(), partitions_of(context, options)
    yield from without_leaks(context, workspace, partitions, options)
    for partition in partitions:
        summary = yield from under_contract(
            ["plan"], write_plan, workspace, partition, options.tasks, limit=options.limit, retry=options.retry
        )
        context.add_asset_metadata(
            {
                "dagster/row_count": summary.planned,
                "corpus_version": workspace.corpus_version,
                "protocol": partition.protocol,
                "path": dg.MetadataValue.path(workspace.lake.folder("plan", partition.levels)),
                **expected_cost(workspace, partition, options.tasks, options.limit),
            },
            asset_key=["lake", "plan"],
            partition_key=_key(partition),
        )
    yield dg.MaterializeResult(asset_key=["lake", "plan"], check_results=[kept("plan")])


estimates = dg.AssetSpec(
    ["lake", "estimates"],
    deps=[["lake", "plan"]],
    description="One row per run, model, purpose, task, protocol and modality: what asking was expected to take and "
    "cost. The steps that ask write it before they ask.",
    group_name="predict",
    owners=OWNERS,
    kinds={"parquet"},
)


@dg.multi_asset(
    name="ask_models",
    specs=[
        dg.AssetSpec(
            ["lake", f"responses_{task}"],
            deps=[["lake", "plan"]],
            description=f"One row per response to a question of {NAMES[task]}, as journaled: "
            "status, text, tokens, seconds.",
            group_name="predict",
            owners=OWNERS,
            kinds={"python", "litellm", "parquet"},
            code_version=question_version(task),
        )
        for task in TASKS
    ],
    check_specs=contract_specs(f"responses_{task}" for task in TASKS),
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
    can_subset=True,
)
def ask_models(context: dg.AssetExecutionContext, options: RunOptions) -> Results:
    """Ask what has no final response yet; what was answered before is never asked again."""
    tasks = selected_tasks(context, "responses")
    _refuse_left_out(tasks, options)
    summaries = yield from under_contract(
        [f"responses_{task}" for task in tasks],
        ask_partitions,
        open_workspace(),
        partitions_of(context, options),
        tasks,
        options.limit,
        progress.report,
        spending=options.spending(context),
    )
    for summary in summaries:
        add_metadata(context, summary, "responses", tasks)
    yield from materialized("responses", tasks)


def _refuse_left_out(tasks: list[str], options: RunOptions) -> None:
    """A run whose options leave a task out does not spend money on it because its assets are selected."""
    left_out = [task for task in tasks if task not in options.tasks]
    if left_out:
        raise UsageError(
            "this run selects assets of tasks that its options leave out; nothing was asked",
            expected=f"assets of {', '.join(options.tasks)} only",
            found=", ".join(f"lake/responses_{task}" for task in left_out),
            advice="select fewer assets in the graph, or name these tasks in the options too",
        )


def add_metadata(context: dg.AssetExecutionContext, summary: PartitionSummary, table: str, tasks: list[str]) -> None:
    """Give each task's event of this partition its own counts, tokens and cost; say why a model was given up."""
    if summary.stopped_reason:
        context.log.warning(f"{summary.asked_of}: stopped: {summary.stopped_reason}")
    for task in tasks:
        numbers = {name: value for name, value in summary.metadata(task).items() if value is not None}
        folder = Lake(datadir.current().lake).folder(f"{table}_{task}")
        context.add_asset_metadata(
            {**numbers, "path": dg.MetadataValue.path(folder)},
            asset_key=["lake", f"{table}_{task}"],
            partition_key=_key(summary.partition),
        )


@dg.multi_asset(
    name="parse_answers",
    specs=[
        dg.AssetSpec(
            ["lake", f"answers_{task}"],
            deps=[["lake", f"responses_{task}"], ["lake", "plan"]],
            description=f"One row per planned question of {NAMES[task]} that has a response, parsed; "
            "a failure keeps why.",
            group_name="predict",
            owners=OWNERS,
            kinds={"python", "pydantic", "parquet"},
            code_version=asset_version(task),
        )
        for task in TASKS
    ],
    check_specs=contract_specs(f"answers_{task}" for task in TASKS),
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
    can_subset=True,
)
def parse_answers(context: dg.AssetExecutionContext, options: RunOptions) -> Results:
    """Parse the counting response of every planned question; asks nothing."""
    workspace, tasks = open_workspace(), selected_tasks(context, "answers")
    for partition in partitions_of(context, options):
        for task in tasks:
            table = f"answers_{task}"
            summary = yield from under_contract([table], parse_partition, workspace, partition, task)
            context.add_asset_metadata(
                {
                    "dagster/row_count": summary.rows,
                    "path": dg.MetadataValue.path(workspace.lake.folder(table, partition.levels)),
                    **summary.by_status,
                },
                asset_key=["lake", table],
                partition_key=_key(partition),
            )
    yield from materialized("answers", tasks)


def materialized(table: str, tasks: list[str]) -> Results:
    """The events of a table's tasks, each with the contract it kept."""
    for name in (f"{table}_{task}" for task in tasks):
        yield dg.MaterializeResult(asset_key=["lake", name], check_results=[kept(name)])


def selected_tasks(context: dg.AssetExecutionContext, table: str) -> list[str]:
    """The tasks whose asset of this step is selected, in the benchmark's order."""
    return [task for task in TASKS if dg.AssetKey(["lake", f"{table}_{task}"]) in context.selected_asset_keys]


def _key(partition: Partition) -> str:
    return partition_key(partition.model, partition.modality)
