"""The paired cluster bootstrap, against a reference that draws and counts one question after the other."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from rescue_pipeline.metrics.figures import figures
from rescue_pipeline.metrics.formulas import Floats
from rescue_pipeline.metrics.paired import (
    FEWEST_GROUPS,
    OFTEN_UNDEFINED,
    TOO_FEW_GROUPS,
    Sums,
    draws,
    intervals,
    resampled,
    sums_by_group,
    whole,
)

GROUPS = 14


def _invented(seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Groups, gold and two models' decisions (0, 1) of 90 questions in groups of unequal size."""
    generator = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(GROUPS), generator.integers(0, GROUPS, 90 - GROUPS)])
    gold, ours, theirs = (generator.integers(0, 2, 90) for _ in range(3))
    return groups, gold, np.where(generator.random(90) < 0.5, gold, ours), theirs


def _sums(groups: Floats, gold: Floats, said: Floats, n_groups: int = GROUPS) -> Sums:
    counted = {
        "n": np.ones(len(gold)),
        "accuracy": gold == said,
        "true_positive": gold & said,
        "false_positive": (1 - gold) & said,
        "false_negative": gold & (1 - said),
    }
    return sums_by_group(groups, n_groups, {name: np.asarray(c, dtype=float) for name, c in counted.items()})


def test_every_resample_equals_counting_the_drawn_questions_one_by_one() -> None:
    groups, gold, ours, _ = _invented(1)
    drawn = draws(GROUPS, resamples=40)
    found = figures(resampled(_sums(groups, gold, ours), drawn))
    for row, times in enumerate(drawn.astype(int)):
        chosen = np.repeat(np.arange(len(gold)), times[groups])
        assert found["f1"][row] == pytest.approx(f1_score(gold[chosen], ours[chosen]))
        assert found["accuracy"][row] == pytest.approx((gold[chosen] == ours[chosen]).mean())


def test_the_interval_is_the_middle_of_the_differences_of_the_same_draws() -> None:
    groups, gold, ours, theirs = _invented(2)
    found = intervals(_sums(groups, gold, ours), _sums(groups, gold, theirs))["f1"]
    differences = []
    for times in draws(GROUPS).astype(int):
        chosen = np.repeat(np.arange(len(gold)), times[groups])
        differences.append(f1_score(gold[chosen], ours[chosen]) - f1_score(gold[chosen], theirs[chosen]))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(differences, [0.025, 0.975])))


def test_asking_more_of_the_same_in_every_group_makes_nothing_surer() -> None:
    groups, gold, ours, theirs = _invented(3)
    once = intervals(_sums(groups, gold, ours), _sums(groups, gold, theirs))
    again = [np.tile(column, 5) for column in (groups, gold, ours, theirs)]
    fivefold = intervals(_sums(*again[:3]), _sums(again[0], again[1], again[3]))
    for metric, interval in once.items():
        assert fivefold[metric] == pytest.approx(interval)


def test_more_groups_make_it_surer() -> None:
    groups, gold, ours, theirs = _invented(4)
    once = intervals(_sums(groups, gold, ours), _sums(groups, gold, theirs))["accuracy"]
    others = np.concatenate([groups + GROUPS * copy for copy in range(9)])
    more = [np.tile(column, 9) for column in (gold, ours, theirs)]
    ninefold = intervals(_sums(others, more[0], more[1], GROUPS * 9), _sums(others, more[0], more[2], GROUPS * 9))[
        "accuracy"
    ]
    assert _width(ninefold) == pytest.approx(_width(once) / 3, rel=0.15)


def _width(interval: tuple[float | None, float | None, str | None]) -> float:
    low, high, _ = interval
    assert low is not None
    assert high is not None
    return high - low


def test_exchanging_the_sides_mirrors_the_interval() -> None:
    groups, gold, ours, theirs = _invented(5)
    left, right = _sums(groups, gold, ours), _sums(groups, gold, theirs)
    there, back = intervals(left, right)["f1"], intervals(right, left)["f1"]
    assert back.low is not None
    assert back.high is not None
    assert there[:2] == pytest.approx((-back.high, -back.low))


def test_equal_answers_differ_by_nothing_for_sure() -> None:
    groups, gold, ours, _ = _invented(6)
    assert intervals(_sums(groups, gold, ours), _sums(groups, gold, ours))["f1"][:2] == (0, 0)


def test_the_order_of_the_questions_changes_nothing() -> None:
    columns = _invented(7)
    order = np.random.default_rng(0).permutation(len(columns[0]))
    groups, gold, ours, theirs = (column[order] for column in columns)
    shuffled = intervals(_sums(groups, gold, ours), _sums(groups, gold, theirs))
    groups, gold, ours, theirs = columns
    assert shuffled == intervals(_sums(groups, gold, ours), _sums(groups, gold, theirs))


def test_under_ten_groups_there_is_a_reason_and_no_interval() -> None:
    groups, gold, ours, theirs = _invented(8)
    few = groups % (FEWEST_GROUPS - 1)
    found = intervals(_sums(few, gold, ours, FEWEST_GROUPS - 1), _sums(few, gold, theirs, FEWEST_GROUPS - 1))
    assert set(found.values()) == {(None, None, TOO_FEW_GROUPS)}


def test_a_metric_that_most_draws_leave_undefined_has_no_interval() -> None:
    groups, gold, ours, theirs = _invented(9)
    never = np.where(groups == 0, theirs, 0)  # says "yes" in one group only: without it there is no precision
    never[0] = 1
    found = intervals(_sums(groups, gold, ours), _sums(groups, gold, never))
    assert found["precision"] == (None, None, OFTEN_UNDEFINED)
    assert found["recall"].low is not None


def test_the_draws_are_the_same_on_every_machine_and_take_as_many_groups_as_there_are() -> None:
    drawn = draws(GROUPS)
    assert drawn.shape == (2000, GROUPS)
    assert set(drawn.sum(axis=1)) == {GROUPS}
    assert drawn[0].tolist() == np.random.default_rng(20_260_911).multinomial(GROUPS, [1 / GROUPS] * GROUPS).tolist()


def test_the_whole_is_every_group_once() -> None:
    groups, gold, ours, _ = _invented(10)
    assert figures(whole(_sums(groups, gold, ours)))["f1"][0] == pytest.approx(f1_score(gold, ours))
