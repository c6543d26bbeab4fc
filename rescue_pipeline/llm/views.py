"""The corpus as a protocol's questions show it: as it is, or with invented names for its participants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from rescue_pipeline.llm.workspace import Corpus, Row

Value = TypeVar("Value")

_TURN = (
    "speaker",
    "target",
    "dialogue",
    "background_dialogue",
    "tone_of_voice",
    "body_posture",
    "facial_expressions",
    "self_directed_behavior",
    "interaction_behavior",
)
_INSTANCE = ("speaker", "candidates", "support_target")


class Views:
    """What questions about an instance are rendered from, and answers read against."""

    def __init__(self, corpus: Corpus, *, renamed: bool) -> None:
        self.corpus, self.renamed = corpus, renamed
        self._turns: tuple[Sequence[Row], Sequence[Row]] = ((), ())

    def instance(self, instance: Row) -> Row:
        """The instance; with invented names it comes without its gold."""
        if not self.renamed:
            return instance
        shown = {name: value for name, value in instance.items() if name != "gold"}
        return {**shown, **self._renamed(instance, {name: instance[name] for name in _INSTANCE})}

    def session(self, instance: Row) -> Row:
        session = self.corpus.session_of(instance)
        if not self.renamed:
            return session
        return {**session, "participants": self._renamed(instance, session["participants"])}

    def turns(self, instance: Row) -> Sequence[Row]:
        """The turns of the instance's session."""
        turns = self.corpus.turns_of(instance["sample_id"])
        if not self.renamed:
            return turns
        if self._turns[0] is not turns:  # questions come session by session
            shown = [
                {**row, **self._renamed(instance, {name: row[name] for name in _TURN if name in row})} for row in turns
            ]
            self._turns = (turns, shown)
        return self._turns[1]

    def answer(self, instance: Row, answer: Value) -> Value:
        """Something said of the session as the view names people: a worked example's answer."""
        return self._renamed(instance, answer) if self.renamed else answer

    def restored(self, instance: Row, answer: Value) -> Value:
        """What a model said of the view, with the names of the corpus."""
        return self.corpus.renaming_of(instance["session_group"]).restore(answer) if self.renamed else answer

    def _renamed(self, instance: Row, value: Any) -> Any:
        return self.corpus.renaming_of(instance["session_group"]).rename(value)
