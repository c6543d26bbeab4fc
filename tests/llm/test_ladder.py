"""The output ladder: what a server takes is found out once, remembered, and recorded with every response."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rescue_pipeline.llm import Workspace
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.capabilities import LADDER, Capabilities
from rescue_pipeline.llm.checking import check_models
from rescue_pipeline.llm.identity import request_id
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.schemas import Responses
from tests.llm.conftest import QUICK, entry
from tests.llm.server import Received, Said, Script, Server, always, called, completion, failure, in_turn, refusing
from tests.llm.test_asking import MADE, YES
from tests.llm.test_client import REQUEST, ask, ask_once, client_for
from tests.llm.world import with_models

Serve = Callable[[Script], Server]
GOOD = completion("{}")


def form_of(request: Received) -> str:
    if "tools" in request.body:
        return "tool"
    return str((request.body.get("response_format") or {"type": "plain"})["type"])


@pytest.mark.parametrize(
    ("refused", "rung"),
    [
        ([], "json_schema"),
        (["json_schema"], "tool"),
        (["json_schema", "tool"], "json_object"),
        (["json_schema", "tool", "json_object"], "plain"),
    ],
)
def test_auto_steps_down_to_what_the_server_takes(serve: Serve, refused: list[str], rung: str) -> None:
    server = serve(refusing(*refused, then=GOOD))
    replies = ask(client_for(server, limits={"concurrency": 8}), *[REQUEST] * 6)
    assert {(reply.status, reply.rung) for reply in replies} == {("ok", rung)}
    # each form is refused once: whoever finds out goes alone, and the others know
    assert [form_of(request) for request in server.requests] == [*refused, *[rung] * 6]
    assert sum(reply.attempts for reply in replies) == len(server.requests)


@pytest.mark.parametrize(
    "said",
    [
        failure(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
        failure(422, "body.response_format.type: Input should be 'text' or 'json_object'"),
        failure(400, "structured outputs are not supported by this backend"),
        failure(500, "failed to parse grammar"),
        failure(501, "guided decoding is not implemented"),
    ],
)
def test_servers_say_in_many_ways_that_they_take_no_schema(serve: Serve, said: Said) -> None:
    server = serve(refusing("json_schema", by=said, then=GOOD))
    assert ask_once(server).rung == "tool"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "said",
    [
        failure(400, "tool_choice: 'function' is not supported"),
        failure(400, "This model does not support tools"),
        failure(404, "No endpoints found that support tool use."),
    ],
)
def test_servers_say_in_many_ways_that_they_take_no_tools(serve: Serve, said: Said) -> None:
    def script(request: Received, _number: int) -> Said:
        form = form_of(request)
        return failure(400, "no json_schema") if form == "json_schema" else said if form == "tool" else GOOD

    assert ask_once(serve(script)).rung == "json_object"


@pytest.mark.parametrize(
    "said",
    [
        failure(400, "made to fail"),
        failure(400, "the message does not fit the schema of the conversation table in our database"),
        failure(401, "response_format: wrong key"),
        failure(404, "no such model"),
    ],
)
def test_an_error_about_something_else_is_no_reason_to_step_down(serve: Serve, said: Said) -> None:
    server = serve(always(said))
    assert ask_once(server).status == "api_error"
    assert [form_of(request) for request in server.requests] == ["json_schema"]


def test_a_filtered_prompt_that_speaks_of_tools_is_filtered(serve: Serve) -> None:
    server = serve(always(failure(400, "flagged: response_format", code="content_filter")))
    assert (ask_once(server).status, len(server.requests)) == ("filtered", 1)


@pytest.mark.parametrize("named", ["json_schema", "tool", "json_object"])
def test_a_named_form_stays_and_its_refusal_stops_the_model(serve: Serve, named: str) -> None:
    server = serve(refusing(named, then=GOOD))
    client = client_for(server, structured_output=named)
    replies = ask(client, *[REQUEST] * 5)
    assert [form_of(request) for request in server.requests] == [named]
    assert [reply.attempts for reply in replies] == [1, 0, 0, 0, 0]
    assert "structured_output" in str(client.stopped)


def test_a_tool_call_is_the_answer(serve: Serve) -> None:
    server = serve(always(called('{"a": 1}')))
    reply = ask_once(server, structured_output="tool")
    assert (reply.status, reply.content, reply.rung) == ("ok", '{"a": 1}', "tool")
    sent = server.requests[0].body
    assert sent["tools"][0]["function"]["parameters"] == REQUEST.schema
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "answer"}}


def test_a_model_that_answers_in_words_though_a_tool_was_forced_is_read_all_the_same(serve: Serve) -> None:
    assert ask_once(serve(always(completion('{"a": 1}'))), structured_output="tool").content == '{"a": 1}'


def test_a_cut_tool_call_is_truncated(serve: Serve) -> None:
    reply = ask_once(serve(always(called('{"a": 1', finish="length"))), structured_output="tool")
    assert (reply.status, reply.truncated_in, reply.attempts) == ("truncated", "answer", 2)


def test_a_later_run_does_not_try_again_what_was_refused(serve: Serve, asked_at: Callable[..., Workspace]) -> None:
    server = serve(refusing("json_schema", "tool", then=YES))
    workspace = asked_at(server)
    ask_partitions(workspace, [MADE], ["itp"], 3)
    n = len(server.requests)
    ask_partitions(workspace, [MADE], ["itp"], 6)
    assert [form_of(request) for request in server.requests[n:]] == ["json_object"] * 3
    assert set(workspace.lake.read("responses_itp", Responses)["rung"]) == {"json_object"}
    lines = (workspace.datadir.journal / "capabilities.jsonl").read_text().splitlines()
    assert [json.loads(line)["rung"] for line in lines] == ["json_object"]


def test_another_endpoint_or_revision_is_found_out_anew(tmp_path: Path) -> None:
    here = ModelEntry(id="a", litellm="openai/m", api_base="http://127.0.0.1:1/v1")
    Capabilities(tmp_path).learn(here, "tool")
    known = Capabilities(tmp_path)
    assert known.rung(here) == "tool"
    assert known.rung(here.model_copy(update={"api_base": "http://127.0.0.1:2/v1"})) is None
    assert known.rung(here.model_copy(update={"revision": "2"})) is None


def test_the_last_that_was_learnt_counts_and_a_torn_line_does_not(tmp_path: Path) -> None:
    here = ModelEntry(id="a", litellm="openai/m")
    for rung in ("json_schema", "json_object"):
        Capabilities(tmp_path).learn(here, rung)
    with (tmp_path / "capabilities.jsonl").open("a") as file:
        file.write('{"endpoint": "op')
    Capabilities(tmp_path).learn(here, "plain")
    assert Capabilities(tmp_path).rung(here) == "plain"


def test_the_declared_form_and_the_schema_are_part_of_a_requests_identity_and_the_rung_is_not(serve: Serve) -> None:
    server = serve(in_turn(failure(400, "no json_schema"), GOOD))
    model = ModelEntry.model_validate(entry(server))
    before = request_id(model, REQUEST, generation=1, epoch="1")
    client = client_for(server)
    assert ask(client, REQUEST)[0].rung == "tool"
    assert request_id(client.entry, REQUEST, generation=1, epoch="1") == before
    named = model.model_copy(update={"structured_output": "tool"})
    assert request_id(named, REQUEST, generation=1, epoch="1") != before


def test_a_parameter_that_litellm_does_not_know_of_a_provider_is_sent_all_the_same(serve: Serve) -> None:
    server = serve(always(GOOD))
    assert ask_once(server, litellm="volcengine/made").rung == LADDER[0]
    assert server.requests[0].body["response_format"]["type"] == "json_schema"


def test_models_check_tells_the_rung(serve: Serve) -> None:
    server = serve(refusing("json_schema", then=called('{"ready": "yes"}')))
    found = check_models(with_models(entry(server)), ["made"])[0]
    assert (found.ok, found.rung, found.structured_output, len(server.requests)) == (True, "tool", True, 2)


def test_a_server_that_fails_for_another_reason_teaches_nothing(
    serve: Serve, asked_at: Callable[..., Workspace]
) -> None:
    workspace = asked_at(serve(always(failure(500, "made to fail"))))
    ask_partitions(workspace, [MADE], ["itp"], 1, policy=QUICK)
    assert not (workspace.datadir.journal / "capabilities.jsonl").exists()
