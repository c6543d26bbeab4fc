"""Partitions of the graph: which model answered in which modality. Models are dynamic, so that a new entry in the
registry needs no restart; modalities are the benchmark's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import dagster as dg

from rescue_pipeline.llm.registry import load_registry
from rescue_pipeline.llm.registry_files import read_models
from rescue_pipeline.schemas.predictions import MODALITIES

MODELS = dg.DynamicPartitionsDefinition(name="model")
MODEL_BY_MODALITY = dg.MultiPartitionsDefinition(
    {"model": MODELS, "modality": dg.StaticPartitionsDefinition(MODALITIES)}
)
ONE_RUN = dg.BackfillPolicy.single_run()
"""A batch of partitions is one run with one event loop, so that models wait for their providers side by side."""


def partition_key(model: str, modality: str) -> str:
    return str(dg.MultiPartitionKey({"model": model, "modality": modality}))


def registered_models(own_file: Path) -> list[str]:
    """The models that have a partition before they ever ran: the enabled ones, and whatever the user's own file names.

    Raises UsageError where the file is no registry.
    """
    registry = load_registry(own_file)
    own = read_models(own_file) if own_file.exists() else {}
    return list(dict.fromkeys([*(entry.id for entry in registry.resolve(None)), *own]))


def add_models(instance: dg.DagsterInstance, models: Iterable[str]) -> list[str]:
    """Make partitions for models that have none yet; returns those added. None is ever removed: results stay."""
    known = set(instance.get_dynamic_partitions("model"))
    new = [model for model in models if model not in known]
    if new:
        instance.add_dynamic_partitions("model", new)
    return new
