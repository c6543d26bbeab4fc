"""What LiteLLM has no switch for: replies are not lost to an odd usage, and requests go nowhere else than was asked.

Imported by the adapter only; each function is called once, on import of LiteLLM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rescue_pipeline.llm import storable

_COUNTS = "_tokens"


def take_odd_usage() -> None:
    """Let LiteLLM read a reply whose usage is no whole number: such a usage counts as not reported.

    LiteLLM raises for it, and a good answer that was paid for would be asked again.
    """
    from litellm.types.utils import Usage

    strict: Callable[..., None] = Usage.__init__

    def lenient(self: Any, *args: Any, **fields: Any) -> None:
        strict(self, *args, **_whole_counts(fields))

    Usage.__init__ = lenient  # type: ignore[method-assign]


def _whole_counts(fields: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            kept[name] = _whole_counts(value)
        else:
            kept[name] = storable.count(value) if name.endswith(_COUNTS) else value
    return kept


def follow_no_redirects() -> None:
    """Let no client of LiteLLM follow a redirect: it would take key and session text to an address nobody chose."""
    import litellm
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler, HTTPHandler
    from litellm.llms.openai.common_utils import BaseOpenAILLM, OpenAIAsyncHTTPClient, OpenAIHTTPClient

    for handler in (AsyncHTTPHandler, HTTPHandler):
        _stay(handler, "create_client")
    for name in ("_get_async_http_client", "_get_sync_http_client"):
        setattr(BaseOpenAILLM, name, staticmethod(_staying(getattr(BaseOpenAILLM, name))))
    for client in (OpenAIAsyncHTTPClient, OpenAIHTTPClient):
        client.follow_redirects = property(lambda _: False, _ignored)  # type: ignore[assignment]
    for made in (litellm.module_level_client, litellm.module_level_aclient):  # on import, so before this
        made.client.follow_redirects = False


def _stay(owner: Any, name: str) -> None:
    setattr(owner, name, _staying(getattr(owner, name)))


def _staying(make: Callable[..., Any]) -> Callable[..., Any]:
    """A maker of HTTP clients, made to make such that follow no redirect."""

    def made(*args: Any, **fields: Any) -> Any:
        client = make(*args, **fields)
        if client is not None:
            client.follow_redirects = False
        return client

    return made


def _ignored(_client: Any, _value: Any) -> None:
    """The client sets its own follow_redirects when it is made."""
