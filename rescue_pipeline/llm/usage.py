"""What a call used, in tokens, read from what the provider reported.

Providers differ in what their totals include. Here `prompt` always includes cached and newly cached tokens, and
`completion` always includes reasoning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rescue_pipeline.llm import storable


@dataclass(frozen=True)
class Usage:
    """Tokens of one call, or of several added up; None where nothing was reported. calls: the single ones."""

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None
    """Prompt tokens that the provider served from its cache."""
    cache_write: int | None = None
    """Prompt tokens that the provider put into its cache."""
    reported: Mapping[str, Any] | None = None
    """The usage of one call as it came."""
    calls: tuple[Usage, ...] = ()

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _sum(self.prompt, other.prompt),
            _sum(self.completion, other.completion),
            _sum(self.reasoning, other.reasoning),
            _sum(self.cached, other.cached),
            _sum(self.cache_write, other.cache_write),
            calls=(*self.each(), *other.each()),
        )

    def each(self) -> tuple[Usage, ...]:
        """The single calls: a price may depend on the length of a prompt, so each call has a cost of its own."""
        return self.calls or (() if self.reported is None and self.prompt is None else (self,))

    def as_reported(self) -> str | None:
        """What the provider said, call by call, as JSON; None when it said nothing."""
        told = [call.reported for call in self.each() if call.reported is not None]
        return json.dumps(told, sort_keys=True) if told else None

    @classmethod
    def of(cls, response: Any, *, zero_is_real: bool = False) -> Usage:
        """Read a LiteLLM response. A provider without usage shows as zeros there: that is "not reported"."""
        usage = getattr(response, "usage", None)
        prompt = _count(usage, "prompt_tokens")
        if not prompt and not zero_is_real:
            return cls()
        prompt_details = getattr(usage, "prompt_tokens_details", None)
        completion_details = getattr(usage, "completion_tokens_details", None)
        return cls(
            prompt,
            _count(usage, "completion_tokens"),
            _count(completion_details, "reasoning_tokens"),
            _first(_count(prompt_details, "cached_tokens"), _count(usage, "cache_read_input_tokens")),
            _first(_count(prompt_details, "cache_write_tokens"), _count(usage, "cache_creation_input_tokens")),
            reported=_plain(usage),
        )._with_everything_included(_count(usage, "total_tokens"))

    def _with_everything_included(self, total: int | None) -> Usage:
        """Add what the provider counts beside `prompt` and `completion`; its total tells, else what is impossible."""
        prompt, completion = self.prompt or 0, self.completion or 0
        reasoning, cache = self.reasoning or 0, (self.cached or 0) + (self.cache_write or 0)
        beside = (total or 0) - prompt - completion
        reasoning_beside = reasoning > completion or (reasoning > 0 and beside in (reasoning, reasoning + cache))
        cache_beside = cache > prompt or (cache > 0 and beside in (cache, reasoning + cache) and beside != reasoning)
        return Usage(
            prompt + cache if cache_beside else self.prompt,
            completion + reasoning if reasoning_beside else self.completion,
            self.reasoning,
            self.cached,
            self.cache_write,
            reported=self.reported,
        )


def _count(holder: Any, name: str) -> int | None:
    return storable.count(getattr(holder, name, None))


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _sum(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else left + right


def _plain(usage: Any) -> dict[str, Any]:
    """The numbers of a usage object; whatever else a server puts there is not kept."""
    fields = usage.model_dump() if hasattr(usage, "model_dump") else dict(vars(usage))
    return _numbers(fields)


def _numbers(fields: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            if inner := _numbers(value):
                kept[name] = inner
        elif (number := storable.count(value)) is not None:
            kept[name] = number
    return kept
