"""The structure probe finds what structure tells across session groups, and nothing in noise."""

from __future__ import annotations

import numpy as np
import pytest

from rescue_pipeline.audit.probe import SIGNIFICANT, Array, score


def made(seed: int, n_groups: int = 12, size: int = 15) -> tuple[np.random.Generator, Array, Array, Array]:
    """Features and labels that have nothing to do with each other."""
    generator = np.random.default_rng(seed)
    n = n_groups * size
    labels = np.array(["yes", "no"])[generator.integers(0, 2, n)]
    groups = np.repeat([f"group {number}" for number in range(n_groups)], size)
    return generator, generator.normal(size=(n, 6)), labels, groups


def test_a_length_that_tells_the_gold_is_found() -> None:
    _, features, labels, groups = made(1)
    features[:, 2] += 1.5 * (labels == "yes")
    result = score(features, labels, groups)
    assert result.warns
    assert result.score is not None
    assert result.score > 0.7
    assert result.chance == pytest.approx(0.5, abs=0.05)


def test_noise_is_no_cue() -> None:
    values = [score(*made(seed)[1:]).p_value for seed in range(20)]
    assert sum(value is not None and value < SIGNIFICANT for value in values) <= 1
    assert any(value is not None and value > 0.5 for value in values)


def test_what_only_tells_the_groups_apart_is_no_cue() -> None:
    """Each group has a usual answer and a length of its own: other groups teach nothing about it."""
    generator, features, labels, groups = made(3)
    for number, group in enumerate(np.unique(groups)):
        members = groups == group
        usual = "yes" if number % 2 else "no"
        labels[members] = np.where(generator.random(members.sum()) < 0.8, usual, labels[members])
        features[members, 0] = generator.normal()
    assert not score(features, labels, groups).warns


def test_every_class_counts_the_same_however_rare_it_is() -> None:
    _, features, labels, groups = made(4)
    labels[:] = "no"
    labels[::10] = "yes"
    result = score(features, labels, groups)
    assert result.score is not None
    assert 0.3 < result.score < 0.7


def test_the_same_questions_give_the_same_result() -> None:
    assert score(*made(5)[1:]) == score(*made(5)[1:])


@pytest.mark.parametrize(("n_groups", "size"), [(1, 40), (3, 5)])
def test_too_few_groups_or_questions_are_not_tried(n_groups: int, size: int) -> None:
    result = score(*made(6, n_groups, size)[1:])
    assert (result.score, result.p_value, result.warns) == (None, None, False)
