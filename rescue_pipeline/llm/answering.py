"""From stored responses to answers: parsed anew whenever the parser changes, without asking anything."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rescue_pipeline.llm.cut_prompts import cut_prompts
from rescue_pipeline.llm.plans import read_plans
from rescue_pipeline.llm.responses import counting_responses
from rescue_pipeline.llm.views import Views
from rescue_pipeline.llm.workspace import IMPORTED, Partition, Row, Workspace
from rescue_pipeline.schemas import Answers, check_table
from rescue_pipeline.tasks.leaks import item_id
from rescue_pipeline.tasks.lists import parse_list
from rescue_pipeline.tasks.parsing import PARSER_VERSION, ParsedAnswer, parse_answer
from rescue_pipeline.tasks.spec import Protocol, load_protocol

_ASKED = ["instance_id", "task", "model", "generation", "modality", "protocol", "epoch", "request_id"]
_REPLY = ["request_id", "status", "content", "error_type"]


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
    responses = counting_responses(workspace.lake, task, partition)
    reader = _Reader(workspace, partition, task, cut_prompts(responses))
    joined = plan.select(_ASKED).join(responses.select(_REPLY), on="request_id", how="inner")
    table, rows = f"answers_{task}", reader.answers(joined)
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


class _Reader:
    """Reads the replies of one partition and task as its protocol asked for them."""

    def __init__(self, workspace: Workspace, partition: Partition, task: str, cut: set[str]) -> None:
        self.corpus, self.task, self.cut = workspace.corpus, task, cut
        self.protocol = None if partition.protocol == IMPORTED else load_protocol(partition.protocol)
        self.views = Views(workspace.corpus, renamed=self.protocol is not None and self.protocol.renamed)

    def answers(self, planned: pl.DataFrame) -> list[dict[str, Any]]:
        """The answer rows of planned questions with their replies."""
        lists = self._lists(planned, self.protocol) if self.protocol and self.protocol.asks_lists else {}
        rows = []
        for row in planned.iter_rows(named=True):
            parsed = self._parsed(row, lists.get(row["request_id"]))
            rows.append({**{name: row[name] for name in _ASKED}, **_columns(parsed)})
        return rows

    def _parsed(self, row: Mapping[str, Any], answers: Mapping[str, ParsedAnswer] | None) -> ParsedAnswer:
        """A reply that was cut off, refused or filtered is never parsed; nor does one to a cut prompt count."""
        if row["status"] != "ok":
            return ParsedAnswer(row["status"], reason=row["error_type"])
        if row["request_id"] in self.cut:
            return ParsedAnswer("over_context", flags=["prompt_cut"])
        if answers is not None:
            return answers[row["instance_id"]]
        instance = self.corpus.instances[row["instance_id"]]
        shown, session = self.views.instance(instance), self.views.session(instance)
        return self._restored(instance, parse_answer(self.task, shown, session, row["content"]))

    def _restored(self, instance: Row, parsed: ParsedAnswer) -> ParsedAnswer:
        """With the names of the corpus, whatever names the question gave."""
        return replace(
            parsed,
            answer=self.views.restored(instance, parsed.answer),
            reason=self.views.restored(instance, parsed.reason),
        )

    def _lists(self, planned: pl.DataFrame, protocol: Protocol) -> dict[str, dict[str, ParsedAnswer]]:
        """The answers of each request that asked a list of questions, by request and instance."""
        found = {}
        for (request,), rows in planned.filter(pl.col("status") == "ok").group_by("request_id"):
            instances = {key: self.corpus.instances[key] for key in rows["instance_id"].unique(maintain_order=True)}
            names = {key: item_id(protocol, row) for key, row in instances.items()}
            asked = {names[key]: (self.views.instance(row), self.views.session(row)) for key, row in instances.items()}
            answers = parse_list(self.task, asked, rows["content"][0])
            found[str(request)] = {key: self._restored(instances[key], answers[name]) for key, name in names.items()}
        return found


def _columns(parsed: ParsedAnswer) -> dict[str, Any]:
    return {
        "status": parsed.status,
        "answer": None if parsed.answer is None else json.dumps(parsed.answer, ensure_ascii=False, allow_nan=False),
        "reason": parsed.reason,
        "flags": parsed.flags,
        "parser_version": PARSER_VERSION,
    }
