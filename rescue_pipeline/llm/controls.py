"""How far a judge can be trusted: answers of known worth are judged beside the real ones, and some answers thrice.

Both go to lake/judge_controls_<task>, never to lake/judgements_<task>: no leaderboard sees them. A request that has a
final response is never sent again, so the controls are asked once per judge generation and corpus version.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rescue_pipeline.llm.bench import Bench, Verdict, Verdicts, distinct_instances
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.responses import counting_judge_responses
from rescue_pipeline.llm.workspace import Corpus, Partition, Row, Workspace
from rescue_pipeline.schemas import JudgeControls
from rescue_pipeline.tasks.controls import CONTROLS, control_answer, role

SEED = 20260917
REPEAT = "repeat"
PROTOCOL = "controls"
"""What stands for a protocol where a judge's response belongs to no model's answer."""


@dataclass(frozen=True)
class Sampling:
    """instances: per task, for each control. share: of the answers of a partition, judged `times` times in all."""

    instances: int = 30
    share: float = 0.1
    times: int = 3

    def n_repeated(self, n_answers: int) -> int:
        return math.ceil(self.share * n_answers)


SAMPLING = Sampling()
NO_CONTROLS = Sampling(instances=0, share=0)


@dataclass(frozen=True)
class ExpectedRequests:
    """What a judge is asked about one task if every question gets an answer of its own; open: not answered yet."""

    answers: int
    repeats: int
    controls: int

    @property
    def total(self) -> int:
        return self.answers + self.repeats + self.controls


def partition_of(judge: ModelEntry) -> Partition:
    """Where a judge's controls lie: they belong to no model that is judged."""
    return Partition(judge.id, "dialogue", PROTOCOL)


def control_verdicts(bench: Bench, judged: Verdicts, sampling: Sampling) -> Verdicts:
    """The controls of each task: on as many instances as are judged, at most sampling.instances, never fewer than
    before."""
    corpus = bench.workspace.corpus
    return {
        task: [
            bench.verdict(answer)
            for answer in control_answers(corpus, task, max(_stored(bench, task), _wanted(verdicts, sampling)))
        ]
        for task, verdicts in judged.items()
    }


def repeat_verdicts(bench: Bench, judged: Verdicts, sampling: Sampling) -> Verdicts:
    """The repeats of one partition: its first answers in a seeded order, every epoch of each."""
    return {task: _repeats(bench, verdicts, sampling) for task, verdicts in judged.items()}


def repeated_before(bench: Bench, judged: Verdicts, asked: Verdicts, sampling: Sampling) -> Verdicts:
    """The repeats that were judged in runs with another limit, so that they stay. asked: the repeats of this run."""
    found: Verdicts = {}
    for task, verdicts in judged.items():
        responses = counting_judge_responses(bench.workspace.lake, task, bench.entry.id).filter(pl.col("epoch") == "2")
        again = set(responses["request_id"]) - {verdict.request_id for verdict in asked[task]}
        distinct = {verdict.request_id: verdict for verdict in verdicts} if again else {}
        found[task] = [
            repeat
            for verdict in distinct.values()
            if _repeat(bench, verdict, 2).request_id in again
            for repeat in (_repeat(bench, verdict, number) for number in range(1, sampling.times + 1))
        ]
    return found


def control_answers(corpus: Corpus, task: str, n_instances: int) -> list[dict[str, Any]]:
    """The answers of every control to the first `n_instances` of the task's sample.

    Where no other session group has a question of the same kind of speaker, there is no wrong answer to borrow.
    """
    instances = corpus.of_task(task)
    found = []
    for instance in sample(instances, n_instances):
        donor = _donor(corpus, instance, instances)
        for control in CONTROLS[task]:
            if donor is None and control not in ("gold", "swapped"):
                continue
            lender = donor or instance
            sessions = corpus.session_of(instance), corpus.session_of(lender)
            answer = control_answer(control, task, instance, sessions[0], lender, sessions[1])
            text = json.dumps(answer, ensure_ascii=False)
            found.append({"task": task, "instance_id": instance["instance_id"], "control": control, "answer": text})
    return found


