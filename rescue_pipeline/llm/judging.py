"""From a judge's responses to lake/judgements_<task> and lake/judge_controls_<task>: read anew each time, without
asking anything."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from rescue_pipeline.llm.bench import Bench, Verdict, Verdicts, by_request
from rescue_pipeline.llm.registry import ModelEntry, Registry
from rescue_pipeline.llm.responses import counting_judge_responses
from rescue_pipeline.llm.workspace import Partition
from rescue_pipeline.schemas import JudgeControls, Judgements, check_table
from rescue_pipeline.tasks.judging import parse_judgement

_ASKED = ["instance_id", "task", "model", "generation", "modality", "protocol", "epoch"]
_NO_GRADES: dict[str, Any] = {"similarity": None, "pairing": None, "content": None, "reason": None}
Statuses = dict[str, Counter[str]]


def store_judgements(bench: Bench, partition: Partition, verdicts: Verdicts, asked: Verdicts) -> Statuses:
    """Write one row per judged answer of a partition; returns per task how many of those `asked` have which status."""
    workspace = bench.workspace
    whose = {
        "judge_rank": rank(workspace.registry, bench.entry),
        "same_vendor": same_vendor(workspace.registry.models.get(partition.model), bench.entry),
    }
    statuses = {}
    for task, judged in verdicts.items():
        table, responses = f"judgements_{task}", _responses(bench, task)
        rows = [
            {
                **_graded(bench, verdict, responses),
                **{name: verdict.answer[name] for name in _ASKED},
                "answer_request_id": verdict.answer["request_id"],
                **whose,
            }
            for verdict in judged
        ]
        frame = pl.DataFrame(rows, infer_schema_length=None) if rows else Judgements.empty()
        frame = check_table(frame, Judgements, table)
        workspace.lake.write(table, frame, partition=bench.levels(partition), name=workspace.corpus_version)
        statuses[task] = _counted(frame, asked[task])
    return statuses


def store_controls(bench: Bench, partition: Partition, verdicts: Verdicts, asked: Verdicts) -> Statuses:
    """Write one row per control or repeated answer; returns per task how many of those `asked` have which status.

    A verdict's answer names its `control`, and for a repeat its `first_request_id`.
    """
    workspace, statuses = bench.workspace, {}
    for task, judged in verdicts.items():
        table, responses = f"judge_controls_{task}", _responses(bench, task)
        rows = [
            {
                **_graded(bench, verdict, responses),
                "task": task,
                "control": verdict.answer["control"],
                "instance_id": verdict.answer["instance_id"],
                "first_request_id": verdict.answer.get("first_request_id", verdict.request_id),
                "repeat": int(verdict.epoch),
            }
            for verdict in judged
        ]
        frame = pl.DataFrame(rows, infer_schema_length=None) if rows else JudgeControls.empty()
        frame = check_table(frame, JudgeControls, table)
        name = f"{workspace.corpus_version}.g{bench.generation}"
        workspace.lake.write(table, frame, partition=bench.levels(partition), name=name)
        statuses[task] = _counted(frame, asked[task])
    return statuses


def _counted(frame: pl.DataFrame, asked: Sequence[Verdict]) -> Counter[str]:
    ids = {verdict.request_id for verdict in asked}
    return Counter(frame.filter(pl.col("request_id").is_in(ids))["status"].to_list())


def rank(registry: Registry, judge: ModelEntry) -> int:
    """The judge's place in the registry, from 1: the same in every run, whatever order it names its judges in."""
    return list(registry.models).index(judge.id) + 1


def same_vendor(model: ModelEntry | None, judge: ModelEntry) -> bool:
    """Whether both are of one vendor. An unknown vendor is nobody's, and so is a baseline's."""
    vendors = [_vendor(entry) for entry in (model, judge)]
    return None not in vendors and vendors[0] == vendors[1]


def _vendor(entry: ModelEntry | None) -> str | None:
    if entry is None or entry.is_baseline or entry.vendor is None:
        return None
    return entry.vendor.strip().casefold() or None


def _responses(bench: Bench, task: str) -> dict[str, dict[str, Any]]:
    return by_request(counting_judge_responses(bench.workspace.lake, task, bench.entry.id))


def _graded(bench: Bench, verdict: Verdict, responses: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "corpus_version": bench.workspace.corpus_version,
        "request_id": verdict.request_id,
        **bench.identity,
        **_grades(verdict, responses.get(verdict.request_id)),
    }


def _grades(verdict: Verdict, response: dict[str, Any] | None) -> dict[str, Any]:
    """The grades of one response. No response yet, or an error that may pass, is not_run: it is asked again."""
    if response is None or not response["final"]:
        return {"status": "not_run", **_NO_GRADES}
    if response["status"] != "ok":
        return {"status": "judge_failed", **_NO_GRADES, "reason": response["status"]}
    parsed = parse_judgement(verdict.task, response["content"], json.loads(verdict.answer["answer"]))
    return {
        "status": parsed.status,
        "similarity": parsed.similarity,
        "pairing": parsed.pairing,
        "content": parsed.content,
        "reason": parsed.reason,
    }
