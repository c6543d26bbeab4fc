"""Every protocol from plan to answer: lists of questions, worked examples, invented names, repeats."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm import Partition, Workspace
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.planning import Renderer, write_plan
from rescue_pipeline.schemas import TASKS, Answers, Plan, Responses
from rescue_pipeline.tasks.spec import load_protocol, protocol_names
from tests.llm.conftest import QUICK
from tests.llm.server import Received, Said, Script, Server, always, completion
from tests.llm.world import COUPLES, FAMILIES, World

Serve = Callable[[Script], Server]
OFFICIAL = Partition("made", "dialogue", "official")
RENAMED = Partition("made", "dialogue", "renamed")
BASELINES = ("uniform", "majority", "heuristic", "lexical")
ITEM = re.compile(r"^=== Question (\S+)$", re.MULTILINE)


def plan_of(workspace: Workspace) -> pl.DataFrame:
    return workspace.lake.read("plan", Plan)


def answers(workspace: Workspace, task: str) -> pl.DataFrame:
    return workspace.lake.read(f"answers_{task}", Answers)


def text_of(request: Received) -> str:
    return "\n".join(message["content"] for message in request.body["messages"])


def list_of(*entries: dict[str, Any]) -> Said:
    return completion(json.dumps({"answers": list(entries)}))


def by_id(request: Received, _number: int) -> Said:
    """What the script-readers can do: the answer stands in the id."""
    return list_of(
        *({"id": key, "should_speak": "yes" if "pos_after" in key else "no"} for key in ITEM.findall(text_of(request)))
    )


@pytest.mark.parametrize("protocol", protocol_names())
def test_the_baselines_answer_every_task_under_every_protocol(workspace: Workspace, protocol: str) -> None:
    parts = [Partition(model, "dialogue", protocol) for model in BASELINES]
    epochs = load_protocol(protocol).epochs
    for summary in ask_partitions(workspace, parts, TASKS):
        assert summary.by_status == {"ok": epochs * len(workspace.corpus.instances)}
    for part in parts:
        for task in TASKS:
            summary_ = parse_partition(workspace, part, task)
            assert summary_.by_status == {"ok": epochs * len(workspace.corpus.of_task(task))}, (part, task)
    for task in TASKS:
        assert answers(workspace, task)["flags"].list.len().sum() == 0


@pytest.mark.parametrize("protocol", ["official", "renamed"])
def test_a_baseline_says_the_same_whatever_form_it_is_asked_in(workspace: Workspace, protocol: str) -> None:
    parts = [Partition("lexical", "dialogue", name) for name in ("clean", protocol)]
    ask_partitions(workspace, parts, TASKS)
    for task in TASKS:
        for part in parts:
            parse_partition(workspace, part, task)
        rows = answers(workspace, task)
        one, other = (dict(rows.filter(protocol=p.protocol).select("instance_id", "answer").rows()) for p in parts)
        assert one == other


# ---- lists


def test_a_list_is_one_request_and_every_question_has_its_answer(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    server = serve(by_id)
    workspace = asked_at(server)
    summary = ask_partitions(workspace, [OFFICIAL], ["itp"])[0]
    n = len(workspace.corpus.of_task("itp"))
    assert (summary.planned, summary.asked, summary.by_status) == (n, n, {"ok": n})
    plan = plan_of(workspace)
    assert plan.height == n
    assert (
        len(server.requests) == plan["request_id"].n_unique() == workspace.lake.read("responses_itp", Responses).height
    )
    sizes = Counter(plan["request_id"].to_list()).values()
    assert max(sizes) <= 4
    assert parse_partition(workspace, OFFICIAL, "itp").by_status == {"ok": n}
    for row in answers(workspace, "itp").to_dicts():
        gold = json.loads(workspace.corpus.instances[row["instance_id"]]["gold"])
        assert json.loads(row["answer"]) == gold, "a program that reads only the id is always right"


def test_a_request_of_one_session_asks_about_no_other(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    workspace = asked_at(serve(by_id), World(sessions_per_group=2))
    for task in TASKS:
        write_plan(workspace, OFFICIAL, [task])
    plan = plan_of(workspace).with_columns(sample=pl.col("instance_id").str.split(":").list.get(1))
    assert (
        plan.group_by("request_id").agg(pl.col("sample").n_unique())["sample"].to_list()
        == [1] * plan["request_id"].n_unique()
    )
    vp = plan.filter(task="vp")
    assert vp["request_id"].n_unique() == vp["sample"].n_unique()


def test_request_ids_do_not_depend_on_the_limit(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(by_id)
    workspace = asked_at(server, World(sessions_per_group=2))
    few = write_plan(workspace, OFFICIAL, ["itp"], 3)
    small = plan_of(workspace)
    assert few.selected == few.planned == small.height > 3
    assert ask_partitions(workspace, [OFFICIAL], ["itp"], 3)[0].asked == small.height
    write_plan(workspace, OFFICIAL, ["itp"])
    whole = plan_of(workspace)
    assert small.join(whole, on=["instance_id", "request_id"], how="anti").is_empty()
    sent = len(server.requests)
    again = ask_partitions(workspace, [OFFICIAL], ["itp"])[0]
    assert again.reused == small.height
    assert len(server.requests) - sent == whole["request_id"].n_unique() - small["request_id"].n_unique()


def test_a_cut_or_refused_reply_is_so_for_all_its_questions(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    def script(request: Received, number: int) -> Said:
        ids = ITEM.findall(text_of(request))
        whole = json.dumps({"answers": [{"id": key, "should_speak": "yes"} for key in ids]})
        return completion(whole, finish="length") if ids[0].startswith("ana") else completion(None, refusal="no")

    workspace = asked_at(serve(script))
    ask_partitions(workspace, [OFFICIAL], ["itp"], policy=QUICK)
    parse_partition(workspace, OFFICIAL, "itp")
    statuses = answers(workspace, "itp").select("instance_id", "status").rows()
    assert all(status == ("truncated" if ":ana_" in key else "refused") for key, status in statuses)


def test_a_question_the_list_leaves_out_fails_alone(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    def script(request: Received, _number: int) -> Said:
        return list_of(*({"id": key, "should_speak": "no"} for key in ITEM.findall(text_of(request))[1:]))

    workspace = asked_at(serve(script))
    summary = ask_partitions(workspace, [OFFICIAL], ["itp"])[0]
    assert summary.by_status == {"ok": summary.planned}
    parsed = parse_partition(workspace, OFFICIAL, "itp")
    requests = plan_of(workspace)["request_id"].n_unique()
    assert parsed.by_status == {"ok": parsed.planned - requests, "unparseable": requests}
    failed = answers(workspace, "itp").filter(status="unparseable")
    assert set(failed["flags"].list.join(",")) == {"missing_in_batch"}


def test_a_list_has_room_for_all_its_answers(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    renderer = Renderer(asked_at(serve(by_id)), OFFICIAL)
    batch = renderer.batches("itp")[0]
    assert len(batch) > 1
    request = renderer.request(*batch)
    assert request.parameters["max_tokens"] == 1024 * len(batch)
    assert request.retry_tokens == 4096 * len(batch)


def test_a_reasoning_model_gets_room_to_think_on_top(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    workspace = asked_at(serve(by_id), reasoning=True)
    renderer = Renderer(workspace, Partition("made", "dialogue"))
    request = renderer.request(workspace.corpus.of_task("er")[0])
    assert (request.parameters["max_tokens"], request.retry_tokens) == (1024 + 8192, 4096 + 2 * 8192)


# ---- worked examples


@pytest.mark.parametrize("task", TASKS)
def test_examples_are_of_other_groups_of_the_same_scenario(workspace: Workspace, task: str) -> None:
    world = World(groups=(*COUPLES, *FAMILIES, "family_therapy/903"))
    renderer = Renderer(world.write(Path(workspace.datadir.root)), Partition("uniform", "dialogue", "few-shot-3"))
    for instance in renderer.workspace.corpus.of_task(task):
        messages = renderer.request(instance).messages
        assert [m["role"] for m in messages] == ["system", *["user", "assistant"] * 3, "user"]
        own = {turn["dialogue"] for turn in world.turns if turn["sample_id"] == instance["sample_id"]}
        own |= {
            turn["dialogue"]
            for turn in world.turns
            if turn["sample_id"].startswith("family") != (instance["scenario"] == "family")
        }
        shown = "\n".join(message["content"] for message in messages[1:-1])
        assert not any(f"Words: {words}\n" in shown for words in own)


def test_a_corpus_with_too_few_groups_for_examples_says_so(tmp_path: Path) -> None:
    workspace = World(groups=(*COUPLES, FAMILIES[0])).write(tmp_path)
    with pytest.raises(UsageError, match="scenario family"):
        write_plan(workspace, Partition("uniform", "dialogue", "few-shot-3"), ["er"])


# ---- invented names


def test_no_participants_name_is_sent_and_answers_come_back_with_them(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    world = World()
    for turn in world.turns:
        people = next(s["participants"] for s in world.sessions if s["sample_id"] == turn["sample_id"])
        turn["dialogue"] = f"{people[0]}'s turn, {people[1].upper()}; {people[0].lower()} {turn['dialogue']}"

    def script(request: Received, _number: int) -> Said:
        people = re.findall(r"Participants: (\w+), (\w+)", text_of(request))[-1]
        view = {"source": people[0], "target": people[1], "viewpoint": f"{people[1]}'s late, says {people[0]}"}
        return completion(json.dumps({"reason": f"{people[0]} sighs", "viewpoints": [view]}))

    server = serve(script)
    workspace = asked_at(server, world)
    ask_partitions(workspace, [RENAMED], ["vp"])
    names = {name for session in world.sessions for name in session["participants"]}
    said = "\n".join(text_of(request) for request in server.requests)
    assert not any(re.search(rf"(?i)\b{name}\b", said) for name in names)
    assert parse_partition(workspace, RENAMED, "vp").by_status == {"ok": len(workspace.corpus.of_task("vp"))}
    for row in answers(workspace, "vp").to_dicts():
        first, second = workspace.corpus.session_of(workspace.corpus.instances[row["instance_id"]])["participants"][:2]
        view = {"source": first, "target": second, "viewpoint": f"{second}'s late, says {first}"}
        assert json.loads(row["answer"]) == {"viewpoints": [view]}
        assert row["reason"] == f"{first} sighs"


def test_a_name_that_was_not_in_the_question_is_no_answer(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    """A model that knows the session by heart and names its people is not taken at its word."""
    workspace = asked_at(serve(always(completion('{"target_top3": ["Ana"]}'))), World(groups=COUPLES[:1]))
    ask_partitions(workspace, [RENAMED, Partition("made", "dialogue")], ["stp"])
    n = len(workspace.corpus.of_task("stp"))
    assert parse_partition(workspace, RENAMED, "stp").by_status == {"out_of_set": n}
    assert parse_partition(workspace, Partition("made", "dialogue"), "stp").by_status == {"ok": n}


def test_a_family_bears_the_same_names_in_all_its_sessions(tmp_path: Path) -> None:
    corpus = World(sessions_per_group=2).write(tmp_path).corpus
    made = corpus.renaming_of(FAMILIES[0])
    assert set(made.invented) == {"Mia", "Noa", "Pau"}
    taken = {name for session in corpus.sessions.values() for name in session["participants"]}
    assert not taken & set(made.invented.values())
    assert corpus.renaming_of(FAMILIES[0]) is made


# ---- repeats


def test_repeats_are_asked_apart_and_the_first_is_the_question_of_clean(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    server = serve(always(completion('{"should_speak": "yes"}')))
    workspace = asked_at(server)
    three = Partition("made", "dialogue", "epochs-3")
    ask_partitions(workspace, [Partition("made", "dialogue")], ["itp"])
    n = len(server.requests)
    summary = ask_partitions(workspace, [three], ["itp"])[0]
    assert (summary.planned, summary.asked, summary.reused) == (3 * n, 2 * n, n)
    assert len(server.requests) == 3 * n
    assert sorted(set(plan_of(workspace).filter(protocol="epochs-3")["epoch"])) == ["1", "2", "3"]
    assert parse_partition(workspace, three, "itp").by_status == {"ok": 3 * n}
