"""The shape of a record as Pydantic checks it: which fields there are, and of which type.

Strict: text that looks like a number is no number. Every field that real annotations leave out or set to null may be
absent or null; keys that are not listed are accepted and their names kept.
"""

from __future__ import annotations

from typing import Annotated, Required

from pydantic import ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict

_STRICT = ConfigDict(strict=True, extra="ignore")
_OPEN = ConfigDict(strict=True, extra="allow")  # unknown keys are kept: their names go to present_keys
Text = str | None
Names = list[str] | None
Number = Annotated[float, Field(allow_inf_nan=False)]
RowNumber = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


class _Seen(TypedDict, total=False):
    __pydantic_config__ = _STRICT  # type: ignore[misc]
    person: Text
    description: Text


class _SeenBetween(TypedDict, total=False):
    __pydantic_config__ = _STRICT  # type: ignore[misc]
    initiator: Text
    target: Names
    description: Text


class _Spoken(TypedDict, total=False):
    __pydantic_config__ = _STRICT  # type: ignore[misc]
    speaker: Text
    target: Names
    content: Text


class _Emotion(TypedDict, total=False):
    __pydantic_config__ = _STRICT  # type: ignore[misc]
    person: Text
    emotion_description: Text
    intensity: Number | None


class _Viewpoint(TypedDict, total=False):
    __pydantic_config__ = _STRICT  # type: ignore[misc]
    source: Text
    target: Text
    viewpoint: Text
    attitude: Text


class _Support(TypedDict, total=False):
    __pydantic_config__ = _STRICT  # type: ignore[misc]
    provider: Text
    target: Names
    strategy_type: Text
    strategy_content: Text


class _Row(TypedDict, total=False):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    row_index: Required[RowNumber]
    start_time: Number | None
    end_time: Number | None
    primary_speaker: Required[str]
    target: Names
    dialogue_cleaned: Required[Text]
    utterance_type: Text
    tone_of_voice: Text
    background_dialogue: list[_Spoken] | None
    body_posture: list[_Seen] | None
    facial_expressions: list[_Seen] | None
    self_directed_behavior: list[_Seen] | None
    interaction_behavior: list[_SeenBetween] | None
    internal_emotion: list[_Emotion] | None
    viewpoints_attitudes: list[_Viewpoint] | None
    support_strategy: list[_Support] | None
    relation_cycle_state: Text
    relation_cycle_reason: Text
    relation_cycle_evidence_rows: list[RowNumber] | None
    relation_pattern: Text
    relation_pattern_reason: Text
    relation_pattern_evidence_rows: list[RowNumber] | None


class _Record(TypedDict, total=False):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    sample_id: Text
    scenario: Text
    participants: Names
    source_file: Text
    rows: Required[list[_Row]]


RECORD = TypeAdapter(_Record)
KNOWN_RECORD_KEYS = frozenset(_Record.__annotations__)
KNOWN_ROW_KEYS = frozenset(_Row.__annotations__)
