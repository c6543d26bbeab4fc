"""Which figures are published for which task, and which columns say whose figure it is."""

from __future__ import annotations

import polars as pl

RUN = ["corpus_id", "corpus_version", "model", "generation", "modality", "protocol"]
CELL = [*RUN, "scorer", "scorer_kind", "scenario", "task"]
"""A published figure is one cell and one metric."""

NO_SCORER = "none"

ITEM_METRICS = {
    "itp": ["precision", "recall", "f1", "accuracy"],
    "rpp": ["accuracy", "accuracy_paper_base", "mrr", "macro_f1"],
    "stp": ["recall_at_1", "recall_at_2", "recall_at_3", "mrr"],
    "ssp": ["recall_at_1", "recall_at_2", "recall_at_3", "mrr"],
    "er": ["intensity_match"],
}
JUDGED_METRICS = {
    "er": ["judge", "er_score"],
    "vp": ["judge", "pairing", "content", "judge_total"],
}
BERTSCORE_METRICS = {"er": ["bertscore_f1"], "vp": ["bertscore_f1"]}

PRIMARY = {
    "itp": "f1",
    "rpp": "accuracy",
    "stp": "recall_at_1",
    "ssp": "recall_at_1",
    "er": "judge",
    "vp": "judge",
}
"""The one metric per task that a table with one column per task shows."""

NOT_COMPARED = ["accuracy_paper_base"]
"""Over the same questions its difference is that of accuracy times a constant of the corpus."""

GRADES = {
    "judge": (1.0, 5.0),
    "pairing": (0.0, 2.0),
    "content": (0.0, 4.0),
    "judge_total": (0.0, 6.0),
    "bertscore_f1": (0.0, 1.0),
}
"""The worst and the best that a grader can give."""

INTENSITY_MATCH = (1.0, 5.0)


def published() -> pl.DataFrame:
    """One row per task, kind of scorer and metric."""
    kinds = {NO_SCORER: ITEM_METRICS, "llm": JUDGED_METRICS, "lexical": JUDGED_METRICS, "bertscore": BERTSCORE_METRICS}
    rows = [
        (task, kind, metric) for kind, tasks in kinds.items() for task, metrics in tasks.items() for metric in metrics
    ]
    return pl.DataFrame(rows, schema=["task", "scorer_kind", "metric"], orient="row")


def compared() -> pl.DataFrame:
    """One row per task, kind of scorer and metric of which differences are computed, each task's main one first.

    primary: it is the main one.
    """
    is_primary = pl.col("metric") == pl.col("task").replace_strict(PRIMARY)
    rows = published().filter(~pl.col("metric").is_in(NOT_COMPARED)).with_columns(primary=is_primary)
    return rows.sort("primary", descending=True, maintain_order=True)
