"""What servers do on the wire, each to its one right outcome. How a text is read: tests/tasks/test_parsing.py."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from rescue_pipeline.llm import Workspace
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.budget import Budget
from rescue_pipeline.llm.capabilities import Capabilities
from rescue_pipeline.llm.client import Client
from rescue_pipeline.llm.exchange import Reply, Request
from rescue_pipeline.llm.limits import Endpoint, Gate
from rescue_pipeline.llm.prices import most_usd
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.schemas import Responses
from tests.llm.conftest import QUICK, entry
from tests.llm.server import Received, Said, Script, Server, always, completion, failure, in_turn, limited
from tests.llm.test_asking import MADE, YES
from tests.llm.test_client import REQUEST, ask, ask_once, client_for

Serve = Callable[[Script], Server]
GOOD = completion("{}")
LONG = Request([{"role": "user", "content": "the kettle and the garden " * 1000}], {"max_tokens": 64})
PRICE = {"input": 1_000_000, "output": 1_000_000}
"""One USD per token."""


# --- bodies


@pytest.mark.parametrize(
    "bad",
    [
        Said(drop=True),
        Said(body=GOOD.body, drop=40),
        Said(text="<html>welcome</html>"),
        Said(status=502, text="<html>bad gateway</html>"),
        Said(body={"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}),
    ],
    ids=["reset", "reset in the body", "HTML with 200", "HTML with 502", "no choices"],
)
def test_a_broken_reply_is_asked_again_and_stored_as_an_error_when_it_stays_broken(serve: Serve, bad: Said) -> None:
    healed = serve(in_turn(bad, GOOD))
    assert (ask_once(healed).status, len(healed.requests)) == ("ok", 2)
    broken = serve(always(bad))
    reply = ask_once(broken)
    assert (reply.status, reply.final, len(broken.requests)) == ("api_error", False, QUICK.attempts)


def test_an_error_that_comes_with_200_is_an_error(serve: Serve) -> None:
    reply = ask_once(serve(always(Said(body={"error": {"message": "made to fail"}}))))
    assert (reply.status, reply.final, reply.content) == ("api_error", False, None)


def test_a_body_that_drips_ends_at_the_call_limit(serve: Serve) -> None:
    server = serve(in_turn(Said(body=GOOD.body, drip=0.4), GOOD))
    started = time.monotonic()
    reply = ask_once(server, limits={"call_seconds": 1.0})
    assert (reply.status, reply.attempts) == ("ok", 2)
    assert time.monotonic() - started < 3.5


def test_a_megabyte_and_every_kind_of_character_arrive_and_are_stored(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    odd = "smörgås 🙂 \u202e\u0000 \ud83d end"
    large = completion(json.dumps({"should_speak": "yes", "reason": "x" * 1_000_000}))
    workspace = asked_at(serve(in_turn(large, completion(odd), YES)), limits={"concurrency": 1})
    assert ask_partitions(workspace, [MADE], ["itp"], 3)[0].by_status == {"ok": 3}
    stored = workspace.lake.read("responses_itp", Responses).sort("sent_at")["content"].to_list()
    assert len(stored[0]) > 1_000_000
    assert stored[1].startswith("smörgås 🙂 \u202e\u0000 ")


# --- usage


@pytest.mark.parametrize("usage", [None, (0, 0)], ids=["missing", "zeros"])
def test_usage_that_was_not_reported_is_unknown(serve: Serve, usage: Any) -> None:
    reply = ask_once(serve(always(completion("{}", usage=usage))), local=False, price={"input": 1, "output": 1})
    assert (reply.status, reply.prompt_tokens, reply.cost_usd) == ("ok", None, None)
    assert reply.counted_tokens == 0  # nothing to compare a provider's count with


def test_our_own_count_stands_beside_the_reported_one_for_every_call_that_came_back(serve: Serve) -> None:
    cut = completion("{", finish="length")
    reply = ask_once(serve(in_turn(failure(500, "made to fail"), cut, GOOD)))
    assert (reply.attempts, reply.counted_tokens) == (3, 2 * REQUEST.prompt_tokens)
    assert reply.prompt_tokens == reply.counted_tokens


def test_a_prompt_that_the_server_cut_without_a_word_is_over_context_and_never_ok(serve: Serve) -> None:
    half = LONG.prompt_tokens // 2
    reply = ask(client_for(serve(always(completion("{}", usage=(half, 7))))), LONG)[0]
    assert (reply.status, reply.final, reply.error_type) == ("over_context", True, "cut prompt")
    near = ask(client_for(serve(always(completion("{}", usage=(round(0.86 * LONG.prompt_tokens), 7))))), LONG)[0]
    assert near.status == "ok"


# --- length


def test_a_question_that_cannot_fit_is_not_sent_and_final(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(always(YES))
    workspace = asked_at(server, context_tokens=100)
    summary = ask_partitions(workspace, [MADE], ["itp"])[0]
    assert (summary.by_status, len(server.requests)) == ({"over_context": summary.planned}, 0)
    assert set(workspace.lake.read("responses_itp", Responses)["attempts"]) == {0}
    assert ask_partitions(workspace, [MADE], ["itp"])[0].reused == summary.planned


def test_a_larger_answer_budget_that_does_not_fit_is_not_tried(serve: Serve) -> None:
    server = serve(always(completion("{", finish="length")))
    reply = ask_once(server, context_tokens=REQUEST.prompt_tokens + 100)
    assert (reply.status, len(server.requests)) == ("truncated", 1)


@pytest.mark.parametrize(
    ("content", "message", "reasoning", "where"),
    [
        ('{"label": "B"', {}, 0, "answer"),
        ("", {"reasoning_content": "hm"}, 60, "reasoning"),
        ("<think>hm, so", {}, 0, "reasoning"),
        ('{"la', {}, 63, "reasoning"),
        ('<think>hm</think>{"la', {}, 10, "answer"),
    ],
)
def test_a_cut_reply_tells_whether_the_answer_or_the_reasoning_was_cut(
    serve: Serve, content: str, message: dict[str, str], reasoning: int, where: str
) -> None:
    cut = completion(content, finish="length", usage=(9, 64), **message)
    cut.body["usage"]["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    reply = ask_once(serve(always(cut)))
    assert (reply.status, reply.truncated_in, reply.attempts) == ("truncated", where, 2)


# --- limits


@pytest.mark.parametrize("retry_after", [None, "seconds", "date"])
def test_a_token_bucket_is_waited_for_and_no_question_is_lost(serve: Serve, retry_after: str | None) -> None:
    server = serve(limited(always(GOOD), rate=40, burst=10, retry_after=retry_after))
    replies = ask(client_for(server, limits={"concurrency": 16}), *[REQUEST] * 60)
    assert {reply.status for reply in replies} == {"ok"}
    assert len(server.requests) <= 60 + 40


@pytest.mark.parametrize(
    "said",
    [
        failure(429, "Rate limit reached: requests per day (RPD): limit 200, used 200"),
        failure(429, "Quota exceeded for metric GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
        failure(429, "slower", x_ratelimit_remaining_requests_day="0"),
        failure(429, "You exceeded your current quota", code="insufficient_quota"),
        failure(429, "x", code="insufficient_quota"),
        failure(429, "the daily token limit is reached"),
        failure(429, "tomorrow", Retry_After="86400"),
    ],
    ids=["text", "metric", "header", "credit", "code alone", "daily", "long wait"],
)
def test_a_quota_that_is_used_up_for_long_stops_the_model_after_one_request(serve: Serve, said: Said) -> None:
    server = serve(always(said))
    client = client_for(server)
    replies = ask(client, *[REQUEST] * 5)
    assert client.stopped is not None
    assert [reply.attempts for reply in replies] == [1, 0, 0, 0, 0]


def test_a_quota_in_the_middle_leaves_the_rest_not_run_and_a_later_run_finishes(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    def script(_request: Received, number: int) -> Said:
        return YES if number < 6 else failure(429, "tokens per day are used up")

    server = serve(script)
    workspace = asked_at(server, limits={"concurrency": 2})
    first = ask_partitions(workspace, [MADE], ["itp"])[0]
    assert first.by_status["ok"] == 6
    assert "daily quota" in str(first.stopped_reason)
    server.script = always(YES)
    second = ask_partitions(workspace, [MADE], ["itp"])[0]
    assert (second.reused, second.by_status) == (6, {"ok": second.planned})


def test_a_wrong_key_costs_one_request_however_many_ask(serve: Serve) -> None:
    server = serve(always(Said(401, {"error": {"message": "wrong key"}}, delay=0.1)))
    replies = ask(client_for(server, limits={"concurrency": 64}), *[REQUEST] * 64)
    assert len(server.requests) == 1
    assert sum(reply.attempts for reply in replies) == 1


# --- money


def paid(server: Server, usd: float, **fields: Any) -> tuple[Client, Budget]:
    budget = Budget(usd)
    model = ModelEntry.model_validate(entry(server, local=False, price=PRICE, **fields))
    return Client(model, Gate(model.limits, Endpoint()), QUICK, budget, Capabilities()), budget


def test_a_call_is_settled_with_what_it_cost(serve: Serve) -> None:
    client, budget = paid(serve(always(completion("{}", usage=(20, 5)))), 1e6)
    assert ask(client, REQUEST)[0].cost_usd == 25
    assert (budget.spent_usd, budget.reserved_usd) == (25, 0)


@pytest.mark.parametrize(
    ("said", "share"),
    [
        (failure(400, "made to fail"), 0),
        (failure(503, "made to fail"), 0),
        (Said(drop=True), 1),
        (Said(status=502, text="<html>bad gateway</html>"), 1),
        (Said(delay=30), 1),
    ],
    ids=["refused", "down", "reset", "gateway", "timeout"],
)
def test_a_call_nobody_knows_the_end_of_costs_the_most_it_can_and_a_refused_one_nothing(
    serve: Serve, said: Said, share: int
) -> None:
    client, budget = paid(serve(always(said)), 1e6, limits={"call_seconds": 0.5})
    reply = ask(client, REQUEST)[0]
    most = most_usd(client.line.price, REQUEST.prompt_tokens, REQUEST.parameters)
    assert budget.spent_usd == pytest.approx(share * reply.attempts * most)
    assert reply.charged_usd == pytest.approx(budget.spent_usd)


def test_nobody_at_the_address_costs_nothing() -> None:
    nobody = ModelEntry(
        id="made",
        litellm="openai/made",
        api_base="http://127.0.0.1:9/v1",
        price=PRICE,  # type: ignore[arg-type]
    )
    budget = Budget(1e6)
    reply = ask(Client(nobody, Gate(nobody.limits, Endpoint()), QUICK, budget, Capabilities()), REQUEST)[0]
    assert (reply.status, budget.spent_usd) == ("api_error", 0)


def test_an_answer_without_usage_is_settled_with_the_most_it_can_have_cost(serve: Serve) -> None:
    client, budget = paid(serve(always(completion("{}", usage=None))), 1e6)
    ask(client, REQUEST)
    assert budget.spent_usd >= REQUEST.prompt_tokens + 64


def test_a_budget_that_is_used_up_stops_the_model_and_is_not_passed(serve: Serve) -> None:
    server = serve(always(completion("{}", usage=(20, 5))))
    client, budget = paid(server, 250)
    replies: list[Reply] = ask(client, *[REQUEST] * 20)
    assert "budget is used up" in str(client.stopped)
    assert budget.spent_usd <= 250
    assert 0 < sum(reply.attempts for reply in replies) == len(server.requests) < 20
    assert {reply.status for reply in replies if reply.attempts} == {"ok"}


# --- loops


def test_batches_in_one_process_each_have_a_loop_of_their_own(serve: Serve) -> None:
    server = serve(always(GOOD))
    for _ in range(3):
        asyncio.run(_batch(server))
    assert len(server.requests) == 12


async def _batch(server: Server) -> None:
    client = client_for(server)
    replies = await asyncio.gather(*(client.ask(REQUEST) for _ in range(4)))
    assert {reply.status for reply in replies} == {"ok"}
