"""Parsing stored responses: one row per planned question that has one, and only a whole reply is parsed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from rescue_pipeline.llm import Partition, Workspace, answering
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.judges import judge_partitions
from rescue_pipeline.llm.rebuilding import rebuild_lake, restore_lost_plans
from rescue_pipeline.llm.tokens import count_tokens
from rescue_pipeline.schemas import (
    JUDGED_TASKS,
    TASKS,
    Answers,
    Instances,
    JudgeControls,
    Judgements,
    Plan,
    Responses,
    Sessions,
    Turns,
)
from rescue_pipeline.tasks.parsing import ParsedAnswer
from tests.llm.conftest import QUICK
from tests.llm.server import Received, Said, Script, Server, always, completion, failure, in_turn
from tests.llm.world import World

Serve = Callable[[Script], Server]
MADE = Partition("made", "dialogue")
OF_ER: dict[str, Any] = {"answers_er": Answers, "judgements_er": Judgements}
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


def reporting(*shares: float) -> Script:
    """Answers whose provider counted these shares of a prompt, one after the other; the last one for all the rest."""

    def script(request: Received, number: int) -> Said:
        share = shares[min(number, len(shares) - 1)]
        return completion('{"should_speak": "yes"}', usage=(round(share * count_tokens(request.body["messages"])), 7))

    return script


def test_a_prompt_the_provider_cut_is_over_context_whatever_was_answered(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    workspace = asked_at(serve(reporting(0.5, 0.55, 0.65)), limits={"concurrency": 1})
    ask_partitions(workspace, [MADE], ["itp"], 5)
    assert parse_partition(workspace, MADE, "itp").by_status == {"over_context": 2, "ok": 3}
    cut = answers(workspace, "itp").filter(status="over_context")
    assert set(cut["flags"].list.join(",")) == {"prompt_cut"}
    assert cut["answer"].null_count() == 2


def test_a_model_that_counts_otherwise_is_measured_against_itself(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    world = World(sessions_per_group=2)
    workspace = asked_at(serve(reporting(1.0, 1.04, 1.3)), world, limits={"concurrency": 1})
    ask_partitions(workspace, [MADE], ["itp"], 19)
    assert parse_partition(workspace, MADE, "itp").by_status == {"ok": 19}, "too few to know what is usual"
    ask_partitions(workspace, [MADE], ["itp"], 25)
    assert parse_partition(workspace, MADE, "itp").by_status == {"over_context": 2, "ok": 23}
    again = answers(workspace, "itp")
    parse_partition(workspace, MADE, "itp")
    assert answers(workspace, "itp").equals(again)


def test_a_count_that_is_missing_says_nothing(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    workspace = asked_at(serve(always(completion('{"should_speak": "yes"}', usage=None))))
    ask_partitions(workspace, [MADE], ["itp"], 3)
    assert parse_partition(workspace, MADE, "itp").by_status == {"ok": 3}


def test_a_lost_lake_is_made_again_from_the_journal(workspace: Workspace) -> None:
    audio = Partition("uniform", "audio")  # its answers are those of `dialogue`, so its judgements are answered there
    ask_partitions(workspace, [UNIFORM, audio], TASKS, 5)
    for task in TASKS:
        for part in (UNIFORM, audio):
            parse_partition(workspace, part, task)
    judge_partitions(workspace, [UNIFORM, audio], TASKS, ["lexical-judge"])
    tables: dict[str, Any] = {"plan": Plan}
    tables |= {f"responses_{t}": Responses for t in TASKS} | {f"answers_{t}": Answers for t in TASKS}
    tables |= {f"judgements_{t}": Judgements for t in JUDGED_TASKS}
    tables |= {f"judge_controls_{t}": JudgeControls for t in JUDGED_TASKS}
    before = {name: workspace.lake.read(name, schema) for name, schema in tables.items()}
    for name in tables:
        shutil.rmtree(workspace.lake.folder(name))
    summary = rebuild_lake(workspace)
    assert (summary.plans, summary.answers, summary.judgements) == (12, 60, 20)
    for name, schema in tables.items():
        assert not before[name].is_empty(), name
        key = [column for column in before[name].columns if column not in ("flags", "segment")]
        assert workspace.lake.read(name, schema).sort(key).equals(before[name].sort(key)), name


def test_a_rebuilt_lake_holds_no_judgement_that_was_never_asked_for(workspace: Workspace) -> None:
    other = Partition("majority", "dialogue")
    ask_partitions(workspace, [UNIFORM, other], ["er"], 5)
    for part in (UNIFORM, other):
        parse_partition(workspace, part, "er")
    judge_partitions(workspace, [UNIFORM], ["er"], ["lexical-judge"])
    shutil.rmtree(workspace.lake.folder("judgements_er"))
    rebuild_lake(workspace)
    assert set(workspace.lake.read("judgements_er", Judgements)["model"]) == {"uniform"}


def test_only_a_lake_that_lacks_plans_is_restored(workspace: Workspace) -> None:
    ask_partitions(workspace, [UNIFORM], ["itp"], 3)
    assert restore_lost_plans(workspace) is None
    shutil.rmtree(workspace.lake.folder("plan"))
    restored = restore_lost_plans(workspace)
    assert restored is not None
    assert (restored.plans, restored.rows) == (1, 3)
    assert restore_lost_plans(workspace) is None


def test_a_rebuilt_lake_holds_the_answers_about_older_corpus_versions_too(workspace: Workspace) -> None:
    ask_partitions(workspace, [UNIFORM], ["er"], 4)
    parse_partition(workspace, UNIFORM, "er")
    judge_partitions(workspace, [UNIFORM], ["er"], ["lexical-judge"])
    before = {name: workspace.lake.read(name, schema) for name, schema in OF_ER.items()}
    newer = replace(workspace, corpus_version="fedcba9876543210")
    for name, schema in (("sessions", Sessions), ("turns", Turns), ("instances", Instances)):
        rows = workspace.lake.read(name, schema).with_columns(corpus_version=pl.lit(newer.corpus_version))
        workspace.lake.write(name, rows, name=newer.corpus_version)
    for name in ("plan", "responses_er", *OF_ER):
        shutil.rmtree(workspace.lake.folder(name))
    rebuild_lake(newer)
    for name, schema in OF_ER.items():
        assert workspace.lake.read(name, schema).sort("request_id").equals(before[name].sort("request_id")), name
