"""A key and a sentence of a session, planted; then every file is searched for them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.cli.finished import LONGEST_SECONDS, ORACLE_SMALL, rescue
from tests.llm.server import Received, Said, Server, completion

KEY = "plnt-7f3a91c5d2e84b60"
SENTENCE = "A marmalade telescope sings at noon"
FELT = "velvet glacier regret"
SEEN = "nobody oils the lighthouse"
PLANTED = (SENTENCE, FELT, SEEN)
SESSION = "mina_and_pim/017_s01e09_ct17_segment04"

pytestmark = pytest.mark.timeout(3 * LONGEST_SECONDS)


def echoing(request: Received, number: int) -> Said:
    """A server that tells everything it was sent in its errors, and a model that quotes what it reads."""
    prompt = json.dumps(request.body["messages"])
    # what is planted stands in one session only, and only that one is quoted
    said, felt, seen = (text if SENTENCE in prompt else "nothing much" for text in PLANTED)
    if request.body["model"] == "echo-judge":
        return completion(json.dumps({"reason": felt, "similarity": 3, "pairing": 1, "content": 2}))
    if number % 3 == 0:
        message = f"key {request.key} ({KEY}) may not ask: {prompt}"
        return Said(400, {"error": {"message": message, "type": "invalid", "code": None}})
    if "viewpoints" in prompt:
        return completion(json.dumps({"viewpoints": [{"source": "Mina", "target": "Pim", "viewpoint": seen}]}))
    if "intensity" in prompt:
        return completion(json.dumps({"emotion": felt, "intensity": 5}))
    return completion(f"{said}, you say. " + json.dumps({"should_speak": "yes"}))


@dataclass(frozen=True)
class Searched:
    """A folder after a run; what the run said, and what a purge of the planted session said then."""

    folder: Path
    run: subprocess.CompletedProcess[str]

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def holding(self, needle: str) -> set[str]:
        """The files that hold the bytes, relative to the folder; Parquet files are read, for they are compressed."""
        return {str(path.relative_to(self.folder)) for path in self._files() if needle in _text(path)}

    def _files(self) -> Iterator[Path]:
        return (path for path in self.folder.rglob("*") if path.is_file() and path.name != ".env")


def _text(path: Path) -> str:
    if path.suffix == ".parquet":
        return str(pl.read_parquet(path).to_dicts())
    return path.read_bytes().decode("utf-8", "replace")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Searched:
    folder = tmp_path_factory.mktemp("planted")
    (folder / "corpus.yaml").write_text("data_class: public-research\n")
    (folder / ".env").write_text(f"PLANTED_API_KEY={KEY}\n")
    records = [json.loads(line) for line in (ORACLE_SMALL / "corpus.jsonl").read_text("utf-8").splitlines()]
    for row in next(record for record in records if record["sample_id"] == SESSION)["rows"]:
        row["dialogue_cleaned"] = SENTENCE
        for felt in row.get("internal_emotion") or []:
            felt["emotion_description"] = FELT
        for view in row.get("viewpoints_attitudes") or []:
            view["viewpoint"] = SEEN
    (folder / "planted.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    with Server(echoing) as server:
        common = {"api_base": server.url, "api_key_env": "PLANTED_API_KEY", "price": {"input": 1, "output": 1}}
        made = {"id": "made", "litellm": "openai/echo-model", **common}
        judge = {"id": "jury", "litellm": "openai/echo-judge", "judge": True, **common}
        (folder / "models.yaml").write_text(yaml.safe_dump({"models": [made, judge]}))
        asked = ("--models", "made,lexical", "--tasks", "er,vp,itp", "--judge", "jury", "--budget", "5")
        run = rescue("run", "--corpus", "planted.jsonl", *asked, cwd=folder, data=folder / "data")
        assert {request.key for request in server.requests} == {f"Bearer {KEY}"}
    return Searched(folder, run)


def test_a_key_is_found_nowhere(searched: Searched) -> None:
    assert searched.run.returncode == 3, searched.run.stderr  # the errors that echo it leave questions open
    assert searched.holding(KEY) == set()
    assert KEY not in searched.run.stdout + searched.run.stderr


def test_a_sentence_of_a_session_stays_in_the_data_directory_and_out_of_its_logs(searched: Searched) -> None:
    for planted in PLANTED:
        found = searched.holding(planted)
        assert {path for path in found if not path.startswith("data/")} == {"planted.jsonl"}
        assert {path for path in found if path.startswith(("data/logs", "data/dagster"))} == set()
        assert any(path.startswith("data/journal") for path in found)
        assert planted not in searched.run.stdout + searched.run.stderr


def test_a_run_tells_what_it_cost(searched: Searched) -> None:
    assert "made: " in searched.run.stdout
    assert "of 5.00 USD budget" in searched.run.stdout
    assert "jury: " in searched.run.stdout


def test_a_purged_session_is_found_nowhere_in_the_data_directory(searched: Searched) -> None:
    """Last of this file: it changes the folder."""
    refused = rescue("purge", SESSION, cwd=searched.folder, data=searched.data)
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    unknown = rescue("purge", "nobody/000", "--yes", cwd=searched.folder, data=searched.data)
    assert (unknown.returncode, searched.holding(SENTENCE) > set()) == (2, True)
    purged = rescue("purge", SESSION, "--yes", cwd=searched.folder, data=searched.data)
    assert purged.returncode == 0, purged.stderr
    assert "erased from the journal" in purged.stdout
    for needle in (*PLANTED, SESSION, "017_s01e09"):
        assert searched.holding(needle) <= {"planted.jsonl"}
    left = [line for path in (searched.data / "journal").rglob("*.jsonl") for line in path.read_text().splitlines()]
    assert any('"model": "made"' in line for line in left)  # what was paid for about other sessions stays
