"""`--retry STATUS`: a new try is a whole plan in which only the questions with that status are asked anew."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm import Partition, Workspace, rendering
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.judges import judge_partitions
from rescue_pipeline.llm.planning import write_plan
from rescue_pipeline.llm.rebuilding import rebuild_lake
from rescue_pipeline.llm.tries import RETRYABLE, newest_try, next_try
from rescue_pipeline.schemas import Answers, Judgements, Plan
from tests.llm.conftest import QUICK
from tests.llm.server import Received, Said, Script, Server, always, completion, failure
from tests.llm.test_protocols import ITEM, list_of, text_of

Serve = Callable[[Script], Server]
MADE = Partition("made", "dialogue")
YES, EMPTY = completion('{"should_speak": "yes"}'), completion("")


def plan_of(workspace: Workspace, epoch: str) -> pl.DataFrame:
    return workspace.lake.read("plan", Plan).filter(epoch=epoch).sort("instance_id")


def statuses(workspace: Workspace, epoch: str) -> dict[str, int]:
    return dict(Counter(workspace.lake.read("answers_itp", Answers).filter(epoch=epoch)["status"].to_list()))


def run(workspace: Workspace, limit: int | None = None, part: Partition = MADE) -> None:
    ask_partitions(workspace, [part], ["itp"], limit, policy=QUICK)
    parse_partition(workspace, part, "itp")


@pytest.fixture
def server(serve: Serve) -> Server:
    """Answers the first three questions with nothing."""
    return serve(lambda _request, number: EMPTY if number < 3 else YES)


@pytest.fixture
def workspace(server: Server, asked_at: Callable[..., Workspace]) -> Workspace:
    """All questions of itp asked once: three empty answers."""
    made = asked_at(server, limits={"concurrency": 1})
    run(made)
    return made


def test_only_the_questions_with_the_status_are_asked_again(workspace: Workspace, server: Server) -> None:
    sent = len(server.requests)
    write_plan(workspace, MADE, ["itp"], retry=["empty"])
    first, second = plan_of(workspace, "1"), plan_of(workspace, "1.2")
    assert first["instance_id"].to_list() == second["instance_id"].to_list()
    same = first["request_id"] == second["request_id"]
    assert (~same).sum() == 3
    assert second.filter(~same)["asked_in"].unique().to_list() == ["1.2"]
    assert second.filter(same)["asked_in"].unique().to_list() == ["1"]
    run(workspace)
    assert len(server.requests) - sent == 3
    assert statuses(workspace, "1") == {"empty": 3, "ok": second.height - 3}
    assert statuses(workspace, "1.2") == {"ok": second.height}


def test_nothing_with_the_status_opens_no_try(workspace: Workspace) -> None:
    write_plan(workspace, MADE, ["itp"], retry=["refused", "filtered"])
    write_plan(workspace, MADE, ["itp"])
    assert set(workspace.lake.read("plan", Plan)["epoch"]) == {"1"}


def test_a_retry_that_was_interrupted_opens_no_further_try(workspace: Workspace, server: Server) -> None:
    sent = len(server.requests)
    write_plan(workspace, MADE, ["itp"], retry=["empty"])
    opened = plan_of(workspace, "1.2")
    for parsed in (False, True):  # killed before asking; then killed before parsing
        write_plan(workspace, MADE, ["itp"], retry=["empty"])
        assert plan_of(workspace, "1.2").equals(opened)
        assert plan_of(workspace, "1.3").is_empty()
        if not parsed:
            ask_partitions(workspace, [MADE], ["itp"])
    assert len(server.requests) - sent == 3
    parse_partition(workspace, MADE, "itp")
    assert statuses(workspace, "1.2") == {"ok": opened.height}


def test_a_retry_that_fails_again_can_be_retried_again(workspace: Workspace, server: Server) -> None:
    server.script = always(EMPTY)
    write_plan(workspace, MADE, ["itp"], retry=["empty"])
    run(workspace)
    server.script = always(YES)
    write_plan(workspace, MADE, ["itp"], retry=["empty"])
    third = plan_of(workspace, "1.3")
    assert sorted(Counter(third["asked_in"].to_list()).items()) == [("1", third.height - 3), ("1.3", 3)]
    run(workspace)
    assert statuses(workspace, "1.3") == {"ok": third.height}
    assert len(server.requests) == third.height + 6


def test_a_later_run_works_on_the_newest_try(workspace: Workspace, server: Server) -> None:
    write_plan(workspace, MADE, ["itp"], retry=["empty"])
    run(workspace)
    sent = len(server.requests)
    again = ask_partitions(workspace, [MADE], ["itp"])[0]
    assert (again.asked, again.by_status, len(server.requests)) == (0, {"ok": again.planned}, sent)


def test_a_try_asks_anew_only_what_lies_within_the_limit(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(EMPTY))
    workspace = asked_at(server)
    run(workspace)
    sent = len(server.requests)
    assert write_plan(workspace, MADE, ["itp"], 2, retry=["empty"]).selected == 2
    opened = plan_of(workspace, "1.2")
    assert opened.height == plan_of(workspace, "1").height
    assert opened.filter(asked_in="1.2").height == 2
    ask_partitions(workspace, [MADE], ["itp"])
    assert len(server.requests) - sent == 2


def test_a_changed_prompt_keeps_who_was_asked_anew(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plan(workspace, MADE, ["itp"], retry=["empty"])
    before = plan_of(workspace, "1.2")
    original: Any = rendering.build_messages
    monkeypatch.setattr(
        rendering, "build_messages", lambda *a, **k: [*original(*a, **k), {"role": "user", "content": "now"}]
    )
    workspace.corpus._prompts.clear()
    write_plan(workspace, MADE, ["itp"])
    after = plan_of(workspace, "1.2")
    assert after["asked_in"].to_list() == before["asked_in"].to_list()
    assert not set(after["request_id"]) & set(before["request_id"])
    kept, anew = (set(after.filter(asked_in=epoch)["request_id"]) for epoch in ("1", "1.2"))
    assert not kept & anew
    write_plan(workspace, MADE, ["itp"])
    assert plan_of(workspace, "1.2").equals(after)


def test_every_repeat_has_its_own_tries(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(lambda _request, number: EMPTY if number == 0 else YES)
    workspace, three = asked_at(server, limits={"concurrency": 1}), Partition("made", "dialogue", "epochs-3")
    run(workspace, part=three)
    write_plan(workspace, three, ["itp"], retry=["empty"])
    assert sorted(set(workspace.lake.read("plan", Plan)["epoch"])) == ["1", "1.2", "2", "3"]
    run(workspace, part=three)
    assert {epoch: statuses(workspace, epoch).get("empty", 0) for epoch in ("1", "1.2", "2", "3")} == {
        "1": 1, "1.2": 0, "2": 0, "3": 0,
    }  # fmt: skip


def test_a_list_is_asked_again_as_a_whole(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    def script(request: Received, number: int) -> Said:
        ids = ITEM.findall(text_of(request))
        return list_of(*({"id": key, "should_speak": "yes"} for key in (ids[1:] if number == 0 else ids)))

    server = serve(script)
    workspace, part = asked_at(server, limits={"concurrency": 1}), Partition("made", "dialogue", "official")
    run(workspace, part=part)
    assert statuses(workspace, "1")["unparseable"] == 1
    sent = len(server.requests)
    write_plan(workspace, part, ["itp"], retry=["unparseable"])
    again = plan_of(workspace, "1.2").filter(asked_in="1.2")
    assert again.height > 1
    assert again["request_id"].n_unique() == 1
    run(workspace, part=part)
    assert len(server.requests) - sent == 1
    assert set(statuses(workspace, "1.2")) == {"ok"}


def test_tries_survive_the_loss_of_the_lake(workspace: Workspace) -> None:
    write_plan(workspace, MADE, ["itp"], retry=["empty"])
    run(workspace)
    before = workspace.lake.read("plan", Plan).sort("epoch", "instance_id")
    for table in ("plan", "responses_itp", "answers_itp"):
        shutil.rmtree(workspace.lake.folder(table))
    rebuild_lake(workspace)
    assert workspace.lake.read("plan", Plan).sort("epoch", "instance_id").equals(before)
    assert statuses(workspace, "1.2") == {"ok": before.filter(epoch="1.2").height}


def test_a_plan_of_an_earlier_release_can_be_rebuilt_and_retried(workspace: Workspace) -> None:
    """Its rows do not say in which epoch they were asked; it was their own."""
    for path in workspace.datadir.journal.glob("plan/**/*.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps({k: v for k, v in row.items() if k != "asked_in"}) + "\n" for row in rows))
    shutil.rmtree(workspace.lake.folder("plan"))
    rebuild_lake(workspace)
    assert plan_of(workspace, "1")["asked_in"].null_count() == plan_of(workspace, "1").height
    write_plan(workspace, MADE, ["itp"], retry=["empty"])
    assert Counter(plan_of(workspace, "1.2")["asked_in"].to_list())["1.2"] == 3


@pytest.mark.parametrize("status", ["ok", "api_error", "not_run", "unanswered", "refusal", ""])
def test_a_status_that_cannot_be_asked_again_is_a_usage_error(workspace: Workspace, status: str) -> None:
    with pytest.raises(UsageError) as caught:
        write_plan(workspace, MADE, ["itp"], retry=["empty", status])
    assert caught.value.expected == ", ".join(RETRYABLE)
    assert ("any run asks these again" in str(caught.value)) == (status in ("api_error", "not_run"))
    assert set(workspace.lake.read("plan", Plan)["epoch"]) == {"1"}


def test_an_error_that_may_pass_needs_no_retry(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(failure(422, "made to fail")))
    workspace = asked_at(server, limits={"concurrency": 1})
    run(workspace, 2)
    server.script = always(YES)
    run(workspace, 2)
    assert statuses(workspace, "1") == {"ok": 2}


def test_tries_are_counted_beyond_nine() -> None:
    assert newest_try("1", ["1", "1.9", "1.10", "2.11", "10.30", "canary-2026"]) == "1.10"
    assert newest_try("3", ["1", "2.4"]) == "3"
    assert [next_try(epoch) for epoch in ("1", "1.10", "2.2")] == ["1.2", "1.11", "2.3"]


def test_the_answers_a_try_keeps_keep_their_judgements(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    hurt = completion('{"emotion": "hurt", "intensity": 5}')
    workspace = asked_at(serve(lambda _request, number: EMPTY if number < 3 else hurt), limits={"concurrency": 1})
    for retry in ([], ["empty"]):
        write_plan(workspace, MADE, ["er"], retry=retry)
        ask_partitions(workspace, [MADE], ["er"])
        parse_partition(workspace, MADE, "er")
        judge_partitions(workspace, [MADE], ["er"], ["lexical-judge"])
    rows, n = workspace.lake.read("judgements_er", Judgements), len(workspace.corpus.of_task("er"))
    assert Counter(rows["epoch"].to_list()) == {"1": n - 3, "1.2": n}
    assert set(rows["status"]) == {"ok"}
