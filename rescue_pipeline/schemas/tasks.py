"""The task-ready tables, as dbt exports them to the lake (one file per corpus version)."""

from __future__ import annotations

import pandera.polars as pa
import polars as pl

from rescue_pipeline.schemas.table import Table

SCENARIOS = ["couple", "family"]
TASK_KEYS = ["er", "vp", "rpp", "itp", "stp", "ssp"]

_SPOKEN = pl.List(pl.Struct({"speaker": pl.String, "target": pl.List(pl.String), "content": pl.String}))
_SEEN = pl.List(pl.Struct({"person": pl.String, "description": pl.String}))
_SEEN_BETWEEN = pl.List(pl.Struct({"initiator": pl.String, "target": pl.List(pl.String), "description": pl.String}))


class LoadedCorpus(Table):
    """One row: the corpus version that the task tables were exported for last, which is the one that is asked about."""

    corpus_version: str = pa.Field(unique=True)


class Sessions(Table):
    """One row per session of a corpus version."""

    corpus_version: str
    sample_id: str
    scenario: str = pa.Field(isin=SCENARIOS)
    session_group: str
    participants: pl.List(pl.String)
    n_turns: pl.Int64 = pa.Field(ge=1)
    duration_seconds: float = pa.Field(ge=0)
    source_path: str
    source_line: pl.Int64 = pa.Field(ge=1)
    source_sha256: str
    record_sha256: str

    class Config:
        unique = ["corpus_version", "sample_id"]


class Turns(Table):
    """One row per turn: all that a prompt may show, and nothing that is gold."""

    corpus_version: str
    sample_id: str
    row_index: pl.Int64 = pa.Field(ge=1)
    start_time: float = pa.Field(nullable=True)
    end_time: float = pa.Field(nullable=True)
    speaker: str
    target: pl.List(pl.String)
    dialogue: str
    background_dialogue: _SPOKEN
    tone_of_voice: str = pa.Field(nullable=True)
    body_posture: _SEEN
    facial_expressions: _SEEN
    self_directed_behavior: _SEEN
    interaction_behavior: _SEEN_BETWEEN

    class Config:
        unique = ["corpus_version", "sample_id", "row_index"]


class Instances(Table):
    """One row per question of the benchmark with its gold answer; instance_id is task:sample_id:row_index."""

    corpus_version: str
    instance_id: str
    task: str = pa.Field(isin=TASK_KEYS)
    scenario: str = pa.Field(isin=SCENARIOS)
    sample_id: str
    session_group: str
    row_index: pl.Int64 = pa.Field(ge=1)
    position: float = pa.Field(ge=0, le=1)
    speaker: str
    gold: str
    candidates: pl.List(pl.String) = pa.Field(nullable=True)
    support_target: str = pa.Field(nullable=True)

    class Config:
        unique = ["corpus_version", "instance_id"]


class UnlabelledRows(Table):
    """One row per therapist turn annotated as showing no clear relation pattern: never asked, counted by the paper."""

    corpus_version: str
    sample_id: str
    scenario: str = pa.Field(isin=SCENARIOS)
    session_group: str
    row_index: pl.Int64 = pa.Field(ge=1)

    class Config:
        unique = ["corpus_version", "sample_id", "row_index"]
