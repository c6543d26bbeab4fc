"""The leak audit stands before the plan: what leaks is neither planned nor asked."""

from __future__ import annotations

import pytest

from rescue_pipeline.lake import Lake
from rescue_pipeline.llm import rendering
from rescue_pipeline.schemas import Audit, Plan
from tests.defs.pipeline import Pipeline
from tests.defs.test_gates import failed_checks, materialized


def test_questions_that_leak_are_neither_planned_nor_asked(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = rendering.build_messages

    def leaky(spec, protocol, instance, *more, **named):  # type: ignore[no-untyped-def]
        messages = honest(spec, protocol, instance, *more, **named)
        return [*messages[:-1], {**messages[-1], "content": f"{messages[-1]['content']}\n{instance['instance_id']}"}]

    monkeypatch.setattr(rendering, "build_messages", leaky)
    # the outcome of honest questions is kept; these are others, which a change of their files would tell
    monkeypatch.setattr("rescue_pipeline.audit.auditing.question_version", lambda *_: "leaky")
    before = Lake(pipeline.directory.lake).read("plan", Plan).filter(model="majority").height
    result = pipeline.answer("majority")
    assert not result.success
    assert failed_checks(result) == {"lake/plan:leak_audit"}
    assert "lake/responses_itp" not in {key for key, _ in materialized(result)}
    assert Lake(pipeline.directory.lake).read("plan", Plan).filter(model="majority").height == before


def test_an_audit_is_kept_in_the_lake_for_the_next_model(pipeline: Pipeline) -> None:
    assert pipeline.answer("majority").success
    kept = Lake(pipeline.directory.lake).read("audit", Audit)
    assert kept.filter(~kept["passed"] & kept["blocking"]).is_empty()
    assert set(kept["protocol"]) == {"clean"}
