"""The one door to LiteLLM: how it is set up, and the one call that is made through it.

Ours: retries, limits, prices, storage. Switched off in LiteLLM: its retries, its cache, its dropping of parameters,
its logging of prompts.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

from rescue_pipeline.errors import RescueError
from rescue_pipeline.keys import read_key
from rescue_pipeline.llm.litellm_patches import follow_no_redirects, take_odd_usage
from rescue_pipeline.llm.registry import ModelEntry

ADAPTER_VERSION = "1"
"""Part of every request's identity: raise it when the same request would reach a model in another form."""

_NO_KEY = "none"
_QUIET = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai", "httpx", "httpcore", "aiohttp")
_Messages = list[dict[str, str]]


@cache
def prepare_litellm() -> Any:
    """Import LiteLLM with everything off that would repeat, remember, alter or log a request; returns the module."""
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = False
    litellm.cache = None
    litellm.num_retries = 0
    litellm.turn_off_message_logging = True
    litellm.response_cost_calculator = _no_cost
    take_odd_usage()
    follow_no_redirects()
    # an interrupt ends calls that LiteLLM has prepared and not begun; that is no news to whoever interrupted
    warnings.filterwarnings("ignore", message=r"coroutine '.*acompletion' was never awaited", category=RuntimeWarning)
    # of a usage that is no whole number; the warning quotes the reply
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    for name in _QUIET:  # at DEBUG these print prompts, whatever the root logger is set to
        logging.getLogger(name).setLevel(logging.ERROR)
    return litellm


def provider_of(model: str) -> str:
    """The provider that LiteLLM asks for a model string; its first part where LiteLLM knows none."""
    litellm = prepare_litellm()
    try:
        return str(litellm.get_llm_provider(model)[1])
    except litellm.exceptions.BadRequestError:
        return model.split("/", 1)[0]


def _no_cost(**_: Any) -> None:
    """In place of LiteLLM's search of its price table, a fifth of the time of a call: costs are ours (prices.py)."""


def api_key(entry: ModelEntry) -> str | None:
    """The key to send; None lets LiteLLM use the vendor's own variable for the vendor's own address.

    Raises RescueError when the entry names a variable that is not set.
    """
    if entry.api_key_env is None:
        # a custom address must not be sent the key of the vendor whose protocol it speaks
        return _NO_KEY if entry.api_base else None
    key = read_key(entry.api_key_env)
    if key is None:
        raise RescueError(
            f"the key of {entry.id} is missing; it was not asked",
            expected=f"the key in the environment variable {entry.api_key_env}, or in .env",
            found="unset or empty",
            advice=f"export {entry.api_key_env}=... and run again",
        )
    return key


async def complete(
    entry: ModelEntry,
    messages: _Messages,
    parameters: Mapping[str, Any],
    *,
    form: Mapping[str, Any],
    metadata: Mapping[str, Any] | None,
    seconds: float,
) -> Any:
    """One call, one request on the wire. Raises what LiteLLM raises. metadata reaches our own provider only.

    form: the fields that ask for the answer's form. They are sent as they are: whether a server takes them is for the
    server to say, not for LiteLLM's list of models.
    """
    litellm = prepare_litellm()
    _skip_bookkeeping()
    optional = {
        "api_base": entry.api_base,
        "api_key": api_key(entry),
        "metadata": metadata if entry.is_baseline else None,
        "allowed_openai_params": list(form) or None,
    }
    return await litellm.acompletion(
        model=entry.litellm,
        messages=messages,
        timeout=seconds,
        num_retries=0,
        max_retries=0,
        caching=False,
        **{name: value for name, value in optional.items() if value is not None},
        **form,
        **parameters,
    )


def _skip_bookkeeping() -> None:
    """Tell LiteLLM not to build its own log entry of this call: it copies the messages and doubles the time."""
    try:
        from litellm._internal_context import is_internal_call
    except ImportError:  # a private switch: without it only speed is lost
        return
    is_internal_call.set(True)


async def close_connections() -> None:
    """Close LiteLLM's cached connections: they belong to the event loop that is about to end."""
    import litellm

    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()
