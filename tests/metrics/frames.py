"""Tiny tables of scores for the tests of the aggregates: one cell, only what matters stated."""

from __future__ import annotations

from typing import Any

import polars as pl

from rescue_pipeline.schemas import Gradings, Instances, Items, UnlabelledRows

PATTERNS = {"couple": ["attack_attack", "mixed_transition"], "family": ["escalation_conflict", "pursue_withdraw"]}
_RUN = {
    "corpus_id": "tiny",
    "corpus_version": "v1",
    "model": "m",
    "generation": 1,
    "modality": "dialogue",
    "protocol": "clean",
    "task_version": "1",
    "epoch": "1",
    "scenario": "couple",
    "session_group": "ana_and_lou",
    "status": "ok",
    "scored": True,
}
UNANSWERED = ("not_run", "api_error")


def frame(schema: Any, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """`rows` with the schema's columns and types; what a row does not name is null."""
    types = schema.empty().schema
    return pl.DataFrame([{name: row.get(name) for name in types} for row in rows], schema=types)


def items(*rows: dict[str, Any]) -> pl.DataFrame:
    numbered = [
        {
            **_RUN,
            "instance_id": f"{row['task']}:s:{index}",
            "sample_id": "s",
            "row_index": index,
            "position": 0.0,
            **row,
        }
        for index, row in enumerate(rows, start=1)
    ]
    return frame(Items, numbered)


def timing(gold: str, said: str | None = None, **more: Any) -> dict[str, Any]:
    """An itp question as scores.items holds it: a failure says the opposite, an unanswered one nothing."""
    status = more.get("status", "ok")
    if status in UNANSWERED:
        return {"task": "itp", "gold_label": gold, **more}
    said = said if status == "ok" else {"yes": "no", "no": "yes"}[gold]
    return {"task": "itp", "gold_label": gold, "predicted_label": said, "correct": said == gold, **more}


def ranking(task: str, rank: int | None, n_candidates: int = 3, **more: Any) -> dict[str, Any]:
    """A question whose gold stands at `rank` of the answer (None: not there)."""
    row = {"task": task, "n_candidates": n_candidates, "gold_label": "gold", **more}
    if more.get("status") in UNANSWERED:
        return row
    return {"correct": rank == 1, "rank": rank, "reciprocal_rank": 1 / rank if rank else 0.0, **row}


def pattern(gold: str, said: str | None, **more: Any) -> dict[str, Any]:
    """An rpp question; None: the answer failed or is open, as the status says."""
    labels = {"gold_label": gold, "predicted_label": said}
    return {**ranking("rpp", 1 if gold == said else None, 2, **more), **labels}


def gradings(*rows: dict[str, Any]) -> pl.DataFrame:
    judged = {**_RUN, "scorer": "j", "scorer_kind": "llm", "grading_status": "ok"}
    return frame(
        Gradings, [{**judged, "instance_id": f"{row['task']}:s:{i}", **row} for i, row in enumerate(rows, start=1)]
    )


def instances_of(questions: pl.DataFrame) -> pl.DataFrame:
    """The instances of exactly these questions."""
    rows = [
        {
            **row,
            "speaker": "Ana",
            "gold": "{}",
            "candidates": PATTERNS[row["scenario"]] if row["task"] == "rpp" else None,
        }
        for row in questions.unique("instance_id", maintain_order=True).iter_rows(named=True)
    ]
    return frame(Instances, rows)


def unlabelled(n: int, scenario: str = "couple") -> pl.DataFrame:
    rows = [
        {"corpus_version": "v1", "sample_id": scenario, "scenario": scenario, "session_group": "g", "row_index": i}
        for i in range(1, n + 1)
    ]
    return frame(UnlabelledRows, rows)
