from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from rescue_pipeline.metrics import formulas

LABELS = ["a", "b", "c"]


def _macro_f1(gold: list[str], said: list[str | None], labels: list[str]) -> float:
    hits = [sum(g == s == label for g, s in zip(gold, said, strict=True)) for label in labels]
    return float(
        formulas.macro_f1(hits, [said.count(label) for label in labels], [gold.count(label) for label in labels])
    )


def test_a_label_that_a_model_invents_is_no_class_of_macro_f1() -> None:
    assert _macro_f1(["A", "B", "A", "B"], ["A", "B", "A", "a"], ["A", "B"]) == pytest.approx(5 / 6)


def test_a_label_that_never_occurs_counts_zero_in_macro_f1() -> None:
    assert _macro_f1(["A", "B", "A", "B"], ["A", "B", "A", "a"], ["A", "B", "C"]) == pytest.approx(5 / 9)


@given(
    st.lists(st.tuples(st.sampled_from(LABELS[:2]), st.sampled_from([*LABELS, "invented"])), min_size=1, max_size=30)
)
def test_macro_f1_equals_scikit_learns_over_the_fixed_labels(pairs: list[tuple[str, str]]) -> None:
    gold, said = [list(side) for side in zip(*pairs, strict=True)]
    expected = f1_score(gold, said, labels=LABELS, average="macro", zero_division=0)
    assert _macro_f1(gold, said, LABELS) == pytest.approx(expected, abs=1e-12)


def test_precision_is_undefined_where_nothing_is_predicted_but_f1_is_zero() -> None:
    assert np.isnan(formulas.precision(0, 0))
    assert formulas.recall(0, 4) == 0
    assert formulas.f1(0, 0, 4) == 0


def test_f1_is_undefined_only_where_nothing_is_predicted_and_nothing_is_gold() -> None:
    assert np.isnan(formulas.f1(0, 0, 0))
    assert formulas.f1([3, 0], [1, 0], [2, 0])[0] == pytest.approx(2 * 0.75 * 0.6 / (0.75 + 0.6))


@pytest.mark.parametrize("n_candidates", [1, 2, 3, 4, 6])
def test_chance_is_the_mean_over_all_orders_of_the_candidates(n_candidates: int) -> None:
    places = [order.index(0) + 1 for order in permutations(range(n_candidates))]
    for k in (1, 2, 3):
        expected = Fraction(sum(place <= k for place in places), len(places))
        assert formulas.chance_recall_at(k, n_candidates) == pytest.approx(float(expected))
    reciprocal = sum((Fraction(1, place) if place <= 3 else Fraction(0) for place in places), Fraction(0)) / len(places)
    assert formulas.chance_reciprocal_rank(n_candidates) == pytest.approx(float(reciprocal))
