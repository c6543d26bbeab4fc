"""Partitions of the graph: which model answered in which modality. Models are dynamic, so that a new entry in the
registry needs no restart; modalities are the benchmark's own."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

from rescue_pipeline.schemas.predictions import MODALITIES

MODELS = dg.DynamicPartitionsDefinition(name="model")
MODEL_BY_MODALITY = dg.MultiPartitionsDefinition(
    {"model": MODELS, "modality": dg.StaticPartitionsDefinition(MODALITIES)}
)
ONE_RUN = dg.BackfillPolicy.single_run()
"""A batch of partitions is one run with one event loop, so that models wait for their providers side by side."""


def partition_key(model: str, modality: str) -> str:
    return str(dg.MultiPartitionKey({"model": model, "modality": modality}))


def add_models(instance: dg.DagsterInstance, models: Iterable[str]) -> list[str]:
    """Make partitions for models that have none yet; returns those added. None is ever removed: results stay."""
    known = set(instance.get_dynamic_partitions("model"))
    new = [model for model in models if model not in known]
    if new:
        instance.add_dynamic_partitions("model", new)
    return new
