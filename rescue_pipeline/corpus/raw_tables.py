"""The tables of schema raw: their columns, created here and nowhere else, and how rows get into them.

All of them belong to the one corpus that is loaded; `load.py` replaces them together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

BATCH_ROWS = 10_000
BATCH_BYTES = 8 * 1024 * 1024

_SOURCE = "source_path varchar, source_line bigint, source_sha256 varchar"
_SEEN = "struct(person varchar, description varchar)[]"


@dataclass(frozen=True)
class RawTable:
    """One table of schema raw; the description opens with its grain."""

    name: str
    description: str
    columns: str


RAW_TABLES = (
    RawTable(
        "corpus",
        "One row: the loaded corpus, its version, and where it came from.",
        """corpus_id varchar, corpus_version varchar, data_class varchar, path varchar, is_released boolean,
        annotations_sha256 varchar, ingest_version varchar, companions_sha256 varchar, n_records bigint,
        n_rejected bigint, loaded_at timestamptz""",
    ),
    RawTable(
        "samples",
        "One row per accepted record, that is, per session.",
        f"""corpus_version varchar, sample_id varchar, scenario varchar, scenario_declared varchar,
        participants varchar[], participants_declared boolean, record_source_file varchar, record_sha256 varchar,
        n_rows integer, present_keys varchar[], {_SOURCE}""",
    ),
    RawTable(
        "turns",
        "One row per row of an accepted record, as annotated; present_keys tells an absent key from a null.",
        f"""corpus_version varchar, sample_id varchar, row_index integer, start_time double, end_time double,
        primary_speaker varchar, target varchar[], dialogue_cleaned varchar, utterance_type varchar,
        tone_of_voice varchar,
        background_dialogue struct(speaker varchar, target varchar[], "content" varchar)[],
        body_posture {_SEEN}, facial_expressions {_SEEN}, self_directed_behavior {_SEEN},
        interaction_behavior struct(initiator varchar, target varchar[], description varchar)[],
        internal_emotion struct(person varchar, emotion_description varchar, intensity double)[],
        viewpoints_attitudes struct(source varchar, target varchar, viewpoint varchar, attitude varchar)[],
        support_strategy struct(provider varchar, target varchar[], strategy_type varchar, strategy_content varchar)[],
        relation_cycle_state varchar, relation_cycle_reason varchar, relation_cycle_evidence_rows integer[],
        relation_pattern varchar, relation_pattern_reason varchar, relation_pattern_evidence_rows integer[],
        present_keys varchar[], flags varchar[], {_SOURCE}""",
    ),
    RawTable(
        "labels",
        "One row per scenario, kind (relation_pattern, support_strategy) and label, in the order of the label files.",
        "scenario varchar, kind varchar, label varchar, position integer, source_sha256 varchar",
    ),
    RawTable(
        "session_groups",
        "One row per session whose session group is declared instead of read from its id.",
        "sample_id varchar, session_group varchar, source_sha256 varchar",
    ),
    RawTable(
        "transcript_cues",
        "One row per cue of a session's SRT or WebVTT transcript.",
        f"""corpus_version varchar, sample_id varchar, cue_index integer, start_time double, end_time double,
        speaker varchar, text varchar, flags varchar[], {_SOURCE}""",
    ),
    RawTable(
        "rejects",
        "One row per refused record or transcript: where, which field, what was expected and found, never its text.",
        f"""corpus_version varchar, record varchar, field varchar, expected varchar, found varchar, reason varchar,
        {_SOURCE}""",
    ),
    RawTable(
        "released_instances",
        "One row per er or vp instance that the released corpus ships beside its records.",
        f"""task varchar, sample_id varchar, row_index integer, scenario varchar, gold varchar, {_SOURCE}""",
    ),
)


def create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Replace every raw table by an empty one."""
    connection.execute("create schema if not exists raw")
    for table in RAW_TABLES:
        connection.execute(f"create or replace table raw.{table.name} ({table.columns})")


@dataclass
class TableWriter:
    """Rows for one raw table, written in batches through Arrow so that few are in memory at once."""

    connection: duckdb.DuckDBPyConnection
    table: str
    n_rows: int = 0
    _waiting: list[dict[str, Any]] = field(default_factory=list)
    _waiting_bytes: int = 0
    _schema: pa.Schema | None = None

    def add(self, rows: list[dict[str, Any]], n_bytes: int = 0) -> None:
        """Take rows, read from `n_bytes` of source (keys that are no column are left out)."""
        self._waiting.extend(rows)
        self._waiting_bytes += n_bytes
        self.n_rows += len(rows)
        if len(self._waiting) >= BATCH_ROWS or self._waiting_bytes >= BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        if self._schema is None:
            self._schema = self.connection.sql(f"from raw.{self.table} limit 0").to_arrow_table().schema
        batch = pa.Table.from_pylist(self._waiting, schema=self._schema)
        # not `register`: the transaction would keep the dropped view, and with it the batch, until it ends
        self.connection.from_arrow(batch).insert_into(f"raw.{self.table}")
        self._waiting.clear()
        self._waiting_bytes = 0
