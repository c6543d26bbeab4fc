"""What an estimate says: a line per model asked, purpose and task, and what they add up to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rescue_pipeline.llm.experience import Purpose
from rescue_pipeline.llm.forecast import Forecast, total


@dataclass(frozen=True)
class Line:
    """One model asked, purpose and task, all partitions together. full: as if nothing were answered yet."""

    model: str
    purpose: Purpose
    task: str
    planned: int
    remaining: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    most_usd: float | None
    full_cost_usd: float | None
    seconds: float
    pace: str


@dataclass(frozen=True)
class Estimate:
    """paid: the models among them that need a budget. unpriced: those among these whose price nobody stated.
    without_key: of those that are still to be asked and whose key is not set, the variable that should hold it."""

    lines: list[Line]
    paid: list[str]
    unpriced: list[str] = field(default_factory=list)
    without_key: dict[str, str] = field(default_factory=dict)

    @property
    def to_pay(self) -> list[Line]:
        """What is still to be asked of paid models."""
        return [line for line in self.lines if line.model in self.paid and line.remaining]

    @property
    def most_usd(self) -> float | None:
        return total(line.most_usd for line in self.to_pay)

    @property
    def seconds(self) -> float:
        """All models answer side by side, and so do all judges, after them."""
        return sum(self._slowest(purpose) for purpose in ("answer", "judge"))

    def _slowest(self, purpose: str) -> float:
        spent: dict[str, float] = defaultdict(float)
        for line in self.lines:
            if line.purpose == purpose:
                spent[line.model] += line.seconds
        return max(spent.values(), default=0.0)


def scaled(sample: Forecast, requests: int) -> Forecast:
    """The forecast of so many requests like those of the sample."""
    share = requests / sample.requests if sample.requests else 0.0
    return replace(
        sample,
        requests=requests,
        prompt_tokens=round(sample.prompt_tokens * share),
        completion_tokens=round(sample.completion_tokens * share),
        cost_usd=None if sample.cost_usd is None else sample.cost_usd * share,
        most_usd=None if sample.most_usd is None else sample.most_usd * share,
    )


def merged_lines(lines: Sequence[Line]) -> list[Line]:
    """The partitions of a model, purpose and task added up, in the order of their first line."""
    parts: dict[tuple[str, str, str], list[Line]] = defaultdict(list)
    for line in lines:
        parts[line.model, line.purpose, line.task].append(line)
    return [
        replace(
            same[0],
            planned=sum(line.planned for line in same),
            remaining=sum(line.remaining for line in same),
            prompt_tokens=sum(line.prompt_tokens for line in same),
            completion_tokens=sum(line.completion_tokens for line in same),
            cost_usd=total(line.cost_usd for line in same),
            most_usd=total(line.most_usd for line in same),
            full_cost_usd=total(line.full_cost_usd for line in same),
            seconds=sum(line.seconds for line in same),
        )
        for same in parts.values()
    ]
