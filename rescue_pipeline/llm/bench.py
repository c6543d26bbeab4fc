"""A judge at work: which answers it can be asked about, what is asked, and where its responses lie."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl

from rescue_pipeline.llm.asking import unclaimed
from rescue_pipeline.llm.assignments import Assignment, Tally
from rescue_pipeline.llm.baselines import corpus_key
from rescue_pipeline.llm.exchange import Request
from rescue_pipeline.llm.generations import generation_of
from rescue_pipeline.llm.identity import CORPUS, parameters_of, request_id
from rescue_pipeline.llm.journal import recover
from rescue_pipeline.llm.lease import lease, lease_file
from rescue_pipeline.llm.planning import select
from rescue_pipeline.llm.plans import read_plans
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.responses import counting_judge_responses
from rescue_pipeline.llm.segments import Stream
from rescue_pipeline.llm.workspace import EPOCH, Partition, Workspace
from rescue_pipeline.schemas import JUDGED_TASKS, Answers
from rescue_pipeline.tasks.judging import build_judge_messages, judge_schema

JUDGE_PARAMETERS = {"temperature": 0, "max_tokens": 512}
RETRY_TOKENS = 2048


@dataclass(frozen=True)
class Verdict:
    """An answer to be judged, and the request that asks about it.

    answer: a row with task, instance_id and answer (JSON), of the answers table or made by us. epoch: the judge's.
    """

    answer: Mapping[str, Any]
    request_id: str
    epoch: str = EPOCH

    @property
    def task(self) -> str:
        return str(self.answer["task"])


Verdicts = dict[str, list[Verdict]]
"""By task."""


class Bench:
    """A judge at work on a workspace."""

    def __init__(self, workspace: Workspace, entry: ModelEntry, run_id: str) -> None:
        self.workspace, self.entry, self.run_id = workspace, entry, run_id
        self.generation = generation_of(workspace, entry)
        self.parameters = parameters_of(JUDGE_PARAMETERS, entry)
        self.claimed: set[str] = set()
        """Requests that some assignment of this run asks."""

    @property
    def identity(self) -> dict[str, Any]:
        """The columns that say whose grades a row holds."""
        return {
            "judge": self.entry.id,
            "judge_generation": self.generation,
            "judge_kind": "lexical" if self.entry.is_baseline else "llm",
        }

    def levels(self, partition: Partition) -> dict[str, str]:
        return {"judge": self.entry.id, **partition.levels}

    def stream(self, partition: Partition, task: str) -> Stream:
        return Stream.of(f"judge_responses_{task}", self.levels(partition))

    @contextmanager
    def lease(self, partition: Partition) -> Iterator[None]:
        journal = self.workspace.datadir.journal
        with lease(lease_file(journal, self.levels(partition)), f"{partition}, judged by {self.entry.id},"):
            recover(journal, self.workspace.lake, [self.stream(partition, task) for task in JUDGED_TASKS])
            yield

    def verdicts(self, partition: Partition, task: str) -> list[Verdict]:
        """The answers of the present corpus version that can be judged, each with its request."""
        lake, key = self.workspace.lake, ["instance_id", "request_id", "epoch"]
        plan = read_plans(lake, partition, task).filter(pl.col("corpus_version") == self.workspace.corpus_version)
        answers = lake.read(f"answers_{task}", Answers, partition=partition.levels).filter(pl.col("status") == "ok")
        # the files of older corpus versions may hold the same answer once more
        known = answers.join(plan, on=key, how="semi").unique([*key, "epoch"], keep="any", maintain_order=True)
        return [self.verdict(row) for row in known.to_dicts()]

    def selected(self, verdicts: Verdicts, limit: int | None) -> Verdicts:
        """Those of the first `limit` questions of each task, and of the questions that share a request with one."""
        if limit is None:
            return verdicts
        found = {}
        for task, judged in verdicts.items():
            chosen = {row["instance_id"] for row in select(self.workspace.corpus.of_task(task), limit)}
            asked = {row.answer["request_id"] for row in judged if row.answer["instance_id"] in chosen}
            found[task] = [row for row in judged if row.answer["request_id"] in asked]
        return found

    def verdict(self, answer: Mapping[str, Any], epoch: str = EPOCH) -> Verdict:
        identity = request_id(self.entry, self.request(answer), generation=self.generation, epoch=epoch)
        return Verdict(answer, identity, epoch)

    def request(self, answer: Mapping[str, Any]) -> Request:
        corpus, task = self.workspace.corpus, answer["task"]
        instance = corpus.instances[answer["instance_id"]]
        given = json.loads(answer["answer"])
        messages = build_judge_messages(
            task, instance, corpus.session_of(instance), corpus.turns_of(instance["sample_id"]), given
        )
        metadata = {"instance_id": answer["instance_id"], "answer": given, CORPUS: corpus_key(self.workspace)}
        return Request(
            messages=messages,
            parameters=self.parameters,
            schema=judge_schema(task),
            metadata=metadata if self.entry.is_baseline else None,
            retry_tokens=RETRY_TOKENS if "max_tokens" in self.parameters else None,
        )

    def assignment(self, partition: Partition, verdicts: Verdicts, what: str) -> Assignment[Verdict]:
        """The verdicts that have no final response and that nothing else in this run asks for."""
        tallies, questions = {}, []
        for task, judged in verdicts.items():
            responses = counting_judge_responses(self.workspace.lake, task, self.entry.id).filter(pl.col("final"))
            open_ones = unclaimed(judged, set(responses["request_id"]), self.claimed)
            tallies[task] = Tally(planned=len(judged), reused=len(judged) - len(open_ones))
            questions += open_ones
        return Assignment(
            partition=partition,
            entry=self.entry,
            questions=questions,
            request=lambda verdict: self.request(verdict.answer),
            identity=lambda verdict: self._columns(partition, verdict),
            stream=lambda task: self.stream(partition, task),
            tallies=tallies,
            what=what,
        )

    def _columns(self, partition: Partition, verdict: Verdict) -> dict[str, Any]:
        """Who was asked: the judge. The modality and protocol are those of the answer it was first asked about."""
        return {
            "task": verdict.task,
            "model": self.entry.id,
            "generation": self.generation,
            "modality": partition.modality,
            "protocol": partition.protocol,
            "epoch": verdict.epoch,
            "run_id": self.run_id,
        }


def by_request(responses: pl.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["request_id"]: row for row in responses.to_dicts()}


def distinct_instances(verdicts: Sequence[Verdict]) -> set[str]:
    return {str(verdict.answer["instance_id"]) for verdict in verdicts}
