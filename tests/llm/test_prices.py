"""What is paid for a usage: figures computed by hand, over usages as providers report them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rescue_pipeline.llm.prices import MARGIN, PINNED, cost_usd, most_usd, pinned_prices, price_of
from rescue_pipeline.llm.registry import ModelEntry, Price, load_registry
from rescue_pipeline.llm.usage import Usage


def reported(**fields: Any) -> Usage:
    from litellm import Usage as Reported

    return Usage.of(SimpleNamespace(usage=Reported(**fields)))


def shipped(model: str) -> Price:
    price = price_of(load_registry().get(model))
    assert price is not None
    return price


def test_cached_tokens_are_not_paid_twice_and_reasoning_is_part_of_the_completion() -> None:
    # OpenAI's form, gpt-5.4 at 2.50 in, 0.25 cached, 15.00 out
    usage = reported(
        prompt_tokens=2000,
        completion_tokens=500,
        total_tokens=2500,
        prompt_tokens_details={"cached_tokens": 1536},
        completion_tokens_details={"reasoning_tokens": 320},
    )
    assert (usage.prompt, usage.completion, usage.reasoning, usage.cached) == (2000, 500, 320, 1536)
    # 464 x 2.50 + 1536 x 0.25 + 500 x 15.00 = 1160 + 384 + 7500
    assert cost_usd(shipped("gpt-5.4"), usage) == pytest.approx(0.009044)


def test_reasoning_that_a_provider_counts_beside_the_completion_is_paid_too() -> None:
    # the total tells: 1000 + 40 + 600
    usage = reported(
        prompt_tokens=1000,
        completion_tokens=40,
        total_tokens=1640,
        completion_tokens_details={"reasoning_tokens": 600},
    )
    assert usage.completion == 640
    # 1000 x 0.55 + 640 x 2.19 = 550 + 1401.6
    assert cost_usd(shipped("deepseek-r1"), usage) == pytest.approx(0.0019516)


def test_deepseeks_cache_hits_have_their_own_price() -> None:
    usage = reported(
        prompt_tokens=3000,
        completion_tokens=100,
        total_tokens=3100,
        prompt_cache_hit_tokens=2048,
        prompt_cache_miss_tokens=952,
    )
    # 952 x 0.28 + 2048 x 0.028 + 100 x 0.40 = 266.56 + 57.344 + 40
    assert cost_usd(shipped("deepseek-v3.2"), usage) == pytest.approx(0.000363904)


def test_cache_writes_and_reads_are_paid_as_anthropic_reports_them() -> None:
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig

    price = Price(input=3, output=15, cached=0.3, cache_write=3.75)
    raw = {
        "input_tokens": 100,
        "output_tokens": 50,
        "cache_read_input_tokens": 2000,
        "cache_creation_input_tokens": 400,
    }
    converted = Usage.of(SimpleNamespace(usage=AnthropicConfig().calculate_usage(raw, None)))
    through_a_proxy = reported(prompt_tokens=100, completion_tokens=50, total_tokens=150, **dict(list(raw.items())[2:]))
    for usage in (converted, through_a_proxy):
        assert (usage.prompt, usage.cached, usage.cache_write) == (2500, 2000, 400)
        # 100 x 3 + 2000 x 0.30 + 400 x 3.75 + 50 x 15 = 300 + 600 + 1500 + 750
        assert cost_usd(price, usage) == pytest.approx(0.00315)


def test_a_long_prompt_has_the_price_of_its_length_and_each_call_its_own() -> None:
    price = shipped("qwen3-max")
    short, long = reported(prompt_tokens=30_000, completion_tokens=0), reported(prompt_tokens=40_000)
    assert cost_usd(price, short) == pytest.approx(30_000 * 1.2e-6)
    assert cost_usd(price, long) == pytest.approx(40_000 * 2.4e-6)
    # two short calls together are longer than 32,000 tokens, but neither is
    assert cost_usd(price, short + short) == pytest.approx(60_000 * 1.2e-6)
    assert (short + short).prompt == 60_000


def test_what_was_not_reported_has_no_cost_and_is_not_free() -> None:
    price = Price(input=1, output=1)
    nothing = reported(prompt_tokens=0, completion_tokens=0, total_tokens=0)
    assert nothing.prompt is None
    assert cost_usd(price, nothing) is None
    assert cost_usd(None, reported(prompt_tokens=10)) is None
    assert cost_usd(Price(input=0, output=0), nothing) == 0


def test_what_was_reported_is_kept_as_numbers_only() -> None:
    usage = reported(prompt_tokens=10, completion_tokens=5, total_tokens=15, note="whatever a server says")
    assert usage.as_reported() == '[{"completion_tokens": 5, "prompt_tokens": 10, "total_tokens": 15}]'
    assert (usage + usage).as_reported() == "[" + ", ".join([str(usage.as_reported())[1:-1]] * 2) + "]"
    assert Usage().as_reported() is None


def test_every_shipped_paid_model_has_a_pinned_price() -> None:
    paid = [entry for entry in load_registry().models.values() if entry.is_paid]
    assert len(paid) == 11
    assert {entry.litellm for entry in paid} == pinned_prices().keys()
    assert "observed" in PINNED.read_text().splitlines()[0]


def test_pinned_prices_are_those_of_the_locked_litellm() -> None:
    import litellm

    for model, price in pinned_prices().items():
        listed = litellm.model_cost.get(model) or litellm.model_cost[model.removeprefix("openai/")]
        tiers = listed.get("tiered_pricing") or [listed]
        assert price.input == pytest.approx(tiers[0]["input_cost_per_token"] * 1e6), model
        assert price.output == pytest.approx(tiers[0]["output_cost_per_token"] * 1e6), model


def test_a_models_own_entry_overrides_the_pinned_price_and_an_unlisted_model_has_litellms() -> None:
    def price(**fields: Any) -> Price | None:
        return price_of(ModelEntry.model_validate({"id": "mine", "litellm": "openai/gpt-4o", **fields}))

    assert price(price={"input": 9, "output": 9}) == Price(input=9, output=9)
    assert price() == shipped("gpt-4o")
    listed = price(litellm="openai/gpt-4o-mini")
    assert listed is not None
    assert (listed.input, listed.output) == (pytest.approx(0.15), pytest.approx(0.6))
    assert price(litellm="openai/nobody-knows-it") is None
    # the name on a server of one's own says nothing about its price
    assert price(api_base="http://127.0.0.1:1/v1") is None


def test_the_most_a_call_can_cost_covers_a_longer_count_and_the_whole_answer() -> None:
    price = Price(input=2, output=10, cache_write=3)
    assert most_usd(price, 1000, {"max_tokens": 500}) == pytest.approx((1000 * MARGIN * 3 + 500 * 10) / 1e6)
    assert most_usd(price, 1000, {}) > most_usd(price, 1000, {"max_tokens": 500})
    assert most_usd(None, 1000, {}) == most_usd(Price(input=0, output=0), 1000, {}) == 0
