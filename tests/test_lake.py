"""The lake: typed before the first row, replaced whole, read as one table."""

from __future__ import annotations

from pathlib import Path

import pandera.polars as pa
import polars as pl
import pytest

from rescue_pipeline.lake import Lake


class Notes(pa.DataFrameModel):
    """One row per note."""

    author: str
    number: int


def notes(*rows: tuple[str, int]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"author": pl.String, "number": pl.Int64}, orient="row")


@pytest.fixture(params=["folder", "memory"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    lake = Lake(str(tmp_path / "lake") if request.param == "folder" else f"memory://{tmp_path.name}")
    lake.declare({"notes": Notes})
    return lake


def test_a_declared_table_is_empty_and_typed(lake: Lake) -> None:
    assert lake.read("notes", Notes).schema == {"author": pl.String, "number": pl.Int64}
    assert lake.read("notes", Notes).is_empty()
    assert lake.files("notes") == []


def test_all_files_below_a_table_are_the_table(lake: Lake) -> None:
    lake.write("notes", notes(("ana", 1)), partition={"author": "ana"})
    lake.write("notes", notes(("bo", 2)), partition={"author": "bo"}, name="second")
    assert sorted(lake.read("notes", Notes).rows()) == [("ana", 1), ("bo", 2)]
    assert lake.read("notes", Notes, partition={"author": "bo"}).rows() == [("bo", 2)]
    assert lake.files("notes") == ["part", "second"]


def test_a_file_written_again_replaces_the_old_one(lake: Lake) -> None:
    lake.write("notes", notes(("ana", 1), ("ana", 2)))
    lake.write("notes", notes(("ana", 3)))
    assert lake.read("notes", Notes).rows() == [("ana", 3)]


def test_columns_of_a_newer_file_do_not_hinder_reading(lake: Lake) -> None:
    lake.write("notes", notes(("ana", 1)).with_columns(extra=pl.lit("x")))
    lake.write("notes", notes(("bo", 2)), name="older")
    assert sorted(lake.read("notes", Notes).rows()) == [("ana", 1), ("bo", 2)]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake(str(tmp_path))
    lake.write("notes", notes(("ana", 1)))

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        lake.write("notes", notes(("ana", 2)))
    assert lake.read("notes", Notes).rows() == [("ana", 1)]
    assert [file.name for file in (tmp_path / "notes").iterdir()] == ["part.parquet"]


def test_paths_are_plain_folders_and_urls() -> None:
    assert Lake("s3://bucket/lake/").folder("notes", {"author": "ana"}) == "s3://bucket/lake/notes/author=ana"
