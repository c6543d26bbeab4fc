"""Units and decimals, and the sentences that hold numbers."""

from __future__ import annotations

import math

import pytest

from rescue_pipeline.metrics.catalogue import GRADES, published
from rescue_pipeline.report.formatting import METRICS, count, counted, listed, metric_format, number_word


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("f1", 0.61905, "61.9"),
        ("accuracy_paper_base", 1.0, "100.0"),
        ("judge", 4.166, "4.17"),
        ("judge_total", 5.0, "5.00"),
        ("bertscore_f1", 0.82246, "0.8225"),
        ("f1", None, ""),
        ("f1", math.nan, ""),
    ],
)
def test_a_metric_is_printed_in_its_unit(metric: str, value: float | None, text: str) -> None:
    assert metric_format(metric).text(value) == text


def test_every_published_metric_has_a_format() -> None:
    assert set(published()["metric"]) <= set(METRICS)


def test_scales_are_those_of_the_graders() -> None:
    for metric, ends in GRADES.items():
        assert (METRICS[metric].low, METRICS[metric].high) == ends


def test_a_value_outside_its_scale_is_drawn_at_the_end() -> None:
    assert METRICS["judge"].position(0.0) == 0.0
    assert METRICS["judge"].position(3.0) == 50.0
    assert METRICS["judge"].position(9.0) == 100.0


def test_an_unknown_metric_is_printed_under_its_own_name() -> None:
    assert (metric_format("novel").name, metric_format("novel").text(0.5)) == ("novel", "0.5000")


def test_numbers_in_sentences() -> None:
    assert (count(1234567), count(0), count(None)) == ("1,234,567", "0", "")
    assert (counted(1, "session"), counted(2, "session")) == ("1 session", "2 sessions")
    assert (number_word(4), number_word(40)) == ("Four", "40")
    assert (listed([]), listed(["a"]), listed(["a", "b", "c"])) == ("", "a", "a, b and c")
