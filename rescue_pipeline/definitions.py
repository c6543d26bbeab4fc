"""The code location: collects what defs/ declares."""

import dagster as dg

from rescue_pipeline.defs import automation, ingest, judge, predict, report, score, transform
from rescue_pipeline.defs.resources import RunOptions

defs = dg.Definitions(
    assets=automation.follow_answers(
        [
            *dg.load_assets_from_modules([ingest, transform, predict, judge, score, report]),
        ]
    ),
    asset_checks=dg.load_asset_checks_from_modules([ingest]),
    jobs=[automation.prepare, automation.answer, automation.publish],
    sensors=[automation.model_partitions, automation.publish_after_answers],
    resources={"dbt": transform.dbt_resource(), "options": RunOptions()},
    executor=dg.in_process_executor,
)
