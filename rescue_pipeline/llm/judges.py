"""Grading the free-text answers (er, vp): one request per answer to a judge, on the same path as any question.

A judge that fails leaves judge_failed, never a grade. The lexical judge is a rule of ours and marked as such.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl

from rescue_pipeline.llm.asking import send, unclaimed
from rescue_pipeline.llm.assignments import Assignment, Tally
from rescue_pipeline.llm.baselines import corpus_key
from rescue_pipeline.llm.budget import Spending
from rescue_pipeline.llm.client import RetryPolicy
from rescue_pipeline.llm.dispatch import OnProgress
from rescue_pipeline.llm.exchange import Request
from rescue_pipeline.llm.generations import generation_of
from rescue_pipeline.llm.identity import CORPUS, parameters_of, request_id
from rescue_pipeline.llm.journal import recover
from rescue_pipeline.llm.judging import store_judgements
from rescue_pipeline.llm.lease import lease, lease_file
from rescue_pipeline.llm.plans import read_plans
from rescue_pipeline.llm.responses import counting_judge_responses
from rescue_pipeline.llm.segments import Stream
from rescue_pipeline.llm.summaries import JudgeSummary
from rescue_pipeline.llm.workspace import EPOCH, Partition, Workspace, known_tasks
from rescue_pipeline.schemas import JUDGED_TASKS, Answers
from rescue_pipeline.tasks.judging import build_judge_messages, judge_schema

JUDGE_PARAMETERS = {"temperature": 0, "max_tokens": 512}
RETRY_TOKENS = 2048


@dataclass(frozen=True)
class Verdict:
    """An answer to be judged: its row of the answers table, and the request that asks about it."""

    answer: dict[str, Any]
    request_id: str

    @property
    def task(self) -> str:
        return str(self.answer["task"])


def judge_partitions(
    workspace: Workspace,
    partitions: Sequence[Partition],
    tasks: Sequence[str],
    judges: Sequence[str] | None = None,
    on_progress: OnProgress | None = None,
    *,
    spending: Spending | None = None,
    policy: RetryPolicy | None = None,
) -> list[JudgeSummary]:
    """Ask a judge about every answer with status ok that it has not judged, and store lake/judgements_<task>.

    judge: a model's id; None takes the first enabled judge of the registry, else the lexical judge. tasks that have no
    free text are left out. Identical requests (the same answer to the same question, whoever gave it) are asked once.
    Raises as `ask_partitions` does.
    """
    tasks = [task for task in known_tasks(tasks) if task in JUDGED_TASKS]
    spending = spending or Spending()
    bench = _Bench(workspace, judges[0] if judges else None, spending.run_id)
    with ExitStack() as held:
        unique = list(dict.fromkeys(partitions))
        for partition in sorted(unique):
            held.enter_context(bench.lease(partition))
        claimed: set[str] = set()
        jobs = [_job(bench, partition, tasks, claimed) for partition in unique]
        send(workspace, [work for _, work in jobs], spending=spending, policy=policy, on_progress=on_progress)
        return [bench.summary(verdicts, work) for verdicts, work in jobs]


class _Bench:
    """A judge at work on a workspace."""

    def __init__(self, workspace: Workspace, judge: str | None, run_id: str) -> None:
        self.workspace, self.run_id = workspace, run_id
        self.entry = workspace.registry.judge(judge)
        self.generation = generation_of(workspace, self.entry)
        self.parameters = parameters_of(JUDGE_PARAMETERS, self.entry)

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
        lake, key = self.workspace.lake, ["instance_id", "request_id"]
        plan = read_plans(lake, partition, task).filter(pl.col("corpus_version") == self.workspace.corpus_version)
        answers = lake.read(f"answers_{task}", Answers, partition=partition.levels).filter(pl.col("status") == "ok")
        # the files of older corpus versions may hold the same answer once more
        known = answers.join(plan, on=key, how="semi").unique(key, keep="any", maintain_order=True)
        return [Verdict(row, self._identity(row)) for row in known.to_dicts()]

    def request(self, answer: dict[str, Any]) -> Request:
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

    def _identity(self, answer: dict[str, Any]) -> str:
        return request_id(self.entry, self.request(answer), generation=self.generation, epoch=EPOCH)

    def columns(self, partition: Partition, verdict: Verdict) -> dict[str, Any]:
        """Who was asked: the judge. The modality and protocol are those of the answer it was first asked about."""
        return {
            "task": verdict.task,
            "model": self.entry.id,
            "generation": self.generation,
            "modality": partition.modality,
            "protocol": partition.protocol,
            "epoch": EPOCH,
            "run_id": self.run_id,
        }

    def summary(self, verdicts: dict[str, list[Verdict]], work: Assignment[Verdict]) -> JudgeSummary:
        statuses: dict[str, Counter[str]] = {}
        for task, judged in verdicts.items():
            responses = counting_judge_responses(self.workspace.lake, task, self.entry.id)
            requests = [(verdict.answer, verdict.request_id) for verdict in judged]
            frame = store_judgements(
                self.workspace, self.entry, self.generation, work.partition, task, requests, responses
            )
            statuses[task] = Counter(frame["status"].to_list())
        return JudgeSummary.of(work, statuses)


def _job(
    bench: _Bench, partition: Partition, tasks: Sequence[str], claimed: set[str]
) -> tuple[dict[str, list[Verdict]], Assignment[Verdict]]:
    verdicts = {task: bench.verdicts(partition, task) for task in tasks}
    tallies, questions = {}, []
    for task, judged in verdicts.items():
        responses = counting_judge_responses(bench.workspace.lake, task, bench.entry.id).filter(pl.col("final"))
        open_ones = unclaimed(judged, set(responses["request_id"]), claimed)
        tallies[task] = Tally(planned=len(judged), reused=len(judged) - len(open_ones))
        questions += open_ones
    return verdicts, Assignment(
        partition=partition,
        entry=bench.entry,
        questions=questions,
        request=lambda verdict: bench.request(verdict.answer),
        identity=lambda verdict: bench.columns(partition, verdict),
        stream=lambda task: bench.stream(partition, task),
        tallies=tallies,
        what=f"judging {partition.model} ({partition.modality}) by {bench.entry.id}",
    )
