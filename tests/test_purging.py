"""Erasing a session: what goes, what stays, when it is refused. All of a data directory: tests/cli/test_secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rescue_pipeline.corpus.load import load_corpus
from rescue_pipeline.corpus.source import resolve
from rescue_pipeline.datadir import session_hash
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.llm import Partition, Workspace
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions, partition_lease
from rescue_pipeline.llm.segments import read_records
from rescue_pipeline.purging import purge
from rescue_pipeline.warehouse import open_duckdb
from tests.llm.conftest import QUICK, entry
from tests.llm.server import Server, always, completion
from tests.llm.world import World, with_models

MADE = Partition("made", "dialogue")
GONE = "ana_and_bo/000"
ORACLE = Path(__file__).parent / "data" / "oracle_small" / "corpus.jsonl"


@pytest.fixture
def answered(tmp_path: Path) -> Workspace:
    """Two sessions of each group, asked of a model and of a baseline."""
    with Server(always(completion('{"should_speak": "yes"}'))) as server:
        workspace = World(sessions_per_group=2).write(tmp_path, with_models(entry(server)))
        ask_partitions(workspace, [MADE, Partition("majority", "dialogue")], ["itp"], policy=QUICK)
        parse_partition(workspace, MADE, "itp")
    return workspace


def records(workspace: Workspace, table: str, model: str = "made") -> list[dict[str, object]]:
    paths = sorted((workspace.datadir.journal / table).rglob("*.jsonl"))
    return [row for path in paths for row in read_records(path) if row["model"] == model]


def test_the_session_goes_and_what_was_answered_about_others_stays(answered: Workspace) -> None:
    planned, responses = records(answered, "plan"), records(answered, "responses_itp")
    theirs = {row["request_id"] for row in planned if f":{GONE}:" in str(row["instance_id"])}
    purged = purge(answered.datadir, GONE)
    assert len(theirs) == 3
    assert purged.planned == 2 * len(theirs)  # the baseline planned them too
    left = {row["request_id"] for row in records(answered, "responses_itp")}
    assert left == {row["request_id"] for row in responses} - theirs
    assert GONE not in "".join(path.read_text() for path in answered.datadir.journal.rglob("*.jsonl"))
    # a baseline answers with the gold of other sessions
    assert records(answered, "responses_itp", "majority") == []


def test_purging_again_changes_nothing_more(answered: Workspace) -> None:
    purge(answered.datadir, GONE)
    kept = records(answered, "responses_itp")
    assert (purge(answered.datadir, GONE).records, records(answered, "responses_itp")) == (0, kept)
    purge(answered.datadir, "ana_and_bo/001")
    assert len(records(answered, "responses_itp")) == len(kept) - 3


def test_half_written_records_go_too(answered: Workspace) -> None:
    torn = next((answered.datadir.journal / "responses_itp").rglob("*.jsonl")).with_suffix(".torn")
    torn.write_text("half a rec")
    purge(answered.datadir, GONE)
    assert not torn.exists()


def test_what_a_killed_write_left_goes_too(answered: Workspace) -> None:
    lake = Path(answered.lake.folder("instances"))
    left = [
        lake / "v1.parquet.4711.tmp",
        next(answered.datadir.journal.rglob("*.jsonl")).with_name(".part.jsonl.tmp"),
    ]
    for path in left:
        path.write_text(GONE)
    purge(answered.datadir, GONE)
    assert [path for path in left if path.exists()] == []


def test_a_session_that_was_never_here_is_refused_and_nothing_changes(answered: Workspace) -> None:
    before = {path: path.read_bytes() for path in answered.datadir.root.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match="no such session"):
        purge(answered.datadir, "ana_and_bo/999")
    assert {path: path.read_bytes() for path in answered.datadir.root.rglob("*") if path.is_file()} == before


def test_nothing_is_erased_while_a_run_is_going_on(answered: Workspace) -> None:
    kept = records(answered, "responses_itp")
    with partition_lease(answered, MADE), pytest.raises(RescueError, match="a run is going on"):
        purge(answered.datadir, GONE)
    assert records(answered, "responses_itp") == kept
    assert answered.datadir.purged() == frozenset()


def test_the_record_of_a_purge_holds_no_name(answered: Workspace) -> None:
    purge(answered.datadir, GONE)
    recorded = (answered.datadir.root / "purged.json").read_text()
    assert json.loads(recorded) == {"sessions": [session_hash(GONE)]}
    assert "ana" not in recorded


def test_an_erased_session_does_not_come_back_with_the_corpus(tmp_path: Path) -> None:
    first = json.loads(ORACLE.read_text(encoding="utf-8").splitlines()[0])["sample_id"]
    whole = resolve(ORACLE)
    left_out = whole.model_copy(update={"purged": frozenset({session_hash(first)})})
    with open_duckdb(tmp_path / "rescue.duckdb") as connection:
        before, after = load_corpus(whole, connection), load_corpus(left_out, connection)
        assert (after.n_samples, after.n_rejected) == (before.n_samples - 1, before.n_rejected)
        assert before.corpus_version != after.corpus_version
        assert any("erased" in note for note in after.notes)
        named = connection.execute("select count(*) from raw.samples where sample_id = ?", [first]).fetchall()
    assert named == [(0,)]
