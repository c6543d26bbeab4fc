"""What was asked and what came back."""

from __future__ import annotations

from typing import Annotated

import pandera.polars as pa
import polars as pl

from rescue_pipeline.schemas.table import Table
from rescue_pipeline.schemas.tasks import SCENARIOS, TASK_KEYS

MODALITIES = ["dialogue", "audio", "visual", "audiovisual"]
RESPONSE_STATUSES = ["ok", "empty", "truncated", "refused", "filtered", "over_context", "api_error"]
FINAL_RESPONSE_STATUSES = [status for status in RESPONSE_STATUSES if status != "api_error"]
ANSWER_STATUSES = [*RESPONSE_STATUSES, "unparseable", "out_of_set"]
UNANSWERED_STATUSES = ["api_error", "not_run"]
JUDGEMENT_STATUSES = ["ok", "judge_failed", "not_run"]

Utc = Annotated[pl.Datetime, "us", "UTC"]


class _Partitioned(Table):
    """The columns that say in which part of a run something was asked."""

    task: str = pa.Field(isin=TASK_KEYS)
    model: str
    generation: pl.Int64 = pa.Field(ge=1)
    modality: str = pa.Field(isin=MODALITIES)
    protocol: str
    epoch: str


class _Asked(_Partitioned):
    """The same, down to the question."""

    instance_id: str


class Plan(_Asked):
    """One row per planned question: instance x model x modality x protocol x epoch, written before asking."""

    corpus_id: str
    corpus_version: str
    task_version: str
    scenario: str = pa.Field(isin=SCENARIOS)
    request_id: str
    template_sha256: str

    class Config:
        unique = ["corpus_version", "instance_id", "model", "generation", "modality", "protocol", "epoch"]


class Responses(_Partitioned):
    """One row per journaled response to a request; of several with one request_id the final one counts."""

    request_id: str
    status: str = pa.Field(isin=RESPONSE_STATUSES)
    final: bool
    content: str = pa.Field(nullable=True)
    finish_reason: str = pa.Field(nullable=True)
    error_type: str = pa.Field(nullable=True)
    error: str = pa.Field(nullable=True)
    http_status: pl.Int64 = pa.Field(nullable=True)
    rung: str = pa.Field(nullable=True)
    parameters: str
    attempts: pl.Int64 = pa.Field(ge=0)
    prompt_tokens: pl.Int64 = pa.Field(nullable=True)
    completion_tokens: pl.Int64 = pa.Field(nullable=True)
    reasoning_tokens: pl.Int64 = pa.Field(nullable=True)
    cached_tokens: pl.Int64 = pa.Field(nullable=True)
    cost_usd: float = pa.Field(nullable=True)
    provider_model: str = pa.Field(nullable=True)
    system_fingerprint: str = pa.Field(nullable=True)
    counted_tokens: pl.Int64 = pa.Field(nullable=True)
    """Of the prompts sent, as our own tokenizer counts them: far fewer reported ones mean that a prompt was cut."""
    truncated_in: str = pa.Field(isin=["reasoning", "answer"], nullable=True)
    run_id: str = pa.Field(nullable=True)
    sent_at: Utc
    seconds: float = pa.Field(ge=0)
    segment: str


class Answers(_Asked):
    """One row per planned question that has a response, parsed. answer is JSON, null unless the status is ok."""

    request_id: str
    status: str = pa.Field(isin=ANSWER_STATUSES)
    answer: str = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    flags: pl.List(pl.String)
    parser_version: str

    class Config:
        unique = ["request_id", "instance_id"]


class Judgements(_Asked):
    """One row per answer with status ok of er or vp and judge; totals are computed later, never by the judge."""

    corpus_version: str
    answer_request_id: str
    request_id: str
    judge: str
    judge_generation: pl.Int64 = pa.Field(ge=1)
    judge_kind: str = pa.Field(isin=["llm", "lexical"])
    status: str = pa.Field(isin=JUDGEMENT_STATUSES)
    similarity: pl.Int64 = pa.Field(ge=1, le=5, nullable=True)
    pairing: pl.Int64 = pa.Field(ge=0, le=2, nullable=True)
    content: pl.Int64 = pa.Field(ge=0, le=4, nullable=True)
    reason: str = pa.Field(nullable=True)

    class Config:
        unique = ["corpus_version", "instance_id", "model", "generation", "modality", "protocol", "epoch", "judge"]


class Bertscores(_Asked):
    """One row per answer with status ok of er or vp and BERTScore configuration (its hash)."""

    corpus_version: str
    answer_request_id: str
    scorer: str
    f1: float
