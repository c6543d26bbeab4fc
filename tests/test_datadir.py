"""Whose data directory it is, and which one commands without a corpus mean."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest

from rescue_pipeline import datadir
from rescue_pipeline.corpus.released import Recognition
from rescue_pipeline.corpus.source import resolve
from rescue_pipeline.datadir import DataDirectory, write_atomically
from rescue_pipeline.errors import RescueError, UsageError
from tests.cli.finished import ORACLE_SMALL


@pytest.fixture(autouse=True)
def _in_a_place_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RESCUE_DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)


def test_a_corpus_lies_below_data_unless_the_environment_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert datadir.for_corpus("demo").root == Path("data/demo").resolve()
    monkeypatch.setenv("RESCUE_DATA_DIR", "elsewhere")
    assert datadir.for_corpus("demo").root == datadir.current().root == Path("elsewhere").resolve()
    monkeypatch.setenv("RESCUE_DATA_DIR", "")  # as good as not set
    assert datadir.for_corpus("demo").root == Path("data/demo").resolve()


def test_the_current_directory_is_the_last_one_made_current() -> None:
    assert datadir.current().root == Path("data/demo").resolve()
    datadir.for_corpus("mine").create().make_current()
    assert datadir.current().root == Path("data/mine").resolve()


def test_a_directory_elsewhere_leaves_no_trace_in_the_working_directory(tmp_path: Path) -> None:
    DataDirectory(tmp_path / "elsewhere").create().make_current()
    assert not Path("data").exists()


def test_a_directory_is_claimed_once(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data").create()
    assert directory.owner() is None
    directory.claim("mine", {"path": "a.jsonl"})
    directory.claim("mine", {"path": "b.jsonl"})  # moved
    before = directory.corpus_file.read_text()
    with pytest.raises(UsageError, match="holds another corpus; nothing was changed"):
        directory.claim("yours", {"path": "c.jsonl"})
    assert directory.corpus_file.read_text() == before
    assert json.loads(before) == {"corpus_id": "mine", "path": "b.jsonl"}


def test_a_record_that_cannot_be_read_is_no_new_directory(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data").create()
    directory.corpus_file.write_text("not JSON")
    with pytest.raises(RescueError, match=r"corpus\.json"):
        directory.owner()


def test_a_directory_that_was_never_made_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no data directory yet"):
        DataDirectory(tmp_path / "data").existing()


def test_a_failed_replacement_leaves_the_old_text_and_no_temporary_file(tmp_path: Path) -> None:
    target = tmp_path / "settings"
    target.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(target, "\ud800")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(("is_released", "data_class"), [(True, "public-research"), (False, "private")])
def test_loading_records_the_class_of_the_recognised_corpus(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_released: bool, data_class: str
) -> None:
    from rescue_pipeline.defs.ingest import ingest

    monkeypatch.setattr(Recognition, "is_released", is_released)
    monkeypatch.setenv("RESCUE_DATA_DIR", str(tmp_path / "data"))
    directory, source = DataDirectory(tmp_path / "data").create(), resolve(ORACLE_SMALL / "corpus.jsonl")
    directory.claim(source.corpus_id, source.description())
    assert dg.materialize([ingest]).success
    recorded = json.loads(directory.corpus_file.read_text())
    assert recorded == {"corpus_id": "corpus", "path": str(source.path), "data_class": data_class, "consent": None}
