"""Is a model ready? One tiny request to each: key, address, structured output, price, speed."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rescue_pipeline.errors import RescueError
from rescue_pipeline.llm.adapter import api_key, close_connections, prepare_litellm
from rescue_pipeline.llm.budget import Budget
from rescue_pipeline.llm.capabilities import PLAIN, Capabilities
from rescue_pipeline.llm.client import Client, RetryPolicy
from rescue_pipeline.llm.exchange import Request
from rescue_pipeline.llm.identity import parameters_of
from rescue_pipeline.llm.limits import Endpoint, Gate
from rescue_pipeline.llm.prices import price_of
from rescue_pipeline.llm.registry import ModelEntry, Registry
from rescue_pipeline.tasks.answers import strict_object
from rescue_pipeline.tasks.extraction import values

_SCHEMA = strict_object({"ready": {"type": "string", "enum": ["yes"]}})
_MESSAGES = [{"role": "user", "content": 'Reply with this JSON object and nothing else: {"ready": "yes"}'}]
_ONCE = RetryPolicy(attempts=1)
_PARAMETERS = {"temperature": 0, "max_tokens": 256}


@dataclass(frozen=True)
class ModelCheck:
    """What one request told about a model. None: not tried, because something before it failed or is not used."""

    id: str
    key: str
    """present, missing, or not needed."""
    reachable: bool | None
    structured_output: bool | None
    """Whether the answer had the form that was asked for; None where it was asked for in words only."""
    rung: str | None
    """How the form was asked for in the end: json_schema, tool, json_object, or plain (in words)."""
    price_known: bool
    latency_seconds: float | None
    message: str
    """What is wrong and what to do, or `ready`."""

    @property
    def ok(self) -> bool:
        return self.key != "missing" and bool(self.reachable) and self.structured_output is not False


def check_models(registry: Registry, ids: Sequence[str] | None = None) -> list[ModelCheck]:
    """Check the named models (default: the enabled ones), all at once. A paid model bills a few tokens.

    With structured_output: auto a server that refuses a form is asked once more for the next one.

    Raises UsageError for an unknown name. A model that fails is a result, not an error.
    """
    entries = registry.resolve(ids)
    prepare_litellm()
    return asyncio.run(_check_all(entries))


async def _check_all(entries: Sequence[ModelEntry]) -> list[ModelCheck]:
    try:
        return list(await asyncio.gather(*(_check(entry) for entry in entries)))
    finally:
        await close_connections()


async def _check(entry: ModelEntry) -> ModelCheck:
    known = price_of(entry) is not None
    if entry.is_baseline:  # answers about a corpus only, and in this process
        return ModelCheck(entry.id, "not needed", True, None, PLAIN, known, 0.0, "ready")
    try:
        key = "not needed" if entry.api_key_env is None else "present"
        api_key(entry)
    except RescueError as error:
        return ModelCheck(entry.id, "missing", None, None, None, known, None, f"set {error.expected}")
    started = time.monotonic()
    client = Client(entry, Gate(entry.limits, Endpoint()), _ONCE, Budget(math.inf), Capabilities())
    reply = await client.ask(Request(_MESSAGES, parameters_of(_PARAMETERS, entry), schema=_SCHEMA))
    seconds = time.monotonic() - started
    if reply.status == "api_error":
        reason = reply.error if reply.error_type == "timeout" else f"{reply.error_type}: {reply.error}"
        return ModelCheck(entry.id, key, False, None, None, known, seconds, str(reason))
    structured = None if reply.rung == PLAIN else _is_ready(reply.content)
    message = (
        "ready"
        if structured is not False
        else "answers, but not in the form asked for: try another structured_output (tool, json_object, none)"
    )
    if reply.status != "ok":
        message = f"answers, but with status {reply.status}"
    return ModelCheck(entry.id, key, True, structured, reply.rung, known, seconds, message)


def _is_ready(content: str | None) -> bool:
    found: list[Any] = [found.value for found in values(content or "")]
    return {"ready": "yes"} in found
