"""Reading results.duckdb for the pages: the loaded corpus version only, every table in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from rescue_pipeline.warehouse import open_results

Rows = list[dict[str, Any]]

RESULT_TABLES = (
    "leaderboard_long",
    "leaderboard",
    "reference_results",
    "failures",
    "dataset_statistics",
    "task_instances",
    "label_distribution",
    "confusions",
    "usage",
    "protocol_effects",
    "epoch_spread",
    "audit",
    "audit_findings",
    "judge_trust",
    "judge_agreement",
)
LINEAGE = "lineage"

_TEMPLATES = """
    select task, protocol, modality, template_sha256, count(*) as n
    from results.lineage {where} group by all order by all
"""
_GENERATIONS = """
    select model, generation, min(sent_at) as first_sent_at, max(sent_at) as last_sent_at, count(*) as n_planned
    from results.lineage {where} group by all order by all
"""
_SESSIONS = """
    select scenario, count(*) as n_sessions, count(distinct session_group) as n_groups, sum(n_turns)::bigint as n_turns
    from tasks.sessions {where} group by all order by all
"""
_BERTSCORES = """
    select task, scorer, reason, sum(n_answers)::bigint as n_answers, sum(n_cut)::bigint as n_cut
    from predictions.bertscore_runs {where} group by all order by all
"""


@dataclass(frozen=True)
class Results:
    """All that a report is made from. `missing` names the tables that the database does not hold."""

    corpus: dict[str, Any]
    tables: Mapping[str, Rows]
    missing: tuple[str, ...]
    rejects: Rows
    sessions: Rows
    templates: Rows
    generations: Rows
    bertscores: Rows

    def __getitem__(self, table: str) -> Rows:
        return self.tables[table]


def read_results(path: Path) -> Results:
    """Everything the pages print; raises RescueError when the file is no database or is in use."""
    with open_results(path) as connection:
        present = tables_of(connection)
        corpus = next(iter(_select(connection, present, "raw", "corpus", None)), {})
        version = corpus.get("corpus_version")
        tables = {name: _select(connection, present, "results", name, version) for name in RESULT_TABLES}
        return Results(
            corpus=corpus,
            tables=tables,
            missing=tuple(name for name in RESULT_TABLES if ("results", name) not in present),
            rejects=_select(connection, present, "raw", "rejects", version),
            sessions=_query(connection, present, "tasks", "sessions", version, _SESSIONS),
            templates=_query(connection, present, "results", LINEAGE, version, _TEMPLATES),
            generations=_query(connection, present, "results", LINEAGE, version, _GENERATIONS),
            bertscores=_query(connection, present, "predictions", "bertscore_runs", version, _BERTSCORES),
        )


def tables_of(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], list[str]]:
    """(schema, table) -> its columns."""
    rows = connection.execute(
        "select schema_name, table_name, list(column_name order by column_index) from duckdb_columns() "
        "where not internal and database_name = current_database() group by all"
    ).fetchall()
    return {(schema, table): columns for schema, table, columns in rows}


def of_version(columns: list[str], version: str | None) -> tuple[str, list[str]]:
    """A where clause that keeps the rows of one corpus version, for tables that have versions, with its parameters."""
    if version is None or "corpus_version" not in columns:
        return "", []
    return "where corpus_version = ?", [version]


def _select(
    connection: duckdb.DuckDBPyConnection,
    present: Mapping[tuple[str, str], list[str]],
    schema: str,
    table: str,
    version: str | None,
) -> Rows:
    # names come from the constants above, never from data
    return _query(
        connection, present, schema, table, version, f'select * from {schema}."{table}" {{where}} order by all'
    )


def _query(
    connection: duckdb.DuckDBPyConnection,
    present: Mapping[tuple[str, str], list[str]],
    schema: str,
    table: str,
    version: str | None,
    sql: str,
) -> Rows:
    if (schema, table) not in present:
        return []
    where, parameters = of_version(present[schema, table], version)
    connection.execute(sql.format(where=where), parameters)
    names = [column[0] for column in connection.description]
    return [dict(zip(names, row, strict=True)) for row in connection.fetchall()]
