"""What the leak audit reads beside the task tables, and what it writes."""

from __future__ import annotations

import pandera.polars as pa
import polars as pl

from rescue_pipeline.schemas.predictions import MODALITIES
from rescue_pipeline.schemas.table import Table
from rescue_pipeline.schemas.tasks import TASK_KEYS

AUDIT_CHECKS = [
    "gold",
    "ids",
    "fields",
    "later_turns",
    "shared_requests",
    "gold_example",
    "unexplained",
    "controls",
    "structure",
]


class Annotations(Table):
    """One row per annotated text that no question of any modality may show; row_index is null for the whole record."""

    corpus_version: str
    sample_id: str
    row_index: pl.Int64 = pa.Field(ge=1, nullable=True)
    field: str
    text: str


class _Audited(Table):
    corpus_id: str
    corpus_version: str
    protocol: str
    modality: str = pa.Field(isin=MODALITIES)
    task: str = pa.Field(isin=TASK_KEYS)
    check_name: str = pa.Field(isin=AUDIT_CHECKS)


class Audit(_Audited):
    """One row per corpus version, protocol, modality, task and check of the leak audit.

    n_findings: places in requests (of `controls`: planted leaks that were not seen). declared: the protocol says that
    it leaks so. passed: nothing was found, or only what is declared. score, chance (balanced accuracy, 0-1) and p_value
    are those of the structure probe.
    """

    audit_version: str
    blocking: bool
    declared: bool
    passed: bool
    n_requests: pl.Int64 = pa.Field(ge=0)
    n_findings: pl.Int64 = pa.Field(ge=0)
    score: float = pa.Field(ge=0, le=1, nullable=True)
    chance: float = pa.Field(ge=0, le=1, nullable=True)
    p_value: float = pa.Field(ge=0, le=1, nullable=True)
    detail: str

    class Config:
        unique = ["corpus_version", "protocol", "modality", "task", "check_name"]


class AuditFindings(_Audited):
    """One row per finding, the first 50 of each check: where in which question. It holds no session text."""

    instance_id: str
    place: str
    found: str
