"""What a request is told before anything is loaded or asked: wrong names, missing keys, whether a budget holds."""

from __future__ import annotations

import pytest

from rescue_pipeline import console
from rescue_pipeline.corpus.source import resolve
from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.estimate import Estimate, Line
from rescue_pipeline.llm.registry import Registry, load_registry
from rescue_pipeline.printing_estimate import print_estimate
from rescue_pipeline.requesting import NeedsBudget, RunRequest
from tests.cli.finished import ORACLE_SMALL

REGISTRY: Registry = load_registry(None)


def costing(expected: float, most: float, **fields: dict[str, str]) -> Estimate:
    line = Line("paid", "answer", "er", 10, 10, 900, 300, expected, most, expected, 12.0, "assumed")
    return Estimate([line], ["paid"], **fields)


@pytest.mark.parametrize("status", ["bogus", "ok", "api_error"])
def test_a_status_that_cannot_be_asked_again_is_refused_at_once(status: str) -> None:
    request = RunRequest(resolve(ORACLE_SMALL / "corpus.jsonl"), ["majority"], retry=[status])
    with pytest.raises(UsageError, match="--retry") as refused:
        request.check(REGISTRY)
    assert status in str(refused.value)


@pytest.mark.parametrize(
    ("expected", "most", "said"),
    [
        (0.5, 1.23, "fits: at most 1.2300 of 2.00 USD"),
        (0.5, 2.5, "may not fit: 0.5000 expected, at most 2.5000 of 2.00 USD"),
        (2.1, 2.5, "does not fit: 2.1000 expected"),
    ],
)
def test_an_estimate_says_whether_the_budget_holds(expected: float, most: float, said: str) -> None:
    with console.out.capture() as told:
        print_estimate(costing(expected, most), 2.0)
    assert said in " ".join(told.get().split())


@pytest.mark.parametrize(("limit", "is_advised"), [(None, True), (11, True), (10, False), (5, False)])
def test_a_cheaper_start_is_advised_only_where_it_is_cheaper(limit: int | None, is_advised: bool) -> None:
    assert ("--limit 10" in str(NeedsBudget(costing(0.5, 1.0), limit))) == is_advised


def test_a_key_that_is_not_set_is_said_with_the_price() -> None:
    estimate = costing(0.5, 1.0, without_key={"paid": "MY_API_KEY"})
    assert "MY_API_KEY (paid)" in str(NeedsBudget(estimate))
    with console.out.capture() as told:
        print_estimate(estimate)
    assert "paid: its key is not set (MY_API_KEY)" in told.get()
