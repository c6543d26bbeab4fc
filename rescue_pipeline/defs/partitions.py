"""Partitions of the graph: which model answered in which modality. Models are dynamic, so that a new entry in the
registry needs no restart; modalities are the benchmark's own."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

from rescue_pipeline.llm.workspace import Partition
from rescue_pipeline.schemas.predictions import MODALITIES

MODELS = dg.DynamicPartitionsDefinition(name="model")
MODEL_BY_MODALITY = dg.MultiPartitionsDefinition(
    {"model": MODELS, "modality": dg.StaticPartitionsDefinition(MODALITIES)}
)


def partition_key(model: str, modality: str) -> str:
    return str(dg.MultiPartitionKey({"model": model, "modality": modality}))


def add_models(instance: dg.DagsterInstance, models: Iterable[str]) -> list[str]:
    """Make partitions for models that have none yet; returns those added. None is ever removed: results stay."""
    known = set(instance.get_dynamic_partitions("model"))
    new = [model for model in models if model not in known]
    if new:
        instance.add_dynamic_partitions("model", new)
    return new


def partitions_of(
    context: dg.AssetExecutionContext, protocol: str, models: list[str], modalities: list[str]
) -> list[Partition]:
    """The partitions of this step: those of the run's range, narrowed to `models` and `modalities` where given.

    A range of Dagster keys is a rectangle between two corners, so it may span models that were not asked for.
    """
    keys = [key.keys_by_dimension for key in context.partition_keys if isinstance(key, dg.MultiPartitionKey)]
    return [
        Partition(model=key["model"], modality=key["modality"], protocol=protocol)
        for key in keys
        if (not models or key["model"] in models) and (not modalities or key["modality"] in modalities)
    ]
