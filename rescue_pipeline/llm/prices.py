"""What an answer cost. A price comes from the registry, else from the table inside the locked LiteLLM release.

An unknown price is None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rescue_pipeline.llm.registry import ModelEntry, Price

_PER_MILLION = 1_000_000


@dataclass(frozen=True)
class Usage:
    """Tokens as the provider reported them; None where it reported none. completion includes reasoning."""

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _sum(self.prompt, other.prompt),
            _sum(self.completion, other.completion),
            _sum(self.reasoning, other.reasoning),
            _sum(self.cached, other.cached),
        )

    @classmethod
    def of(cls, response: Any, *, zero_is_real: bool = False) -> Usage:
        """Read a LiteLLM response. A provider without usage shows as zeros there: that is "not reported"."""
        usage = getattr(response, "usage", None)
        prompt = getattr(usage, "prompt_tokens", None)
        if not prompt and not zero_is_real:
            return cls()
        return cls(
            prompt,
            getattr(usage, "completion_tokens", None),
            getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None),
            getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None),
        )


def _sum(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else left + right


def price_of(entry: ModelEntry) -> Price | None:
    """The price of a model; None when nobody stated one, or when it depends on the length of the prompt."""
    if entry.price is not None:
        return entry.price
    if entry.local or entry.is_baseline:
        return Price(input=0, output=0)
    return None if entry.api_base else _listed_price(entry.litellm)


def _listed_price(model: str) -> Price | None:
    import litellm

    listed = litellm.model_cost.get(model) or litellm.model_cost.get(model.removeprefix("openai/")) or {}
    input_cost, output_cost = listed.get("input_cost_per_token"), listed.get("output_cost_per_token")
    if input_cost is None or output_cost is None:
        return None
    cached = listed.get("cache_read_input_token_cost")
    return Price(
        input=input_cost * _PER_MILLION,
        output=output_cost * _PER_MILLION,
        cached=None if cached is None else cached * _PER_MILLION,
    )


def cost_usd(price: Price | None, usage: Usage) -> float | None:
    """The cost of a usage; cached tokens are part of the prompt and are not paid twice."""
    if price is None or usage.prompt is None:
        return 0.0 if price is not None and price.is_free else None
    cached = usage.cached or 0
    cached_price = price.input if price.cached is None else price.cached
    total = (usage.prompt - cached) * price.input + cached * cached_price + (usage.completion or 0) * price.output
    return total / _PER_MILLION
