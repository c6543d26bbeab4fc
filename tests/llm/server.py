"""A local server that speaks the OpenAI protocol and does what a test tells it, in a thread of its own.

`server.script` decides each reply from the request and its number; every request is kept in `server.requests`.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Headers = dict[str, str]


@dataclass(frozen=True)
class Said:
    """One reply: an HTTP status with a JSON body, or text; delay in seconds; `drop` closes the connection instead."""

    status: int = 200
    body: Any = None
    text: str | None = None
    headers: Headers = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False


@dataclass(frozen=True)
class Received:
    at: float
    body: dict[str, Any]
    key: str


Script = Callable[[Received, int], Said]


def completion(content: str | None, *, finish: str = "stop", usage: Any = (11, 7), **message: Any) -> Said:
    """A chat completion; `message` adds fields to the message (refusal, reasoning_content)."""
    body: dict[str, Any] = {
        "id": "made",
        "object": "chat.completion",
        "created": 1,
        "model": "made-model-0",
        "system_fingerprint": "fp_made",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
        ],
    }
    if usage is not None:
        prompt, answer = usage
        body["usage"] = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
    return Said(body=body)


def failure(status: int, message: str, code: str | None = None, **headers: str) -> Said:
    body = {"error": {"message": message, "type": "made", "code": code}}
    return Said(status, body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def always(said: Said) -> Script:
    return lambda _request, _number: said


def in_turn(*replies: Said) -> Script:
    """One reply after the other; the last one for all that follow."""
    return lambda _request, number: replies[min(number, len(replies) - 1)]


class Server:
    """Use as a context manager; `url` is the api_base."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[Received] = []
        self.in_flight = self.most_in_flight = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Server:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._loop.call_soon(self._ready.set)  # not earlier: a stop before run_forever would be lost
        self._loop.run_forever()
        self._loop.run_until_complete(self._runner.cleanup())
        self._loop.close()

    async def _start(self) -> None:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        received = Received(time.monotonic(), await request.json(), request.headers.get("Authorization", ""))
        number = len(self.requests)
        self.requests.append(received)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            said = self.script(received, number)
            await asyncio.sleep(said.delay)
        finally:
            self.in_flight -= 1
        if said.drop:
            assert request.transport is not None
            request.transport.abort()
        text = said.text if said.text is not None else json.dumps(said.body)
        kind = "text/html" if said.text is not None else "application/json"
        return web.Response(status=said.status, text=text, headers=said.headers, content_type=kind)

    def gaps(self) -> list[float]:
        """Seconds between one request and the next."""
        return [later.at - earlier.at for earlier, later in zip(self.requests, self.requests[1:], strict=False)]
