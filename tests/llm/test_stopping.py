"""Ctrl-C and SIGTERM: what is in flight is paid for and kept, nothing new is sent, a second signal leaves at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rescue_pipeline.llm import Workspace
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.schemas import Responses
from tests.llm.conftest import entry
from tests.llm.server import Received, Said, Script, Server, completion, failure
from tests.llm.test_asking import MADE, YES
from tests.llm.world import World, with_models

Serve = Callable[[Script], Server]
CHILD = """
import sys
from pathlib import Path
from rescue_pipeline.llm import Partition
from rescue_pipeline.llm.asking import ask_partitions
from tests.llm.world import World, with_models

root, url, seconds = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
limits = {"concurrency": 4, "call_seconds": seconds}
made = {"id": "made", "litellm": "openai/made-model", "api_base": url, "local": True, "limits": limits}
try:
    ask_partitions(World().write(root, with_models(made)), [Partition("made", "dialogue")], ["itp"])
except KeyboardInterrupt:
    sys.exit(3)
"""


class Asking:
    """A process that asks a server; `signal_at` signals it when the server has seen so many requests."""

    def __init__(self, serve: Serve, root: Path, reply: Callable[[int], Said], call_seconds: float = 120.0) -> None:
        self.root, self.seen = root, threading.Condition()
        self.server = serve(self._script(reply))
        command = [sys.executable, "-c", CHILD, str(root), self.server.url, str(call_seconds)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE)

    def _script(self, reply: Callable[[int], Said]) -> Script:
        def script(_request: Received, number: int) -> Said:
            with self.seen:
                self.seen.notify_all()
            return reply(number)

        return script

    def signal_at(self, requests: int, sign: signal.Signals) -> float:
        with self.seen:
            assert self.seen.wait_for(lambda: len(self.server.requests) >= requests, timeout=60)
        time.sleep(0.1)
        self.process.send_signal(sign)
        return time.monotonic()

    def stored(self) -> list[str]:
        workspace = World().write(self.root, with_models(entry(self.server)))
        ask_partitions(workspace, [], [])
        return workspace.lake.read("responses_itp", Responses)["status"].to_list()


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_calls_in_flight_come_back_and_sends_no_new_one(
    serve: Serve, tmp_path: Path, sign: signal.Signals
) -> None:
    asking = Asking(serve, tmp_path, lambda number: Said(body=YES.body, delay=1.0 if number > 4 else 0.0))
    asking.signal_at(9, sign)
    assert asking.process.wait(timeout=30) == 3
    assert len(asking.server.requests) == 9
    assert asking.stored() == ["ok"] * 9


def test_what_failed_is_not_tried_again_after_a_signal(serve: Serve, tmp_path: Path) -> None:
    asking = Asking(serve, tmp_path, lambda number: failure(500, "made to fail") if number else YES)
    asked = asking.signal_at(5, signal.SIGINT)
    assert asking.process.wait(timeout=30) == 3
    assert time.monotonic() - asked < 15  # nobody sleeps until the next try
    assert asking.stored().count("ok") == 1


def test_the_grace_is_no_longer_than_a_call_may_take(serve: Serve, tmp_path: Path) -> None:
    asking = Asking(
        serve, tmp_path, lambda number: Said(body=YES.body, delay=60.0 if number else 0.0), call_seconds=2.0
    )
    asked = asking.signal_at(5, signal.SIGINT)
    assert asking.process.wait(timeout=30) == 3
    assert time.monotonic() - asked < 15


def test_a_second_signal_leaves_at_once_and_keeps_what_came_back(serve: Serve, tmp_path: Path) -> None:
    asking = Asking(serve, tmp_path, lambda number: Said(body=YES.body, delay=60.0 if number > 4 else 0.0))
    asking.signal_at(9, signal.SIGINT)
    time.sleep(0.5)
    asking.process.send_signal(signal.SIGINT)
    assert asking.process.wait(timeout=10) == 3
    assert asking.stored() == ["ok"] * 5


def test_a_cut_answer_gets_its_second_call_though_a_signal_came(serve: Serve, tmp_path: Path) -> None:
    cut = completion('{"should', finish="length")
    asking = Asking(serve, tmp_path, lambda number: Said(body=YES.body if number else cut.body, delay=1.0))
    asking.signal_at(1, signal.SIGTERM)
    assert asking.process.wait(timeout=30) == 3
    assert asking.stored() == ["ok"]


def test_the_run_after_a_signal_asks_the_rest_only(serve: Serve, tmp_path: Path) -> None:
    asking = Asking(serve, tmp_path, lambda _number: Said(body=YES.body, delay=0.2))
    asking.signal_at(9, signal.SIGINT)
    assert asking.process.wait(timeout=30) == 3
    kept = len(asking.stored())
    workspace: Workspace = World().write(tmp_path, with_models(entry(asking.server)))
    summary = ask_partitions(workspace, [MADE], ["itp"])[0]
    assert (summary.reused, summary.by_status) == (kept, {"ok": summary.planned})
    assert len(asking.server.requests) == summary.planned
