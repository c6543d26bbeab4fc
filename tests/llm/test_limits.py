"""Pacing, prices, and what Retry-After means."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from rescue_pipeline.llm import limits
from rescue_pipeline.llm.limits import Endpoint, Gate, TokenBucket
from rescue_pipeline.llm.prices import Usage, cost_usd, price_of
from rescue_pipeline.llm.registry import Limits, ModelEntry, Price
from rescue_pipeline.llm.statuses import retry_after_seconds


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(limits.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(limits.asyncio, "sleep", self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("per_minute", "units", "n", "seconds"), [(30, 1, 5, 8), (600, 1, 11, 0.1), (60, 10, 3, 20)])
def test_a_bucket_lets_through_what_it_promises_evenly(
    monkeypatch: pytest.MonkeyPatch, per_minute: float, units: float, n: int, seconds: float
) -> None:
    clock = Clock(monkeypatch)

    async def take_all() -> None:
        bucket = TokenBucket(per_minute)
        for _ in range(n):
            await bucket.take(units)

    asyncio.run(take_all())
    assert clock.now - 100.0 == pytest.approx(seconds)


def test_rpm_paces_requests_of_one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)

    async def go() -> None:
        gate = Gate(Limits(rpm=60), Endpoint())
        for _ in range(4):
            async with gate.slot(10):
                pass

    asyncio.run(go())
    assert clock.now - 100.0 == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"Retry-After": "Tue, 01 Dec 2026 12:00:07 GMT"}, 7.0),
        ({"Retry-After": "Tue, 01 Dec 2026 11:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    now = datetime(2026, 12, 1, 12, 0, 0, tzinfo=UTC)
    assert retry_after_seconds(headers, now) == seconds


def test_cached_tokens_are_part_of_the_prompt_and_reasoning_part_of_the_completion() -> None:
    usage = Usage(prompt=1000, completion=500, reasoning=400, cached=800)
    assert cost_usd(Price(input=2, output=10, cached=0.5), usage) == pytest.approx(
        (200 * 2 + 800 * 0.5 + 500 * 10) / 1e6
    )
    assert cost_usd(Price(input=2, output=10), usage) == pytest.approx((1000 * 2 + 500 * 10) / 1e6)


def test_an_unknown_price_or_usage_is_null_not_zero() -> None:
    assert cost_usd(None, Usage(prompt=5, completion=5)) is None
    assert cost_usd(Price(input=1, output=1), Usage()) is None
    assert cost_usd(Price(input=0, output=0), Usage()) == 0.0


def test_a_price_comes_from_the_entry_else_from_the_locked_table_else_from_nowhere() -> None:
    own = ModelEntry(id="a", litellm="openai/gpt-4o", price=Price(input=1, output=2))
    listed = ModelEntry(id="a", litellm="openai/gpt-4o")
    elsewhere = ModelEntry(id="a", litellm="openai/gpt-4o", api_base="http://127.0.0.1:1/v1")
    unknown = ModelEntry(id="a", litellm="openai/nobody-knows-it")
    assert price_of(own) == Price(input=1, output=2)
    price = price_of(listed)
    assert price is not None
    assert 0 < price.input < price.output
    assert price_of(elsewhere) is None
    assert price_of(unknown) is None


def test_usage_adds_up_and_unknown_stays_unknown() -> None:
    assert Usage(1, 2, None, 3) + Usage(4, None, None, 1) == Usage(5, 2, None, 4)
    assert Usage.of(SimpleNamespace()) == Usage()
