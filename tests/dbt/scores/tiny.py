"""Three invented sessions, ten questions, five models whose answers are right, wrong, failed and missing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from tests.dbt.scores.lake import VERSION, ScoredLake

_COUPLE = ["attack_attack", "mixed_transition"]
_FAMILY = ["pursue_withdraw", "escalation_conflict"]
_SESSIONS = {
    "ana_and_lou/001": ("couple", "ana_and_lou", ["Ana", "Therapist", "Lou", "Therapist"], 120.0),
    "dov_and_mia/002": ("couple", "dov_and_mia", ["Dov", "Therapist"], 60.0),
    "family_therapy/003": ("family", "family_therapy/003", ["Zoe", "Family", "Therapist"], 90.0),
}
_QUESTIONS: list[tuple[str, str, int, dict[str, Any], list[str] | None]] = [
    ("itp", "ana_and_lou/001", 1, {"should_speak": "yes"}, None),
    ("itp", "dov_and_mia/002", 1, {"should_speak": "no"}, None),
    ("rpp", "ana_and_lou/001", 2, {"relation_pattern": "attack_attack"}, _COUPLE),
    ("rpp", "dov_and_mia/002", 2, {"relation_pattern": "mixed_transition"}, _COUPLE),
    ("rpp", "family_therapy/003", 3, {"relation_pattern": "pursue_withdraw"}, _FAMILY),
    ("stp", "ana_and_lou/001", 2, {"target": "Ana"}, ["Ana", "Lou", "Couple"]),
    ("stp", "family_therapy/003", 3, {"target": "Family"}, ["Zoe", "Eli", "Family"]),
    ("ssp", "ana_and_lou/001", 2, {"strategy": "track", "target": "Ana"}, ["track", "join"]),
    ("er", "ana_and_lou/001", 3, {"emotion": "worn out", "intensity": 5}, None),
    ("er", "dov_and_mia/002", 1, {"emotion": "hopeful", "intensity": 8}, None),
    ("vp", "ana_and_lou/001", 1, {"viewpoints": []}, None),
]
DISTILBERT = "distilbert-base-uncased_L5_no-idf"


def tiny_lake() -> ScoredLake:
    lake = ScoredLake()
    questions = [_instance(lake, *question) for question in _QUESTIONS]
    for sample_id, (scenario, group, speakers, seconds) in _SESSIONS.items():
        _session(lake, sample_id, scenario, group, speakers, seconds)
    lake.add(
        "unlabelled_rows",
        corpus_version=VERSION,
        sample_id="ana_and_lou/001",
        scenario="couple",
        session_group="ana_and_lou",
        row_index=4,
    )
    _good(lake, questions)
    _flaky(lake, questions)
    for question in questions:
        lake.ask("down", question, "api_error")
    _retried(lake, questions[7])
    _repeated(lake, *questions[:2])
    return lake


def _instance(
    lake: ScoredLake, task: str, sample_id: str, row: int, gold: dict[str, Any], candidates: list[str] | None
) -> dict[str, Any]:
    scenario, group, speakers, _ = _SESSIONS[sample_id]
    instance: dict[str, Any] = {
        "corpus_version": VERSION,
        "instance_id": f"{task}:{sample_id}:{row}",
        "task": task,
        "scenario": scenario,
    }
    instance |= {"sample_id": sample_id, "session_group": group, "row_index": row, "speaker": speakers[row - 1]}
    lake.add(
        "instances", **instance, position=(row - 1) / (len(speakers) - 1), gold=json.dumps(gold), candidates=candidates
    )
    return instance


def _session(lake: ScoredLake, sample_id: str, scenario: str, group: str, speakers: list[str], seconds: float) -> None:
    key = {"corpus_version": VERSION, "sample_id": sample_id}
    lake.add(
        "sessions",
        **key,
        scenario=scenario,
        session_group=group,
        participants=[],
        n_turns=len(speakers),
        duration_seconds=seconds,
        source_path=f"{sample_id}.json",
        source_line=1,
        source_sha256="f",
        record_sha256="r",
    )
    lists = ["target", "background_dialogue", "body_posture", "facial_expressions"]
    lists += ["self_directed_behavior", "interaction_behavior"]
    for row, speaker in enumerate(speakers, start=1):
        lake.add("turns", **key, row_index=row, speaker=speaker, dialogue="", **{name: [] for name in lists})


def _good(lake: ScoredLake, questions: list[dict[str, Any]]) -> None:
    """Answers everything; judged by an LLM and by the lexical judge, er with BERTScore too."""
    answers: list[dict[str, Any]] = [
        {"should_speak": "yes"},
        {"should_speak": "yes"},
        {"relation_top3": ["attack_attack", "mixed_transition"]},
        {"relation_top3": ["attack_attack", "mixed_transition"]},
        {"relation_top3": ["pursue_withdraw"]},
        {"target_top3": ["Ana", "Couple", "Lou"]},
        {"target_top3": ["Zoe", "Eli", "Family"]},
        {"strategy_top3": ["join", "track"]},
        {"emotion": "tired", "intensity": 5},
        {"emotion": "calm", "intensity": 6},
        {"viewpoints": []},
    ]
    asked = [lake.ask("good", question, "ok", answer) for question, answer in zip(questions, answers, strict=True)]
    first, second, views = asked[8:]
    for question, grade, f1 in ((first, 4, 0.8), (second, 3, 0.6)):
        lake.judge(question, "jury", "llm", similarity=grade)
        lake.judge(question, "lexical-judge", "lexical", similarity=2)
        lake.add("bertscores_er", **question, scorer=DISTILBERT, f1=f1)
    lake.judge(views, "jury", "llm", similarity=4, pairing=2, content=3)


def _flaky(lake: ScoredLake, questions: list[dict[str, Any]]) -> None:
    """Fails in several ways, leaves some questions open; the judge fails on its one emotion."""
    outcomes: list[tuple[str, Any]] = [
        ("refused", None),
        ("ok", {"should_speak": "no"}),
        ("ok", {"relation_top3": ["attack_attack"]}),
        ("api_error", None),
        ("not_run", None),
        ("out_of_set", None),
        ("ok", {"target_top3": ["Family"]}),
        ("truncated", None),
        ("empty", None),
        ("ok", {"emotion": "glad", "intensity": 8}),
        ("unparseable", None),
    ]
    asked = [
        lake.ask("flaky", question, status, answer)
        for question, (status, answer) in zip(questions, outcomes, strict=True)
    ]
    lake.judge(asked[9], "jury", "llm", "judge_failed")


def _retried(lake: ScoredLake, question: dict[str, Any]) -> None:
    """Refused at first, answered in a second try after a call that broke off; watched by a canary."""
    lake.ask("retried", question, "refused")
    lake.ask("retried", question, "ok", {"strategy_top3": ["track"]}, epoch="1.2")
    request = {"request_id": f"retried/{question['instance_id']}/clean/1.2", "task": "ssp", "model": "retried"}
    broken = {**request, "generation": 1, "modality": "dialogue", "protocol": "clean", "epoch": "1.2"}
    lake.respond(broken, "api_error", attempts=5, cost_usd=None, segment="s0", sent_at=datetime(2026, 1, 2, tzinfo=UTC))
    lake.ask("retried", question, "ok", {"strategy_top3": ["join"]}, epoch="canary-2026-02-01")


def _repeated(lake: ScoredLake, speaks: dict[str, Any], waits: dict[str, Any]) -> None:
    """Asked once under clean, twice under another protocol, where one of four answers is cut in the reasoning."""
    for question in (speaks, waits):
        lake.ask("repeated", question, "ok", {"should_speak": "no"})
        lake.ask("repeated", question, "ok", {"should_speak": "yes"}, protocol="epochs-2")
    lake.ask("repeated", speaks, "truncated", truncated_in="reasoning", protocol="epochs-2", epoch="2")
    lake.ask("repeated", waits, "ok", {"should_speak": "no"}, protocol="epochs-2", epoch="2")