def sample(instances: Sequence[Row], size: int) -> list[Row]:
    """The first `size` of a fixed order that takes one question of every session group before a second of any.

    A smaller sample is always part of a larger one.
    """
    groups: dict[str, list[Row]] = defaultdict(list)
    for instance in sorted(instances, key=lambda row: _rank(row["instance_id"])):
        groups[instance["session_group"]].append(instance)
    in_turn = [(turn, _rank(group), instance) for group, rows in groups.items() for turn, instance in enumerate(rows)]
    return [instance for _, _, instance in sorted(in_turn, key=lambda entry: entry[:2])[:size]]


def expected_judge_requests(
    workspace: Workspace, judge: ModelEntry, task: str, questions: Iterable[int], sampling: Sampling = SAMPLING
) -> ExpectedRequests:
    """How many requests a judge gets for a task, controls and repeats included, at most.

    questions: the number of planned questions of each partition. Identical answers, failed ones and requests that have
    a response already make it fewer. Asks nothing.
    """
    numbers = list(questions)
    n_instances = min(sampling.instances, max(numbers, default=0))
    return ExpectedRequests(
        answers=sum(numbers),
        repeats=sum(sampling.n_repeated(number) for number in numbers) * (sampling.times - 1),
        controls=len(control_answers(workspace.corpus, task, n_instances)),
    )


def _wanted(judged: Sequence[Verdict], sampling: Sampling) -> int:
    return min(sampling.instances, len(distinct_instances(judged)))


def _stored(bench: Bench, task: str) -> int:
    """The sample's size in earlier runs."""
    levels = bench.levels(partition_of(bench.entry))
    rows = bench.workspace.lake.read(f"judge_controls_{task}", JudgeControls, partition=levels).filter(
        pl.col("corpus_version") == bench.workspace.corpus_version,
        pl.col("judge_generation") == bench.generation,
    )
    return rows["instance_id"].n_unique()


def _repeats(bench: Bench, verdicts: Sequence[Verdict], sampling: Sampling) -> list[Verdict]:
    distinct = {verdict.request_id: verdict for verdict in verdicts}
    order = sorted(distinct.values(), key=lambda verdict: _rank(str(verdict.answer["instance_id"])))
    return [
        _repeat(bench, verdict, number)
        for verdict in order[: sampling.n_repeated(len(order))]
        for number in range(1, sampling.times + 1)
    ]


def _repeat(bench: Bench, verdict: Verdict, number: int) -> Verdict:
    return bench.verdict({**verdict.answer, "control": REPEAT, "first_request_id": verdict.request_id}, str(number))


def _donor(corpus: Corpus, instance: Row, instances: Sequence[Row]) -> Row | None:
    """A question of another session group about the same kind of speaker; of the same scenario where there is one."""

    def kind(row: Row) -> tuple[str, str]:
        scenario = corpus.session_of(row)["scenario"]
        return scenario, role(row["speaker"], scenario)

    scenario, speaker = kind(instance)
    others = [row for row in instances if row["session_group"] != instance["session_group"]]
    of_role = [row for row in others if kind(row)[1] == speaker]
    of_scenario = [row for row in others if kind(row)[0] == scenario]
    same = [row for row in of_role if kind(row)[0] == scenario]
    candidates = same or of_role or of_scenario or others
    return min(candidates, key=lambda row: _rank(f"{instance['instance_id']} {row['instance_id']}"), default=None)


def _rank(text: str) -> str:
    return hashlib.sha256(f"{SEED}:{text}".encode()).hexdigest()


def merged(parts: Iterable[Mapping[str, Sequence[Verdict]]]) -> Verdicts:
    """All verdicts of several partitions, by task."""
    together: Verdicts = defaultdict(list)
    for part in parts:
        for task, verdicts in part.items():
            together[task] += verdicts
    return dict(together)
