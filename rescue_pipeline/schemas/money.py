"""What was expected to be spent, written before it was."""

from __future__ import annotations

import pandera.polars as pa
import polars as pl

from rescue_pipeline.schemas.predictions import MODALITIES
from rescue_pipeline.schemas.table import Table
from rescue_pipeline.schemas.tasks import TASK_KEYS


class Estimates(Table):
    """One row per run, model asked, purpose, task, protocol and modality, written before anything was asked."""

    run_id: str
    model: str
    purpose: str = pa.Field(isin=["answer", "judge"])
    task: str = pa.Field(isin=TASK_KEYS)
    protocol: str
    modality: str = pa.Field(isin=MODALITIES)
    requests: pl.Int64 = pa.Field(ge=1)
    prompt_tokens: pl.Int64 = pa.Field(ge=0)
    completion_tokens: pl.Int64 = pa.Field(ge=0)
    cost_usd: float = pa.Field(ge=0, nullable=True)
    """Null when the model has no price."""
    most_usd: float = pa.Field(ge=0, nullable=True)

    class Config:
        unique = ["run_id", "model", "purpose", "task", "protocol", "modality"]
