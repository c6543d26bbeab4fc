"""What a run has spent so far, from the responses stored under its run_id: every step of a run shares one budget."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from rescue_pipeline.llm.prices import most_usd, price_of
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.workspace import Workspace
from rescue_pipeline.schemas import JUDGED_TASKS, TASKS, Responses

_COLUMNS = ["run_id", "model", "cost_usd", "charged_usd", "counted_tokens", "parameters", "attempts"]


def spent_in_run(workspace: Workspace, run_id: str) -> float:
    """USD that the run's stored answers and judgements cost, of all models that cost something.

    A response counts with what the budget was charged for it while it was asked for: its cost, or the most it can have
    cost where the provider reported no tokens or never came back.
    """
    paid = {model: entry for model, entry in workspace.registry.models.items() if entry.is_paid}
    tables = [f"responses_{task}" for task in TASKS] + [f"judge_responses_{task}" for task in JUDGED_TASKS]
    rows = pl.concat([workspace.lake.read(table, Responses, columns=_COLUMNS) for table in tables])
    mine = rows.filter(pl.col("run_id") == run_id, pl.col("model").is_in(list(paid)))
    return sum(_cost(row, paid[row["model"]]) for row in mine.iter_rows(named=True))


def _cost(row: Mapping[str, Any], entry: ModelEntry) -> float:
    if row["charged_usd"] is not None:
        return float(row["charged_usd"])
    # of an earlier release
    if row["cost_usd"] is not None:
        return float(row["cost_usd"])
    if not row["counted_tokens"]:  # no call came back
        return 0.0
    return most_usd(price_of(entry), row["counted_tokens"], json.loads(row["parameters"]))
