"""kill -9 while models are asked and again while dbt builds: the next run finishes, with the tables of a calm one."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from pathlib import Path

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.warehouse import open_results
from tests.cli.finished import (
    LONGEST_SECONDS,
    RESCUE,
    SMALL_RUN,
    Finished,
    answer_to,
    environment_for,
    rescue,
    write_corpus,
    write_models,
)
from tests.llm.server import Received, Said, Server, completion

ASKED = 36
CONCURRENCY = 4
KILLED = -9

# what differs between any two runs: where the server listens is part of a request's identity
_NOT_COMPARED = ["request_id", "answer_request_id", "judge_request_id"]
_TABLES = {
    "tasks.instances": "true",
    "predictions.plan": "protocol = 'clean'",
    "predictions.answers": "protocol = 'clean'",
    "predictions.judgements": "protocol = 'clean'",
    "scores.items": "protocol = 'clean'",
    "scores.gradings": "protocol = 'clean'",
    "results.leaderboard_long": "protocol = 'clean'",
    "results.leaderboard": "protocol = 'clean'",
    "results.failures": "protocol = 'clean'",
}


def start(folder: Path) -> subprocess.Popen[bytes]:
    """The run of `finished_small`, in a directory of its own."""
    said = (folder / "run.err").open("ab")
    command = [RESCUE, "run", "--corpus", "small.jsonl", *SMALL_RUN]
    environment = environment_for(folder / "data")
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=said)


def kill_during_publication(process: subprocess.Popen[bytes], directory: DataDirectory) -> None:
    """Wait until dbt builds scores, then kill."""
    log = directory.logs / "dbt.log"
    deadline = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if log.exists() and "model scores." in log.read_text(encoding="utf-8", errors="replace"):
            process.kill()
            break
        time.sleep(0.05)
    assert process.wait(timeout=60) == KILLED, "the run was to be killed while dbt built scores"


def tables(directory: DataDirectory) -> dict[str, list[str]]:
    """The rows of each table, in an order of their own."""
    found = {}
    with open_results(directory.results) as connection:
        for table, where in _TABLES.items():
            compared = f"select columns(lambda c: not list_contains($not_compared, c)) from {table} where {where}"
            rows = connection.execute(compared, {"not_compared": _NOT_COMPARED}).fetchall()
            found[table] = sorted(map(repr, rows))
    return found


def test_two_kills_change_no_table_and_repeat_no_finished_request(finished_small: Finished, tmp_path: Path) -> None:
    child: list[subprocess.Popen[bytes]] = []

    def script(request: Received, number: int) -> Said:
        if number == ASKED // 2:
            child[0].kill()
        return Said(body=completion(answer_to(request)).body, delay=0.02)

    directory = DataDirectory(tmp_path / "data")
    write_corpus(tmp_path)
    with Server(script) as server:
        write_models(tmp_path, server, limits={"concurrency": CONCURRENCY})
        child.append(start(tmp_path))
        assert child[0].wait(timeout=LONGEST_SECONDS) == KILLED, (tmp_path / "run.err").read_text()
        kill_during_publication(start(tmp_path), directory)
        asked_before = len(server.requests)
        last = rescue("run", "--corpus", "small.jsonl", *SMALL_RUN, cwd=tmp_path, data=directory.root)
        asked = Counter(str(request.body["messages"]) for request in server.requests)

    assert last.returncode == 3, last.stderr  # because of the rejected record
    assert f"made: {ASKED} planned, {ASKED} answered, 0 asked now, {ASKED} reused" in last.stdout
    assert len(server.requests) == asked_before
    assert len(asked) == ASKED
    assert len(server.requests) - ASKED <= CONCURRENCY  # at most what was under way at the first kill
    calm, disturbed = tables(finished_small.data), tables(directory)
    for table, rows in calm.items():
        assert rows, table
        assert rows == disturbed[table], table
