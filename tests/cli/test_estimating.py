"""`rescue estimate`, and what a run says that would cost money without a budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.finished import Finished, rescue
from tests.llm.server import Server, always, failure

SELECTED = ("--corpus", "small.jsonl", "--models", "paid,majority", "--tasks", "itp,er", "--limit", "5")


@pytest.fixture
def folder(finished_small: Finished, tmp_path: Path) -> Finished:
    """The small corpus with a model that costs money, at a server that nobody should ask."""
    copy = finished_small.copy(tmp_path / "copy")
    paid = {"id": "paid", "litellm": "openai/gpt-4o", "vendor": "OpenAI"}
    (copy.root / "models.yaml").write_text(yaml.safe_dump({"models": [paid]}))
    (copy.root / "corpus.yaml").write_text("data_class: public-research\n")
    return copy


def test_a_paid_run_without_a_budget_shows_the_estimate_and_the_command_to_type(folder: Finished) -> None:
    said = rescue("run", *SELECTED, cwd=folder.root, data=folder.data.root)
    assert said.returncode == 2
    assert "cost money" in said.stderr
    [command] = [line for line in said.stdout.splitlines() if line.startswith("rescue run")]
    typed, amount = command.rsplit(" ", 1)[0], float(command.rsplit(" ", 1)[1])
    assert typed == f"rescue run {' '.join(SELECTED)} --budget"
    assert 0.01 < amount < 1
    assert "total: " in said.stdout
    assert max(len(line) for line in said.stdout.splitlines() if line != command) <= 100
    plans = {path.parent.parent.parent.name for path in (folder.data.journal / "plan").rglob("*.jsonl")}
    assert "model=paid" not in plans

    told = rescue("estimate", *SELECTED, "--json", "-q", cwd=folder.root, data=folder.data.root)
    assert told.returncode == 0, told.stderr
    estimate = json.loads(told.stdout)
    assert estimate["needs_budget"] == ["paid"]
    assert estimate["most_usd"] == pytest.approx(amount, abs=0.01)
    by_line = {(line["model"], line["task"]): line for line in estimate["lines"] if line["purpose"] == "answer"}
    assert {key: line["remaining"] for key, line in by_line.items() if key[0] == "paid"} == {
        ("paid", "er"): 5,
        ("paid", "itp"): 5,
    }
    assert by_line["majority", "itp"]["cost_usd"] == 0


def test_private_sessions_are_refused_to_a_model_elsewhere(folder: Finished) -> None:
    (folder.root / "corpus.yaml").unlink()
    with Server(always(failure(500, "nobody asks me"))) as server:
        made = {"id": "far", "litellm": "openai/m", "api_base": server.url, "price": {"input": 1, "output": 1}}
        (folder.root / "models.yaml").write_text(yaml.safe_dump({"models": [made]}))
        asked = ("--corpus", "small.jsonl", "--models", "far", "--tasks", "itp", "--budget", "1")
        said = rescue("run", *asked, cwd=folder.root, data=folder.data.root)
        assert (said.returncode, server.requests) == (2, [])
    assert "these sessions are private" in said.stderr
    assert "corpus.yaml" in said.stderr
