"""What the dispatcher is given: the open questions of one partition for one model, and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from rescue_pipeline.llm.exchange import Reply, Request
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.segments import Stream
from rescue_pipeline.llm.workspace import Partition


class Asked(Protocol):
    """What the dispatcher needs to know of a question."""

    @property
    def request_id(self) -> str: ...
    @property
    def task(self) -> str: ...


Q = TypeVar("Q", bound=Asked)


@dataclass
class Tally:
    """What this run has asked for one assignment and task, in questions; tokens and cost are those of the requests.

    planned includes reused.
    """

    planned: int = 0
    reused: int = 0

    by_status: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    """None once the cost of any response is unknown."""

    def add(self, reply: Reply, questions: int) -> None:
        """Count a reply that answers so many questions."""
        self.by_status[reply.status] += questions
        self.prompt_tokens += reply.prompt_tokens or 0
        self.completion_tokens += reply.completion_tokens or 0
        unknown = self.cost_usd is None or reply.cost_usd is None
        self.cost_usd = None if unknown else (self.cost_usd or 0.0) + (reply.cost_usd or 0.0)

    @property
    def asked(self) -> int:
        return self.by_status.total()


@dataclass
class Assignment(Generic[Q]):
    """The open questions of one partition for one model."""

    partition: Partition
    entry: ModelEntry
    questions: Sequence[Q]
    request: Callable[[Q], Request]
    identity: Callable[[Q], dict[str, Any]]
    """The columns of a response that say which question it belongs to."""
    stream: Callable[[str], Stream]
    tallies: dict[str, Tally]
    """By task."""
    what: str
    """What is being done, for whoever watches."""
    size: Callable[[Q], int] = lambda _: 1
    """How many questions a request asks."""
    stopped: str | None = None
    seconds: float = 0.0

    def done(self) -> int:
        return sum(tally.reused + tally.asked for tally in self.tallies.values())

    def planned(self) -> int:
        return sum(tally.planned for tally in self.tallies.values())
