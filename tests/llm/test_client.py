"""The request layer against a server that misbehaves: one retry layer, one clock, one status per question."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from rescue_pipeline.llm.adapter import close_connections
from rescue_pipeline.llm.budget import Budget
from rescue_pipeline.llm.capabilities import Capabilities
from rescue_pipeline.llm.client import Client, RetryPolicy
from rescue_pipeline.llm.exchange import Reply, Request
from rescue_pipeline.llm.limits import Endpoint, Gate
from rescue_pipeline.llm.registry import ModelEntry
from tests.llm.conftest import QUICK, entry
from tests.llm.server import Said, Script, Server, always, completion, failure, in_turn

Serve = Callable[[Script], Server]
SECRET = "sk-planted-key-1234567890"
SENTENCE = "The harbour was closed when Ana said she would rather leave."
REQUEST = Request(
    [{"role": "system", "content": "Answer."}, {"role": "user", "content": SENTENCE}],
    {"temperature": 0, "max_tokens": 64},
    schema={"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    retry_tokens=256,
)


def client_for(server: Server, policy: RetryPolicy = QUICK, **fields: Any) -> Client:
    model = ModelEntry.model_validate(entry(server, **fields))
    return Client(model, Gate(model.limits, Endpoint()), policy, Budget(math.inf), Capabilities())


def ask(client: Client, *requests: Request) -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        try:
            return list(await asyncio.gather(*(client.ask(request) for request in requests)))
        finally:
            await close_connections()

    return asyncio.run(all_of_them())


def ask_once(server: Server, **fields: Any) -> Reply:
    return ask(client_for(server, **fields), REQUEST)[0]


def test_an_answer_is_stored_with_what_the_provider_said_of_it(serve: Serve) -> None:
    reply = ask_once(serve(always(completion('{"a": 1}', usage=(11, 7)))), price={"input": 2, "output": 10})
    assert (reply.status, reply.final, reply.content, reply.attempts) == ("ok", True, '{"a": 1}', 1)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.system_fingerprint) == (11, 7, "fp_made")
    assert reply.cost_usd == pytest.approx((11 * 2 + 7 * 10) / 1e6)


def test_recorded_parameters_are_those_the_server_saw(serve: Serve) -> None:
    server = serve(always(completion("{}")))
    parameters = {"temperature": 0.5, "max_tokens": 64, "seed": 3, "top_k": 7}
    reply = ask(client_for(server), Request(REQUEST.messages, parameters))[0]
    assert json.loads(reply.parameters) == parameters
    assert {name: server.requests[0].body[name] for name in parameters} == parameters


@pytest.mark.parametrize(
    ("code", "calls"), [(400, 1), (401, 1), (403, 1), (404, 1), (422, 1), (500, 3), (503, 3), (408, 3)]
)
def test_permanent_errors_are_sent_once_and_passing_ones_as_often_as_the_policy_says(
    serve: Serve, code: int, calls: int
) -> None:
    server = serve(always(failure(code, "made to fail")))
    reply = ask_once(server)
    assert (reply.status, reply.final, reply.http_status) == ("api_error", False, code)
    assert (len(server.requests), reply.attempts) == (calls, calls)


@pytest.mark.parametrize(
    "bad",
    [
        Said(drop=True),
        Said(text="<html>gateway</html>"),
        Said(body={"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}),
    ],
    ids=["reset", "html", "no choices"],
)
def test_a_broken_reply_is_asked_again_and_a_good_one_counts(serve: Serve, bad: Said) -> None:
    server = serve(in_turn(bad, completion("{}")))
    reply = ask_once(server)
    assert (reply.status, reply.attempts, len(server.requests)) == ("ok", 2, 2)


def test_empty_content_is_empty_even_when_the_reasoning_holds_an_answer(serve: Serve) -> None:
    reply = ask_once(serve(always(completion("", reasoning_content='{"label": "A"}'))))
    assert (reply.status, reply.final, reply.attempts) == ("empty", True, 1)
    assert not reply.content


def test_a_cut_answer_gets_one_larger_budget_and_is_never_taken_for_whole(serve: Serve) -> None:
    server = serve(always(completion('{"label": "B"}', finish="length", usage=(11, 7))))
    reply = ask_once(server)
    assert (reply.status, reply.final, len(server.requests)) == ("truncated", True, 2)
    assert [request.body["max_tokens"] for request in server.requests] == [64, 256]
    assert json.loads(reply.parameters)["max_tokens"] == 256
    assert (reply.prompt_tokens, reply.completion_tokens) == (22, 14)  # both calls were billed


def test_a_cut_answer_that_fits_the_second_time_is_ok(serve: Serve) -> None:
    reply = ask_once(serve(in_turn(completion('{"a', finish="length"), completion('{"a": 1}'))))
    assert (reply.status, reply.content, reply.attempts) == ("ok", '{"a": 1}', 2)


def test_a_refusal_is_one_call(serve: Serve) -> None:
    server = serve(always(completion(None, refusal="I will not.")))
    reply = ask_once(server)
    assert (reply.status, reply.final, len(server.requests)) == ("refused", True, 1)


@pytest.mark.parametrize(
    "said",
    [
        failure(400, "made to fail", code="content_filter"),
        failure(400, "The response was filtered: ResponsibleAIPolicyViolation"),
        failure(403, "your input was flagged"),
        failure(403, "Your request was blocked by our usage policies."),
        failure(403, "the input did not pass moderation"),
        completion("", finish="content_filter"),
    ],
    ids=["code", "text", "403", "policies", "moderation", "finish reason"],
)
def test_a_filtered_question_is_one_call_and_final(serve: Serve, said: Said) -> None:
    server = serve(always(said))
    client = client_for(server)
    reply = ask(client, REQUEST)[0]
    assert (reply.status, reply.final, len(server.requests), client.stopped) == ("filtered", True, 1, None)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "The input token count (40000) exceeds the maximum number of tokens allowed (32768).",
        "Please reduce the length of the messages or completion.",
        "Input is too long for requested model.",
    ],
)
def test_a_prompt_that_does_not_fit_is_over_context(serve: Serve, message: str) -> None:
    server = serve(always(failure(400, message)))
    reply = ask_once(server)
    assert (reply.status, reply.final, len(server.requests)) == ("over_context", True, 1)


@pytest.mark.parametrize(("code", "word"), [(401, "key"), (404, "does not exist"), (402, "credit")])
def test_an_error_every_question_would_meet_stops_the_model(serve: Serve, code: int, word: str) -> None:
    server = serve(always(failure(code, "made to fail")))
    client = client_for(server, limits={"concurrency": 1})
    replies = ask(client, *[REQUEST] * 5)
    assert client.stopped is not None
    assert word in client.stopped
    assert len(server.requests) == 1
    assert [reply.attempts for reply in replies] == [1, 0, 0, 0, 0]


def test_a_model_that_is_down_is_given_up_after_some_questions(serve: Serve) -> None:
    server = serve(always(failure(500, "made to fail")))
    client = client_for(server)

    async def one_by_one() -> None:
        for _ in range(6):
            await client.ask(REQUEST)
        await close_connections()

    asyncio.run(one_by_one())
    assert client.stopped is not None
    assert len(server.requests) == QUICK.attempts * QUICK.failures_in_a_row


def test_a_parameter_the_model_refuses_is_never_dropped_silently(serve: Serve) -> None:
    server = serve(always(completion("{}")))
    client = client_for(server, litellm="openai/gpt-5", api_base=server.url)
    reply = ask(client, Request(REQUEST.messages, {"temperature": 0.3}))[0]
    assert (reply.status, reply.error_type) == ("api_error", "UnsupportedParamsError")
    assert not server.requests
    assert client.stopped is not None
    assert "parameters" in client.stopped


def test_a_missing_key_stops_the_model_before_any_request(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MADE_KEY", raising=False)
    server = serve(always(completion("{}")))
    client = client_for(server, api_key_env="MADE_KEY")
    assert client.stopped is not None
    assert "MADE_KEY" in client.stopped
    assert ask(client, REQUEST)[0].attempts == 0
    assert not server.requests


def test_a_vendor_key_is_never_sent_to_another_address(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    server = serve(always(completion("{}")))
    ask_once(server)
    assert SECRET not in server.requests[0].key


def test_keys_and_prompts_echoed_by_a_server_are_not_stored(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MADE_KEY", SECRET)
    text = f"no: {SECRET} at https://host.example/v1?key=abc123def for {json.dumps(SENTENCE)} or {SENTENCE[10:45]}"
    server = serve(always(failure(401, text)))
    client = client_for(server, api_key_env="MADE_KEY")
    reply = ask(client, REQUEST)[0]
    assert server.requests[0].key == f"Bearer {SECRET}"
    for shown in (reply.error or "", client.stopped or ""):
        assert "AuthenticationError" in shown or "key" in shown
        for secret in (SECRET, "abc123def", SENTENCE, SENTENCE[10:45]):
            assert secret not in shown


def test_a_hanging_call_ends_at_the_call_limit(serve: Serve) -> None:
    server = serve(in_turn(Said(delay=30), completion("{}")))
    reply = ask_once(server, limits={"call_seconds": 0.5})
    assert (reply.status, reply.attempts) == ("ok", 2)


def test_a_question_ends_at_its_limit_whatever_is_still_to_be_tried(serve: Serve) -> None:
    server = serve(always(Said(delay=30)))
    client = client_for(
        server, RetryPolicy(attempts=100, base_seconds=0.01), limits={"call_seconds": 0.3, "question_seconds": 0.7}
    )
    reply = ask(client, REQUEST)[0]
    assert (reply.status, reply.error_type) == ("api_error", "timeout")
    assert 2 <= reply.attempts <= 4
    assert reply.seconds < 5


def test_retry_after_is_kept_and_shared_by_all_workers_without_a_burst(serve: Serve) -> None:
    server = serve(in_turn(failure(429, "slower", Retry_After="1"), completion("{}")))
    client = client_for(server, limits={"concurrency": 16})

    async def one_then_many() -> list[Reply]:
        first = asyncio.create_task(client.ask(REQUEST))
        while not server.requests:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)  # the first has been told to wait
        others = [asyncio.create_task(client.ask(REQUEST)) for _ in range(15)]
        return [await first, *(await asyncio.gather(*others))]

    replies = asyncio.run(one_then_many())
    assert {reply.status for reply in replies} == {"ok"}
    assert server.gaps()[0] >= 1.0
    assert len(server.requests) == 17


def test_after_a_pause_one_asks_first(serve: Serve) -> None:
    def script(_request: Any, number: int) -> Said:
        if number < 8:
            return failure(429, "slower", Retry_After="1")
        return Said(body=completion("{}").body, delay=0.2)

    server = serve(script)
    client = client_for(server, limits={"concurrency": 8})
    replies = ask(client, *[REQUEST] * 8)
    assert {reply.status for reply in replies} == {"ok"}
    after = [request.at for request in server.requests[8:]]
    assert after[1] - after[0] >= 0.15  # the second waits for the first one's reply


def test_a_server_that_asks_to_wait_longer_than_a_question_may_take_stops_the_model(serve: Serve) -> None:
    server = serve(always(failure(429, "tomorrow", Retry_After="86400")))
    client = client_for(server)
    assert ask(client, REQUEST)[0].status == "api_error"
    assert client.stopped is not None
    assert "86400" in client.stopped


def test_concurrency_stays_below_the_limit(serve: Serve) -> None:
    server = serve(always(Said(body=completion("{}").body, delay=0.05)))
    ask(client_for(server, limits={"concurrency": 3}), *[REQUEST] * 12)
    assert server.most_in_flight == 3


@pytest.mark.parametrize(
    ("capability", "form"),
    [("json_schema", "json_schema"), ("json_object", "json_object"), ("none", None)],
)
def test_the_form_of_the_answer_is_asked_for_as_the_entry_says(serve: Serve, capability: str, form: str | None) -> None:
    server = serve(always(completion("{}")))
    reply = ask_once(server, structured_output=capability)
    asked: dict[str, Any] = server.requests[0].body.get("response_format") or {}
    assert asked.get("type") == form
    assert reply.rung == (form or "plain")
    if form == "json_schema":
        assert asked["json_schema"]["schema"] == REQUEST.schema


def test_several_loops_in_one_process_work(serve: Serve) -> None:
    server = serve(always(completion("{}")))
    statuses = [ask_once(server).status for _ in range(3)]
    assert statuses == ["ok"] * 3


def test_usage_of_all_zeros_is_unknown_not_free(serve: Serve) -> None:
    reply = ask_once(serve(always(completion("{}", usage=(0, 0)))), local=False, price={"input": 1, "output": 1})
    assert (reply.prompt_tokens, reply.cost_usd) == (None, None)


def test_no_real_model_is_told_the_metadata(serve: Serve) -> None:
    server = serve(always(completion("{}")))
    request = Request(REQUEST.messages, {}, metadata={"instance_id": "er:x:1"})
    ask(client_for(server), request)
    assert "er:x:1" not in json.dumps(server.requests[0].body)
