"""What tokens cost. Unknown is None, never 0.

A price comes from the model's own entry (models.yaml), else from assets/prices.csv, else from the table inside the
locked LiteLLM release. So the same version of this project always computes the same cost.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from typing import Any

from rescue_pipeline.bundle import ASSETS
from rescue_pipeline.llm.registry import ModelEntry, Price
from rescue_pipeline.llm.usage import Usage

PINNED = ASSETS / "prices.csv"
PER_MILLION = 1_000_000

MARGIN = 1.2
"""Our count of a prompt against the most that another vendor's tokenizer makes of it."""
UNLIMITED_ANSWER = 32_768
"""Tokens an answer may have that no parameter limits."""


def price_of(entry: ModelEntry) -> Price | None:
    """The price of a model; None when nobody stated one. A server of the user's own has none until it is stated."""
    if entry.price is not None:
        return entry.price
    if entry.local or entry.is_baseline:
        return Price(input=0, output=0)
    if entry.api_base is not None:
        return None
    return pinned_prices().get(entry.litellm) or _listed_price(entry.litellm)


@cache
def pinned_prices() -> Mapping[str, Price]:
    """assets/prices.csv by LiteLLM model string; the rows of a model go from short prompts to long ones."""
    with PINNED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    prices: dict[str, Price] = {}
    for row in reversed(rows):
        fields = {name: row[name] or None for name in ("input", "output", "cached", "cache_write", "up_to_tokens")}
        beyond = prices.get(row["litellm"]) if row["up_to_tokens"] else None
        prices[row["litellm"]] = Price.model_validate({**fields, "beyond": beyond})
    return prices


def _listed_price(model: str) -> Price | None:
    """From LiteLLM's table. A price that depends on the prompt's length is left to the user to state."""
    import litellm

    listed = litellm.model_cost.get(model) or litellm.model_cost.get(model.removeprefix("openai/")) or {}
    if listed.get("input_cost_per_token") is None or listed.get("output_cost_per_token") is None:
        return None
    names = {
        "input": "input_cost_per_token",
        "output": "output_cost_per_token",
        "cached": "cache_read_input_token_cost",
        "cache_write": "cache_creation_input_token_cost",
    }
    known = {name: listed.get(key) for name, key in names.items()}
    return Price.model_validate({name: cost * PER_MILLION for name, cost in known.items() if cost is not None})


def cost_usd(price: Price | None, usage: Usage) -> float | None:
    """The cost of a usage: cached tokens are part of the prompt and are not paid twice; reasoning is paid as output.

    None when the price is unknown or nothing was reported.
    """
    if price is None:
        return None
    if price.is_free:
        return 0.0
    calls = usage.each()
    if not calls or any(call.prompt is None for call in calls):
        return None
    return sum(_call_usd(price, call) for call in calls)


def _call_usd(price: Price, call: Usage) -> float:
    prompt, cached, written = call.prompt or 0, call.cached or 0, call.cache_write or 0
    at = price.at(prompt)
    input_usd = (prompt - cached - written) * at.input
    cache_usd = cached * _or(at.cached, at.input) + written * _or(at.cache_write, at.input)
    return (input_usd + cache_usd + (call.completion or 0) * at.output) / PER_MILLION


def expected_usd(price: Price | None, prompt_tokens: float, completion_tokens: float) -> float | None:
    """What a call of this size costs when nothing is cached."""
    if price is None:
        return None
    at = price.at(round(prompt_tokens))
    return (prompt_tokens * at.input + completion_tokens * at.output) / PER_MILLION


def most_usd(price: Price | None, prompt_tokens: int, parameters: Mapping[str, Any]) -> float:
    """What one call can cost at most: a longer count of the prompt, and the whole answer that is allowed.

    0 for a model that is free or has no price (a budgeted run never asks one without).
    """
    if price is None or price.is_free:
        return 0.0
    prompt = round(prompt_tokens * MARGIN)
    at = price.at(prompt)
    dearest_input = max(at.input, _or(at.cache_write, at.input))
    return (prompt * dearest_input + longest_answer(parameters) * at.output) / PER_MILLION


def longest_answer(parameters: Mapping[str, Any]) -> int:
    """Tokens an answer may have under these parameters."""
    limit = parameters.get("max_tokens") or parameters.get("max_completion_tokens")
    return int(limit) if limit else UNLIMITED_ANSWER


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
