"""Parsing stored responses: one row per planned question that has one, and only a whole reply is parsed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import polars as pl
import pytest

from rescue_pipeline.llm import Partition, Workspace, answering
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.rebuilding import rebuild_lake, restore_lost_plans
from rescue_pipeline.schemas import TASKS, Answers, Plan, Responses
from rescue_pipeline.tasks.parsing import ParsedAnswer
from tests.llm.conftest import QUICK
from tests.llm.server import Script, Server, always, completion, failure, in_turn

Serve = Callable[[Script], Server]
MADE = Partition("made", "dialogue")
UNIFORM = Partition("uniform", "dialogue")


def answers(workspace: Workspace, task: str) -> pl.DataFrame:
    return workspace.lake.read(f"answers_{task}", Answers)


def test_each_kind_of_reply_has_one_status(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    yes = '{"should_speak": "yes"}'
    server = serve(
        in_turn(
            completion(yes),
            completion("perhaps later"),
            completion('{"should_speak": "maybe"}'),
            completion(""),
            completion(None, refusal="no"),
            completion("", finish="content_filter"),
            failure(400, "context_length_exceeded"),
            failure(422, "made to fail"),
            completion(yes, finish="length"),
        )
    )
    workspace = asked_at(server, limits={"concurrency": 1})
    ask_partitions(workspace, [MADE], ["itp"], 9, policy=QUICK)
    summary = parse_partition(workspace, MADE, "itp")
    once = ["ok", "unparseable", "out_of_set", "empty", "refused", "filtered", "over_context", "api_error", "truncated"]
    assert summary.by_status == dict.fromkeys(once, 1)
    frame = answers(workspace, "itp")
    assert frame.filter(pl.col("answer").is_not_null())["status"].to_list() == ["ok"]


def test_a_planned_question_without_a_response_has_no_answer_row(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    server = serve(always(failure(401, "wrong key")))
    workspace = asked_at(server, limits={"concurrency": 1})
    ask_partitions(workspace, [MADE], ["itp"], policy=QUICK)
    summary = parse_partition(workspace, MADE, "itp")
    assert summary.by_status == {"api_error": 1, "not_run": summary.planned - 1}
    assert answers(workspace, "itp").height == summary.rows == 1


def test_a_later_final_response_counts_over_an_earlier_error(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(failure(422, "made to fail")))
    workspace = asked_at(server)
    ask_partitions(workspace, [MADE], ["itp"], 2, policy=QUICK)
    assert parse_partition(workspace, MADE, "itp").by_status == {"api_error": 2}
    server.script = always(completion('{"should_speak": "no"}'))
    ask_partitions(workspace, [MADE], ["itp"], 2)
    assert parse_partition(workspace, MADE, "itp").by_status == {"ok": 2}
    assert answers(workspace, "itp").height == 2


def test_two_questions_with_one_request_have_an_answer_each(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    from tests.llm.world import World

    world = World(groups=("ana_and_bo", "ana_and_bo_again"))
    for row in (*world.turns, *world.sessions, *world.instances):
        if "participants" in row:
            row["participants"] = ["Ana", "Bo"]
        for field in ("speaker", "dialogue"):
            if field in row:
                row[field] = "Ana"
        if row.get("candidates") and "Couple" in row["candidates"]:
            row["candidates"] = ["Ana", "Bo", "Couple"]
    server = serve(always(completion('{"should_speak": "yes"}')))
    workspace = asked_at(server, world)
    summary = ask_partitions(workspace, [MADE], ["itp"])[0]
    assert len(server.requests) < summary.planned
    assert parse_partition(workspace, MADE, "itp").by_status == {"ok": summary.planned}


def test_a_parser_change_parses_again_and_asks_nothing(
    serve: Serve, asked_at: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(always(completion('{"should_speak": "yes"}')))
    workspace = asked_at(server)
    ask_partitions(workspace, [MADE], ["itp"])
    parse_partition(workspace, MADE, "itp")
    n = len(server.requests)
    monkeypatch.setattr(answering, "parse_answer", lambda *_: ParsedAnswer("unparseable"))
    monkeypatch.setattr(answering, "PARSER_VERSION", "next")
    parse_partition(workspace, MADE, "itp")
    ask_partitions(workspace, [MADE], ["itp"])
    frame = answers(workspace, "itp")
    assert set(zip(frame["status"], frame["parser_version"], strict=True)) == {("unparseable", "next")}
    assert len(server.requests) == n


def test_answers_of_baselines_are_valid_in_all_tasks(workspace: Workspace) -> None:
    ask_partitions(workspace, [UNIFORM], TASKS)
    for task in TASKS:
        summary = parse_partition(workspace, UNIFORM, task)
        assert summary.by_status == {"ok": len(workspace.corpus.of_task(task))}
        assert all(json.loads(answer) for answer in answers(workspace, task)["answer"])
        assert answers(workspace, task)["flags"].list.len().sum() == 0


def test_a_lost_lake_is_made_again_from_the_journal(workspace: Workspace) -> None:
    ask_partitions(workspace, [UNIFORM], TASKS, 5)
    for task in TASKS:
        parse_partition(workspace, UNIFORM, task)
    tables = {"plan": Plan, **{f"responses_{t}": Responses for t in TASKS}, **{f"answers_{t}": Answers for t in TASKS}}
    before = {name: workspace.lake.read(name, schema) for name, schema in tables.items()}
    for name in tables:
        shutil.rmtree(workspace.lake.folder(name))
    summary = rebuild_lake(workspace)
    assert (summary.plans, summary.rows, summary.answers) == (6, 30, 30)
    for name, schema in tables.items():
        key = [column for column in ("instance_id", "request_id") if column in before[name].columns]
        assert workspace.lake.read(name, schema).sort(key).equals(before[name].sort(key)), name


def test_only_a_lake_that_lacks_plans_is_restored(workspace: Workspace) -> None:
    ask_partitions(workspace, [UNIFORM], ["itp"], 3)
    assert restore_lost_plans(workspace) is None
    shutil.rmtree(workspace.lake.folder("plan"))
    restored = restore_lost_plans(workspace)
    assert restored is not None
    assert (restored.plans, restored.rows) == (1, 3)
    assert restore_lost_plans(workspace) is None
