"""Rows of the leak audit for the report's warehouses."""

from __future__ import annotations

from typing import Any

import polars as pl

from rescue_pipeline.schemas.audit import AUDIT_CHECKS

TASKS = ("itp", "rpp", "stp", "ssp", "er", "vp")


def audit_rows(corpus: dict[str, Any], protocol: str = "clean", **found: int) -> list[dict[str, Any]]:
    """An audit of all tasks in dialogue; found: findings by check, declared where the protocol is not clean."""
    return [
        {
            **corpus,
            "protocol": protocol,
            "modality": "dialogue",
            "task": task,
            "check_name": check,
            "blocking": check != "structure",
            "declared": protocol != "clean" and check in found,
            "passed": check not in found or protocol != "clean",
            "n_requests": 40,
            "n_findings": found.get(check, 0),
            "score": 0.61 if check == "structure" else None,
            "chance": 0.5 if check == "structure" else None,
            "p_value": 0.005 if check == "structure" else None,
            "detail": "",
            "audit_version": "0" * 16,
        }
        for task in TASKS
        for check in AUDIT_CHECKS
    ]


def audit_tables(corpus: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {"audit": audit_rows(corpus), "audit_findings": []}


AUDIT_TYPES = {
    "audit": dict.fromkeys(("score", "chance", "p_value"), pl.Float64),
    "audit_findings": {"corpus_version": pl.String, "instance_id": pl.String, "place": pl.String},
}
