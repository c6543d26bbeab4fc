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
CONTROL_NAMES = ["gold", "other_session", "swapped", "verbose_wrong", "repeat"]

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
    asked_in: str = pa.Field(nullable=True, default=None)
    """The epoch that the request was first planned in, which is part of request_id: a later try keeps the requests of
    the questions that it does not ask anew. Null in plans of earlier releases: the row's own epoch."""

    class Config:
        unique = ["corpus_version", "instance_id", "model", "generation", "modality", "protocol", "epoch"]
        add_missing_columns = True


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
    cache_write_tokens: pl.Int64 = pa.Field(nullable=True)
    usage: str = pa.Field(nullable=True)
    """What the provider reported, call by call, as a JSON list."""
    cost_usd: float = pa.Field(nullable=True)
    provider_model: str = pa.Field(nullable=True)
    system_fingerprint: str = pa.Field(nullable=True)
    charged_usd: float = pa.Field(nullable=True, default=None)
    """What a budget was charged: the cost, or the most that calls of unknown cost can have cost."""
    counted_tokens: pl.Int64 = pa.Field(nullable=True)
    """Of the prompts whose tokens the provider reported, as our own tokenizer counts them: far fewer reported ones mean
    that a prompt was cut."""
    truncated_in: str = pa.Field(isin=["reasoning", "answer"], nullable=True)
    run_id: str = pa.Field(nullable=True)
    sent_at: Utc
    seconds: float = pa.Field(ge=0)
    segment: str

    class Config:
        add_missing_columns = True


class Answers(_Asked):
    """One row per planned question that has a response, parsed. answer is JSON, null unless the status is ok.

    Several questions may share a request; a later try of an epoch plans the requests of the earlier one again.
    """

    request_id: str
    status: str = pa.Field(isin=ANSWER_STATUSES)
    answer: str = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    flags: pl.List(pl.String)
    parser_version: str

    class Config:
        unique = ["request_id", "instance_id", "epoch"]


class _Graded(Table):
    """A judge's verdict; totals are computed later, never by the judge."""

    corpus_version: str
    request_id: str
    judge: str
    judge_generation: pl.Int64 = pa.Field(ge=1)
    judge_kind: str = pa.Field(isin=["llm", "lexical"])
    status: str = pa.Field(isin=JUDGEMENT_STATUSES)
    similarity: pl.Int64 = pa.Field(ge=1, le=5, nullable=True)
    pairing: pl.Int64 = pa.Field(ge=0, le=2, nullable=True)
    content: pl.Int64 = pa.Field(ge=0, le=4, nullable=True)
    reason: str = pa.Field(nullable=True)


class Judgements(_Graded, _Asked):
    """One row per answer with status ok of er or vp and judge."""

    answer_request_id: str
    judge_rank: pl.Int64 = pa.Field(ge=1)
    """The judge's place in the model registry: of several that qualify the first is the headline's."""
    same_vendor: bool
    """Whether judge and judged model are of one vendor, as far as the registry names both."""

    class Config:
        unique = ["corpus_version", "instance_id", "model", "generation", "modality", "protocol", "epoch", "judge"]


class JudgeControls(_Graded):
    """One row per control, instance, judge and repeat: what a judge made of an answer whose worth is known, or of the
    same answer again (control `repeat`)."""

    task: str = pa.Field(isin=["er", "vp"])
    control: str = pa.Field(isin=CONTROL_NAMES)
    instance_id: str
    first_request_id: str
    """The judge's first request about this answer; the repeats of one answer share it."""
    repeat: pl.Int64 = pa.Field(ge=1)

    class Config:
        unique = ["corpus_version", "control", "judge", "judge_generation", "instance_id", "first_request_id", "repeat"]


class Bertscores(_Asked):
    """One row per answer with status ok of er or vp and BERTScore configuration (its hash)."""

    corpus_version: str
    answer_request_id: str
    scorer: str
    pair_sha256: str = pa.Field(nullable=True)
    """Of gold and answer: the same pair is never scored again by the same scorer."""
    f1: float = pa.Field(ge=-1, le=1)
    is_cut: bool = pa.Field(nullable=True)
    """Some text of it was longer than the scorer reads."""


class BertscoreControls(Table):
    """One row per control, instance and BERTScore configuration: the gold itself, or another session's gold."""

    corpus_version: str
    task: str = pa.Field(isin=["er", "vp"])
    control: str = pa.Field(isin=["gold", "shuffled"])
    instance_id: str
    scorer: str
    pair_sha256: str
    f1: float = pa.Field(ge=-1, le=1)
    is_cut: bool

    class Config:
        unique = ["corpus_version", "task", "control", "instance_id", "scorer"]


class BertscoreRuns(Table):
    """One row per partition, task and corpus version: which BERTScore its answers have, or why none."""

    corpus_version: str
    task: str = pa.Field(isin=["er", "vp"])
    model: str
    modality: str = pa.Field(isin=MODALITIES)
    protocol: str
    scorer: str = pa.Field(nullable=True)
    reason: str = pa.Field(nullable=True)
    """Why it was not computed; null when it was."""
    n_answers: pl.Int64 = pa.Field(ge=0)
    n_cut: pl.Int64 = pa.Field(ge=0)
    """Answers of which some text, or the gold's, was longer than the scorer reads."""

    class Config:
        unique = ["corpus_version", "task", "model", "modality", "protocol"]
