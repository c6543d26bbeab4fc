"""What a step of asking, judging or parsing reports: numbers for the console and for Dagster's metadata, no text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rescue_pipeline.llm.assignments import Assignment
from rescue_pipeline.llm.workspace import Partition


@dataclass(frozen=True)
class TaskSummary:
    """One task of a partition. by_status adds up to planned, the questions within this run's limit.

    asked: sent by this run. reused: with a final response from before, or asked by another partition of this run
    because it plans the very same request. Tokens and cost are of this run; cost_usd is None where a price is unknown.
    """

    planned: int
    reused: int
    asked: int
    by_status: dict[str, int]
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


@dataclass(frozen=True)
class PartitionSummary:
    """What a run did for one partition. stopped_reason: why the model (or judge) was given up, None when it was not."""

    partition: Partition
    asked_of: str
    """The model that was asked: the partition's, or the judge."""
    tasks: dict[str, TaskSummary]
    seconds: float
    stopped_reason: str | None
    stops: dict[str, str] = field(default_factory=dict)
    """The same by model asked, where several judges are joined."""

    @classmethod
    def of(cls, work: Assignment[Any], statuses: Mapping[str, Counter[str]]) -> PartitionSummary:
        tasks = {
            task: TaskSummary(
                planned=tally.planned,
                reused=tally.reused,
                asked=tally.asked,
                by_status=dict(statuses[task].most_common()),
                prompt_tokens=tally.prompt_tokens,
                completion_tokens=tally.completion_tokens,
                cost_usd=tally.cost_usd,
            )
            for task, tally in work.tallies.items()
        }
        stops = {} if work.stopped is None else {work.entry.id: work.stopped}
        return cls(work.partition, work.entry.id, tasks, work.seconds, work.stopped, stops)

    @classmethod
    def joined(cls, parts: Sequence[PartitionSummary]) -> PartitionSummary:
        """One partition asked of several judges: counts, tokens and costs added up."""
        tasks = [task for part in parts for task in part.tasks]
        return cls(
            partition=parts[0].partition,
            asked_of=", ".join(dict.fromkeys(part.asked_of for part in parts)),
            tasks={task: _added([part.tasks[task] for part in parts if task in part.tasks]) for task in tasks},
            seconds=max(part.seconds for part in parts),
            stopped_reason="; ".join(part.stopped_reason for part in parts if part.stopped_reason) or None,
            stops={model: reason for part in parts for model, reason in part.stops.items()},
        )

    @property
    def planned(self) -> int:
        return sum(task.planned for task in self.tasks.values())

    @property
    def reused(self) -> int:
        return sum(task.reused for task in self.tasks.values())

    @property
    def asked(self) -> int:
        return sum(task.asked for task in self.tasks.values())

    @property
    def cost_usd(self) -> float | None:
        costs = [task.cost_usd for task in self.tasks.values()]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def by_status(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for task in self.tasks.values():
            total.update(task.by_status)
        return dict(total.most_common())

    def metadata(self, task: str) -> dict[str, Any]:
        """One task's numbers for an asset event; the statuses under their own names."""
        part = self.tasks[task]
        return {
            "model": self.asked_of,
            "modality": self.partition.modality,
            "protocol": self.partition.protocol,
            "planned": part.planned,
            "reused": part.reused,
            "asked": part.asked,
            "prompt_tokens": part.prompt_tokens,
            "completion_tokens": part.completion_tokens,
            "cost_usd": part.cost_usd,
            "seconds": round(self.seconds, 3),
            "stopped": self.stopped_reason,
            "stops": self.stops or None,
            **part.by_status,
        }


def _added(parts: Sequence[TaskSummary]) -> TaskSummary:
    by_status: Counter[str] = Counter()
    for part in parts:
        by_status.update(part.by_status)
    costs = [part.cost_usd for part in parts]
    return TaskSummary(
        planned=sum(part.planned for part in parts),
        reused=sum(part.reused for part in parts),
        asked=sum(part.asked for part in parts),
        by_status=dict(by_status.most_common()),
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        completion_tokens=sum(part.completion_tokens for part in parts),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


JudgeSummary = PartitionSummary
"""One row per partition that was judged: planned are its answers with status ok, by_status counts judgements."""
