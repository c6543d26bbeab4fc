"""Clean questions pass, every kind of leak is found where it is, and what a protocol declares does not block."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rescue_pipeline.audit import auditing
from rescue_pipeline.audit.findings import CHECKS
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.llm import rendering
from rescue_pipeline.llm.workspace import Workspace
from rescue_pipeline.schemas import TASKS, Audit, AuditFindings
from rescue_pipeline.schemas.predictions import MODALITIES
from rescue_pipeline.tasks import protocol as protocols
from rescue_pipeline.tasks.templates import PROMPTS
from tests.audit.audited import Plant, audit_of, counts, plant

SESSION = "cem_and_dee/000"


def next_turn(instance: Any, turns: list[Any]) -> str:
    return str(next(row["dialogue"] for row in turns if row["row_index"] == instance["row_index"] + 1))


def asked_turn(instance: Any, turns: list[Any]) -> str:
    return str(next(row["dialogue"] for row in turns if row["row_index"] == instance["row_index"]))


def gold_of(key: str) -> Plant:
    return lambda instance, _: str(json.loads(instance["gold"])[key])


def tone(instance: Any, turns: list[Any]) -> str:
    return str(next(row["tone_of_voice"] for row in turns if row["row_index"] == instance["row_index"] - 1))


def test_questions_without_leaks_pass_in_every_task_and_modality_and_all_planted_leaks_are_seen(
    workspace: Workspace,
) -> None:
    audits = auditing.audit(workspace, "clean", MODALITIES, TASKS)
    assert len(audits) == len(TASKS) * len(MODALITIES)
    assert [(one.scope.task, counts(one)) for one in audits if counts(one)] == []
    assert all(one.leaks == [] and one.findings == [] for one in audits)
    for one in audits:
        [controls] = [row for row in one.checks if row["check_name"] == "controls"]
        assert controls["n_requests"] >= 15, controls["detail"]


@pytest.mark.parametrize("protocol", ["context-0", "context-all", "renamed", "few-shot-3", "wording-b", "wording-c"])
def test_every_protocol_without_declared_leaks_passes(workspace: Workspace, protocol: str) -> None:
    # three examples from other groups are there for couples only if there are three other couples
    tasks = ["itp", "stp", "vp"]
    if protocol == "few-shot-3":
        tasks = ["itp"]
    assert [counts(one) for one in auditing.audit(workspace, protocol, ["audiovisual"], tasks)] == [{}] * len(tasks)


@pytest.mark.parametrize(
    ("check", "victim", "leak", "role"),
    [
        ("gold", f"er:{SESSION}:5", gold_of("emotion"), "user"),
        ("gold", f"rpp:{SESSION}:6", gold_of("relation_pattern"), "user"),
        ("gold", f"itp:{SESSION}:5", gold_of("should_speak"), "user"),
        ("ids", f"itp:{SESSION}:5", lambda instance, _: instance["instance_id"], "user"),
        ("ids", f"itp:{SESSION}:5", lambda *_: "made.jsonl", "user"),
        ("ids", f"ssp:{SESSION}:6", lambda instance, _: f"{instance['sample_id']}/track", "system"),
        ("fields", f"stp:{SESSION}:6", tone, "user"),
        ("fields", f"er:{SESSION}:5", lambda instance, turns: "because of what came before, "
         + asked_turn(instance, turns), "user"),
        ("later_turns", f"itp:{SESSION}:5", next_turn, "user"),
        ("later_turns", f"ssp:{SESSION}:6", asked_turn, "user"),
        ("shared_requests", f"itp:{SESSION}:8", lambda _, turns: turns[0]["dialogue"], "user"),
        ("shared_requests", f"itp:{SESSION}:8", lambda *_: "violin number 7 of 20", "user"),
        ("gold_example", f"vp:{SESSION}:5", lambda *_: "Example: violin number 7 of 20 -> about pepper", "system"),
        ("unexplained", f"itp:{SESSION}:5", lambda *_: "Hint: think about it", "user"),
    ],
)  # fmt: skip
def test_a_leak_is_found_in_the_question_and_at_the_place_where_it_is(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, check: str, victim: str, leak: Plant, role: str
) -> None:
    plant(monkeypatch, victim, leak, role=role)
    one = audit_of(workspace, victim.split(":")[0])
    found = [row for row in one.findings if row["check_name"] == check]
    assert {row["instance_id"] for row in one.findings} == {victim}
    assert found, counts(one)
    assert re.match(rf'{role} message, line \d+, after "', found[0]["place"])
    assert check in {row["check_name"] for row in one.leaks}


def test_findings_quote_our_own_templates_and_no_word_of_a_session(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = f"itp:{SESSION}:5"
    plant(monkeypatch, victim, next_turn)
    told = json.dumps([[row["place"], row["found"]] for row in audit_of(workspace, "itp").findings])
    turns = workspace.corpus.turns_of(SESSION)
    assert not any(row["dialogue"] in told for row in turns)
    assert "Should the therapist" in told or "take the next turn?" in told


def test_an_option_that_stands_first_because_it_is_the_gold_is_found(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = f"stp:{SESSION}:6"
    gold = json.loads(workspace.corpus.instances[victim]["gold"])["target"]
    doctor(monkeypatch, victim, lambda text: text.replace(f"- {gold}\n", "").replace(
        "Candidates:\n", f"Candidates:\n- {gold}\n"
    ))  # fmt: skip
    one = audit_of(workspace, "stp")
    assert {row["instance_id"] for row in one.findings if row["check_name"] == "gold"} == {victim}


def test_a_mark_that_only_another_gold_would_change_is_found(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = f"itp:{SESSION}:8"
    plant(monkeypatch, victim, lambda instance, _: " " * (1 if "yes" in instance["gold"] else 2))
    one = audit_of(workspace, "itp")
    assert [(row["check_name"], row["instance_id"]) for row in one.findings] == [("gold", victim)]
    assert one.findings[0]["found"] == "the request depends on the gold answer"


def test_a_template_that_quotes_the_corpus_is_found(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(PROMPTS, tmp_path / "prompts")
    template = tmp_path / "prompts" / "standard" / "itp.md.j2"
    said = workspace.corpus.turns_of(SESSION)[4]["dialogue"]
    text = template.read_text(encoding="utf-8")
    template.write_text(text.replace("{% block form %}", f"{{% block form %}}\nAs here: {said}\n"), encoding="utf-8")
    monkeypatch.setattr(protocols, "PROMPTS", tmp_path / "prompts")
    one = audit_of(workspace, "itp")
    [finding] = [row for row in one.findings if row["check_name"] == "gold_example"]
    assert finding["place"] == "templates standard/itp.md.j2"
    assert SESSION in finding["instance_id"]


@pytest.mark.parametrize(
    ("task", "check", "text"),
    [
        ("er", "gold_example", "For instance {emotion}."),
        ("itp", "gold_example", "For instance {emotion}."),
        ("vp", "gold_example", "Somebody thinks: {viewpoint}!"),
        ("rpp", "gold", "Most of the time it is repair_softening."),
        ("rpp", "gold", "Most of the time it is Repair Softening."),
        ("ssp", "gold", "Most of the time it is track."),
        ("stp", "gold", "It is often Ana."),
        ("itp", "ids", "About ana_and_bo/000."),
        ("vp", "ids", "As in MADE.jsonl."),
    ],
)
def test_a_template_that_names_an_answer_or_a_session_is_found(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, task: str, check: str, text: str
) -> None:
    gold = json.loads(workspace.corpus.of_task("er")[-1]["gold"])
    view = json.loads(workspace.corpus.of_task("vp")[-1]["gold"])["viewpoints"][0]
    planted = text.format(emotion=gold["emotion"].upper(), viewpoint=view["viewpoint"])
    shutil.copytree(PROMPTS, tmp_path / "prompts")
    template = tmp_path / "prompts" / "standard" / f"{task}.md.j2"
    honest = template.read_text(encoding="utf-8")
    template.write_text(honest.replace("{% block form %}", f"{{% block form %}}\n{planted}\n"), encoding="utf-8")
    monkeypatch.setattr(protocols, "PROMPTS", tmp_path / "prompts")
    one = audit_of(workspace, task)
    assert {row["check_name"] for row in one.leaks} == {check}
    assert {row["place"] for row in one.findings} == {f"templates standard/{task}.md.j2"}


def test_examples_of_the_own_session_group_are_found(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    own_group = staticmethod(lambda self, spec, protocol, instance: [
        row for row in self._ring if row["session_group"] == instance["session_group"]
    ][: protocol.few_shot])  # fmt: skip
    monkeypatch.setattr(rendering.ExamplePool, "of", lambda *given: own_group(*given))
    one = audit_of(workspace, "itp", protocol="few-shot-3")
    assert counts(one)["gold_example"] > 0
    assert "an example that no other session group explains" in {row["found"] for row in one.findings}


def test_declared_leaks_are_reported_and_do_not_block(workspace: Workspace) -> None:
    for one in auditing.audit(workspace, "official", ["dialogue"], TASKS):
        assert one.leaks == [], (one.scope.task, one.findings[:3])
        found = {row["check_name"] for row in one.checks if row["n_findings"] and row["declared"]}
        assert {"ids", "shared_requests"} <= found
        assert ("gold_example" in found) == (one.scope.task == "vp")


def test_an_undeclared_leak_blocks_beside_declared_ones(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = auditing.load_protocol("official")
    monkeypatch.setattr(auditing, "load_protocol", lambda _: declared.model_copy(update={"leaks": ("ids",)}))
    one = audit_of(workspace, "itp", protocol="official")
    assert {row["check_name"] for row in one.leaks} == {"shared_requests"}


def test_an_audit_that_sees_nothing_fails_its_own_controls(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rescue_pipeline.audit.controls.findings_of", lambda _: iter(()))
    one = audit_of(workspace, "itp")
    assert [row["check_name"] for row in one.leaks] == ["controls"]
    assert one.leaks[0]["detail"].startswith("the audit is blind to: ")


def test_a_condition_is_audited_once_and_again_when_its_questions_change(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = audit_of(workspace, "itp"), audit_of(workspace, "itp")
    assert (first.reused, second.reused) == (False, True)
    assert second.checks == first.checks
    monkeypatch.setattr(auditing, "question_version", lambda *_: "other")
    assert not audit_of(workspace, "itp").reused


def test_the_outcome_is_kept_in_the_lake_by_corpus_version_protocol_modality_and_task(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, f"itp:{SESSION}:5", next_turn)
    one = audit_of(workspace, "itp")
    kept = workspace.lake.read("audit", Audit)
    assert set(kept["check_name"]) == set(CHECKS)
    assert kept.select("protocol", "modality", "task").unique().rows() == [("clean", "dialogue", "itp")]
    findings = workspace.lake.read("audit_findings", AuditFindings)
    assert findings.height == len(one.findings) > 0
    assert set(findings["corpus_version"]) == {workspace.corpus_version}


def test_auditing_leaves_no_trace_in_the_journal(workspace: Workspace) -> None:
    audit_of(workspace, "itp")
    assert not list(workspace.datadir.journal.rglob("*.jsonl"))


def test_without_annotations_the_audit_says_that_it_cannot_see(workspace: Workspace) -> None:
    shutil.rmtree(workspace.lake.folder("annotations"))
    with pytest.raises(RescueError, match="cannot see what annotators wrote"):
        audit_of(workspace, "itp")


def test_a_name_that_nobody_knows_is_a_mistake_of_the_command(workspace: Workspace) -> None:
    for protocol, modalities, tasks in (
        ("nope", ["dialogue"], TASKS),
        ("clean", ["video"], TASKS),
        ("clean", ["dialogue"], ["x"]),
    ):
        with pytest.raises(UsageError):
            auditing.audit(workspace, protocol, modalities, tasks)


def doctor(monkeypatch: pytest.MonkeyPatch, victim: str, change: Callable[[str], str]) -> None:
    """Change the question of one instance."""
    honest = rendering.build_messages

    def changed(spec: Any, protocol: Any, instance: Any, *more: Any, **named: Any) -> Any:
        messages = honest(spec, protocol, instance, *more, **named)
        if instance["instance_id"] == victim:
            messages[-1] = {**messages[-1], "content": change(messages[-1]["content"])}
        return messages

    monkeypatch.setattr(rendering, "build_messages", changed)


def test_all_rows_of_an_audit_keep_their_contract(workspace: Workspace) -> None:
    audit_of(workspace, "vp")
    kept = workspace.lake.read("audit", Audit)
    assert kept.filter(pl.col("check_name") == "structure")["blocking"].to_list() == [False]
    assert kept.filter(pl.col("check_name") != "structure")["blocking"].all()
