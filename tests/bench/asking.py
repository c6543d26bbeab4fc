"""How fast questions are asked: planning, journal and parsing included, the server in a process of its own."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from rescue_pipeline.llm import Partition, Workspace
from rescue_pipeline.llm.adapter import close_connections, complete, prepare_litellm
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.planning import Renderer
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.schemas import TASKS
from tests.bench.answer_server import AnswerServer, answer_server
from tests.llm.world import World, with_models

BENCH = Partition("bench", "dialogue")
QUESTIONS_PER_SESSION = 18


def workspace(root: Path, questions: int, server: AnswerServer, concurrency: int) -> Workspace:
    """A corpus of about so many questions, and the model that answers at the server."""
    groups = tuple(f"ana{number}_and_bo{number}" for number in range(1 + questions // QUESTIONS_PER_SESSION))
    entry = {
        "id": "bench",
        "litellm": "openai/bench",
        "api_base": server.url,
        "local": True,
        "structured_output": "json_schema",
        "limits": {"concurrency": concurrency},
    }
    return World(groups).write(root, with_models(entry))


@contextmanager
def made(questions: int, concurrency: int, **server: Any) -> Iterator[tuple[Workspace, AnswerServer]]:
    with tempfile.TemporaryDirectory(prefix="rescue-bench-") as root, answer_server(**server) as running:
        prepare_litellm()  # seconds of importing are not what is measured
        yield workspace(Path(root), questions, running, concurrency), running


@dataclass(frozen=True)
class Asked:
    questions: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.questions / self.seconds


def ask(work: Workspace) -> Asked:
    """Plan, ask, journal, seal, parse: everything from an empty lake to stored answers."""
    started = time.monotonic()
    summary = ask_partitions(work, [BENCH], TASKS)[0]
    for task in TASKS:
        parse_partition(work, BENCH, task)
    if summary.by_status != {"ok": summary.planned}:
        raise SystemExit(f"not all was answered: {summary.by_status}")
    return Asked(summary.planned, time.monotonic() - started)


def bare_litellm(entry: ModelEntry, messages: list[list[dict[str, str]]], concurrency: int) -> float:
    """Calls a second of LiteLLM alone, with the same messages."""

    async def run() -> float:
        waiting = iter(messages)

        async def worker() -> None:
            for message in waiting:
                await complete(entry, message, {"max_tokens": 1024}, form={}, metadata=None, seconds=60)

        started = time.monotonic()
        await asyncio.gather(*(worker() for _ in range(concurrency)))
        seconds = time.monotonic() - started
        await close_connections()
        return len(messages) / seconds

    return asyncio.run(run())


def bench_asking() -> None:
    for latency, concurrency, questions in ((0.2, 32, 6000), (1.0, 128, 8000)):
        with made(questions, concurrency, latency=latency) as (work, server):
            asked = ask(work)
            ideal = concurrency / latency
            print(
                f"{asked.questions} questions, {latency:g} s, concurrency {concurrency}: {asked.rate:.1f} a second, "
                f"{asked.rate / ideal:.0%} of {ideal:.0f}",
                flush=True,
            )
            if latency == 0.2:
                pauses = sequential(work, server)
                print(
                    f"one by one with 0.3 s pauses: {pauses:.1f} a second; ours is {asked.rate / pauses:.0f} times that"
                )


def sequential(work: Workspace, server: AnswerServer, calls: int = 30) -> float:
    """Calls a second of a client that asks one question after the other and pauses 0.3 s between them."""
    entry, messages = work.registry.get("bench"), _messages(work)[:calls]

    async def run() -> float:
        started = time.monotonic()
        for message in messages:
            await complete(entry, message, {"max_tokens": 1024}, form={}, metadata=None, seconds=60)
            await asyncio.sleep(0.3)
        seconds = time.monotonic() - started
        await close_connections()
        return calls / seconds

    return asyncio.run(run())


def _messages(work: Workspace) -> list[list[dict[str, str]]]:
    renderer = Renderer(work, BENCH)
    return [renderer.request(row).messages for task in TASKS for row in work.corpus.of_task(task)]


def bench_ceiling(questions: int = 4000, concurrency: int = 32) -> None:
    """Without latency: what one core can do, ours beside LiteLLM alone, on the same server."""
    with made(questions, concurrency) as (work, _):
        entry, messages = work.registry.get("bench"), _messages(work)
        bare_litellm(entry, messages[:300], concurrency)  # connections and caches are warm for both
        alone = bare_litellm(entry, messages, concurrency)
        ours = ask(work)
    print(
        f"{ours.questions} questions, no latency, concurrency {concurrency}: {ours.rate:.1f} a second, LiteLLM alone "
        f"{alone:.1f}: {ours.rate / alone:.0%}",
        flush=True,
    )


def bench_memory(questions: int = 20000) -> None:
    """Resident memory while 20,000 questions are asked."""
    process, readings = psutil.Process(), [0.0] * 5

    def watch(_what: str, done: int, planned: int | None) -> None:
        quarter = 4 * done // (planned or 1)
        if not readings[quarter]:
            readings[quarter] = process.memory_info().rss / 1e6

    with made(questions, 64) as (work, _):
        summary = ask_partitions(work, [BENCH], TASKS, on_progress=watch)[0]
    shown = ", ".join(f"{reading:.0f}" for reading in readings)
    print(f"memory over {summary.planned} questions, MB at each quarter: {shown}", flush=True)


def bench_quota(per_second: float = 20.0, seconds: float = 90.0) -> None:
    """A server with a token bucket whose size nobody told us."""
    with made(int(per_second * seconds), 64, latency=0.05, quota=per_second, burst=per_second) as (work, server):
        ask(work)
        counted = server.count()
    accepted, refused = ([at for at in counted[kind] if at >= 10] for kind in ("accepted", "refused"))
    lasted = max(counted["accepted"]) - 10
    print(
        f"quota of {per_second:g} a second: {len(accepted) / lasted / per_second:.1%} used, "
        f"{len(refused) / (len(accepted) + len(refused)):.2%} refused after the first 10 s "
        f"({len(counted['refused'])} refused in all)",
        flush=True,
    )
