"""What open questions will come to, in tokens and USD, and the record of it: lake/estimates.

The same forecast stands behind `rescue estimate`, behind the refusal of a run without a budget, and in the ledger.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import polars as pl

from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.assignments import Assignment
from rescue_pipeline.llm.exchange import Request
from rescue_pipeline.llm.experience import Experience, Purpose
from rescue_pipeline.llm.identity import digest
from rescue_pipeline.llm.prices import expected_usd, most_usd, price_of
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.tokens import count_tokens
from rescue_pipeline.llm.workspace import Partition
from rescue_pipeline.schemas import Estimates, check_table

TABLE = "estimates"


@dataclass(frozen=True)
class Forecast:
    """One model, purpose, task and partition. cost_usd: as expected; most_usd: if every prompt counted MARGIN times as
    many tokens and every answer were as long as allowed. Both are None when the model has no price."""

    model: str
    purpose: Purpose
    task: str
    protocol: str
    modality: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    most_usd: float | None


def forecasts(works: Iterable[Assignment[Any]], experience: Experience) -> list[Forecast]:
    """Of the open questions, baselines left out: they cost nothing."""
    rows: list[Forecast] = []
    for work in works:
        if work.entry.is_baseline:
            continue
        by_task: dict[str, list[Any]] = defaultdict(list)
        for question in work.questions:
            by_task[question.task].append(question)
        for task, questions in by_task.items():
            requests = ((work.request(question), work.size(question)) for question in questions)
            rows.append(forecast(work.entry, purpose_of(work, task), task, work.partition, requests, experience))
    return rows


def forecast(
    entry: ModelEntry,
    purpose: Purpose,
    task: str,
    partition: Partition,
    requests: Iterable[tuple[Request, int]],
    experience: Experience,
) -> Forecast:
    """Of some requests of one task, each with how many questions it asks: prompts are counted, the reply's length is
    expected from experience."""
    price, factor = price_of(entry), experience.prompt_factor(entry, purpose)
    expected = cache(lambda n: experience.completion_tokens(entry, purpose, task, partition.protocol, n))
    number, prompts, answers, cost, most = 0, 0.0, 0.0, 0.0, 0.0
    for request, questions in requests:
        prompt, answer = count_tokens(request.messages) * factor, expected(questions)
        number, prompts, answers = number + 1, prompts + prompt, answers + answer
        cost += expected_usd(price, prompt, answer) or 0.0
        most += most_usd(price, round(prompt), request.parameters)
    priced = price is not None
    return Forecast(
        entry.id,
        purpose,
        task,
        partition.protocol,
        partition.modality,
        number,
        round(prompts),
        round(answers),
        cost if priced else None,
        most if priced else None,
    )


def purpose_of(work: Assignment[Any], task: str) -> Purpose:
    return "judge" if work.stream(task).table.startswith("judge_") else "answer"


def record(lake: Lake, run_id: str, rows: Sequence[Forecast]) -> None:
    """Write what a step of a run is expected to cost; the first word of a run about a partition stays."""
    if not rows:
        return
    frame = pl.DataFrame([{"run_id": run_id, **asdict(row)} for row in rows])
    key = ["run_id", "model", "purpose", "task", "protocol", "modality"]
    # answers and their repeats are forecast apart and asked as one thing; an unknown cost stays unknown in the sum
    summed = frame.group_by(key, maintain_order=True).agg(
        pl.col("requests", "prompt_tokens", "completion_tokens").sum(),
        *(
            pl.when(pl.col(name).is_null().any()).then(None).otherwise(pl.col(name).sum()).first().alias(name)
            for name in ("cost_usd", "most_usd")
        ),
    )
    name = digest([run_id, summed.select(key).rows()])[:24]
    if name not in lake.files(TABLE):
        lake.write(TABLE, check_table(summed, Estimates, TABLE), name=name)


def total(costs: Iterable[float | None]) -> float | None:
    """The sum; None when one of them is unknown."""
    known = list(costs)
    return None if None in known else sum(cost for cost in known if cost is not None)
