"""`rescue audit`: what it prints and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rescue_pipeline.cli import app
from rescue_pipeline.commands import corpora
from rescue_pipeline.defs import resources
from rescue_pipeline.llm.workspace import Workspace
from tests.audit.audited import plant

VICTIM = "itp:cem_and_dee/000:5"
FEW = ["audit", "-q", "--tasks", "itp", "--modalities", "dialogue"]


@pytest.fixture(autouse=True)
def _here(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "current", lambda _: workspace.datadir)
    monkeypatch.setattr("rescue_pipeline.running.use", lambda directory: directory)
    monkeypatch.setattr(resources, "open_workspace", lambda: workspace)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_an_audit_without_leaks_ends_with_0_and_says_so() -> None:
    result = run(*FEW)
    assert (result.exit_code, "No leak beyond what protocol clean declares" in result.stdout) == (0, True)


def test_a_leak_ends_with_1_and_names_question_and_place(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, VICTIM, lambda *_: VICTIM)
    result = run(*FEW)
    assert result.exit_code == 1
    assert f"leak: ids: {VICTIM} (dialogue): user message, line" in result.stdout


def test_declared_leaks_end_with_0() -> None:
    assert run(*FEW, "--protocol", "official").exit_code == 0


@pytest.mark.parametrize("wrong", [["--protocol", "nope"], ["--tasks", "nope"], ["--modalities", "video"]])
def test_an_unknown_name_ends_with_2(wrong: list[str]) -> None:
    assert run(*FEW, *wrong).exit_code == 2


def test_json_holds_every_check_and_finding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plant(monkeypatch, VICTIM, lambda *_: VICTIM)
    told = json.loads(run(*FEW, "--json").stdout)
    assert {row["check_name"] for row in told["checks"] if not row["passed"] and row["blocking"]} == {"ids"}
    assert [row["instance_id"] for row in told["findings"]] == [VICTIM]
