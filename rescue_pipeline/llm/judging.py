"""From a judge's responses to lake/judgements_<task>: read anew each time, without asking anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.workspace import Partition, Workspace
from rescue_pipeline.schemas import Judgements, check_table
from rescue_pipeline.tasks.judging import parse_judgement

_ASKED = ["instance_id", "task", "model", "generation", "modality", "protocol", "epoch"]
_NO_GRADES: dict[str, Any] = {"similarity": None, "pairing": None, "content": None, "reason": None}


def store_judgements(
    workspace: Workspace,
    judge: ModelEntry,
    generation: int,
    partition: Partition,
    task: str,
    judged: Sequence[tuple[dict[str, Any], str]],
    responses: pl.DataFrame,
) -> pl.DataFrame:
    """Write one row per judged answer; judged: the answer's row and the id of the request about it."""
    table, by_request = f"judgements_{task}", {row["request_id"]: row for row in responses.to_dicts()}
    rows = [
        {
            **{name: answer[name] for name in _ASKED},
            "corpus_version": workspace.corpus_version,
            "answer_request_id": answer["request_id"],
            "request_id": request,
            "judge": judge.id,
            "judge_generation": generation,
            "judge_kind": "lexical" if judge.is_baseline else "llm",
            **_grades(task, by_request.get(request)),
        }
        for answer, request in judged
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None) if rows else Judgements.empty()
    frame = check_table(frame, Judgements, table)
    levels = {"judge": judge.id, **partition.levels}
    workspace.lake.write(table, frame, partition=levels, name=workspace.corpus_version)
    return frame


def _grades(task: str, response: dict[str, Any] | None) -> dict[str, Any]:
    """The grades of one response. No response yet, or an error that may pass, is not_run: it is asked again."""
    if response is None or not response["final"]:
        return {"status": "not_run", **_NO_GRADES}
    if response["status"] != "ok":
        return {"status": "judge_failed", **_NO_GRADES, "reason": response["status"]}
    parsed = parse_judgement(task, response["content"])
    return {
        "status": parsed.status,
        "similarity": parsed.similarity,
        "pairing": parsed.pairing,
        "content": parsed.content,
        "reason": parsed.reason,
    }
