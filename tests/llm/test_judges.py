"""Judging: one request per distinct answer, grades or judge_failed, never anything between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm import Partition, Workspace
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.judges import judge_partitions
from rescue_pipeline.schemas import Judgements, Responses
from tests.llm.conftest import QUICK
from tests.llm.server import Script, Server, always, completion, failure, in_turn

Serve = Callable[[Script], Server]
UNIFORM, MAJORITY = Partition("uniform", "dialogue"), Partition("majority", "dialogue")
GRADED = completion('{"reason": "near", "similarity": 4, "pairing": 2, "content": 3}')


def answered(workspace: Workspace, *partitions: Partition) -> Workspace:
    ask_partitions(workspace, partitions, ["er", "vp", "itp"])
    for partition in partitions:
        for task in ("er", "vp", "itp"):
            parse_partition(workspace, partition, task)
    return workspace


def judgements(workspace: Workspace, task: str) -> pl.DataFrame:
    return workspace.lake.read(f"judgements_{task}", Judgements)


def test_every_ok_answer_of_er_and_vp_is_judged_and_nothing_else(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    server = serve(always(GRADED))
    workspace = answered(asked_at(server, judge=True), UNIFORM)
    summary = judge_partitions(workspace, [UNIFORM], ["er", "vp", "itp"], ["made"])[0]
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
    judge_partitions(workspace, [UNIFORM], ["er"], ["made"])
    n, before = len(server.requests), judgements(workspace, "er")
    assert judge_partitions(workspace, [UNIFORM], ["er"], ["made"])[0].reused == before.height
    assert len(server.requests) == n
    assert judgements(workspace, "er").equals(before)


def test_the_same_answer_of_two_models_is_judged_once(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(GRADED))
    heuristic = Partition("heuristic", "dialogue")
    workspace = answered(asked_at(server, judge=True), MAJORITY, heuristic)
    one, other = judge_partitions(workspace, [MAJORITY, heuristic], ["er"], ["made"])
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
    summary = judge_partitions(workspace, [UNIFORM], ["er"], ["made"])[0]
    assert summary.by_status == {"judge_failed": summary.planned}
    assert judgements(workspace, "er")["similarity"].null_count() == summary.planned


def test_a_judge_that_cannot_be_reached_leaves_not_run_and_is_asked_again(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    server = serve(in_turn(GRADED, GRADED, failure(401, "wrong key")))
    workspace = answered(asked_at(server, judge=True, limits={"concurrency": 1}), UNIFORM)
    first = judge_partitions(workspace, [UNIFORM], ["er"], ["made"], policy=QUICK)[0]
    assert first.by_status == {"not_run": first.planned - 2, "ok": 2}
    assert first.stopped_reason is not None
    server.script = always(GRADED)
    second = judge_partitions(workspace, [UNIFORM], ["er"], ["made"])[0]
    assert (second.asked, second.by_status) == (first.planned - 2, {"ok": first.planned})


def test_without_a_named_judge_the_lexical_one_grades_and_is_marked_as_such(workspace: Workspace) -> None:
    answered(workspace, UNIFORM)
    summary = judge_partitions(workspace, [UNIFORM], ["er", "vp"])[0]
    assert summary.asked_of == "lexical-judge"
    for task in ("er", "vp"):
        frame = judgements(workspace, task)
        assert set(frame["judge_kind"]) == {"lexical"}
        assert frame["similarity"].is_between(1, 5).all()


def test_two_judges_stand_side_by_side(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    workspace = answered(asked_at(serve(always(GRADED)), judge=True), UNIFORM)
    for judge in ("made", "lexical-judge"):
        judge_partitions(workspace, [UNIFORM], ["er"], [judge])
    assert set(judgements(workspace, "er")["judge"]) == {"made", "lexical-judge"}


def test_a_judges_responses_say_who_was_asked(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    workspace = answered(asked_at(serve(always(GRADED)), judge=True), UNIFORM)
    judge_partitions(workspace, [UNIFORM], ["er"], ["made"])
    rows = workspace.lake.read("judge_responses_er", Responses)
    assert set(rows["model"]) == {"made"}
    assert set(judgements(workspace, "er")["request_id"]) == set(rows["request_id"])


@pytest.mark.parametrize("judge", ["uniform", "nobody"])
def test_a_model_that_is_no_judge_is_a_usage_error(workspace: Workspace, judge: str) -> None:
    with pytest.raises(UsageError):
        judge_partitions(workspace, [UNIFORM], ["er"], [judge])


def test_a_paid_judge_needs_permission(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(GRADED))
    workspace = answered(asked_at(server, judge=True, local=False), UNIFORM)
    with pytest.raises(UsageError, match="cost money"):
        judge_partitions(workspace, [UNIFORM], ["er"], ["made"])
    assert not server.requests


def test_nothing_to_judge_is_no_error(workspace: Workspace) -> None:
    summary: Any = judge_partitions(workspace, [UNIFORM], ["er"])[0]
    assert (summary.planned, summary.by_status) == (0, {})
