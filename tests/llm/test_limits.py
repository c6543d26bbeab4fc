"""Pacing, prices, and what Retry-After means."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from rescue_pipeline.llm.limits import Endpoint, Gate
from rescue_pipeline.llm.pace import TokenBucket
from rescue_pipeline.llm.prices import Usage, cost_usd, price_of
from rescue_pipeline.llm.registry import Limits, ModelEntry, Price
from rescue_pipeline.llm.waits import retry_after_seconds
from tests.llm.clock import Clock


class Quota:
    """A provider's token bucket: `rate` requests a second, at most `burst` at once."""

    def __init__(self, clock: Clock, rate: float, burst: float) -> None:
        self.clock, self.rate, self.burst = clock, rate, burst
        self.level, self.at = burst, clock.now
        self.accepted: list[float] = []
        self.refused: list[float] = []

    def takes(self) -> bool:
        self.level = min(self.burst, self.level + (self.clock.now - self.at) * self.rate)
        self.at = self.clock.now
        enough = self.level >= 1
        self.level -= enough
        (self.accepted if enough else self.refused).append(self.at)
        return enough


async def press(gate: Gate, quota: Quota, latency: float, retry_after: float | None, seconds: float) -> None:
    """Ask as much as the gate lets through, for some seconds."""
    end = quota.clock.now + seconds

    async def worker() -> None:
        while quota.clock.now < end:
            async with gate.place() as place:
                if quota.takes():
                    await asyncio.sleep(latency)
                    place.answered()
                else:
                    await asyncio.sleep(0.01)
                    place.refused(retry_after)

    await asyncio.gather(*(worker() for _ in range(gate.limits.concurrency)))


@pytest.mark.parametrize(("per_minute", "units", "n", "seconds"), [(30, 1, 5, 8), (600, 1, 11, 0.1), (60, 10, 3, 20)])
def test_a_bucket_lets_through_what_it_promises_evenly(
    monkeypatch: pytest.MonkeyPatch, per_minute: float, units: float, n: int, seconds: float
) -> None:
    clock = Clock(monkeypatch)
    bucket = TokenBucket.per_minute(per_minute)
    for _ in range(n):
        clock.now += bucket.seconds_until(units)
        bucket.take(units)
    assert clock.now - 100.0 == pytest.approx(seconds)


def test_what_was_taken_and_not_used_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    bucket = TokenBucket.per_minute(6000)
    bucket.take(100)
    assert bucket.seconds_until(10) == pytest.approx(0.1)
    bucket.give_back(60)
    assert bucket.seconds_until(10) == 0.0
    bucket.give_back(-100)  # more was used than was taken
    assert bucket.seconds_until(10) == pytest.approx(0.5)


async def _ask(gate: Gate, n: int, tokens: float = 0, used: int | None = None) -> None:
    async def one() -> None:
        async with gate.place(tokens) as place:
            await asyncio.sleep(0.001)
            place.answered(used, 0 if used is not None else None)

    await asyncio.gather(*(one() for _ in range(n)))


def test_rpm_and_tpm_pace_the_requests_of_one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    clock.run(_ask(Gate(Limits(rpm=60), Endpoint()), 4))
    assert clock.now - 100.0 == pytest.approx(3.0, abs=0.05)
    before = clock.now
    clock.run(_ask(Gate(Limits(tpm=6000), Endpoint()), 4, tokens=100))
    assert clock.now - before == pytest.approx(3.0, abs=0.05)


def test_tokens_that_were_expected_and_not_used_do_not_hold_others_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    clock.run(_ask(Gate(Limits(tpm=6000, concurrency=1), Endpoint()), 4, tokens=100, used=1))
    assert clock.now - 100.0 < 0.2


def test_the_first_request_goes_alone_and_then_the_window_opens_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, most, out = Clock(monkeypatch), [0] * 6, [0]
    gate = Gate(Limits(concurrency=100), Endpoint())

    async def one() -> None:
        async with gate.place() as place:
            out[0] += 1
            most[int(clock.now - 100.0)] = max(most[int(clock.now - 100.0)], out[0])
            await asyncio.sleep(1.0)
            out[0] -= 1
            place.answered()

    async def all_of_them() -> None:
        await asyncio.gather(*(one() for _ in range(260)))

    clock.run(all_of_them())
    assert most[:4] == [1, 16, 48, 100]


