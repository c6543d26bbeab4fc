"""What follows by itself, and what waits to be asked."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest

from rescue_pipeline.defs import predict
from rescue_pipeline.defs.automation import ANSWER, PUBLISH
from tests.defs.pipeline import Pipeline, succeeded


def published() -> set[dg.AssetKey]:
    from rescue_pipeline.definitions import defs

    return set(PUBLISH.resolve(defs.resolve_asset_graph()))


def fed_by_answers() -> set[dg.AssetKey]:
    from rescue_pipeline.definitions import defs

    # what a check of the plan finds has no step of its own
    audited = {dg.AssetKey(["results", table]) for table in ("audit", "audit_findings")}
    return audited | set((ANSWER.downstream() & PUBLISH).resolve(defs.resolve_asset_graph()))


def due(pipeline: Pipeline, before: Any = None) -> Any:
    """What the automation sensor would start now; before: what it said last."""
    from rescue_pipeline.definitions import defs

    cursor = before.cursor if before else None
    return dg.evaluate_automation_conditions(defs, pipeline.instance, cursor=cursor)


def keys(result: Any) -> set[dg.AssetKey]:
    return {key for key in published() if result.get_num_requested(key)}


def test_publishing_follows_an_answer_run_once_and_nothing_else_does(pipeline: Pipeline) -> None:
    idle = due(pipeline)
    assert idle.total_requested == 0
    succeeded(pipeline.answer("majority"))
    after = due(pipeline, idle)
    assert keys(after) == fed_by_answers()
    assert after.total_requested == len(fed_by_answers())  # so nothing that asks or judges
    assert due(pipeline, after).total_requested == 0


def test_publishing_waits_until_the_answer_run_has_ended(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    idle, ask, seen = due(pipeline), predict.ask_partitions, []

    def ask_and_look(*args: Any, **kwargs: Any) -> Any:
        seen.append(due(pipeline, idle))
        return ask(*args, **kwargs)

    monkeypatch.setattr(predict, "ask_partitions", ask_and_look)
    succeeded(pipeline.answer("majority"))
    [during] = seen
    assert during.total_requested == 0
    assert keys(due(pipeline, during)) == fed_by_answers()


def test_all_is_published_once_a_corpus_is_prepared(pipeline: Pipeline) -> None:
    idle = due(pipeline)
    exported = ["sessions", "turns", "instances", "unlabelled_rows", "annotations", "corpus"]
    succeeded(pipeline.run("prepare", selection=[f"lake/{table}" for table in exported]))
    after = due(pipeline, idle)
    assert keys(after) == published()
    assert after.total_requested == len(published())


def test_one_parsed_task_is_enough_to_publish(pipeline: Pipeline) -> None:
    idle = due(pipeline)
    succeeded(pipeline.run("answer", "dialogue|uniform", ["lake/answers_rpp"]))
    assert dg.AssetKey(["report", "pages"]) in keys(due(pipeline, idle))
