"""Loading a corpus into raw.*: everything in one transaction, or nothing.

The same corpus again changes nothing. Changed content replaces all raw tables as a new corpus_version; whatever goes
wrong on the way leaves the old ones as they were.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import duckdb

from rescue_pipeline.corpus import companions
from rescue_pipeline.corpus.inventory import Inventory, take_inventory
from rescue_pipeline.corpus.loading import Loading, OnProgress
from rescue_pipeline.corpus.raw_tables import create_tables
from rescue_pipeline.corpus.source import CorpusSource
from rescue_pipeline.errors import RescueError

INGEST_VERSION = "1"
"""Raise it when the same files would be read differently or raw.* changes: every corpus gets a new corpus_version."""

LOAD_MEMORY = "256MB"


@dataclass(frozen=True)
class LoadReport:
    """What a load did. `changed` is False when the very same corpus was already there."""

    corpus_id: str
    corpus_version: str
    changed: bool
    data_class: str
    is_released: bool
    n_samples: int
    n_turns: int
    n_cues: int
    n_rejected: int
    n_declared_encoding: int
    """Turns and cues that were not UTF-8 and were read in the declared encoding."""
    source_sha256s: dict[str, str]
    """Of the annotation, transcript and groups files, by their path relative to the corpus."""
    notes: tuple[str, ...]
    """What is no error but should be looked at."""
    seconds: float


def load_corpus(
    source: CorpusSource, connection: duckdb.DuckDBPyConnection, *, on_progress: OnProgress | None = None
) -> LoadReport:
    """Bring raw.* to the state of `source`; on_progress gets ("reading the corpus", bytes done, bytes in all).

    Raises RescueError when not one session can be read, a file changes meanwhile, or the database cannot be written.
    """
    started = time.monotonic()
    inventory = take_inventory(source)
    version = inventory.version(INGEST_VERSION)
    with _bounded(connection), _transaction(connection):
        changed = not _is_stored(connection, inventory, version)
        if changed:
            _replace(connection, inventory, version, on_progress)
        _describe(connection, source)
    return _report(connection, inventory, changed, time.monotonic() - started)


@contextmanager
def _bounded(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Load within LOAD_MEMORY (DuckDB's own limit is most of the machine's) and without Python's cycle collector.

    Rows hold no cycles; looking for some among them costs a fifth of the time.
    """
    connection.execute(f"set memory_limit = '{LOAD_MEMORY}'")
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()
        with suppress(duckdb.ConnectionException):  # closed, because it could not even roll back
            connection.execute("reset memory_limit")


@contextmanager
def _transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    connection.execute("begin")
    try:
        yield
        connection.execute("commit")
    except BaseException as error:
        # a database that ran out of disk may refuse the rollback too; closing it then has the same effect
        try:
            connection.execute("rollback")
        except duckdb.Error:
            connection.close()
        if isinstance(error, duckdb.Error):
            raise _not_written(error) from None  # the text of a conversion error may quote a value
        raise


def _not_written(error: duckdb.Error) -> RescueError:
    quotes_no_value = isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException | duckdb.FatalException)
    return RescueError(
        "the corpus could not be stored; the database is as it was before",
        expected="a writable database and free disk space",
        found=str(error).splitlines()[0][:300] if quotes_no_value else type(error).__name__,
        advice="free disk space or mend the permissions of the data directory, then run again",
    )


def _is_stored(connection: duckdb.DuckDBPyConnection, inventory: Inventory, version: str) -> bool:
    if not _has_corpus(connection):
        return False
    stored = connection.execute("select corpus_version, companions_sha256 from raw.corpus").fetchall()
    return stored == [(version, companions.companions_sha256(inventory))]


def _has_corpus(connection: duckdb.DuckDBPyConnection) -> bool:
    tables = "select count(*) from duckdb_tables() where schema_name = 'raw' and table_name = 'corpus'"
    return bool(connection.execute(tables).fetchall()[0][0])


def _replace(
    connection: duckdb.DuckDBPyConnection, inventory: Inventory, version: str, on_progress: OnProgress | None
) -> None:
    create_tables(connection)
    loading = Loading(inventory, connection, version, on_progress)
    loading.load_records()
    loading.load_transcripts()
    loading.load_companions()
    loading.finish(INGEST_VERSION)
    inventory.refuse_changes()


def _describe(connection: duckdb.DuckDBPyConnection, source: CorpusSource) -> None:
    """What is said about the corpus besides its content: may change without a new version."""
    released = connection.execute("select is_released from raw.corpus").fetchall()[0][0]
    data_class = "public-research" if released and not source.data_class_declared else source.data_class
    wanted = (source.corpus_id, data_class, str(source.path))
    if connection.execute("select corpus_id, data_class, path from raw.corpus").fetchall() != [wanted]:
        connection.execute("update raw.corpus set corpus_id = ?, data_class = ?, path = ?", wanted)


def _report(connection: duckdb.DuckDBPyConnection, inventory: Inventory, changed: bool, seconds: float) -> LoadReport:
    corpus_id, version, data_class, is_released, n_rejected = connection.execute(
        "select corpus_id, corpus_version, data_class, is_released, n_rejected from raw.corpus"
    ).fetchall()[0]
    counts = connection.execute(
        """
        select
            (select count(*) from raw.samples),
            (select count(*) from raw.turns),
            (select count(*) from raw.transcript_cues),
            (select count(*) from raw.turns where list_contains(flags, 'declared_encoding'))
                + (select count(*) from raw.transcript_cues where list_contains(flags, 'declared_encoding'))
        """
    ).fetchall()[0]
    return LoadReport(
        corpus_id=corpus_id,
        corpus_version=version,
        changed=changed,
        data_class=data_class,
        is_released=is_released,
        n_samples=counts[0],
        n_turns=counts[1],
        n_cues=counts[2],
        n_rejected=n_rejected,
        n_declared_encoding=counts[3],
        source_sha256s=inventory.sha256s,
        notes=tuple(_notes(connection, inventory)),
        seconds=seconds,
    )


def _notes(connection: duckdb.DuckDBPyConnection, inventory: Inventory) -> Iterator[str]:
    sample_ids = [row[0] for row in connection.execute("select sample_id from raw.samples").fetchall()]
    named = companions.unknown_in_groups(inventory.groups, sample_ids)
    unknown = [sample_id for sample_id in named if not inventory.source.is_purged(sample_id)]
    if purged := len(inventory.source.purged):
        yield f"{purged} erased session(s) are left out (`rescue purge`)"
    if unknown:
        yield f"the groups file names {len(unknown)} sessions that this corpus does not have, first {unknown[0]}"
