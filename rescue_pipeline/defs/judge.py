"""judge: grades of the free-text answers (emotion, viewpoints). Reads and writes the lake only."""

import dagster as dg

from rescue_pipeline import progress
from rescue_pipeline.defs.gates import contract_specs, under_contract
from rescue_pipeline.defs.partitions import MODEL_BY_MODALITY, ONE_RUN
from rescue_pipeline.defs.policies import OWNERS
from rescue_pipeline.defs.predict import NAMES, Results, add_metadata, materialized, selected_tasks
from rescue_pipeline.defs.resources import RunOptions, open_workspace, partitions_of
from rescue_pipeline.llm.judges import judge_partitions
from rescue_pipeline.schemas import JUDGED_TASKS, TASKS
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
        )
    ],
    check_specs=contract_specs(
        f"{table}_{task}" for task in JUDGED_TASKS for table in ("judge_responses", "judgements")
    ),
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
    can_subset=True,
)
def judge_answers(context: dg.AssetExecutionContext, options: RunOptions) -> Results:
    """Grade every answer that was given; a failed answer needs no judge, a failed judge never becomes a score."""
    selected = {table: selected_tasks(context, table) for table in ("judge_responses", "judgements")}
    tasks = [task for task in TASKS if any(task in chosen for chosen in selected.values())]
    summaries = yield from under_contract(
        [f"{table}_{task}" for table, chosen in selected.items() for task in chosen],
        judge_partitions,
        open_workspace(),
        partitions_of(context, options),
        tasks,
        options.judges or None,
        progress.report,
        spending=options.spending(context),
    )
    for table, chosen in selected.items():
        for summary in summaries:
            add_metadata(context, summary, table, chosen)
        yield from materialized(table, chosen)


bertscores = [
    dg.AssetSpec(
        ["lake", f"bertscores_{task}"],
        deps=[["lake", f"answers_{task}"]],
        description=f"One row per answer of {NAMES[task]} and BERTScore configuration. "
        "No step of this graph computes it: without such files the score reads `not computed`.",
        group_name="judge",
        owners=OWNERS,
        kinds={"parquet"},
    )
    for task in JUDGED_TASKS
]
"""Tables that come from outside, if at all."""
