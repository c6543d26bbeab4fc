"""The request layer against somebody else's server: Hugging Face's `transformers serve` with a tiny random model."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rescue_pipeline.llm import Partition
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.checking import check_models
from rescue_pipeline.llm.registry import ModelEntry, Registry
from rescue_pipeline.schemas import Responses
from rescue_pipeline.schemas.predictions import FINAL_RESPONSE_STATUSES
from tests.llm import tiny_model
from tests.llm.world import World, with_models

PYTHON = os.environ.get("RESCUE_TEST_TRANSFORMERS", "")
pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="RESCUE_TEST_TRANSFORMERS names no Python with transformers[serving]"),
    pytest.mark.timeout(600),
]
READY_SECONDS = 240


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """The registry entry of a model that answers noise, at a server that is running."""
    folder = tmp_path_factory.mktemp("tiny") / "tiny"
    subprocess.run([PYTHON, tiny_model.__file__, str(folder)], check=True, capture_output=True)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(PYTHON).with_name("transformers")), "serve", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(
        [*command, "--device", "cpu", folder.name],
        cwd=folder.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/v1/models", server)
        yield {
            "id": "tiny",
            "litellm": f"openai/{folder.name}",
            "api_base": f"http://127.0.0.1:{port}/v1",
            "local": True,
            "params": {"max_tokens": 24},
            "limits": {"concurrency": 2},
        }
    finally:
        server.kill()
        server.wait()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(READY_SECONDS):
        assert server.poll() is None, "the server ended"
        try:
            urllib.request.urlopen(url)
            return
        except urllib.error.URLError:
            time.sleep(1)
    raise AssertionError("the server did not get ready")


def test_every_question_ends_in_one_final_status(model: dict[str, object], tmp_path: Path) -> None:
    workspace = World().write(tmp_path, with_models(model))
    tiny = Partition("tiny", "dialogue")
    summary = ask_partitions(workspace, [tiny], ["itp", "stp"], limit=3)[0]
    assert summary.stopped_reason is None
    assert sum(summary.by_status.values()) == summary.planned == 6
    assert set(summary.by_status) <= set(FINAL_RESPONSE_STATUSES)
    assert ask_partitions(workspace, [tiny], ["itp", "stp"], limit=3)[0].reused == 6
    for task in ("itp", "stp"):
        rows = workspace.lake.read(f"responses_{task}", Responses)
        assert (rows["prompt_tokens"] > 100).all()  # as the server's own tokenizer counts
        assert (rows["rung"].is_not_null()).all()
        assert "ok" not in parse_partition(workspace, tiny, task).by_status  # noise is no answer


def test_the_check_reports_a_server_that_answers_but_not_in_form(model: dict[str, object]) -> None:
    check = check_models(Registry({"tiny": ModelEntry.model_validate(model)}), ["tiny"])[0]
    assert (check.reachable, check.ok) == (True, False)
    assert check.latency_seconds is not None
