"""What stored responses tell about the next ones: how long answers are, how a model counts, how fast it answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import polars as pl

from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.plans import TABLE
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.tokens import count_text
from rescue_pipeline.llm.workspace import IMPORTED
from rescue_pipeline.schemas import JUDGED_TASKS, TASKS, Instances, Plan, Responses
from rescue_pipeline.tasks.leaks import item_id
from rescue_pipeline.tasks.lists import ID
from rescue_pipeline.tasks.spec import load_protocol, protocol_names

Purpose = Literal["answer", "judge"]
ENOUGH = 5
"""Answers, or responses, from which a mean is taken."""

# tokens of an answer nobody has measured yet: the JSON object with a sentence of reasons
UNMEASURED = {"er": 60, "vp": 150, "rpp": 60, "itp": 40, "stp": 50, "ssp": 60}
UNMEASURED_JUDGEMENT = {"er": 80, "vp": 100}
UNMEASURED_REASONING = 1000
"""On top, for a model that reasons before it answers."""
UNMEASURED_SECONDS = 3.0
"""Of a call; UNMEASURED_REASONING_SECONDS for a model that reasons."""
UNMEASURED_REASONING_SECONDS = 20.0

_COLUMNS = [
    "request_id",
    "model",
    "task",
    "protocol",
    "run_id",
    "final",
    "attempts",
    "prompt_tokens",
    "counted_tokens",
    "completion_tokens",
    "sent_at",
    "seconds",
]


_NAMING = ["task", "sample_id", "row_index", "gold"]
_NAMED = 50
"""Questions whose names stand for all."""


@dataclass(frozen=True)
class Pace:
    """Questions a second, and where the figure comes from."""

    per_second: float
    measured: bool
    basis: str


class Experience:
    """Reads the lake once, when first asked."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._forms: dict[tuple[str, str], float] = {}

    def completion_tokens(
        self, entry: ModelEntry, purpose: Purpose, task: str, protocol: str, questions: int = 1
    ) -> float:
        """Expected tokens of a reply to a request that asks so many questions.

        Measured of the model, task and protocol, else of the model and task, else of the task, each per question; else
        declared.
        """
        # a baseline's reply has no tokens, which says nothing about a language model's
        rows = self._rows[purpose].filter(pl.col("task") == task, pl.col("completion_tokens") > 0)
        own = rows.filter(pl.col("model") == entry.id)
        form = self._form_tokens(task, protocol)
        for measured in (own.filter(pl.col("protocol") == protocol), own, rows):
            by_protocol = measured.group_by("protocol").agg(pl.col("completion_tokens", "questions").sum()).rows()
            asked = sum(n for *_, n in by_protocol)
            if asked >= ENOUGH:
                said = sum(tokens - n * self._form_tokens(task, name) for name, tokens, n in by_protocol)
                return float(max(said / asked, 1.0) + form) * questions
        declared = UNMEASURED_JUDGEMENT if purpose == "judge" else UNMEASURED
        return (declared[task] + form) * questions + (UNMEASURED_REASONING if entry.reasoning else 0)

    def _form_tokens(self, task: str, protocol: str) -> float:
        """What a protocol of lists adds to each answer: the name of its question, which may be long."""
        if (task, protocol) not in self._forms:
            self._forms[task, protocol] = form_tokens(self._instances.filter(pl.col("task") == task), protocol)
        return self._forms[task, protocol]

    def prompt_factor(self, entry: ModelEntry, purpose: Purpose) -> float:
        """Tokens that the model reports per token that we count: its tokenizer, and what it adds for the form."""
        rows = self._rows[purpose].filter(
            pl.col("model") == entry.id, pl.col("prompt_tokens") > 0, pl.col("counted_tokens") > 0
        )
        if rows.height < ENOUGH:
            return 1.0
        return float(rows["prompt_tokens"].sum()) / float(rows["counted_tokens"].sum())

    def pace(self, entry: ModelEntry, tokens_per_question: float) -> Pace:
        """How fast the model answers: in its last run, else as its limits allow."""
        rows = pl.concat(list(self._rows.values())).filter(pl.col("model") == entry.id, pl.col("final"))
        if rows.height >= ENOUGH:
            last = rows.filter(pl.col("run_id").eq_missing(rows.sort("sent_at")["run_id"][-1]))
            seconds = _span(last)
            if last.height >= ENOUGH and seconds > 0:
                return Pace(last.height / seconds, True, f"measured: {last.height} questions in {seconds:.0f} s")
        return _assumed(entry, tokens_per_question)

    @cached_property
    def _rows(self) -> dict[Purpose, pl.DataFrame]:
        return {
            "answer": self._read("responses", TASKS),
            "judge": self._read("judge_responses", JUDGED_TASKS),
        }

    def _read(self, table: str, tasks: Sequence[str]) -> pl.DataFrame:
        parts = [self._lake.read(f"{table}_{task}", Responses, columns=_COLUMNS) for task in tasks]
        # imported answers were made elsewhere, and baselines need no estimate
        rows = pl.concat(parts).filter(pl.col("protocol") != IMPORTED, pl.col("attempts") > 0)
        return rows.join(self._sizes, on="request_id", how="left").with_columns(pl.col("questions").fill_null(1))

    @cached_property
    def _instances(self) -> pl.DataFrame:
        return self._lake.read("instances", Instances, columns=_NAMING)

    @cached_property
    def _sizes(self) -> pl.DataFrame:
        """How many questions each planned request asks; a judge's request, which no plan has, asks one."""
        planned = self._lake.read(TABLE, Plan, columns=["request_id", "instance_id"])
        return planned.group_by("request_id").agg(pl.col("instance_id").n_unique().cast(pl.Int64).alias("questions"))


def form_tokens(instances: pl.DataFrame, protocol: str) -> float:
    """Mean tokens that name a question in the list of answers, over some of the questions of a task."""
    if protocol not in protocol_names() or not load_protocol(protocol).asks_lists or instances.is_empty():
        return 0.0
    # the first questions of the table are all of one session
    some = instances.sample(min(_NAMED, instances.height), seed=0).to_dicts()
    names = (json.dumps({ID: item_id(load_protocol(protocol), row)}) for row in some)
    return sum(map(count_text, names)) / len(some)


def _span(rows: pl.DataFrame) -> float:
    """Seconds from the first question sent to the last one answered."""
    ended = rows.select((pl.col("sent_at").dt.epoch("us") / 1e6 + pl.col("seconds")).max()).item()
    begun = rows.select((pl.col("sent_at").dt.epoch("us") / 1e6).min()).item()
    return float(ended) - float(begun)


def _assumed(entry: ModelEntry, tokens_per_question: float) -> Pace:
    limits = entry.limits
    latency = UNMEASURED_REASONING_SECONDS if entry.reasoning else UNMEASURED_SECONDS
    paces = [(limits.concurrency / latency, f"assumed: {limits.concurrency} at once, {latency:.0f} s each")]
    if limits.rpm is not None:
        paces.append((limits.rpm / 60, f"assumed: {limits.rpm:g} requests a minute"))
    if limits.tpm is not None and tokens_per_question:
        paces.append((limits.tpm / 60 / tokens_per_question, f"assumed: {limits.tpm:g} tokens a minute"))
    slowest, basis = min(paces)
    return Pace(slowest, False, basis)
