"""judge: grades of the free-text answers (emotion, viewpoints). Reads and writes the lake only."""

from collections.abc import Iterator

import dagster as dg

from rescue_pipeline import progress
from rescue_pipeline.defs.partitions import MODEL_BY_MODALITY, ONE_RUN
from rescue_pipeline.defs.policies import OWNERS
from rescue_pipeline.defs.predict import add_metadata, selected_tasks
from rescue_pipeline.defs.resources import RunOptions, open_workspace, partitions_of
from rescue_pipeline.llm.judges import judge_partitions
from rescue_pipeline.schemas import JUDGED_TASKS
from rescue_pipeline.tasks.judging import judge_template_sha256


@dg.multi_asset(
    name="judge_answers",
    specs=[
        dg.AssetSpec(
            ["lake", f"judgements_{task}"],
            deps=[["lake", f"answers_{task}"]],
            description=f"One row per answer of {task} and judge: the grades, or that the judge failed.",
            group_name="judge",
            owners=OWNERS,
            kinds={"python", "litellm", "parquet"},
            code_version=judge_template_sha256(task),
        )
        for task in JUDGED_TASKS
    ],
    partitions_def=MODEL_BY_MODALITY,
    backfill_policy=ONE_RUN,
    can_subset=True,
)
def judge_answers(context: dg.AssetExecutionContext, options: RunOptions) -> Iterator[dg.MaterializeResult]:
    """Grade every answer that was given; a failed answer needs no judge, a failed judge never becomes a score."""
    tasks = selected_tasks(context, "judgements")
    summaries = judge_partitions(
        open_workspace(),
        partitions_of(context, options),
        tasks,
        options.judge,
        progress.report,
        allow_paid=options.allow_paid,
    )
    for summary in summaries:
        if summary.stopped_reason:
            context.log.warning(f"{summary.asked_of}: stopped: {summary.stopped_reason}")
        add_metadata(context, summary, "judgements", tasks)
    yield from (dg.MaterializeResult(asset_key=["lake", f"judgements_{task}"]) for task in tasks)
