"""Item scores as Python reads them, and the aggregates it writes."""

from __future__ import annotations

import pandera.polars as pa
import polars as pl

from rescue_pipeline.schemas.predictions import ANSWER_STATUSES, JUDGEMENT_STATUSES, MODALITIES
from rescue_pipeline.schemas.table import Table
from rescue_pipeline.schemas.tasks import SCENARIOS, TASK_KEYS

ITEM_STATUSES = [*ANSWER_STATUSES, "not_run"]


class _Scored(Table):
    corpus_id: str
    corpus_version: str
    model: str
    generation: pl.Int64
    modality: str = pa.Field(isin=MODALITIES)
    protocol: str
    task: str = pa.Field(isin=TASK_KEYS)
    task_version: str


class Items(_Scored):
    """One row per planned question: its status and item score (null while unanswered)."""

    instance_id: str
    epoch: str
    scenario: str = pa.Field(isin=SCENARIOS)
    sample_id: str
    session_group: str
    row_index: pl.Int64
    position: float
    n_candidates: pl.Int64 = pa.Field(nullable=True)
    status: str = pa.Field(isin=ITEM_STATUSES)
    gold_label: str = pa.Field(nullable=True)
    predicted_label: str = pa.Field(nullable=True)
    correct: bool = pa.Field(nullable=True)
    rank: pl.Int64 = pa.Field(ge=1, le=3, nullable=True)
    reciprocal_rank: float = pa.Field(ge=0, le=1, nullable=True)
    gold_intensity: float = pa.Field(nullable=True)
    intensity_match: float = pa.Field(ge=1, le=5, nullable=True)
    chance_intensity_match: float = pa.Field(ge=1, le=5, nullable=True)
    scored: bool


class Gradings(_Scored):
    """One row per planned er or vp question and scorer (a judge's id, or a BERTScore hash)."""

    instance_id: str
    epoch: str
    scenario: str = pa.Field(isin=SCENARIOS)
    session_group: str
    status: str = pa.Field(isin=ITEM_STATUSES)
    scorer: str
    scorer_kind: str = pa.Field(isin=["llm", "lexical", "bertscore"])
    grading_status: str = pa.Field(isin=JUDGEMENT_STATUSES)
    judge: float = pa.Field(ge=1, le=5, nullable=True)
    pairing: float = pa.Field(ge=0, le=2, nullable=True)
    content: float = pa.Field(ge=0, le=4, nullable=True)
    judge_total: float = pa.Field(ge=0, le=6, nullable=True)
    intensity_match: float = pa.Field(ge=1, le=5, nullable=True)
    er_score: float = pa.Field(ge=1, le=5, nullable=True)
    bertscore_f1: float = pa.Field(nullable=True)
    scored: bool


class Metrics(_Scored):
    """One row per model, generation, modality, protocol, scorer, scenario (couple, family, both), task and metric."""

    scorer: str
    scorer_kind: str = pa.Field(isin=["none", "llm", "lexical", "bertscore"])
    scenario: str = pa.Field(isin=[*SCENARIOS, "both"])
    metric: str
    value: float = pa.Field(nullable=True)
    ci_low: float = pa.Field(nullable=True)
    ci_high: float = pa.Field(nullable=True)
    bound_low: float = pa.Field(nullable=True)
    bound_high: float = pa.Field(nullable=True)
    n: pl.Int64 = pa.Field(ge=0)
    n_planned: pl.Int64 = pa.Field(ge=0)
    n_instances: pl.Int64 = pa.Field(ge=0)
    n_repeats: pl.Int64 = pa.Field(ge=1)
    n_groups: pl.Int64 = pa.Field(ge=0)
    n_failed: pl.Int64 = pa.Field(ge=0)
    n_unanswered: pl.Int64 = pa.Field(ge=0)
    value_without_failures: float = pa.Field(nullable=True)
    chance: float = pa.Field(nullable=True)
    complete: bool

    class Config:
        unique = [
            "corpus_version",
            "model",
            "generation",
            "modality",
            "protocol",
            "scorer",
            "scenario",
            "task",
            "metric",
        ]


class ProtocolEffects(Table):
    """One row per model, generation, modality, protocol other than clean, scorer, scenario, task and main metric: the
    paired difference to clean over the same questions."""

    corpus_id: str
    corpus_version: str
    model: str
    generation: pl.Int64
    modality: str = pa.Field(isin=MODALITIES)
    protocol: str = pa.Field(ne="clean")
    scorer: str
    scorer_kind: str = pa.Field(isin=["none", "llm", "lexical"])
    scenario: str = pa.Field(isin=[*SCENARIOS, "both"])
    task: str = pa.Field(isin=TASK_KEYS)
    metric: str
    value: float = pa.Field(nullable=True)
    value_clean: float = pa.Field(nullable=True)
    difference: float = pa.Field(nullable=True)
    ci_low: float = pa.Field(nullable=True)
    ci_high: float = pa.Field(nullable=True)
    no_interval: str = pa.Field(nullable=True)
    n: pl.Int64 = pa.Field(ge=0)
    n_groups: pl.Int64 = pa.Field(ge=0)
    n_better: pl.Int64 = pa.Field(ge=0)
    n_worse: pl.Int64 = pa.Field(ge=0)
    n_open: pl.Int64 = pa.Field(ge=0)
    n_one_sided: pl.Int64 = pa.Field(ge=0)

    class Config:
        unique = [
            "corpus_version",
            "model",
            "generation",
            "modality",
            "protocol",
            "scorer",
            "scenario",
            "task",
            "metric",
        ]
