"""From sums over items to figures: the same arithmetic for the cells of a table and for the resamples of one cell."""

from __future__ import annotations

from collections.abc import Mapping

from rescue_pipeline.metrics import formulas
from rescue_pipeline.metrics.formulas import Floats

DECISIONS = ["true_positive", "false_positive", "false_negative"]
MEANS = [
    "accuracy", "recall_at_1", "recall_at_2", "recall_at_3", "mrr", "intensity_match", "judge", "pairing", "content",
    "judge_total", "bertscore_f1", "er_score",
]  # fmt: skip
"""Metrics that are the mean of an item score of the same name."""

LABEL_COUNTS = ["hits", "predicted", "support"]


def figures(sums: Mapping[str, Floats]) -> dict[str, Floats]:
    """Every metric that the sums define, by name; NaN where it is undefined.

    sums: arrays of one shape (cells, or resamples): `n` (items), any of MEANS and DECISIONS (the sum over items of the
    item's score), `n_unlabelled` (rows that only the paper's base counts). LABEL_COUNTS have the labels of a fixed set
    as an additional last axis.
    """
    found = {name: formulas.ratio(sums[name], sums["n"]) for name in MEANS if name in sums}
    if all(name in sums for name in DECISIONS):
        hits, false_alarms, misses = (sums[name] for name in DECISIONS)
        found["precision"] = formulas.precision(hits, false_alarms)
        found["recall"] = formulas.recall(hits, misses)
        found["f1"] = formulas.f1(hits, false_alarms, misses)
    if "accuracy" in sums and "n_unlabelled" in sums:
        found["accuracy_paper_base"] = formulas.ratio(sums["accuracy"], sums["n"] + sums["n_unlabelled"])
    if all(name in sums for name in LABEL_COUNTS):
        found["macro_f1"] = formulas.macro_f1(*(sums[name] for name in LABEL_COUNTS))
    return found
