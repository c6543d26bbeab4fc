"""results.duckdb: what is in it, and that nobody ever meets half of one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from rescue_pipeline.errors import RescueError
from rescue_pipeline.report.publish import publish_results
from rescue_pipeline.warehouse import open_results
from tests.report.factory import Model, warehouse

_PUBLISH_ON_A_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from rescue_pipeline.errors import RescueError
from rescue_pipeline.report.publish import publish_results
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    publish_results(Path(sys.argv[1]), Path(sys.argv[2]))
except RescueError as error:
    sys.exit(f"RescueError: {error.what}")
"""
_HOLD_FOR_WRITING = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def tables_in(path: Path) -> set[str]:
    with open_results(path) as connection:
        rows = connection.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()
    return {name for (name,) in rows}


def models_in(path: Path) -> set[str]:
    with open_results(path) as connection:
        return {name for (name,) in connection.execute("select model from results.leaderboard").fetchall()}


def test_what_people_query_is_published_and_the_raw_turns_are_not(tmp_path: Path) -> None:
    source = warehouse(tmp_path / "rescue.duckdb")
    report = publish_results(source, tmp_path / "results.duckdb")
    published = tables_in(tmp_path / "results.duckdb")
    assert {"tasks.sessions", "predictions.responses", "scores.items", "results.leaderboard"} <= published
    assert {name for name in published if name.startswith("raw.")} == {
        "raw.corpus",
        "raw.labels",
        "raw.rejects",
        "raw.samples",
    }
    assert report.tables == len(published)
    assert report.bytes == (tmp_path / "results.duckdb").stat().st_size


def test_a_view_is_not_published(tmp_path: Path) -> None:
    source = warehouse(tmp_path / "rescue.duckdb")
    with duckdb.connect(str(source)) as connection:
        connection.execute("create view results.on_files as select * from results.usage")
    publish_results(source, tmp_path / "results.duckdb")
    assert "results.on_files" not in tables_in(tmp_path / "results.duckdb")


def test_every_row_arrives(tmp_path: Path) -> None:
    source = warehouse(tmp_path / "rescue.duckdb")
    publish_results(source, tmp_path / "results.duckdb")
    with open_results(tmp_path / "results.duckdb") as copy, duckdb.connect(str(source), read_only=True) as original:
        for table in ("results.leaderboard_long", "results.confusions", "tasks.sessions"):
            query = f"select * from {table} order by all"
            assert copy.execute(query).fetchall() == original.execute(query).fetchall()


def test_whoever_reads_the_old_results_keeps_them_while_new_ones_are_published(tmp_path: Path) -> None:
    target = tmp_path / "results.duckdb"
    publish_results(warehouse(tmp_path / "first.duckdb", [Model("old")]), target)
    with open_results(target) as reader:
        publish_results(warehouse(tmp_path / "second.duckdb", [Model("new")]), target)
        assert reader.execute("select distinct model from results.leaderboard").fetchall() == [("old",)]
    assert models_in(target) == {"new"}


def test_a_full_disk_leaves_the_old_results_and_no_other_file(tmp_path: Path) -> None:
    target = tmp_path / "results.duckdb"
    publish_results(warehouse(tmp_path / "first.duckdb", [Model("old")]), target)
    second = warehouse(tmp_path / "second.duckdb", [Model("new")])
    before = sorted(path.name for path in tmp_path.iterdir())
    command = [sys.executable, "-c", _PUBLISH_ON_A_FULL_DISK, str(second), str(target)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "RescueError: the results could not be published" in run.stderr
    assert models_in(target) == {"old"}
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_warehouse_that_is_being_written_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESCUE_LOCK_TIMEOUT_SECONDS", "0.1")
    source = warehouse(tmp_path / "rescue.duckdb")
    command = [sys.executable, "-c", _HOLD_FOR_WRITING, str(source)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "held\n"
        with pytest.raises(RescueError, match=f"process {writer.pid} holds it"):
            publish_results(source, tmp_path / "results.duckdb")
        writer.communicate("")
    assert not (tmp_path / "results.duckdb").exists()


def test_without_a_warehouse_the_error_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(RescueError, match="rescue demo"):
        publish_results(tmp_path / "rescue.duckdb", tmp_path / "results.duckdb")


def test_the_schema_results_is_found_in_a_file_called_results(tmp_path: Path) -> None:
    path = warehouse(tmp_path / "results.duckdb")
    with open_results(path) as connection:
        assert connection.execute("select count(*) from results.leaderboard").fetchone() == (4,)
        with pytest.raises(duckdb.Error, match="read-only"):
            connection.execute("delete from results.leaderboard")
