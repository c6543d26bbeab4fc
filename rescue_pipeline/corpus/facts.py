"""What a loaded corpus is, in numbers: the head of the quality page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb

MAX_REJECTS = 200
"""How many rejects are carried along; all of them are in raw.rejects."""


@dataclass(frozen=True)
class CorpusFacts:
    """One loaded corpus. Counts by scenario are couple, family."""

    corpus_id: str
    corpus_version: str
    data_class: str
    is_released: bool
    loaded_at: str
    """ISO 8601 in UTC."""
    sessions: dict[str, int]
    turns: dict[str, int]
    hours: float
    n_cues: int
    n_transcripts: int
    n_session_groups: int
    flags: dict[str, int]
    """How many turns have each flag."""
    n_rejected: int
    rejects: tuple[dict[str, Any], ...]


def corpus_facts(connection: duckdb.DuckDBPyConnection) -> CorpusFacts:
    """Read them from raw.*."""
    head = connection.execute(
        "select corpus_id, corpus_version, data_class, is_released, "
        "strftime(loaded_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%SZ'), n_rejected from raw.corpus"
    ).fetchall()[0]
    by_scenario = connection.execute(
        "select scenario, count(*), sum(n_rows)::bigint from raw.samples group by scenario order by scenario"
    ).fetchall()
    hours = """
        select coalesce(sum(span), 0) / 3600 from (
            select max(end_time) - min(start_time) as span from raw.turns group by sample_id
        )
    """
    n_cues, n_transcripts = connection.execute(
        "select count(*), count(distinct sample_id) from raw.transcript_cues"
    ).fetchall()[0]
    flags = "select flag, count(*) from (select unnest(flags) as flag from raw.turns) group by flag order by flag"
    rejects = connection.execute(
        "select source_path, source_line, record, field, expected, found, reason from raw.rejects "
        f"order by source_path, source_line limit {MAX_REJECTS}"
    )
    names = [column[0] for column in rejects.description or []]
    listed = tuple(dict(zip(names, row, strict=True)) for row in rejects.fetchall())
    return CorpusFacts(
        corpus_id=head[0],
        corpus_version=head[1],
        data_class=head[2],
        is_released=head[3],
        loaded_at=head[4],
        sessions={scenario: n for scenario, n, _ in by_scenario},
        turns={scenario: n for scenario, _, n in by_scenario},
        hours=float(connection.execute(hours).fetchall()[0][0]),
        n_cues=n_cues,
        n_transcripts=n_transcripts,
        n_session_groups=connection.execute("select count(*) from raw.session_groups").fetchall()[0][0],
        flags=dict(connection.execute(flags).fetchall()),
        n_rejected=head[5],
        rejects=listed,
    )
