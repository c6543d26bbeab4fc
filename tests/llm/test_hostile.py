"""Servers that say what no table can hold, what no caller expects, or send their callers elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rescue_pipeline.errors import UsageError
from rescue_pipeline.lake import Lake
from rescue_pipeline.llm import Workspace
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.budget import Spending
from rescue_pipeline.llm.journal import Journal, recover
from rescue_pipeline.llm.permission import refuse_redirected
from rescue_pipeline.llm.registry import ModelEntry, load_registry
from rescue_pipeline.llm.rendering import Renderer
from rescue_pipeline.llm.segments import Segment
from rescue_pipeline.llm.spent import spent_in_run
from rescue_pipeline.llm.waits import retry_after_seconds
from rescue_pipeline.llm.workspace import Partition
from rescue_pipeline.schemas import Responses
from tests.llm.conftest import QUICK
from tests.llm.server import Said, Script, Server, always, completion, failure, in_turn
from tests.llm.test_client import REQUEST, ask, ask_once, client_for
from tests.llm.test_journal import STREAM, record
from tests.llm.test_money import PAID, world

Serve = Callable[[Script], Server]
MADE = Partition("made", "dialogue")
YES = '{"should_speak": "yes"}'
HALF = chr(0xD83D)
CUT = completion('{"should_sp', finish="length")


def saying(**fields: Any) -> Said:
    return Said(body={**completion(YES).body, **fields})


def usage(prompt: Any, answer: Any = 3) -> Said:
    return saying(usage={"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt})


# --- what no table can hold


@pytest.mark.parametrize(
    "said",
    [
        saying(system_fingerprint=HALF),
        saying(model=f"made {HALF}"),
        completion(f'{{"should_speak": "yes", "reason": "{HALF}"}}'),
        usage(2**63),
        usage(10**30),
        usage(12.5),
        usage(-5),
    ],
    ids=["fingerprint", "model", "content", "2^63", "huge", "fraction", "negative"],
)
def test_an_answer_is_kept_whatever_else_the_reply_says(
    serve: Serve, asked_at: Callable[..., Workspace], said: Said
) -> None:
    server = serve(always(said))
    workspace = asked_at(server)
    [summary] = ask_partitions(workspace, [MADE], ["itp"], 2, policy=QUICK)
    assert (summary.by_status, len(server.requests)) == ({"ok": 2}, 2)
    assert parse_partition(workspace, MADE, "itp").by_status["ok"] == 2


@pytest.mark.parametrize("tokens", [2**63, 12.5, -5], ids=str)
def test_a_usage_that_is_no_count_is_not_reported(serve: Serve, tokens: float) -> None:
    reply = ask_once(serve(always(usage(tokens))), local=False, price={"input": 1, "output": 1})
    assert (reply.status, reply.prompt_tokens, reply.cost_usd) == ("ok", None, None)


def test_an_error_with_half_a_character_is_stored(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    workspace = asked_at(serve(always(failure(400, f"no {HALF}"))))
    [summary] = ask_partitions(workspace, [MADE], ["itp"], 2, policy=QUICK)
    assert summary.by_status["api_error"] >= 1
    assert workspace.lake.read("responses_itp", Responses)["error"][0]


def test_a_journal_that_holds_what_no_table_can_is_sealed_all_the_same(tmp_path: Path) -> None:
    lake, segment = Lake(str(tmp_path / "lake")), Segment(tmp_path, STREAM)
    odd = {"system_fingerprint": HALF, "provider_model": HALF, "error": HALF, "prompt_tokens": 2**63}
    segment.append([{**record(1), **odd, "completion_tokens": 1.5}, record(2)])
    segment.close()
    recover(tmp_path, lake, [STREAM])
    first, second = lake.read("responses_er", Responses).sort("request_id").to_dicts()
    assert (first["prompt_tokens"], first["completion_tokens"], first["provider_model"]) == (None, None, "?")
    assert (second["prompt_tokens"], second["content"]) == (3, "{}")
    with Journal(tmp_path, lake):
        pass


# --- a cut answer


@pytest.mark.parametrize(
    "second",
    [failure(500, "down"), failure(401, "wrong key"), failure(429, "x", code="insufficient_quota")],
    ids=["5xx", "stopped", "quota"],
)
def test_a_cut_answer_whose_larger_try_met_an_error_is_asked_again_by_the_next_run(
    serve: Serve, asked_at: Callable[..., Workspace], second: Said
) -> None:
    server = serve(in_turn(CUT, second))
    workspace = asked_at(server)
    [first] = ask_partitions(workspace, [MADE], ["itp"], 1, policy=QUICK)
    assert first.by_status == {"api_error": 1}
    server.script = always(completion(YES))
    [resumed] = ask_partitions(workspace, [MADE], ["itp"], 1, policy=QUICK)
    assert (resumed.reused, resumed.by_status) == (0, {"ok": 1})


@pytest.mark.parametrize(
    ("params", "sent"),
    [
        ({"max_tokens": 5000}, {"max_tokens": [5000, 10000]}),
        ({"max_tokens": None, "max_completion_tokens": 700}, {"max_completion_tokens": [700, 1400]}),
    ],
    ids=["max_tokens", "max_completion_tokens"],
)
def test_the_larger_try_of_an_entrys_own_limit_is_twice_that(
    serve: Serve, asked_at: Callable[..., Workspace], params: dict[str, Any], sent: dict[str, list[int]]
) -> None:
    server = serve(always(CUT))
    ask_partitions(asked_at(server, params=params), [MADE], ["itp"], 1, policy=QUICK)
    for name in ("max_tokens", "max_completion_tokens"):
        expected = sent.get(name, [None, None])
        assert [request.body.get(name) for request in server.requests] == expected


def test_without_a_limit_there_is_no_larger_try(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    workspace = asked_at(serve(always(CUT)), params={"max_tokens": None})
    assert Renderer(workspace, MADE).request(workspace.corpus.of_task("itp")[0]).retry_tokens is None


# --- money


def test_a_call_without_usage_beside_one_with_it_cuts_no_prompt_and_costs_nobody_knows_what(
    tmp_path: Path, serve: Serve
) -> None:
    silent = completion('{"should_sp', finish="length", usage=None)
    workspace = world(tmp_path, serve(lambda _, number: completion(YES) if number % 2 else silent), 1)
    workspace.registry.models["paid"].limits.__dict__["concurrency"] = 1
    ask_partitions(workspace, [PAID], ["itp"], 1, spending=Spending("x", 1.0), policy=QUICK)
    assert parse_partition(workspace, PAID, "itp").by_status["ok"] == 1
    row = workspace.lake.read("responses_itp", Responses).row(0, named=True)
    assert (row["attempts"], row["cost_usd"]) == (2, None)
    assert spent_in_run(workspace, "x") == pytest.approx(row["charged_usd"])
    assert row["charged_usd"] > 0


@pytest.mark.parametrize(("code", "costs"), [(400, False), (503, False), (502, True)])
def test_what_a_run_spent_is_what_its_budget_was_charged(
    tmp_path: Path, serve: Serve, code: int, *, costs: bool
) -> None:
    workspace = world(tmp_path, serve(always(Said(code, text="<html>no</html>"))), 1)
    ask_partitions(workspace, [PAID], ["itp"], 2, spending=Spending("x", 1.0), policy=QUICK)
    charged = workspace.lake.read("responses_itp", Responses)["charged_usd"].sum()
    assert spent_in_run(workspace, "x") == pytest.approx(charged)
    assert (charged > 0) == costs


# --- what a reply means


def test_daily_usage_that_is_only_mentioned_is_waited_out(serve: Serve) -> None:
    server = serve(in_turn(failure(429, "slow down. See daily usage at the console"), completion(YES)))
    assert ask_once(server).status == "ok"


@pytest.mark.parametrize("reason", ["insufficient_system_resource", "error"])
def test_an_answer_the_server_broke_off_is_asked_again(serve: Serve, reason: str) -> None:
    reply = ask_once(serve(in_turn(completion(YES, finish=reason), completion(YES))))
    assert (reply.status, reply.attempts) == ("ok", 2)


def calls(*given: tuple[str, str]) -> Said:
    made = [
        {"id": str(number), "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(given)
    ]
    return completion(None, finish="tool_calls", tool_calls=made)


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ([("answer", YES), ("answer", YES)], "ok"),
        ([("answer", YES), ("answer", '{"should_speak": "no"}')], "unparseable"),
        ([("other", YES)], "empty"),
        ([("other", '{"should_speak": "no"}'), ("answer", YES)], "ok"),
    ],
    ids=["alike", "differ", "another tool", "another beside"],
)
def test_only_calls_of_the_tool_asked_for_count_and_none_is_chosen_of_several(
    serve: Serve, asked_at: Callable[..., Workspace], given: list[tuple[str, str]], status: str
) -> None:
    workspace = asked_at(serve(always(calls(*given))))
    ask_partitions(workspace, [MADE], ["itp"], 1, policy=QUICK)
    assert parse_partition(workspace, MADE, "itp").by_status[status] == 1


@pytest.mark.parametrize("value", ["0", "-5", "Mon, 01 Jan 2001 00:00:00 GMT"])
def test_a_wait_that_is_over_is_no_wait(value: str) -> None:
    assert retry_after_seconds({"Retry-After": value}) is None


# --- other addresses


@pytest.mark.parametrize("code", [302, 307, 308])
@pytest.mark.parametrize("litellm", ["openai/made-model", "hosted_vllm/made-model"])
def test_no_redirect_is_followed(serve: Serve, code: int, litellm: str) -> None:
    other = serve(always(completion(YES)))
    server = serve(always(Said(code, text="", headers={"Location": f"{other.url}/chat/completions"})))
    client = client_for(server, litellm=litellm)
    reply = ask(client, REQUEST)[0]
    assert (reply.status, reply.http_status, len(server.requests), len(other.requests)) == ("api_error", code, 1, 0)
    assert "another address" in str(client.stopped)


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("gpt-4o", "OPENAI_BASE_URL"),
        ("openai/gpt-4o", "OPENAI_API_BASE"),
        ("huggingface/together/x", "HF_API_BASE"),
        ("cohere_chat/command-r", "COHERE_API_BASE"),
        ("openai/gpt-4o", "USE_LITELLM_PROXY"),
        ("openai/gpt-4o", "LITELLM_PROXY_API_BASE"),
    ],
)
def test_a_variable_that_redirects_a_model_is_refused_however_it_is_written(
    monkeypatch: pytest.MonkeyPatch, model: str, variable: str
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    with pytest.raises(UsageError, match=variable):
        refuse_redirected([ModelEntry(id="made", litellm=model)])


# --- models.yaml


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("params: {max_tokens: -1}", ["entry a", "field params.max_tokens", "whole number", "found: -1"]),
        ("params: {max_tokens: many}", ["field params.max_tokens", "found: str"]),
        ("params: {max_completion_tokens: 0.5}", ["field params.max_completion_tokens", "found: 0.5"]),
        ("params: {temperature: .nan}", ["field params.temperature", "finite", "found: nan"]),
        ("params: {top_p: [.inf]}", ["field params.top_p.0", "found: inf"]),
        ("params: {x: 2024-01-01}", ["field params.x", "JSON", "found: date"]),
        ("params: {x: !!binary aGk=}", ["field params.x", "found: bytes"]),
        ("params: {x: !!set {b}}", ["field params.x", "found: set"]),
        ("params: {x: {1: 2}}", ["field params.x", "texts as keys", "found: 1"]),
        ("price: {input: .nan, output: 1}", ["entry a", "field price.input"]),
        ("price: {input: 1, output: .inf}", ["entry a", "field price.output"]),
        ("price: {input: 1, output: 2024-01-01}", ["entry a", "field price.output", "found: date"]),
        ("price: {input: 1, output: !!set {b}}", ["entry a", "field price.output", "found: set"]),
        ("price: {input: 1, output: !!binary MQ==}", ["entry a", "field price.output", "found: bytes"]),
        ("price: {input: 1, output: 1, 7: 1}", ["entry a", "field price.7"]),
        ("params: {? [p] : 1}", ["field (file)", "line 2", "a list cannot be a key"]),
        ("params: {? {p: q} : 1}", ["field (file)", "line 2", "a mapping cannot be a key"]),
        ("params: {x: 2024-13-45}", ["field (file)"]),
    ],
)
def test_a_value_that_cannot_be_sent_is_told_with_its_file_entry_and_field(
    tmp_path: Path, text: str, told: list[str]
) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(f"models:\n  - {{id: a, litellm: x/y, {text}}}\n", encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        load_registry(path)
    for part in ["models.yaml", *told]:
        assert part in str(refused.value)
