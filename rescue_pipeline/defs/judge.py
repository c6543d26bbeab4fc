"""judge: grades of the free-text answers (emotion, viewpoints). Reads and writes the lake only."""

import dagster as dg

from rescue_pipeline import progress
from rescue_pipeline.defs.gates import contract_specs, under_contract
from rescue_pipeline.defs.partitions import MODEL_BY_MODALITY, ONE_RUN, partition_key
from rescue_pipeline.defs.policies import OWNERS
from rescue_pipeline.defs.predict import NAMES, Results, add_metadata, materialized, selected_tasks
from rescue_pipeline.defs.resources import RunOptions, open_workspace, partitions_of
from rescue_pipeline.llm.bertscores import score_partitions
from rescue_pipeline.llm.judges import judge_partitions
from rescue_pipeline.metrics.backbone import find_backbone
from rescue_pipeline.schemas import JUDGED_TASKS, TASKS
from rescue_pipeline.settings import Settings
from rescue_pipeline.tasks.judging import judge_template_sha256


def _spec(table: str, task: str, upstream: list[str], description: str) -> dg.AssetSpec:
    return dg.AssetSpec(
        ["lake", f"{table}_{task}"],
        deps=[["lake", f"{name}_{task}"] for name in upstream],
        description=description,
        group_name="judge",
        owners=OWNERS,
        kinds={"python", "litellm", "parquet"},
        code_version=judge_template_sha256(task),
    )


TABLES = ("judge_responses", "judgements", "judge_controls")


@dg.multi_asset(
    name="judge_answers",
    specs=[
        spec
        for task in JUDGED_TASKS
        for spec in (
            _spec(
                "judge_responses",
                task,
                ["answers"],
                f"One row per response of a judge to an answer of {NAMES[task]}, as journaled: "
                "status, text, tokens, seconds.",
            ),
            _spec(
                "judgements",
                task,
                # of the answers too: a run that leaves the responses' asset out must still judge after parsing
                ["answers", "judge_responses"],
                f"One row per answer of {NAMES[task]} and judge: the grades, or that the judge failed.",
            ),
            _spec(
                "judge_controls",
                task,
                ["answers", "judge_responses"],
                f"One row per control of {NAMES[task]}, instance, judge and repeat: grades of answers whose worth is "
                "known, and of the same answer judged again.",
            ),
        )
    ],
    check_specs=contract_specs(f"{table}_{task}" for task in JUDGED_TASKS for table in TABLES),
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
    can_subset=True,
)
def judge_answers(context: dg.AssetExecutionContext, options: RunOptions) -> Results:
    """Grade every answer that was given; a failed answer needs no judge, a failed judge never becomes a score."""
    selected = {table: selected_tasks(context, table) for table in TABLES}
    tasks = [task for task in TASKS if any(task in chosen for chosen in selected.values())]
    judged = yield from under_contract(
        [f"{table}_{task}" for table, chosen in selected.items() for task in chosen],
        judge_partitions,
        open_workspace(),
        partitions_of(context, options),
        tasks,
        options.judges or None,
        progress.report,
        spending=options.spending(context),
        limit=options.limit,
    )
    for table, chosen in selected.items():
        for partition in partitions_of(context, options):
            which = judged.controls_of if table == "judge_controls" else judged.answers_of
            add_metadata(context, which(partition), table, chosen)
        yield from materialized(table, chosen)


BERTSCORES = {
    "bertscores": "One row per answer of {name} and BERTScore configuration: its F1, not rescaled.",
    "bertscore_controls": "One row per control of {name}, instance and BERTScore configuration: the F1 of the gold "
    "itself and of another session's gold.",
    "bertscore_runs": "One row per partition, for {name}: which BERTScore its answers have, or why none.",
}


@dg.multi_asset(
    name="compare_answers",
    specs=[
        dg.AssetSpec(
            ["lake", f"{table}_{task}"],
            deps=[["lake", f"answers_{task}"]],
            description=description.format(name=NAMES[task]),
            group_name="judge",
            owners=OWNERS,
            kinds={"python", "pytorch", "parquet"},
        )
        for task in JUDGED_TASKS
        for table, description in BERTSCORES.items()
    ],
    check_specs=contract_specs(f"{table}_{task}" for task in JUDGED_TASKS for table in BERTSCORES),
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
    can_subset=True,
)
def compare_answers(context: dg.AssetExecutionContext, options: RunOptions) -> Results:
    """Compute BERTScore on this machine; where its library or weights are missing, say so and go on."""
    settings = Settings()
    selected = {table: selected_tasks(context, table) for table in BERTSCORES}
    tasks = [task for task in TASKS if any(task in chosen for chosen in selected.values())]
    summaries = yield from under_contract(
        [f"{table}_{task}" for table, chosen in selected.items() for task in chosen],
        score_partitions,
        open_workspace(),
        partitions_of(context, options),
        tasks,
        lambda: find_backbone(settings.bertscore_model, settings.bertscore_layer),
        progress.report,
    )
    for reason in {summary.reason for summary in summaries if summary.reason}:
        context.log.warning(f"BERTScore {reason}")
    for table, chosen in selected.items():
        for summary in summaries:
            if summary.task in chosen:
                context.add_asset_metadata(
                    {name: value for name, value in summary.metadata().items() if value is not None},
                    asset_key=["lake", f"{table}_{summary.task}"],
                    partition_key=partition_key(summary.partition.model, summary.partition.modality),
                )
        yield from materialized(table, chosen)
