"""`rescue ui` in a process of its own, and talking to it as the browser does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psutil

from rescue_pipeline.datadir import DataDirectory
from tests.defs.pipeline import OPTIONS

RESCUE = Path(sys.executable).with_name("rescue")
PATIENCE_SECONDS = 200
ANSWER_JOB = {
    "repositoryLocationName": "rescue_pipeline",
    "repositoryName": "__repository__",
    "pipelineName": "answer",
}
T = TypeVar("T")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@dataclass
class Ui:
    process: subprocess.Popen[bytes]
    port: int
    log: Path
    family: set[psutil.Process] = field(default_factory=set)
    """Every process that was ever seen below `rescue ui`."""

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            said = json.load(answer)
        assert not said.get("errors"), said["errors"]
        data: dict[str, Any] = said["data"]
        return data

    def wait(self, what: str, look: Callable[[], T | None]) -> T:
        """What `look` returns once it is something; fails with the UI's log when it never is."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            self.family |= set(psutil.Process(self.process.pid).children(recursive=True))
            try:
                if found := look():
                    return found
            except (urllib.error.URLError, ConnectionError):
                pass  # not up yet
            time.sleep(0.5)
        raise AssertionError(f"{what} did not happen; the UI said:\n{self.log.read_text()[-4000:]}")

    def wait_until_loaded(self) -> None:
        query = "{ workspaceOrError { ... on Workspace { locationEntries { name loadStatus } } } }"
        loaded = [{"name": "rescue_pipeline", "loadStatus": "LOADED"}]
        self.wait("loading", lambda: self.ask(query)["workspaceOrError"]["locationEntries"] == loaded)

    def partitions(self) -> list[str]:
        query = '{ assetNodeOrError(assetKey: {path: ["lake", "plan"]}) { ... on AssetNode { partitionKeys } } }'
        keys: list[str] = self.ask(query)["assetNodeOrError"]["partitionKeys"]
        return keys

    def launch_answer(self, model: str, modality: str) -> str:
        """Launch the answer job for one partition; returns the run's id."""
        mutation = """mutation ($params: ExecutionParams!) { launchRun(executionParams: $params) {
            __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
        tags = {
            "dagster/partition": f"{modality}|{model}",
            "dagster/partition/model": model,
            "dagster/partition/modality": modality,
        }
        execution = {"tags": [{"key": key, "value": value} for key, value in tags.items()]}
        params = {
            "selector": ANSWER_JOB,
            "runConfigData": {"resources": {"options": {"config": OPTIONS}}},
            "executionMetadata": execution,
        }
        launched = self.ask(mutation, params=params)["launchRun"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        return str(launched["run"]["runId"])

    def runs(self) -> dict[str, tuple[str, str]]:
        """Job and status of every run, newest first."""
        query = "{ runsOrError { ... on Runs { results { runId jobName status } } } }"
        return {run["runId"]: (run["jobName"], run["status"]) for run in self.ask(query)["runsOrError"]["results"]}

    def stop(self, sign: signal.Signals) -> int:
        self.family |= set(psutil.Process(self.process.pid).children(recursive=True))
        self.process.send_signal(sign)
        return self.process.wait(timeout=60)


@contextmanager
def serving(directory: DataDirectory, cwd: Path) -> Iterator[Ui]:
    """`rescue ui` on a free port, started in `cwd`; whatever is left of it afterwards is killed."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("RESCUE_", "DAGSTER_", "DBT_"))}
    port, log = free_port(), cwd / "ui.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [RESCUE, "ui", "--port", str(port)],
            cwd=cwd,
            env={**kept, "RESCUE_DATA_DIR": str(directory.root)},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    ui = Ui(process, port, log)
    try:
        ui.wait_until_loaded()
        yield ui
    finally:
        for left in (*ui.family, psutil.Process(process.pid)) if process.poll() is None else ui.family:
            if left.is_running():
                left.kill()
        process.wait()
