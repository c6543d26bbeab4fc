"""results.duckdb: the copy of the warehouse that people query while the pipeline runs."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

from rescue_pipeline.errors import RescueError
from rescue_pipeline.warehouse import open_duckdb, quoted

PUBLISHED_SCHEMAS = ("tasks", "predictions", "scores", "results")
PUBLISHED_RAW = ("corpus", "samples", "labels", "rejects")


@dataclass(frozen=True)
class PublishReport:
    """What was published: how many tables, rows in all of them, the file's size."""

    tables: int
    rows: int
    bytes: int
    seconds: float


def publish_results(warehouse: Path, target: Path) -> PublishReport:
    """Copy the published tables of `warehouse` into a new file and put it in `target`'s place in one step.

    Whoever has the old file open keeps reading it. Raises RescueError when the warehouse is missing or locked, or the
    copy cannot be written; then `target` is untouched and nothing is left beside it.
    """
    started = time.perf_counter()
    if not warehouse.exists():
        raise RescueError(
            "there is no warehouse to publish", where=str(warehouse), advice="run `rescue run` or `rescue demo` first"
        )
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        tables, rows = _copy(warehouse, temporary)
        _replace(temporary, target)
    except (duckdb.Error, OSError) as error:
        raise _not_published(target, error) from error
    finally:
        for leftover in (temporary, temporary.with_name(f"{temporary.name}.wal")):
            leftover.unlink(missing_ok=True)
    return PublishReport(tables, rows, target.stat().st_size, time.perf_counter() - started)


def _copy(warehouse: Path, temporary: Path) -> tuple[int, int]:
    temporary.unlink(missing_ok=True)
    with open_duckdb(warehouse, read_only=True) as connection:
        connection.execute(f"attach {quoted(str(temporary))} as published (read_write)")
        connection.execute("begin")
        chosen, catalog = _published_tables(connection), _catalog(connection)
        for schema in sorted({schema for schema, _ in chosen}):
            connection.execute(f'create schema published."{schema}"')
        for schema, table in chosen:
            name = f'"{schema}"."{table}"'
            connection.execute(f"create table published.{name} as from {catalog}.{name}")
        rows = sum(_rows(connection, schema, table) for schema, table in chosen)
        connection.execute("commit")
        # detaching checkpoints: afterwards the one file holds everything
        connection.execute("detach published")
    return len(chosen), rows


def _published_tables(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Tables only: a view could point at files that a reader elsewhere does not have."""
    found = connection.execute(
        "select schema_name, table_name from duckdb_tables() where database_name = current_database() "
        "and (list_contains(?, schema_name) or (schema_name = 'raw' and list_contains(?, table_name))) order by all",
        [list(PUBLISHED_SCHEMAS), list(PUBLISHED_RAW)],
    ).fetchall()
    return [(schema, table) for schema, table in found]


def _catalog(connection: duckdb.DuckDBPyConnection) -> str:
    """The warehouse's name in SQL; without it `results.x` is ambiguous in a file called results.duckdb."""
    named = connection.execute("select current_database()").fetchone()
    return '"' + str(named[0] if named else "").replace('"', '""') + '"'


def _rows(connection: duckdb.DuckDBPyConnection, schema: str, table: str) -> int:
    counted = connection.execute(f'select count(*) from published."{schema}"."{table}"').fetchone()
    return int(counted[0]) if counted else 0


def _replace(temporary: Path, target: Path) -> None:
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # so that the new name survives a power failure
    finally:
        os.close(folder)


def _not_published(target: Path, error: duckdb.Error | OSError) -> RescueError:
    return RescueError(
        "the results could not be published; the earlier results.duckdb is unchanged",
        where=str(target),
        found=str(error).splitlines()[0][:200],
        advice="free some disk space, or check that the folder may be written to, and publish again",
    )
