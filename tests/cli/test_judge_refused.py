"""A run whose judge cannot be asked: the answers are there, the judgements are not, and the command says so."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.cli.finished import ORACLE_SMALL, rescue
from tests.llm.server import Server, always, failure


def test_a_judge_whose_key_is_refused_is_named_and_the_exit_code_is_3(tmp_path: Path) -> None:
    (tmp_path / "small.jsonl").write_bytes((ORACLE_SMALL / "corpus.jsonl").read_bytes())
    with Server(always(failure(401, "Incorrect API key provided"))) as server:
        grader = {"id": "grader", "litellm": "openai/g", "api_base": server.url, "local": True, "judge": True}
        (tmp_path / "models.yaml").write_text(yaml.safe_dump({"models": [grader]}))
        asked = ("--models", "majority", "--tasks", "er", "--limit", "4", "--judge", "grader")
        said = rescue("run", "--corpus", "small.jsonl", *asked, "-q", cwd=tmp_path, data=tmp_path / "data")
    assert said.returncode == 3, said.stderr
    assert "grader as judge: 4 of 4 judgements missing (4 not_run)" in said.stdout
    assert "stopped: " in said.stdout
