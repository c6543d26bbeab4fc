"""Judging: one request per distinct answer, grades or judge_failed, never anything between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm import Partition, Workspace
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.controls import NO_CONTROLS
from rescue_pipeline.llm.judges import judge_partitions
from rescue_pipeline.llm.judging import same_vendor
from rescue_pipeline.llm.registry import ModelEntry, load_registry
from rescue_pipeline.llm.summaries import JudgeSummary
from rescue_pipeline.schemas import Judgements, Responses
from tests.llm.conftest import QUICK, entry
from tests.llm.server import Script, Server, always, completion, failure, in_turn
from tests.llm.world import World, with_models

Serve = Callable[[Script], Server]
UNIFORM, MAJORITY = Partition("uniform", "dialogue"), Partition("majority", "dialogue")
GRADED = completion('{"reason": "near", "similarity": 4, "pairing": 2, "content": 3}')


def answered(workspace: Workspace, *partitions: Partition) -> Workspace:
    ask_partitions(workspace, partitions, ["er", "vp", "itp"])
    for partition in partitions:
        for task in ("er", "vp", "itp"):
            parse_partition(workspace, partition, task)
    return workspace


def judged(workspace: Workspace, *arguments: Any, **options: Any) -> list[JudgeSummary]:
    """The partitions' summaries of a run that judges nothing but answers."""
    return judge_partitions(workspace, *arguments, sampling=NO_CONTROLS, **options).partitions


def judgements(workspace: Workspace, task: str) -> pl.DataFrame:
    return workspace.lake.read(f"judgements_{task}", Judgements)


