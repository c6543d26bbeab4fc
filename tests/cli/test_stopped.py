"""SIGTERM of a whole run, as Ctrl-C: the calls in flight come back, what is answered is published, exit code 3."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import yaml

from rescue_pipeline.bundle import DEMO_CORPUS
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.warehouse import open_results
from tests.llm.conftest import entry
from tests.llm.server import Received, Said, Server, completion

RESCUE = str(Path(sys.executable).with_name("rescue"))
ANSWERED_AT_ONCE, IN_FLIGHT = 5, 4


def test_sigterm_ends_a_run_as_gracefully_as_ctrl_c(tmp_path: Path) -> None:
    enough = threading.Event()

    def script(_request: Received, number: int) -> Said:
        if number + 1 == ANSWERED_AT_ONCE + IN_FLIGHT:
            enough.set()
        slow = 2.0 if number >= ANSWERED_AT_ONCE else 0.0
        return Said(body=completion('{"should_speak": "yes"}').body, delay=slow)

    with Server(script) as server:
        models = tmp_path / "models.yaml"
        models.write_text(yaml.safe_dump({"models": [entry(server, limits={"concurrency": IN_FLIGHT})]}))
        data = tmp_path / "data"
        command = [RESCUE, "run", "--corpus", str(DEMO_CORPUS), "--models", "made", "--tasks", "itp"]
        environment = {**os.environ, "RESCUE_MODELS_FILE": str(models), "RESCUE_DATA_DIR": str(data)}
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
        assert enough.wait(timeout=240), process.communicate(timeout=10)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=240)
        sent = len(server.requests)
    assert (process.returncode, sent) == (3, ANSWERED_AT_ONCE + IN_FLIGHT), said
    assert "stopped; nothing stored was lost" in said
    with open_results(DataDirectory(data).results) as results:
        rows = results.execute("select status, count(*) from scores.items where model = 'made' group by all").fetchall()
    assert dict(rows)["ok"] == sent
    assert dict(rows)["not_run"] > 0
