"""The paired cluster bootstrap: how sure a difference between two sets of answers to the same questions is.

Questions of one couple or family are not independent, so whole session groups are drawn, with replacement, and both
sides are recomputed from the same draw (the pairs cluster bootstrap; Cameron, Gelbach and Miller 2008, section III;
for paired comparison of systems: Koehn 2004). Arrays only: what is counted, and of whom, is comparing.py's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rescue_pipeline.metrics.figures import figures
from rescue_pipeline.metrics.formulas import Floats

RESAMPLES = 2_000
SEED = 20_260_911
LEVEL = 0.95
FEWEST_GROUPS = 10
"""With fewer the bootstrap's intervals are too narrow to be shown."""
MOST_UNDEFINED = 0.05
"""The share of resamples in which a difference may be undefined (no turn answered "yes": no precision)."""

NOISE = 1e-12
"""Differences below this come from adding thirds in another order; they are exactly nothing."""

TOO_FEW_GROUPS = "fewer than ten session groups"
OFTEN_UNDEFINED = "undefined in too many resamples"

Sums = dict[str, Floats]


class Interval(NamedTuple):
    """Both ends, or neither and why."""

    low: float | None
    high: float | None
    reason: str | None


def sums_by_group(groups: npt.NDArray[np.intp], n_groups: int, scores: Mapping[str, Floats]) -> Sums:
    """Each column of `scores` (rows, or rows x labels) summed per group; groups: the group (0..) of each row."""
    sums = {}
    for name, column in scores.items():
        sums[name] = np.zeros((n_groups, *column.shape[1:]))
        np.add.at(sums[name], groups, column)
    return sums


@lru_cache(maxsize=16)
def draws(n_groups: int, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """How often each group is drawn in each resample (resamples x groups); every row adds up to n_groups."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(n_groups, np.full(n_groups, 1 / n_groups), size=resamples).astype(np.float64)


def whole(by_group: Sums) -> Sums:
    """The sums over all groups, as a sample of its own (1, or 1 x labels)."""
    return {name: sums.sum(axis=0, keepdims=True) for name, sums in by_group.items()}


def resampled(by_group: Sums, drawn: Floats) -> Sums:
    """The sums over the drawn groups (resamples, or resamples x labels)."""
    return {name: drawn @ sums for name, sums in by_group.items()}


def intervals(left: Sums, right: Sums) -> dict[str, Interval]:
    """Per metric the central 95 % of metric(left) - metric(right), the whole metric recomputed in every resample.

    left, right: sums by the same groups, as `sums_by_group` makes them.
    """
    n_groups = len(left["n"])
    if n_groups < FEWEST_GROUPS:
        return {metric: Interval(None, None, TOO_FEW_GROUPS) for metric in figures(whole(left))}
    drawn = draws(n_groups)
    ours, theirs = figures(resampled(left, drawn)), figures(resampled(right, drawn))
    return {metric: _central(ours[metric] - theirs[metric]) for metric in ours}


def _central(differences: Floats) -> Interval:
    defined = differences[np.isfinite(differences)]
    if len(defined) < (1 - MOST_UNDEFINED) * len(differences):
        return Interval(None, None, OFTEN_UNDEFINED)
    defined[np.abs(defined) < NOISE] = 0
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high), None)
