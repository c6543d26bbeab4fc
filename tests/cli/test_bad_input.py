"""Wrong input at the command line: a message that says what, where and what to do; an exit code; nothing lost."""

from __future__ import annotations

import hashlib
import resource
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Rescue, Said
from tests.cli.finished import RESCUE, Finished, environment_for
from tests.cli.finished import rescue as in_a_process


def fingerprint(folder: Path) -> dict[str, str]:
    """What is stored: the databases, the lake and the journal, file by file."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and not _is_a_trace(file.relative_to(folder))]
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _is_a_trace(path: Path) -> bool:
    """Logs, Dagster's records of runs and dbt's folders tell of a failed run; they hold no result."""
    return path.parts[0] in {"logs", "dagster", "dbt"}


def says(said: Said | subprocess.CompletedProcess[str], *texts: str) -> bool:
    err = said.err if isinstance(said, Said) else said.stderr
    flat = " ".join(err.split())
    assert "Traceback" not in err
    missing = [text for text in texts if text not in flat]
    assert not missing, f"{missing} not in:\n{err}"
    return True


@pytest.fixture
def small(finished_small: Finished, tmp_path: Path) -> Finished:
    """A copy of the finished small directory, for a test that tries to break it."""
    return finished_small.copy(tmp_path / "small")


def test_another_corpus_data_directory_is_refused(rescue: Rescue, finished_small: Finished) -> None:
    before = fingerprint(finished_small.data.root)
    said = rescue("demo", data=finished_small.data.root)
    assert said.code == 2
    assert says(said, "holds another corpus; nothing was changed", "expected: demo", "found: small", "RESCUE_DATA_DIR=")
    assert fingerprint(finished_small.data.root) == before


@pytest.mark.parametrize(
    ("option", "value", "what", "expected"),
    [
        ("--models", "majorty", "no such model", "majority"),
        ("--tasks", "itp,xyz", "no such task", "er, vp, rpp, itp, stp, ssp"),
        ("--modalities", "smell", "unknown modality", "dialogue"),
        ("--protocol", "dirty", "unknown protocol", "clean"),
        ("--judge", "uniform", "not marked as a judge", "judge: true"),
        ("--limit", "0", "number of questions", "1 or more"),
    ],
)
def test_an_unknown_name_is_refused_before_anything_is_written(
    rescue: Rescue, finished_small: Finished, tmp_path: Path, option: str, value: str, what: str, expected: str
) -> None:
    corpus = str(finished_small.root / "small.jsonl")
    said = rescue("run", "--corpus", corpus, option, value, data=tmp_path / "data")
    assert said.code == 2
    assert says(said, what, expected, f"found: {value.split(',')[-1]}")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("models:\n  - id: Made Model\n    litellm: a/b\n", ["entry Made Model, field id", "[a-z0-9._-]"]),
        ("models:\n  - id: made\n    litellm: a/b\n    limit: 3\n", ["entry made, field limit", "a field that exists"]),
        ("models: [", ["models.yaml", "expected: YAML", "line 1"]),
        ("[]", ["field models", "a list of models"]),
        (
            "models:\n  - id: made\n    litellm: a/b\n    limits: {concurrency: none}\n",
            ["limits.concurrency", "'none'"],
        ),
    ],
)
def test_a_malformed_registry_names_file_entry_and_field(
    rescue: Rescue, finished_small: Finished, tmp_path: Path, text: str, expected: list[str]
) -> None:
    (tmp_path / "models.yaml").write_text(text)
    said = rescue("run", "--corpus", str(finished_small.root / "small.jsonl"), data=tmp_path / "data")
    assert said.code == 2
    assert says(said, "the model registry is malformed; nothing was asked", *expected)
    assert not (tmp_path / "data").exists()
    assert rescue("models", "list").code == 2


def test_a_named_registry_that_is_missing_is_an_error(rescue: Rescue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESCUE_MODELS_FILE", "mine.yaml")
    said = rescue("models", "list")
    assert said.code == 2
    assert says(said, "mine.yaml", "No such file")


@pytest.mark.parametrize("command", [["run", "--corpus"], ["validate"]])
def test_a_missing_corpus_is_a_usage_error(rescue: Rescue, command: list[str]) -> None:
    said = rescue(*command, "nowhere.jsonl")
    assert said.code == 2
    assert says(said, "there is no such corpus", "nowhere.jsonl", "expected: a JSONL file", "found: nothing")


def test_a_folder_without_sessions_says_what_it_lacks(rescue: Rescue, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").write_text("nothing here")
    said = rescue("validate", "empty")
    assert said.code == 1
    assert says(said, "holds no sessions", "expected: *.json", str(tmp_path / "empty"))


def test_validation_of_good_and_bad_records_exits_3_and_names_the_bad_one(
    rescue: Rescue, finished_small: Finished
) -> None:
    said = rescue("validate", str(finished_small.root / "small.jsonl"))
    assert said.code == 3
    assert "7 sessions" in said.out
    assert "rejected: small.jsonl line 2, record broken_and_bent/001, rows" in said.out
    assert max(map(len, said.out.splitlines())) <= 100


def test_a_rejected_record_exits_3_and_the_good_ones_are_scored(rescue: Rescue, finished_small: Finished) -> None:
    said = finished_small.said("run")
    assert said.returncode == 3
    assert "1 record was rejected" in said.stdout
    query = "select record, source_line from raw.rejects"
    assert rescue("sql", query, "--csv", data=finished_small.data.root).out.endswith("broken_and_bent/001,2\n")
    scored = "select count(*) from scores.items where status = 'ok' and model = 'majority'"
    assert rescue("sql", scored, "--csv", data=finished_small.data.root).out.endswith("\n36\n")


def test_predictions_that_are_not_there_are_noticed_at_once(rescue: Rescue, finished_small: Finished) -> None:
    said = rescue("import-predictions", "nowhere.jsonl", data=finished_small.data.root)
    assert said.code == 2
    assert says(said, "the predictions cannot be read", "nowhere.jsonl")


def test_there_may_be_no_data_directory_yet(rescue: Rescue) -> None:
    for command in (["sql", "select 1"], ["report"], ["export", "out"], ["docs"], ["import-predictions", "x.jsonl"]):
        said = rescue(*command)
        assert said.code == 2
        assert says(said, "there is no data directory yet", "rescue demo")


def test_a_data_directory_that_cannot_be_made_is_an_error(rescue: Rescue, finished_small: Finished) -> None:
    said = rescue("run", "--corpus", str(finished_small.root / "small.jsonl"), data=Path("/proc/nothing/data"))
    assert said.code == 1
    assert says(said, "the data directory cannot be written", "/proc/nothing/data", "set RESCUE_DATA_DIR")


def test_a_wrong_setting_names_its_variable(rescue: Rescue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESCUE_LOCK_TIMEOUT_SECONDS", "soon")
    said = rescue("sql", "select 1")
    assert said.code == 2
    assert says(said, "RESCUE_LOCK_TIMEOUT_SECONDS", "found: 'soon'")


@contextmanager
def holding(database: Path) -> Iterator[int]:
    """Another process that has the database open for reading; yields its process id."""
    script = (
        "import duckdb, sys; held = duckdb.connect(sys.argv[1], read_only=True); print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


@pytest.mark.parametrize("command", ["run", "import-predictions", "docs"])
def test_a_database_that_another_process_holds_is_named_with_its_holder(
    rescue: Rescue, small: Finished, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    corpus = str(small.root / "small.jsonl")
    arguments = {"run": ["--corpus", corpus, "--models", "majority"], "import-predictions": [corpus]}.get(command, [])
    monkeypatch.setenv("RESCUE_LOCK_TIMEOUT_SECONDS", "0.2")
    before = fingerprint(small.data.root)
    with holding(small.data.warehouse) as process:
        said = rescue(command, *arguments, data=small.data.root)
        assert rescue("sql", "select 1").code == 0  # results.duckdb stays readable
        assert "!!  warehouse" in rescue("doctor").out
    assert said.code == 1
    assert says(said, "in use by another process; nothing was changed", f"process {process} holds it", "rescue.duckdb")
    assert fingerprint(small.data.root) == before


def newer(database: Path, version: int = 100_000) -> None:
    """Give a database the header of a DuckDB that is yet to be written, checksum included."""
    content = bytearray(database.read_bytes())
    content[12:20] = struct.pack("<Q", version)
    checksum = 5381
    for (word,) in struct.iter_unpack("<Q", content[8:4096]):
        checksum ^= word * 0xBF58476D1CE4E5B9 % 2**64
    content[:8] = struct.pack("<Q", checksum)
    database.write_bytes(content)


def test_a_database_of_a_newer_duckdb_is_left_alone(rescue: Rescue, small: Finished) -> None:
    newer(small.data.warehouse)
    newer(small.data.results)
    before = fingerprint(small.data.root)
    corpus = ["--corpus", str(small.root / "small.jsonl"), "--models", "majority"]
    for command in (["run", *corpus], ["sql", "select 1"], ["report"], ["docs"]):
        said = rescue(*command, data=small.data.root)
        assert said.code == 1
        assert says(
            said, "written by another version of DuckDB", ".duckdb", "version number 100000", "move the file away"
        )
    assert fingerprint(small.data.root) == before


def test_a_file_that_is_no_database_is_left_alone(rescue: Rescue, small: Finished) -> None:
    small.data.warehouse.write_bytes(b"once upon a time" * 1000)
    corpus = ["--corpus", str(small.root / "small.jsonl"), "--models", "majority"]
    said = rescue("run", *corpus, data=small.data.root)
    assert said.code == 1
    assert says(said, "the database cannot be opened", "move the file away and run again")
    assert small.data.warehouse.read_bytes().startswith(b"once upon a time")


def test_a_damaged_corpus_record_is_named(rescue: Rescue, small: Finished) -> None:
    small.data.corpus_file.write_text("{}")
    for command in (["sql", "select 1"], ["run", "--corpus", str(small.root / "small.jsonl"), "--models", "majority"]):
        said = rescue(*command, data=small.data.root)
        assert said.code == 1
        assert says(said, "corpus.json", "expected: a JSON object with corpus_id and path")
    assert "!!  corpus" in rescue("doctor").out


def test_a_full_disk_loses_nothing_that_was_stored(small: Finished) -> None:
    """No file may grow beyond a few pages: not even Dagster's records of the run find room."""
    stored = fingerprint(small.data.root)
    room = 100_000
    done = subprocess.run(
        [RESCUE, "run", "--corpus", "small.jsonl", "--models", "heuristic", "-q"],
        cwd=small.root,
        env=environment_for(small.data.root),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    assert says(done, "nothing stored was lost", "free disk space")
    assert fingerprint(small.data.root) | {"corpus.json": ""} == stored | {"corpus.json": ""}
    assert in_a_process("sql", "-q", "select 1", cwd=small.root, data=small.data.root).returncode == 0
