"""A server that speaks just enough of the OpenAI protocol to be asked very often, in a process of its own.

`python -m tests.bench.answer_server --latency 0.2 [--quota 20 --burst 20]` prints its port. GET /count tells what it
has seen; a quota is a real token bucket that refuses with 429.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

ANSWER = {
    "reason": "The last turns leave a question to the therapist open.",
    "should_speak": "yes",
    "relation_top3": ["mixed_transition"],
    "strategy_top3": ["track"],
    "target_top3": ["Ana"],
    "emotion": "calm",
    "intensity": 3,
    "viewpoints": [],
}
MESSAGE = {"role": "assistant", "content": json.dumps(ANSWER)}
COMPLETION = {
    "id": "bench",
    "object": "chat.completion",
    "created": 1,
    "model": "bench-0",
    "choices": [{"index": 0, "finish_reason": "stop", "message": MESSAGE}],
    "usage": {"prompt_tokens": 700, "completion_tokens": 60, "total_tokens": 760},
}
BODY = json.dumps(COMPLETION).encode()
REFUSAL = json.dumps({"error": {"message": "slower", "type": "rate_limit", "code": None}}).encode()


class _Bucket:
    def __init__(self, per_second: float, burst: float) -> None:
        self.rate, self.burst, self.level, self.at = per_second, burst, burst, time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self.level, self.at = min(self.burst, self.level + (now - self.at) * self.rate), now
        if self.level < 1:
            return False
        self.level -= 1
        return True


class _Answering:
    def __init__(self, latency: float, bucket: _Bucket | None) -> None:
        self.latency, self.bucket = latency, bucket
        self.seen: Counter[str] = Counter()
        self.accepted: list[float] = []
        self.refused: list[float] = []

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        if self.bucket and not self.bucket.take():
            self.refused.append(time.monotonic())
            return web.Response(status=429, body=REFUSAL, content_type="application/json")
        self.seen[hashlib.sha256(body).hexdigest()] += 1
        self.accepted.append(time.monotonic())
        if self.latency:
            await asyncio.sleep(self.latency)
        return web.Response(body=BODY, content_type="application/json")

    async def count(self, _request: web.Request) -> web.Response:
        first = min([*self.accepted, *self.refused], default=0.0)
        return web.json_response(
            {
                "requests": sum(self.seen.values()),
                "different": len(self.seen),
                "accepted": [round(at - first, 4) for at in self.accepted],
                "refused": [round(at - first, 4) for at in self.refused],
            }
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--quota", type=float, help="requests a second")
    parser.add_argument("--burst", type=float, default=1.0)
    arguments = parser.parse_args()
    bucket = _Bucket(arguments.quota, arguments.burst) if arguments.quota else None
    answering = _Answering(arguments.latency, bucket)
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", answering.answer)
    app.router.add_get("/count", answering.count)

    async def serve() -> None:
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


class AnswerServer:
    """A running server, seen from the process that asks it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}/v1"
        self._count = f"http://127.0.0.1:{port}/count"

    def count(self) -> dict[str, Any]:
        with urllib.request.urlopen(self._count) as response:
            counted: dict[str, Any] = json.load(response)
        return counted


@contextmanager
def answer_server(latency: float = 0.0, quota: float | None = None, burst: float = 1.0) -> Iterator[AnswerServer]:
    """Start the server in its own process; it ends with the block."""
    command = [sys.executable, "-m", "tests.bench.answer_server", "--latency", str(latency)]
    command += ["--quota", str(quota), "--burst", str(burst)] if quota else []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield AnswerServer(int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
