"""People by their role in the conversation, so that what one couple or family shows can be said of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rescue_pipeline.llm.workspace import Corpus, Row
from rescue_pipeline.tasks.people import GROUPS, THERAPIST, participants

LAST = "last client"
OTHER = "other client"
GROUP = "group"
SELF = "speaker"
THERAPIST_ROLE = "therapist"


@dataclass(frozen=True)
class Situation:
    """Who is there at an instance. last: the client who spoke most recently before it, the instance's speaker apart."""

    speaker: str
    clients: tuple[str, ...]
    last: str | None
    group: str

    def role(self, name: str) -> str:
        """The role of a person or group label; a name nobody has is another client's."""
        fixed = {THERAPIST: THERAPIST_ROLE, self.group: GROUP, self.last: LAST}
        return fixed.get(name, SELF if name == self.speaker else OTHER)

    def names(self, role: str) -> list[str]:
        """Who has a role, in the order of the participants; nobody may have it."""
        others = [name for name in self.clients if name not in (self.speaker, self.last)]
        known = {THERAPIST_ROLE: [THERAPIST], GROUP: [self.group], SELF: [self.speaker], OTHER: others}
        return known.get(role, [self.last] if self.last else [])


def situation_of(corpus: Corpus, instance: Row) -> Situation:
    """The situation of an instance, from the turns before it only."""
    session = corpus.session_of(instance)
    clients = tuple(participants(session))
    before = [turn for turn in corpus.turns_of(instance["sample_id"]) if turn["row_index"] < instance["row_index"]]
    return Situation(
        speaker=instance["speaker"],
        clients=clients,
        last=_last_speaker(before, [name for name in clients if name != instance["speaker"]]),
        group=GROUPS[session["scenario"]],
    )


def _last_speaker(turns: Sequence[Row], clients: Sequence[str]) -> str | None:
    return next((turn["speaker"] for turn in reversed(turns) if turn["speaker"] in clients), None)
