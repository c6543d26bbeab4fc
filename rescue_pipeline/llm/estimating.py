"""What a run would ask, take and cost, before it does: planned and rendered in rehearsal, counted, nothing asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rescue_pipeline.keys import read_key
from rescue_pipeline.llm.asking import open_work
from rescue_pipeline.llm.bench import Bench, Verdicts
from rescue_pipeline.llm.controls import (
    SAMPLING,
    Sampling,
    control_answers,
    control_verdicts,
    expected_judge_requests,
    merged,
    partition_of,
    repeat_verdicts,
)
from rescue_pipeline.llm.estimate import Estimate, Line, merged_lines, scaled
from rescue_pipeline.llm.experience import ENOUGH, Experience, Pace, Purpose
from rescue_pipeline.llm.forecast import Forecast, forecast, forecasts, total
from rescue_pipeline.llm.judges import chosen_judges
from rescue_pipeline.llm.planning import Renderer, write_plan
from rescue_pipeline.llm.rehearsal import rehearsal
from rescue_pipeline.llm.workspace import EPOCH, Partition, Row, Workspace, known_tasks
from rescue_pipeline.schemas import JUDGED_TASKS

_RUN = "estimate"
_JUDGE_SAMPLE = 50
"""Prompts of a judge that stand for all of a task: the answers they will quote are not there yet."""


def estimate(
    workspace: Workspace,
    partitions: Sequence[Partition],
    tasks: Sequence[str],
    *,
    limit: int | None = None,
    judges: Sequence[str] = (),
    retry: Sequence[str] = (),
    sampling: Sampling = SAMPLING,
) -> Estimate:
    """Plan, render and count everything a run with these options would ask. Writes nothing into the data directory.

    A judge is asked about the answers of er and vp that can be judged: as many of the open questions as of those
    answered so far. Raises UsageError as the run itself would for unknown names.
    """
    tasks = known_tasks(tasks)
    with rehearsal(workspace) as rehearsed:
        teller = _Teller(rehearsed, Experience(workspace.lake))
        for partition in dict.fromkeys(partitions):
            write_plan(rehearsed, partition, tasks, limit, retry)
        questions = {partition: teller.answers(partition, tasks, limit) for partition in dict.fromkeys(partitions)}
        for entry in chosen_judges(rehearsed.registry, judges):
            bench = Bench(rehearsed, entry, _RUN)
            for task in (task for task in tasks if task in JUDGED_TASKS):
                planned = {part: by_task[task] for part, by_task in questions.items()}
                teller.judgements(bench, task, planned, sampling, limit)
        entries = {line.model: workspace.registry.get(line.model) for line in teller.lines}
        paid = [model for model, entry in entries.items() if entry.is_paid]
        unpriced = [line.model for line in teller.lines if line.model in paid and line.cost_usd is None]
        variables = {line.model: entries[line.model].api_key_env for line in teller.lines if line.remaining}
        unset = {model: name for model, name in variables.items() if name is not None and read_key(name) is None}
        return Estimate(merged_lines(teller.lines), paid, list(dict.fromkeys(unpriced)), unset)


def expected_cost(
    workspace: Workspace, partition: Partition, tasks: Sequence[str], limit: int | None
) -> dict[str, float | int]:
    """What is open in a partition's plan and what asking it costs, for the event of the plan; {} for a baseline."""
    renderer = Renderer(workspace, partition)
    if renderer.entry.is_baseline:
        return {}
    _, work = open_work(renderer, known_tasks(tasks), limit, defaultdict(set), _RUN)
    rows = forecasts([work], Experience(workspace.lake))
    costs = {
        "expected_cost_usd": total(row.cost_usd for row in rows),
        "most_cost_usd": total(row.most_usd for row in rows),
    }
    counts = {"open_questions": len(work.questions), "expected_prompt_tokens": sum(row.prompt_tokens for row in rows)}
    return {**counts, **{name: usd for name, usd in costs.items() if usd is not None}}


@dataclass(frozen=True)
class _Asked:
    """Questions of one partition and task."""

    planned: int
    open: int

    def judged(self, n_ok: int) -> tuple[int, int]:
        """Answers that a judge gets when all is answered, and if nothing had been answered yet. n_ok: that can be
        judged already; answers that fail are not judged, so their share is expected of the open questions too."""
        answered = self.planned - self.open
        share = n_ok / answered if answered >= ENOUGH else 1.0
        return n_ok + round(self.open * share), round(self.planned * share)


