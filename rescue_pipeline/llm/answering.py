"""From stored responses to answers: parsed anew whenever the parser changes, without asking anything."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import polars as pl

from rescue_pipeline.llm.plans import read_plans
from rescue_pipeline.llm.responses import counting_responses
from rescue_pipeline.llm.workspace import Partition, Workspace
from rescue_pipeline.schemas import Answers, check_table
from rescue_pipeline.tasks.parsing import PARSER_VERSION, ParsedAnswer, parse_answer

_ASKED = ["instance_id", "task", "model", "generation", "modality", "protocol", "epoch", "request_id"]


@dataclass(frozen=True)
class AnswerSummary:
    """What the answers of one partition and task are now. by_status adds up to planned."""

    partition: Partition
    task: str
    planned: int
    rows: int
    by_status: dict[str, int]
    path: str | None


def parse_partition(workspace: Workspace, partition: Partition, task: str) -> AnswerSummary:
    """Parse every response to the planned questions of a partition and task into lake/answers_<task>.

    Covers all generations and epochs of the workspace's corpus version; one file, replaced whole.
    """
    plan = read_plans(workspace.lake, partition, task).filter(pl.col("corpus_version") == workspace.corpus_version)
    responses = counting_responses(workspace.lake, task, partition).select(
        "request_id", "status", "content", "error_type"
    )
    joined = plan.select(_ASKED).join(responses, on="request_id", how="inner")
    table = f"answers_{task}"
    rows = [{**{name: row[name] for name in _ASKED}, **_answer(workspace, row)} for row in joined.iter_rows(named=True)]
    path = None
    if plan.height:
        frame = pl.DataFrame(rows, infer_schema_length=None) if rows else Answers.empty()
        frame = check_table(frame, Answers, table)
        path = workspace.lake.write(table, frame, partition=partition.levels, name=workspace.corpus_version)
    counts = Counter(row["status"] for row in rows)
    counts["not_run"] = plan.height - len(rows)
    return AnswerSummary(
        partition, task, plan.height, len(rows), {status: n for status, n in counts.items() if n}, path
    )


def _answer(workspace: Workspace, row: dict[str, Any]) -> dict[str, Any]:
    """The answer columns of one response. A reply that was cut off, refused or filtered is never parsed."""
    if row["status"] == "ok":
        instance = workspace.corpus.instances[row["instance_id"]]
        parsed = parse_answer(row["task"], instance, workspace.corpus.session_of(instance), row["content"])
    else:
        parsed = ParsedAnswer(row["status"], reason=row["error_type"])
    return {
        "status": parsed.status,
        "answer": None if parsed.answer is None else json.dumps(parsed.answer, ensure_ascii=False, allow_nan=False),
        "reason": parsed.reason,
        "flags": parsed.flags,
        "parser_version": PARSER_VERSION,
    }