@pytest.mark.parametrize(
    ("rate", "burst", "latency", "retry_after"),
    [(20, 20, 0.05, None), (20, 20, 0.05, 1.0), (100, 100, 1.0, None), (500, 500, 0.2, 1.0)],
)
def test_an_unknown_quota_is_used_almost_fully_and_hardly_ever_exceeded(
    monkeypatch: pytest.MonkeyPatch, rate: float, burst: float, latency: float, retry_after: float | None
) -> None:
    clock = Clock(monkeypatch)
    gate, quota = Gate(Limits(concurrency=256 if latency > 0.1 else 64), Endpoint()), Quota(clock, rate, burst)
    clock.run(press(gate, quota, latency, retry_after, seconds=120))
    taken, refused = (sum(1 for at in times if at >= 110) for times in (quota.accepted, quota.refused))
    assert taken >= 0.9 * rate * 110
    assert refused <= 0.01 * (taken + refused)


def test_a_quota_that_shrinks_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    gate, quota = Gate(Limits(concurrency=32), Endpoint()), Quota(clock, 40, 40)
    clock.run(press(gate, quota, 0.1, None, seconds=60))
    quota.rate = quota.burst = 10
    refused_before, changed = len(quota.refused), clock.now
    clock.run(press(gate, quota, 0.1, None, seconds=60))
    assert len([at for at in quota.accepted if at > changed + 10]) >= 0.8 * 10 * 50
    assert len(quota.refused) - refused_before <= 40


def test_many_refusals_of_one_moment_halve_the_window_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    gate = Gate(Limits(concurrency=32), Endpoint())

    async def go() -> float:
        await _ask(gate, 60)
        async with AsyncExitStack() as held:
            places = [await held.enter_async_context(gate.place()) for _ in range(16)]
            for place in places:
                place.refused(1.0)
        return gate.endpoint.seconds_left()

    assert clock.run(go()) == pytest.approx(1.0)
    assert gate._refusals == 1


def test_after_a_pause_one_asks_first_and_the_rest_follow_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, sent = Clock(monkeypatch), []
    gate = Gate(Limits(concurrency=64), Endpoint())

    async def one(number: int) -> None:
        for _ in range(2):
            async with gate.place() as place:
                sent.append(clock.now)
                await asyncio.sleep(0.2)
                if clock.now < 100.5:
                    place.refused(3.0)
                else:
                    place.answered()
                    return

    async def go() -> None:
        gate._begun, gate._window = True, 64.0
        await asyncio.gather(*(one(number) for number in range(64)))

    clock.run(go())
    after = sorted(at for at in sent if at > 101)
    assert after[0] >= 103.2
    assert after[1] - after[0] >= 0.2
    assert len([at for at in after if at < after[0] + 0.25]) <= 4


def test_a_pause_holds_back_every_model_of_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, endpoint = Clock(monkeypatch), Endpoint()
    endpoint.pause(5.0)
    clock.run(_ask(Gate(Limits(), endpoint), 1))
    assert clock.now >= 105.0


def test_thrown_open_nobody_waits_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, endpoint = Clock(monkeypatch), Endpoint()
    endpoint.pause(50.0)
    gate = Gate(Limits(), endpoint)

    async def go() -> None:
        waiting = asyncio.ensure_future(_ask(gate, 10))
        await asyncio.sleep(1.0)
        gate.throw_open()
        await waiting

    clock.run(go())
    assert clock.now < 102.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"Retry-After": "Tue, 01 Dec 2026 12:00:07 GMT"}, 7.0),
        ({"Retry-After": "Tue, 01 Dec 2026 11:00:00 GMT"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": ""}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "6m0s"}, None),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1796126409000"}, 9.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "whenever"}, None),
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
    total = Usage(1, 2, None, 3) + Usage(4, None, None, 1)
    assert (total.prompt, total.completion, total.reasoning, total.cached) == (5, 2, None, 4)
    assert Usage.of(SimpleNamespace()) == Usage()
