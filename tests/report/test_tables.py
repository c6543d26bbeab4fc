"""The CSV tables: safe in a spreadsheet, exact for a program."""

from __future__ import annotations

import csv
import math
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from rescue_pipeline.report.tables import csv_cell, write_tables
from rescue_pipeline.warehouse import open_results
from tests.report.factory import editing, warehouse


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "  ="])
def test_text_that_starts_like_a_formula_is_kept_as_text(start: str) -> None:
    assert csv_cell(f"{start}1+1") == f"'{start}1+1"


@pytest.mark.parametrize(("value", "cell"), [(-5, "-5"), (-0.1, "-0.1"), (1 / 3, "0.3333333333333333"), (True, "true")])
def test_numbers_are_untouched_and_exact(value: float, cell: str) -> None:
    assert csv_cell(value) == cell


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_an_empty_cell(value: float | None) -> None:
    assert csv_cell(value) == ""


def test_a_time_is_written_in_utc_with_its_offset() -> None:
    tokyo = datetime(2026, 3, 1, 9, 0, 0, 25, tzinfo=timezone(timedelta(hours=9)))
    assert csv_cell(tokyo) == "2026-03-01T00:00:00.000025+00:00"
    assert csv_cell(datetime(2026, 3, 1, tzinfo=UTC)) == csv_cell(datetime(2026, 3, 1)) == "2026-03-01T00:00:00+00:00"


def test_a_list_cannot_smuggle_a_formula_in() -> None:
    assert csv_cell(["=1+1", "b"]) == "'=1+1; b"


def test_every_result_table_becomes_one_file_with_all_its_rows(tmp_path: Path) -> None:
    written = write_tables(warehouse(tmp_path / "results.duckdb", rejects=2), tmp_path / "tables")
    assert {path.name for path in written} >= {"leaderboard.csv", "leaderboard_long.csv", "lineage.csv", "rejects.csv"}
    with (tmp_path / "tables" / "rejects.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["source_line"] for row in rows] == ["1", "2"]


def test_a_value_survives_the_way_through_csv_exactly(tmp_path: Path) -> None:
    source = warehouse(tmp_path / "results.duckdb")
    write_tables(source, tmp_path / "tables")
    with open_results(source) as connection:
        values = [value for (value,) in connection.execute("select value from results.leaderboard_long").fetchall()]
    with (tmp_path / "tables" / "leaderboard_long.csv").open(encoding="utf-8", newline="") as file:
        printed = [float(row["value"]) for row in csv.DictReader(file)]
    assert sorted(printed) == sorted(values)


def test_only_the_loaded_version_of_the_corpus_is_written(tmp_path: Path) -> None:
    source = warehouse(tmp_path / "results.duckdb")
    with editing(source) as connection:
        connection.execute("update results.leaderboard set corpus_version = 'older' where model = 'uniform'")
    write_tables(source, tmp_path / "tables")
    assert "uniform" not in (tmp_path / "tables" / "leaderboard.csv").read_text(encoding="utf-8")
