"""Jobs, and the sensors that are always on.

Nothing that costs money starts by itself: only publishing assets carry an automation condition, and the other sensors
read the model registry and look after processes."""

import dagster as dg

from rescue_pipeline.defs.instance import end_dead_runs
from rescue_pipeline.defs.partitions import MODEL_BY_MODALITY, MODELS, registered_models
from rescue_pipeline.settings import Settings

PREPARE = dg.AssetSelection.groups("ingest", "transform")
ANSWER = dg.AssetSelection.groups("predict", "judge") & dg.AssetSelection.key_prefixes("lake")
PUBLISH = (
    dg.AssetSelection.groups("predict", "judge") - dg.AssetSelection.key_prefixes("lake")
) | dg.AssetSelection.groups("score", "report")

prepare = dg.define_asset_job("prepare", PREPARE, description="Ingest the corpus, check it, derive the task tables.")
answer = dg.define_asset_job(
    "answer",
    ANSWER,
    partitions_def=MODEL_BY_MODALITY,
    description="Ask models and judges; one partition is one model in one modality. Costs money for paid models.",
)
publish = dg.define_asset_job("publish", PUBLISH, description="Score and report everything answered so far. Free.")

publish_after_answers = dg.AutomationConditionSensorDefinition(
    "publish_after_answers",
    target=PUBLISH,
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=10,
)


@dg.sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=10,
    description="Keeps the model partitions equal to the registry (models.yaml). Asks nothing.",
)
def model_partitions(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    known = set(context.instance.get_dynamic_partitions("model"))
    new = [model for model in registered_models(Settings().models_file) if model not in known]
    if not new:
        return dg.SkipReason("every model of the registry has its partition")
    return dg.SensorResult(dynamic_partitions_requests=[MODELS.build_add_request(new)])


@dg.sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=30,
    description="Ends runs whose process was killed, so that the next run does not wait for them. Starts nothing.",
)
def dead_runs(context: dg.SensorEvaluationContext) -> dg.SkipReason:
    ended = end_dead_runs(context.instance)
    return dg.SkipReason(f"ended: {', '.join(ended)}" if ended else "every run's process lives")
