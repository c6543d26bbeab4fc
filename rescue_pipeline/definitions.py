"""The code location: collects what defs/ declares."""

import dagster as dg

from rescue_pipeline.defs import audit, automation, ingest, judge, predict, report, score, transform
from rescue_pipeline.defs.resources import RunOptions

defs = dg.Definitions(
    assets=dg.load_assets_from_modules([ingest, transform, audit, predict, judge, score, report], include_specs=True),
    asset_checks=[ingest.corpus_quality],
    jobs=[automation.prepare, automation.answer, automation.publish],
    sensors=[automation.model_partitions, automation.dead_runs, automation.publish_after_answers],
    resources={"dbt": transform.dbt_resource(transform.PROJECT), "options": RunOptions()},
    # a process per step would import everything anew for every step; the steps follow each other anyway
    executor=dg.in_process_executor,
)
