"""Opening DuckDB files: waiting for a lock, naming its holder, telling one fault from another."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.warehouse import open_duckdb, open_results, quoted, require_free

_HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.read()"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "it's.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema results; create table results.facts as select 7 as n")
    return path


def hold(database: Path) -> subprocess.Popen[bytes]:
    """Another process that has the database open; it lets go when its stdin is closed."""
    command = [sys.executable, "-c", _HOLD, str(database)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_a_lock_that_stays_is_reported_with_its_holder(database: Path) -> None:
    with hold(database) as holder:
        with (
            pytest.raises(RescueError, match="in use by another process") as refused,
            open_duckdb(database, timeout=0.1),
        ):
            pass
        holder.kill()
    assert refused.value.found == f"process {holder.pid} holds it"
    assert refused.value.where == str(database)


def test_a_lock_that_is_released_in_time_is_waited_for(database: Path) -> None:
    with hold(database) as holder:
        threading.Timer(0.3, holder.kill).start()
        with open_duckdb(database, timeout=60) as connection:
            assert connection.execute("select n from results.facts").fetchall() == [(7,)]


def test_a_free_or_missing_database_is_free_and_is_not_made(database: Path, tmp_path: Path) -> None:
    require_free(database)
    require_free(tmp_path / "none.duckdb")
    assert not (tmp_path / "none.duckdb").exists()


def test_a_damaged_block_is_not_taken_for_a_lock(database: Path) -> None:
    content = bytearray(database.read_bytes())
    content[100] ^= 0xFF
    database.write_bytes(content)
    with (
        pytest.raises(RescueError, match="the database cannot be opened") as refused,
        open_duckdb(database, timeout=60),
    ):
        pass
    assert "checksum" in str(refused.value.found)


def test_results_are_found_by_schema_although_the_file_bears_the_same_name(database: Path) -> None:
    path = database.rename(database.with_name("results.duckdb"))
    with open_results(path) as connection:
        assert connection.execute("select n from results.facts").fetchall() == [(7,)]
        with pytest.raises(duckdb.Error, match="read-only"):
            connection.execute("create table results.more as select 1")


def test_unpublished_results_are_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing is published yet"), open_results(tmp_path / "results.duckdb"):
        pass


def test_times_are_read_in_utc(database: Path) -> None:
    with open_duckdb(database) as connection:
        shown = connection.execute("select (timestamptz '2026-07-01 00:30:00+02')::varchar").fetchall()
    assert shown == [("2026-06-30 22:30:00+00",)]


def test_quoted_text_stays_one_string() -> None:
    assert quoted("it's") == "'it''s'"
