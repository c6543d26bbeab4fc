from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rescue_pipeline.llm import Workspace
from rescue_pipeline.llm.client import RetryPolicy
from tests.llm.server import Script, Server
from tests.llm.world import World, with_models

QUICK = RetryPolicy(attempts=3, base_seconds=0.01, cap_seconds=0.02, failures_in_a_row=4)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """The tiny corpus with the shipped registry."""
    return World().write(tmp_path)


@pytest.fixture
def serve() -> Iterator[Callable[[Script], Server]]:
    """Start servers that stop with the test."""
    running: list[Server] = []

    def start(script: Script) -> Server:
        server = Server(script)
        running.append(server.__enter__())
        return server

    yield start
    for server in running:
        server.__exit__()


@pytest.fixture
def asked_at(tmp_path: Path) -> Callable[..., Workspace]:
    """The tiny corpus with one more model, `made`, that answers at a server."""

    def make(server: Server, world: World | None = None, **fields: Any) -> Workspace:
        return (world or World()).write(tmp_path, with_models(entry(server, **fields)))

    return make


def entry(server: Server, **fields: Any) -> dict[str, Any]:
    return {"id": "made", "litellm": "openai/made-model", "api_base": server.url, "local": True, **fields}
