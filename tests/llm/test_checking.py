"""`models check`: one tiny request to each, and what it tells."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.checking import ModelCheck, check_models
from tests.llm.conftest import entry
from tests.llm.server import Said, Script, Server, always, completion, failure
from tests.llm.world import with_models

Serve = Callable[[Script], Server]
READY = completion('{"ready": "yes"}')


def check(server: Server, **fields: object) -> ModelCheck:
    return check_models(with_models(entry(server, **fields)), ["made"])[0]


def test_a_good_model_is_ready_after_one_request(serve: Serve) -> None:
    server = serve(always(READY))
    found = check(server, structured_output="json_schema", price={"input": 1, "output": 2})
    assert (found.ok, found.key, found.reachable, found.structured_output) == (True, "not needed", True, True)
    assert (found.price_known, found.message, len(server.requests)) == (True, "ready", 1)
    assert found.latency_seconds is not None


def test_a_missing_key_is_told_without_a_request(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MADE_KEY", raising=False)
    server = serve(always(READY))
    found = check(server, api_key_env="MADE_KEY")
    assert (found.ok, found.key, found.reachable) == (False, "missing", None)
    assert "MADE_KEY" in found.message
    assert not server.requests


def test_an_unreachable_or_refusing_model_is_told_after_one_request(serve: Serve) -> None:
    server = serve(always(failure(404, "no such model")))
    found = check(server)
    assert (found.ok, found.reachable, len(server.requests)) == (False, False, 1)
    assert "NotFoundError" in found.message
    assert not check(serve(always(Said(delay=30))), limits={"call_seconds": 0.3}).ok


def test_a_model_that_ignores_the_form_is_told(serve: Serve) -> None:
    found = check(serve(always(completion("Yes, I am ready."))), structured_output="json_schema")
    assert (found.ok, found.reachable, found.structured_output) == (False, True, False)
    plain = check(serve(always(completion("Yes, I am ready."))), structured_output="none")
    assert (plain.ok, plain.structured_output) == (True, None)


def test_an_unknown_price_is_told(serve: Serve) -> None:
    assert not check(serve(always(READY)), local=False).price_known


def test_the_enabled_models_are_checked_by_default_offline() -> None:
    checks = check_models(with_models())
    assert [found.id for found in checks] == ["uniform", "majority", "heuristic", "lexical"]
    assert all(found.ok for found in checks)


def test_an_unknown_name_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        check_models(with_models(), ["nobody"])
