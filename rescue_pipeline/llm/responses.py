"""Reading what came back: of several responses to one request the final one counts, else the latest."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.workspace import IMPORTED, Partition
from rescue_pipeline.schemas import Responses
from rescue_pipeline.tasks.spec import protocol_names


def counting_responses(lake: Lake, task: str, partition: Partition) -> pl.DataFrame:
    """One row per request of the partition's model, whatever modality or protocol it was asked in.

    A request that several partitions plan is one request: it has one response.
    """
    protocols = [IMPORTED] if partition.protocol == IMPORTED else protocol_names()
    parts = [{"protocol": protocol, "model": partition.model} for protocol in protocols]
    return _counting(lake, f"responses_{task}", parts)


def counting_judge_responses(lake: Lake, task: str, judge: str) -> pl.DataFrame:
    """One row per request to a judge, whichever partition's answer it was about."""
    return _counting(lake, f"judge_responses_{task}", [{"judge": judge}])


def _counting(lake: Lake, table: str, parts: Sequence[dict[str, str]]) -> pl.DataFrame:
    rows = pl.concat([lake.read(table, Responses, partition=part) for part in parts], how="vertical_relaxed")
    return rows.sort("final", "sent_at", descending=True, maintain_order=True).unique(
        "request_id", keep="first", maintain_order=True
    )