class _Teller:
    """Collects the lines of an estimate."""

    def __init__(self, workspace: Workspace, experience: Experience) -> None:
        self.workspace, self.experience = workspace, experience
        self.lines: list[Line] = []
        self._claimed: dict[str, set[str]] = defaultdict(set)

    def answers(self, partition: Partition, tasks: Sequence[str], limit: int | None) -> dict[str, _Asked]:
        """Add a partition's lines; returns what each task asks."""
        renderer = Renderer(self.workspace, partition)
        planned, work = open_work(renderer, tasks, limit, self._claimed, _RUN)
        for task, questions in planned.items():
            entry, open_ones = renderer.entry, [question for question in work.questions if question.task == task]
            if entry.is_baseline:
                self._free(entry.id, "answer", task, len(questions), len(open_ones))
                continue
            distinct = list({question.request_id: question for question in questions}.values())
            full, rest = (
                forecast(
                    entry,
                    "answer",
                    task,
                    partition,
                    ((work.request(question), work.size(question)) for question in part),
                    self.experience,
                )
                for part in (distinct, open_ones)
            )
            self._add(rest, full, len(questions))
        return {
            task: _Asked(
                sum(map(work.size, questions)),
                sum(work.size(question) for question in work.questions if question.task == task),
            )
            for task, questions in planned.items()
        }

    def judgements(
        self, bench: Bench, task: str, asked: Mapping[Partition, _Asked], sampling: Sampling, limit: int | None
    ) -> None:
        """Add one judge's line of a task: answers to the questions within the limit, repeats and controls."""
        judged = {part: bench.selected({task: bench.verdicts(part, task)}, limit) for part in asked}
        counts = [asked[partition].judged(len(verdicts[task])) for partition, verdicts in judged.items()]
        after_all, expected = (
            expected_judge_requests(self.workspace, bench.entry, task, numbers, sampling).total
            for numbers in zip(*counts, strict=True)
        )
        remaining = max(0, after_all - self._done(bench, judged, sampling))
        if bench.entry.is_baseline:
            self._free(bench.entry.id, "judge", task, expected, remaining)
            return
        known = [verdict.answer for part in judged.values() for verdict in part[task]]
        sample = ((bench.request(answer), 1) for answer in _judge_sample(self.workspace, task, known))
        one = forecast(bench.entry, "judge", task, partition_of(bench.entry), sample, self.experience)
        self._add(scaled(one, remaining), scaled(one, expected), expected)

    def _done(self, bench: Bench, judged: Mapping[Partition, Verdicts], sampling: Sampling) -> int:
        """How many of the judge's requests have a final response."""
        parts = [*judged.values(), *(_further(repeat_verdicts(bench, part, sampling)) for part in judged.values())]
        parts.append(control_verdicts(bench, merged(judged.values()), sampling))
        works = [bench.assignment(partition_of(bench.entry), verdicts, _RUN) for verdicts in parts]
        return sum(tally.reused for work in works for tally in work.tallies.values())

    def _free(self, model: str, purpose: Purpose, task: str, planned: int, remaining: int) -> None:
        self.lines.append(Line(model, purpose, task, planned, remaining, 0, 0, 0.0, 0.0, 0.0, 0.0, "in this process"))

    def _add(self, rest: Forecast, full: Forecast, planned: int) -> None:
        entry = self.workspace.registry.get(rest.model)
        each = (full.prompt_tokens + full.completion_tokens) / max(full.requests, 1)
        pace: Pace = self.experience.pace(entry, each)
        self.lines.append(
            Line(
                rest.model,
                rest.purpose,
                rest.task,
                planned,
                rest.requests,
                rest.prompt_tokens,
                rest.completion_tokens,
                rest.cost_usd,
                rest.most_usd,
                full.cost_usd,
                rest.requests / pace.per_second,
                pace.basis,
            )
        )


def _further(repeats: Verdicts) -> Verdicts:
    """Without the first of each answer's repeats, which is the request that grades it."""
    return {task: [verdict for verdict in verdicts if verdict.epoch != EPOCH] for task, verdicts in repeats.items()}


def _judge_sample(workspace: Workspace, task: str, answers: Sequence[Row]) -> list[Row]:
    """Answers whose prompts stand for all: those that are there, or the gold as the answer while there are few."""
    if len(answers) >= _JUDGE_SAMPLE:
        return list(answers[:_JUDGE_SAMPLE])
    return [row for row in control_answers(workspace.corpus, task, _JUDGE_SAMPLE) if row["control"] == "gold"]
