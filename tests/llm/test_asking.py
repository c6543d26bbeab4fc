"""Asking partitions: nothing finished is asked twice, one model's trouble is its own, what was received is kept."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.llm import Partition, Workspace, segments
from rescue_pipeline.llm.asking import ask_partitions, partition_lease
from rescue_pipeline.llm.budget import Spending
from rescue_pipeline.llm.planning import write_plan
from rescue_pipeline.schemas import TASKS, Plan, Responses
from tests.llm.conftest import QUICK, entry
from tests.llm.server import Received, Said, Script, Server, always, completion, failure
from tests.llm.world import World, with_models

Serve = Callable[[Script], Server]
MADE = Partition("made", "dialogue")
YES = completion('{"should_speak": "yes"}')


ASK_AGAIN = """
import sys
from pathlib import Path
from rescue_pipeline.llm import Partition
from rescue_pipeline.llm.asking import ask_partitions
from tests.llm.world import World
ask_partitions(World().write(Path(sys.argv[1])), [Partition("uniform", "dialogue")], ["itp"])
assert "litellm" not in sys.modules
"""


def responses(workspace: Workspace, task: str) -> pl.DataFrame:
    return workspace.lake.read(f"responses_{task}", Responses)


def test_every_planned_question_is_asked_once_and_its_response_stored(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    server = serve(always(YES))
    workspace = asked_at(server)
    summary = ask_partitions(workspace, [MADE], ["itp", "er"])[0]
    n = len(workspace.corpus.of_task("itp")) + len(workspace.corpus.of_task("er"))
    assert (summary.planned, summary.asked, summary.reused, summary.by_status) == (n, n, 0, {"ok": n})
    assert len(server.requests) == n
    plan = workspace.lake.read("plan", Plan)
    stored = pl.concat([responses(workspace, "itp"), responses(workspace, "er")])
    assert sorted(stored["request_id"]) == sorted(plan["request_id"])
    assert summary.metadata("er")["ok"] == len(workspace.corpus.of_task("er"))


def test_a_second_run_sends_nothing(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(YES))
    workspace = asked_at(server)
    ask_partitions(workspace, [MADE], ["itp"])
    n = len(server.requests)
    summary = ask_partitions(workspace, [MADE], ["itp"])[0]
    assert (len(server.requests), summary.asked, summary.reused) == (n, 0, summary.planned)
    assert summary.by_status == {"ok": n}


def test_a_larger_limit_asks_only_what_is_new(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(YES))
    workspace = asked_at(server)
    assert ask_partitions(workspace, [MADE], ["itp"], 4)[0].asked == 4
    assert ask_partitions(workspace, [MADE], ["itp"], 9)[0].asked == 5
    assert ask_partitions(workspace, [MADE], ["itp"], 2)[0].asked == 0
    assert len(server.requests) == 9


def test_what_failed_for_a_passing_reason_is_asked_again_and_a_final_failure_is_not(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    def script(_request: Received, number: int) -> Said:
        return failure(422, "made to fail") if number < 2 else completion("") if number < 5 else YES

    server = serve(script)
    workspace = asked_at(server, limits={"concurrency": 1})
    first = ask_partitions(workspace, [MADE], ["itp"], 8, policy=QUICK)[0]
    assert first.by_status == {"empty": 3, "ok": 3, "api_error": 2}
    server.script = always(YES)
    second = ask_partitions(workspace, [MADE], ["itp"], 8, policy=QUICK)[0]
    assert (second.asked, second.reused, second.by_status) == (2, 6, {"ok": 5, "empty": 3})
    assert len(server.requests) == 10


def test_a_model_with_a_wrong_key_is_stopped_and_the_others_go_on(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRONG", "sk-wrong-key-123456")
    refused, good = serve(always(failure(401, "wrong key"))), serve(always(YES))
    registry = with_models(
        entry(refused, id="refused", api_key_env="WRONG", limits={"concurrency": 1}),
        entry(refused, id="keyless", api_key_env="NO_SUCH_KEY"),
        entry(good),
    )
    workspace = World().write(tmp_path, registry)
    parts = [Partition("refused", "dialogue"), Partition("refused", "audio"), Partition("keyless", "dialogue"), MADE]
    summaries = ask_partitions(workspace, parts, ["itp"], policy=QUICK)
    wrong, wrong_too, keyless, fine = summaries
    assert fine.by_status == {"ok": fine.planned}
    assert wrong.stopped_reason is not None
    assert "key was refused" in wrong.stopped_reason
    assert wrong_too.stopped_reason == wrong.stopped_reason
    assert len(refused.requests) == 1
    assert sum(summary.by_status["not_run"] for summary in (wrong, wrong_too)) == 2 * wrong.planned - 1
    assert keyless.by_status == {"not_run": keyless.planned}
    assert "NO_SUCH_KEY" in str(keyless.stopped_reason)


def test_a_request_that_two_partitions_plan_is_asked_once(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    world = World()
    for turn in world.turns:
        turn["tone_of_voice"] = None
    server = serve(always(YES))
    workspace = asked_at(server, world)
    parts = [MADE, Partition("made", "audio")]
    for partition in parts:
        write_plan(workspace, partition, ["itp"])
    different = workspace.lake.read("plan", Plan)["request_id"].n_unique()
    summaries = ask_partitions(workspace, parts, ["itp"])
    assert len(server.requests) == different
    assert all(summary.by_status == {"ok": summary.planned} for summary in summaries)


def test_a_paid_model_is_not_asked_without_permission(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(YES))
    workspace = asked_at(server, local=False, price={"input": 1, "output": 2})
    with pytest.raises(UsageError, match="cost"):
        ask_partitions(workspace, [MADE], ["itp"], 2)
    assert not server.requests
    ask_partitions(workspace, [MADE], ["itp"], 2, spending=Spending(budget_usd=1.0))
    ask_partitions(workspace, [MADE], ["itp"], 2)  # nothing is open, so nothing is to be permitted
    assert len(server.requests) == 2


def test_a_partition_held_by_another_is_refused_before_anything_is_asked(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    server = serve(always(YES))
    workspace = asked_at(server)
    with partition_lease(workspace, MADE), pytest.raises(RescueError, match="another process"):
        ask_partitions(workspace, [MADE], ["itp"])
    assert not server.requests


def test_an_interrupt_keeps_what_was_received(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(YES))
    workspace = asked_at(server, limits={"concurrency": 2})

    def interrupt(_what: str, done: int, _total: int | None) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_partitions(workspace, [MADE], ["itp"], on_progress=interrupt)
    kept, sent = responses(workspace, "itp").height, len(server.requests)
    assert kept >= 5
    summary = ask_partitions(workspace, [MADE], ["itp"])[0]
    assert summary.reused == kept
    assert summary.by_status == {"ok": summary.planned}
    assert len(server.requests) - sent == summary.asked


def test_progress_counts_up_to_the_plan(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    told: list[tuple[str, int, int | None]] = []
    workspace = asked_at(serve(always(YES)))
    planned = ask_partitions(workspace, [MADE], ["itp"], on_progress=lambda *what: told.append(what))[0].planned
    assert [done for _, done, _ in told] == list(range(1, planned + 1))
    assert {(what, total) for what, _, total in told} == {("asking made (dialogue)", planned)}


def test_asking_works_where_an_event_loop_is_running_already(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    import asyncio

    workspace = asked_at(serve(always(YES)))

    async def notebook() -> int:
        return ask_partitions(workspace, [MADE], ["itp"], 3)[0].asked

    assert asyncio.run(notebook()) == 3


def test_no_journal_or_lake_file_holds_a_key_or_a_prompt(
    serve: Serve, asked_at: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret, world = "sk-planted-key-1234567890", World()
    sentence = "A planted sentence about the lighthouse keeper."
    for turn in world.turns:
        turn["dialogue"] = sentence
    monkeypatch.setenv("MADE_KEY", secret)

    def echo(request: Received, number: int) -> Said:
        return failure(422, f"{request.key} {request.body}") if number % 2 else YES

    caplog.set_level("DEBUG")
    workspace = asked_at(serve(echo), world, api_key_env="MADE_KEY")
    ask_partitions(workspace, [MADE], ["itp"], policy=QUICK)
    written = [path for path in workspace.datadir.root.rglob("*") if path.is_file() and "turns" not in path.parts]
    assert any(path.suffix == ".jsonl" for path in written)
    for path in written:
        content = path.read_bytes()
        assert secret.encode() not in content
        assert sentence[:30].encode() not in content
    errors = responses(workspace, "itp")["error"].drop_nulls().to_list()
    assert errors
    assert not any(secret in error or sentence[:30] in error for error in errors)
    assert secret not in caplog.text
    assert sentence[:30] not in caplog.text


def test_all_models_are_asked_side_by_side(serve: Serve, tmp_path: Path) -> None:
    meeting = threading.Barrier(2, timeout=60)

    def met(_request: Received, number: int) -> Said:
        if number == 0:
            meeting.wait()
        return YES

    one, other = serve(met), serve(met)
    workspace = World().write(tmp_path, with_models(entry(one), entry(other, id="other")))
    summaries = ask_partitions(workspace, [MADE, Partition("other", "dialogue")], ["itp"], 2)
    assert Counter(status for summary in summaries for status in summary.by_status) == Counter({"ok": 2})


def test_the_baselines_answer_all_tasks_on_the_same_path(workspace: Workspace) -> None:
    parts = [Partition(model, "dialogue") for model in ("uniform", "majority", "heuristic", "lexical")]
    summaries = ask_partitions(workspace, parts, TASKS)
    for summary in summaries:
        assert summary.by_status == {"ok": len(workspace.corpus.instances)}
        assert (summary.cost_usd, summary.stopped_reason) == (0.0, None)


def test_nothing_is_asked_for_an_empty_list_of_partitions(workspace: Workspace) -> None:
    assert ask_partitions(workspace, [], TASKS) == []


def test_a_full_disk_stops_asking_and_keeps_what_was_written(
    serve: Serve, asked_at: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    written, real = [0], segments.write_durably

    def fills_up(handle: int, content: bytes) -> None:
        written[0] += 1
        if written[0] > 3:
            os.write(handle, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle, content)

    server = serve(always(YES))
    workspace = asked_at(server, limits={"concurrency": 1})
    with monkeypatch.context() as patched:
        patched.setattr(segments, "write_durably", fills_up)
        with pytest.raises(RescueError, match="No space left"):
            ask_partitions(workspace, [MADE], ["itp"])
    assert len(server.requests) == 4
    summary = ask_partitions(workspace, [MADE], ["itp"])[0]
    assert (summary.reused, summary.by_status) == (3, {"ok": summary.planned})
    assert list(workspace.datadir.journal.rglob("*.torn"))


def test_a_run_with_nothing_open_does_not_even_load_litellm(workspace: Workspace, tmp_path: Path) -> None:
    ask_partitions(workspace, [Partition("uniform", "dialogue")], ["itp"])
    subprocess.run([sys.executable, "-c", ASK_AGAIN, str(tmp_path)], check=True)


def test_a_key_that_a_server_echoes_in_its_answer_is_stored_nowhere(
    serve: Serve, asked_at: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "live-zq71/kx83wv"
    monkeypatch.setenv("MADE_KEY", key)
    said = completion(json.dumps({"should_speak": "yes", "reason": f"your key is {key}"}))
    said.body.update(system_fingerprint=f"fp {key}", model=f"made {key}")
    workspace = asked_at(serve(always(said)), api_key_env="MADE_KEY")
    ask_partitions(workspace, [Partition("made", "dialogue")], ["itp"], 2, policy=QUICK)
    stored = workspace.lake.read("responses_itp", Responses)
    assert "[key]" in stored["content"][0]
    assert "[key]" in stored["system_fingerprint"][0]
    journal = "".join(path.read_text() for path in workspace.datadir.journal.rglob("*.jsonl"))
    for text in (journal, journal.replace("\\/", "/"), str(stored.to_dicts())):
        assert "kx83wv" not in text
