"""Jobs, sensors and the policies behind them.

Nothing that costs money is eager or on by default: only the publishing assets carry an automation condition, and the
partition-key sensor merely reads the model registry."""

import dagster as dg

from rescue_pipeline.defs.partitions import MODEL_BY_MODALITY, MODELS
from rescue_pipeline.llm.registry import load_registry
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
    minimum_interval_seconds=15,
)


@dg.sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=15,
    description="Keeps the model partitions equal to the registry (models.yaml). Asks nothing.",
)
def model_partitions(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    known = set(context.instance.get_dynamic_partitions("model"))
    new = [entry.id for entry in load_registry(Settings().models_file).resolve(None) if entry.id not in known]
    if not new:
        return dg.SkipReason("every enabled model has its partition")
    return dg.SensorResult(dynamic_partitions_requests=[MODELS.build_add_request(new)])