def test_every_ok_answer_of_er_and_vp_is_judged_and_nothing_else(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    server = serve(always(GRADED))
    workspace = answered(asked_at(server, judge=True), UNIFORM)
    summary = judged(workspace, [UNIFORM], ["er", "vp", "itp"], ["made"])[0]
    n = len(workspace.corpus.of_task("er")) + len(workspace.corpus.of_task("vp"))
    assert (summary.planned, summary.asked, summary.by_status) == (n, n, {"ok": n})
    assert summary.asked_of == "made"
    vp, er = judgements(workspace, "vp"), judgements(workspace, "er")
    assert set(vp.select("similarity", "pairing", "content", "judge_kind", "model").iter_rows()) == {
        (4, 2, 3, "llm", "uniform")
    }
    assert set(er.select("similarity", "pairing", "content").iter_rows()) == {(4, None, None)}


def test_judging_again_sends_nothing(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(GRADED))
    workspace = answered(asked_at(server, judge=True), UNIFORM)
    judged(workspace, [UNIFORM], ["er"], ["made"])
    n, before = len(server.requests), judgements(workspace, "er")
    assert judged(workspace, [UNIFORM], ["er"], ["made"])[0].reused == before.height
    assert len(server.requests) == n
    assert judgements(workspace, "er").equals(before)


def test_the_same_answer_of_two_models_is_judged_once(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(GRADED))
    heuristic = Partition("heuristic", "dialogue")
    workspace = answered(asked_at(server, judge=True), MAJORITY, heuristic)
    one, other = judged(workspace, [MAJORITY, heuristic], ["er"], ["made"])
    assert len(server.requests) == one.asked
    assert other.asked == 0
    assert other.by_status == {"ok": other.planned} == one.by_status
    assert judgements(workspace, "er").height == 2 * one.planned


@pytest.mark.parametrize(
    "content",
    [
        "a good answer, 4 of 5",
        '{"similarity": 6}',
        '{"similarity": 4.5}',
        '{"similarity": "8/10"}',
        '{"similarity": null}',
        "",
    ],
)
def test_a_verdict_that_is_no_grade_is_a_failed_judge_never_a_score(
    serve: Serve, asked_at: Callable[..., Workspace], content: str
) -> None:
    workspace = answered(asked_at(serve(always(completion(content))), judge=True), UNIFORM)
    summary = judged(workspace, [UNIFORM], ["er"], ["made"])[0]
    assert summary.by_status == {"judge_failed": summary.planned}
    assert judgements(workspace, "er")["similarity"].null_count() == summary.planned


def test_a_judge_that_cannot_be_reached_leaves_not_run_and_is_asked_again(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    server = serve(in_turn(GRADED, GRADED, failure(401, "wrong key")))
    workspace = answered(asked_at(server, judge=True, limits={"concurrency": 1}), UNIFORM)
    first = judged(workspace, [UNIFORM], ["er"], ["made"], policy=QUICK)[0]
    assert first.by_status == {"not_run": first.planned - 2, "ok": 2}
    assert first.stopped_reason is not None
    server.script = always(GRADED)
    second = judged(workspace, [UNIFORM], ["er"], ["made"])[0]
    assert (second.asked, second.by_status) == (first.planned - 2, {"ok": first.planned})


def test_without_a_named_judge_the_lexical_one_grades_and_is_marked_as_such(workspace: Workspace) -> None:
    answered(workspace, UNIFORM)
    summary = judged(workspace, [UNIFORM], ["er", "vp"])[0]
    assert summary.asked_of == "lexical-judge"
    for task in ("er", "vp"):
        frame = judgements(workspace, task)
        assert set(frame["judge_kind"]) == {"lexical"}
        assert frame["similarity"].is_between(1, 5).all()


def test_several_judges_are_asked_in_one_run_each_with_its_own_summaries(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    server = serve(always(GRADED))
    workspace = answered(asked_at(server, judge=True), UNIFORM, MAJORITY)
    summaries = judged(workspace, [UNIFORM, MAJORITY], ["er"], ["made", "lexical-judge", "made"])
    assert [(summary.asked_of, summary.partition.model) for summary in summaries] == [
        ("made", "uniform"),
        ("made", "majority"),
        ("lexical-judge", "uniform"),
        ("lexical-judge", "majority"),
    ]
    assert all(summary.by_status == {"ok": summary.planned} for summary in summaries)
    assert judgements(workspace, "er").group_by("judge").len().rows_by_key("judge").keys() == {"made", "lexical-judge"}
    n = len(server.requests)
    judged(workspace, [UNIFORM, MAJORITY], ["er"], ["lexical-judge", "made"])
    assert len(server.requests) == n


def test_two_judges_behind_one_endpoint_are_both_asked(serve: Serve, tmp_path: Path) -> None:
    server = serve(always(GRADED))
    entries = [entry(server, judge=True), {**entry(server, judge=True), "id": "twin"}]
    workspace = answered(World().write(tmp_path, with_models(*entries)), UNIFORM)
    one, other = judged(workspace, [UNIFORM], ["er"], ["made", "twin"])
    assert one.by_status == other.by_status == {"ok": one.planned}


def test_a_judge_that_breaks_down_leaves_the_other_judges_grades(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    workspace = answered(asked_at(serve(always(failure(401, "wrong key"))), judge=True), UNIFORM)
    broken, lexical = judged(workspace, [UNIFORM], ["er"], ["made", "lexical-judge"], policy=QUICK)
    assert broken.by_status == {"not_run": broken.planned}
    assert lexical.by_status == {"ok": lexical.planned}


@pytest.mark.parametrize(
    ("model", "judge", "same"),
    [
        ("OpenAI", " openai", True),
        ("OpenAI", "Moonshot AI", False),
        (None, "OpenAI", False),
        ("OpenAI", None, False),
        (None, None, False),
        ("", "", False),
    ],
)
def test_a_judge_of_the_judged_models_vendor_is_marked_where_both_vendors_are_known(
    model: str | None, judge: str | None, same: bool
) -> None:
    entries = [ModelEntry(id=name, litellm="openai/x", vendor=vendor) for name, vendor in (("m", model), ("j", judge))]
    assert same_vendor(*entries) is same


def test_the_vendor_baseline_is_no_vendor_and_an_imported_model_has_none() -> None:
    lexical = load_registry().models["lexical-judge"]
    assert not same_vendor(load_registry().models["uniform"], lexical)
    assert not same_vendor(None, lexical)


def test_judgements_name_the_vendor_and_the_judges_place_in_the_registry(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    server = serve(always(completion('{"emotion": "calm", "intensity": 4}')))
    made = Partition("made", "dialogue")
    workspace = asked_at(server, judge=True, vendor="Acme")
    ask_partitions(workspace, [made], ["er"])
    parse_partition(workspace, made, "er")
    server.script = always(GRADED)
    judged(workspace, [made], ["er"], ["made", "lexical-judge"])
    found = set(judgements(workspace, "er").select("judge", "same_vendor", "judge_rank").iter_rows())
    places = {model: place for place, model in enumerate(workspace.registry.models, start=1)}
    assert found == {("made", True, places["made"]), ("lexical-judge", False, places["lexical-judge"])}


def test_a_request_to_a_judge_holds_one_answer_so_no_order_can_matter(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    server = serve(always(GRADED))
    workspace = answered(asked_at(server, judge=True), UNIFORM, MAJORITY)
    judge_partitions(workspace, [UNIFORM, MAJORITY], ["er", "vp"], ["made"])
    users = [received.body["messages"][-1]["content"] for received in server.requests]
    assert users
    assert all(user.count("\n<answer-") == 1 for user in users)


def test_a_judges_responses_say_who_was_asked(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    workspace = answered(asked_at(serve(always(GRADED)), judge=True), UNIFORM)
    judged(workspace, [UNIFORM], ["er"], ["made"])
    rows = workspace.lake.read("judge_responses_er", Responses)
    assert set(rows["model"]) == {"made"}
    assert set(judgements(workspace, "er")["request_id"]) == set(rows["request_id"])


@pytest.mark.parametrize("judge", ["uniform", "nobody"])
def test_a_model_that_is_no_judge_is_a_usage_error(workspace: Workspace, judge: str) -> None:
    with pytest.raises(UsageError):
        judged(workspace, [UNIFORM], ["er"], [judge])


def test_a_paid_judge_needs_permission(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(GRADED))
    price = {"input": 1, "output": 1}
    workspace = answered(asked_at(server, judge=True, local=False, price=price), UNIFORM)
    with pytest.raises(UsageError, match="cost money"):
        judged(workspace, [UNIFORM], ["er"], ["made"])
    assert not server.requests


def test_nothing_to_judge_is_no_error(workspace: Workspace) -> None:
    summary: Any = judged(workspace, [UNIFORM], ["er"])[0]
    assert (summary.planned, summary.by_status) == (0, {})
