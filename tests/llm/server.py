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
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from aiohttp import web

from rescue_pipeline.llm.tokens import count_tokens

Headers = dict[str, str]


@dataclass(frozen=True)
class Said:
    """One reply: an HTTP status with a JSON body, or text (an HTML page).

    delay: seconds before it; drip: seconds between its ten parts; drop: the connection is closed instead, or after that
    many bytes of the body.
    """

    status: int = 200
    body: Any = None
    text: str | None = None
    headers: Headers = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    drop: bool | int = False


@dataclass(frozen=True)
class Received:
    at: float
    body: dict[str, Any]
    key: str


Script = Callable[[Received, int], Said]


def completion(content: str | None, *, finish: str = "stop", usage: Any = (None, 7), **message: Any) -> Said:
    """A chat completion; `message` adds fields to the message (refusal, reasoning_content).

    usage: tokens of prompt and answer; without the prompt's the server counts what it was sent; None reports nothing.
    """
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
        body["usage"] = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": (prompt or 0) + answer}
    return Said(body=body)


def failure(status: int, message: str, code: str | None = None, **headers: str) -> Said:
    body = {"error": {"message": message, "type": "made", "code": code}}
    return Said(status, body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def always(said: Said) -> Script:
    return lambda _request, _number: said


def in_turn(*replies: Said) -> Script:
    """One reply after the other; the last one for all that follow."""
    return lambda _request, number: replies[min(number, len(replies) - 1)]


def called(arguments: str, **answer: Any) -> Said:
    """An answer given as the arguments of a tool call."""
    call = {"id": "c1", "type": "function", "function": {"name": "answer", "arguments": arguments}}
    return completion(None, **{"finish": "tool_calls", **answer}, tool_calls=[call])


def refusing(*forms: str, by: Said | None = None, then: Said) -> Script:
    """A server that takes no request with one of these forms: json_schema, json_object, tool."""

    def script(request: Received, _number: int) -> Said:
        form = "tool" if "tools" in request.body else (request.body.get("response_format") or {}).get("type", "plain")
        if form not in forms:
            return then
        return by or failure(400, f"{'tool_choice' if form == 'tool' else 'response_format'} is not supported")

    return script


def limited(script: Script, *, rate: float, burst: float, retry_after: str | None = None) -> Script:
    """A real token bucket in front of `script`: `rate` requests a second, at most `burst` at once, else 429.

    retry_after: None (it does not say), `seconds`, `date`.
    """
    bucket = {"level": burst, "at": time.monotonic()}

    def limiting(request: Received, number: int) -> Said:
        bucket["level"] = min(burst, bucket["level"] + (request.at - bucket["at"]) * rate)
        bucket["at"] = request.at
        if bucket["level"] >= 1:
            bucket["level"] -= 1
            return script(request, number)
        if retry_after is None:
            return failure(429, "slower")
        resume = datetime.now(UTC) + timedelta(seconds=1)
        return failure(429, "slower", Retry_After="1" if retry_after == "seconds" else format_datetime(resume, True))

    return limiting


def _counted(body: Any, received: Received) -> Any:
    """The body with the prompt's tokens, where it leaves them to the server."""
    usage = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(usage, dict) or usage.get("prompt_tokens", 0) is not None:
        return body
    prompt = count_tokens(received.body["messages"])
    total = prompt + usage["completion_tokens"]
    return {**body, "usage": {**usage, "prompt_tokens": prompt, "total_tokens": total}}


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
        text = said.text if said.text is not None else json.dumps(_counted(said.body, received))
        kind = "text/html" if said.text is not None else "application/json"
        if said.drop or said.drip:
            return await self._in_parts(request, said, text.encode(), kind)
        return web.Response(status=said.status, text=text, headers=said.headers, content_type=kind)

    async def _in_parts(self, request: web.Request, said: Said, body: bytes, kind: str) -> web.StreamResponse:
        """Send a body slowly, or only its beginning."""
        assert request.transport is not None
        response = web.StreamResponse(status=said.status, headers={**said.headers, "Content-Type": kind})
        response.content_length = len(body)
        if said.drop is not True:
            await response.prepare(request)
            await response.write(body[: int(said.drop)])
            await asyncio.sleep(0.05)
        if said.drop:
            request.transport.abort()
            return response
        step = len(body) // 10 + 1
        for start in range(0, len(body), step):
            await asyncio.sleep(said.drip)
            await response.write(body[start : start + step])
        return response

    def gaps(self) -> list[float]:
        """Seconds between one request and the next."""
        return [later.at - earlier.at for earlier, later in zip(self.requests, self.requests[1:], strict=False)]
