"""The formulas, on arrays of counts. An undefined figure is NaN here and null in every table, never 0."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Floats:
    """numerator / denominator; NaN where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float))
    quotients: Floats = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom != 0)
    return quotients


def precision(true_positives: npt.ArrayLike, false_positives: npt.ArrayLike) -> Floats:
    """Share (0-1) of right ones among the predicted; NaN where nothing was predicted."""
    return ratio(true_positives, np.add(true_positives, false_positives))


def recall(true_positives: npt.ArrayLike, false_negatives: npt.ArrayLike) -> Floats:
    """Share (0-1) of found ones among the gold; NaN where the gold has none."""
    return ratio(true_positives, np.add(true_positives, false_negatives))


def f1(true_positives: npt.ArrayLike, false_positives: npt.ArrayLike, false_negatives: npt.ArrayLike) -> Floats:
    """Harmonic mean (0-1) of precision and recall, from counts: NaN only where gold and prediction have none at all."""
    doubled = np.multiply(true_positives, 2)
    return ratio(doubled, doubled + np.add(false_positives, false_negatives))


def macro_f1(true_positives: npt.ArrayLike, predicted: npt.ArrayLike, support: npt.ArrayLike) -> Floats:
    """Mean F1 (0-1) over the last axis, the labels of a fixed set.

    A label with neither gold nor prediction counts 0 and stays in the mean, so that the number of labels does not
    depend on what a model happens to say. Equal to scikit-learn's f1_score(average="macro", labels=the set,
    zero_division=0).
    """
    hits = np.asarray(true_positives, dtype=float)
    per_label = f1(hits, np.subtract(predicted, hits), np.subtract(support, hits))
    means: Floats = np.nan_to_num(per_label, nan=0.0).mean(axis=-1)
    return means


def chance_recall_at(k: int, n_candidates: npt.ArrayLike) -> Floats:
    """Probability that the gold is among the first k of a random order of its candidates."""
    return np.minimum(ratio(k, n_candidates), 1.0)


def chance_reciprocal_rank(n_candidates: npt.ArrayLike) -> Floats:
    """Expected reciprocal rank of the gold among the first three of a random order of its candidates."""
    counts = np.asarray(n_candidates, dtype=float)
    harmonic = sum((counts >= rank) / rank for rank in (1, 2, 3))
    return ratio(harmonic, counts)
