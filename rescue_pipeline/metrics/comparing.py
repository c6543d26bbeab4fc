"""Two sets of answers to the same questions: what differs, how surely, and how many questions changed sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rescue_pipeline.metrics.catalogue import compared
from rescue_pipeline.metrics.estimates import LABEL_SET
from rescue_pipeline.metrics.figures import DECISIONS, LABEL_COUNTS, MEANS, figures
from rescue_pipeline.metrics.paired import NOISE, Interval, Sums, intervals, sums_by_group, whole
from rescue_pipeline.metrics.rows import with_both
from rescue_pipeline.metrics.views import item_scores

PART = ["task", "scorer_kind", "scorer", "scenario"]
DIFFERENCES = {
    **dict.fromkeys([*PART, "metric"], pl.String),
    "primary": pl.Boolean,
    **dict.fromkeys(["value_a", "value_b", "difference", "ci_low", "ci_high"], pl.Float64),
    "no_interval": pl.String,
    **dict.fromkeys(["n", "n_groups", "n_better_a", "n_better_b", "n_open", "n_one_sided"], pl.Int64),
}


def differences(
    left: pl.DataFrame, right: pl.DataFrame, labels: pl.DataFrame, metrics: pl.DataFrame | None = None
) -> pl.DataFrame:
    """One row per task, scorer, scenario and metric (primary ones first) that both sides were asked and graded for.

    left (A) and right (B): `scored_rows` of one run each, of the same corpus version; labels: `label_sets`; metrics:
    some rows of `compared`, all when not given.
    Values and the difference A - B are over the n questions that are settled on both sides: answered or failed, and
    graded where the metric is a grade. n_open: asked of both, not settled on one; n_one_sided: asked of one side only.
    n_better_a and n_better_b count the questions that one side got more for. A value that is undefined is null.
    """
    sides = [with_both(side).partition_by(PART, as_dict=True) for side in (left, right)]
    known = {(version, scenario): names for version, scenario, names in labels.select(*LABEL_SET, "labels").iter_rows()}
    wanted = (compared() if metrics is None else metrics).partition_by("task", "scorer_kind", as_dict=True)
    rows = [
        row
        for part in sides[0]
        if part in sides[1] and part[:2] in wanted
        for row in _rows(
            dict(zip(PART, part, strict=True)), wanted[part[:2]], _Pair.of(sides[0][part], sides[1][part], known)
        )
    ]
    shown_order = compared().with_row_index("place").drop("primary")
    return (
        pl.DataFrame(rows, schema=DIFFERENCES)
        .join(shown_order, on=["task", "scorer_kind", "metric"])
        .sort("place", "scorer", "scenario")
        .drop("place")
    )


@dataclass(frozen=True)
class _Pair:
    """One part of both sides, cut to the questions that both settled. scores: `item_scores`, in one order of groups."""

    scores: tuple[pl.DataFrame, pl.DataFrame]
    labels: list[str]
    n_open: int
    n_one_sided: int

    @classmethod
    def of(cls, left: pl.DataFrame, right: pl.DataFrame, labels: dict[tuple[str, str], list[str]]) -> _Pair:
        asked = [set(side["instance_id"]) for side in (left, right)]
        settled = [set(side.filter("item_settled")["instance_id"]) for side in (left, right)]
        common = settled[0] & settled[1]
        first, second = (item_scores(side.filter(pl.col("instance_id").is_in(common))) for side in (left, right))
        version, scenario = left.select(*LABEL_SET).row(0)
        return cls(
            (first, second),
            labels.get((version, scenario), []) if left["task"][0] == "rpp" else [],
            n_open=len((asked[0] & asked[1]) - common),
            n_one_sided=len(asked[0] ^ asked[1]),
        )

    @property
    def groups(self) -> list[str]:
        return self.scores[0]["session_group"].unique().sort().to_list()

    @property
    def n(self) -> int:
        return self.scores[0]["instance_id"].n_unique()

    def sums(self) -> tuple[Sums, Sums]:
        """What the figures of both sides are made of, per session group."""
        held = [name for name in [*MEANS, *DECISIONS] if not any(scores[name].has_nulls() for scores in self.scores)]
        first, second = (_sums(scores, self.groups, self.labels, held) for scores in self.scores)
        return first, second

    def better(self, score: str) -> tuple[int, int]:
        """How many questions the first side, and the second side, got more for, by this item score."""
        first, second = (
            scores.group_by("instance_id").agg((pl.col(score) * pl.col("weight")).sum()) for scores in self.scores
        )
        gained = first.join(second, on="instance_id").select(pl.col(score) - pl.col(f"{score}_right")).to_series()
        return int((gained > NOISE).sum()), int((gained < -NOISE).sum())


def _sums(scores: pl.DataFrame, groups: list[str], labels: list[str], held: list[str]) -> Sums:
    weight = scores["weight"].to_numpy()
    columns = {"n": weight, **{name: scores[name].to_numpy() * weight for name in held}}
    if labels:
        gold, said = (
            scores[name].to_numpy()[:, None] == np.array(labels) for name in ("gold_label", "predicted_label")
        )
        columns |= {
            name: counted * weight[:, None]
            for name, counted in zip(LABEL_COUNTS, (gold & said, said, gold), strict=True)
        }
    return sums_by_group(np.searchsorted(groups, scores["session_group"].to_list()), len(groups), columns)


def _rows(part: dict[str, Any], metrics: pl.DataFrame, pair: _Pair) -> Iterator[dict[str, Any]]:
    left, right = pair.sums()
    ours, theirs = (figures(whole(side)) if pair.n else {} for side in (left, right))
    found = intervals(left, right) if pair.n else {}
    for metric, primary in metrics.select("metric", "primary").iter_rows():
        if metric == "macro_f1" and not pair.labels:
            continue  # over both scenarios together the label sets differ
        values = [_number(side[metric][0]) if metric in side else None for side in (ours, theirs)]
        yield {
            **part,
            "metric": metric,
            "primary": primary,
            **_difference(values[0], values[1], found.get(metric)),
            **dict(zip(("n_better_a", "n_better_b"), pair.better(_score_of(metric)), strict=True)),
            "n": pair.n,
            "n_groups": len(pair.groups),
            "n_open": pair.n_open,
            "n_one_sided": pair.n_one_sided,
        }


def _difference(left: float | None, right: float | None, found: Interval | None) -> dict[str, Any]:
    difference = left - right if left is not None and right is not None else None
    low, high, reason = found if found and difference is not None else (None, None, None)
    return {
        "value_a": left,
        "value_b": right,
        "difference": 0.0 if difference is not None and abs(difference) < NOISE else difference,
        "ci_low": low,
        "ci_high": high,
        "no_interval": reason,
    }


def _score_of(metric: str) -> str:
    """The item score by which a question changes sides: that of the same name, or the right decision or label."""
    return metric if metric in MEANS else "accuracy"


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
