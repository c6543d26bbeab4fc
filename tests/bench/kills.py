"""kill -9 at random moments of one run, again and again: what is stored in the end, and what was asked twice."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from rescue_pipeline.llm import Workspace
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.schemas import TASKS, Answers, Responses
from tests.bench.answer_server import AnswerServer, answer_server
from tests.bench.asking import BENCH, workspace

QUESTIONS, CONCURRENCY, KILLS, LATENCY = 1000, 16, 20, 0.25
UNSTABLE = ["sent_at", "seconds", "attempts", "segment", "run_id", "prompt_tokens", "completion_tokens", "cost_usd"]
"""Times, attempts and usage: all that may differ between a run that was killed and one that was not."""


def bench_kills(seed: int = 1) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="rescue-bench-") as folder, answer_server(latency=LATENCY) as server:
        root = Path(folder)
        kills = sum(_killed(root / "killed", server, rng) for _ in range(KILLS))
        killed = _finish(root / "killed", server)
        counted = server.count()
        undisturbed = _finish(root / "undisturbed", server)
    equal = all(_tables(killed, table).equals(_tables(undisturbed, table)) for table in ("responses", "answers"))
    repeated = counted["requests"] - counted["different"]
    print(
        f"{KILLS} kills in a run of {counted['different']} questions ({kills} while it was asking): tables "
        f"{'equal' if equal else 'DIFFERENT'}, {repeated} requests repeated, {repeated / max(1, kills):.1f} a kill "
        f"at concurrency {CONCURRENCY}",
        flush=True,
    )


def _killed(root: Path, server: AnswerServer, rng: random.Random) -> bool:
    """Start the run and kill it at a random moment; returns whether it was asking then."""
    before = server.count()["requests"]
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.kills", str(root), str(server.port)])
    while server.count()["requests"] == before and process.poll() is None:
        time.sleep(0.02)
    time.sleep(rng.uniform(0.0, 0.9))
    was_asking = process.poll() is None
    process.kill()
    process.wait()
    return was_asking


def _finish(root: Path, server: AnswerServer) -> Workspace:
    work = workspace(root, QUESTIONS, server, CONCURRENCY)
    summary = ask_partitions(work, [BENCH], TASKS)[0]
    for task in TASKS:
        parse_partition(work, BENCH, task)
    if summary.by_status != {"ok": summary.planned}:
        raise SystemExit(f"not all was answered: {summary.by_status}")
    return work


def _tables(work: Workspace, table: str) -> pl.DataFrame:
    """All rows of a table's six tasks, without what may differ."""
    schema = Responses if table == "responses" else Answers
    rows = pl.concat([work.lake.read(f"{table}_{task}", schema) for task in TASKS])
    kept = [column for column in rows.columns if column not in UNSTABLE]
    return rows.select(kept).sort(kept)


if __name__ == "__main__":
    asked_at = AnswerServer(int(sys.argv[2]))
    ask_partitions(workspace(Path(sys.argv[1]), QUESTIONS, asked_at, CONCURRENCY), [BENCH], TASKS)
