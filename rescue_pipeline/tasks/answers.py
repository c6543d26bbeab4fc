"""The six answer models, and the strict JSON schema that a request asks for.

A model's fields are the canonical answer as it is stored: valid, without repeats, without the reason. The requested
schema puts `reason` first: a model that writes left to right then commits to its answer after its grounds, not before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from rescue_pipeline.tasks.labels import LABEL_FILES, load_labels
from rescue_pipeline.tasks.people import everyone, targets

if TYPE_CHECKING:
    from rescue_pipeline.tasks.spec import TaskSpec

MAX_RANKS = 3
INTENSITIES = range(11)
REASON = "reason"

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
JsonSchema = dict[str, Any]


class Answer(BaseModel):
    """A canonical answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def field_schemas(cls, choices: Sequence[str]) -> dict[str, JsonSchema]:
        """The JSON schema of each field, given the closed set that the answer is chosen from."""
        raise NotImplementedError


class TimingAnswer(Answer):
    """itp: should the therapist speak now?"""

    should_speak: Literal["yes", "no"]

    @classmethod
    def field_schemas(cls, choices: Sequence[str]) -> dict[str, JsonSchema]:
        return {"should_speak": {"type": "string", "enum": ["yes", "no"]}}


class Ranking(Answer):
    """Up to three choices, best first; `field` names the one field a subclass has."""

    field: ClassVar[str]

    @field_validator("*")
    @classmethod
    def _never_repeats(cls, ranks: list[str]) -> list[str]:
        if len(set(ranks)) < len(ranks):
            raise ValueError("a ranking without repeats")
        return ranks

    @classmethod
    def field_schemas(cls, choices: Sequence[str]) -> dict[str, JsonSchema]:
        length = wanted_ranks(choices)
        items = {"type": "string", "enum": list(choices)}
        return {cls.field: {"type": "array", "items": items, "minItems": length, "maxItems": length}}


Ranks = Annotated[list[str], Field(min_length=1, max_length=MAX_RANKS)]


class RelationRanking(Ranking):
    """rpp: the likeliest relation patterns."""

    field: ClassVar[str] = "relation_top3"
    relation_top3: Ranks


class TargetRanking(Ranking):
    """stp: the likeliest targets of the therapist's next turn."""

    field: ClassVar[str] = "target_top3"
    target_top3: Ranks


class StrategyRanking(Ranking):
    """ssp: the likeliest strategies of the therapist's next turn."""

    field: ClassVar[str] = "strategy_top3"
    strategy_top3: Ranks


class EmotionAnswer(Answer):
    """er: the speaker's inner emotion and its intensity."""

    emotion: Text
    intensity: Annotated[int, Field(ge=INTENSITIES[0], le=INTENSITIES[-1])]

    @classmethod
    def field_schemas(cls, choices: Sequence[str]) -> dict[str, JsonSchema]:
        # an enum, because not every provider accepts minimum and maximum
        return {"emotion": {"type": "string"}, "intensity": {"type": "integer", "enum": list(INTENSITIES)}}


class Viewpoint(BaseModel):
    """What one person thinks of another, or of what the other does."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    target: str
    viewpoint: Text


class ViewpointsAnswer(Answer):
    """vp: the speaker's viewpoints."""

    viewpoints: Annotated[list[Viewpoint], Field(min_length=1)]

    @classmethod
    def field_schemas(cls, choices: Sequence[str]) -> dict[str, JsonSchema]:
        person = {"type": "string", "enum": list(choices)}
        item = strict_object({"source": person, "target": person, "viewpoint": {"type": "string"}})
        return {"viewpoints": {"type": "array", "items": item}}


ANSWER_MODELS: dict[str, type[Answer]] = {
    model.__name__: model
    for model in (EmotionAnswer, ViewpointsAnswer, RelationRanking, TimingAnswer, TargetRanking, StrategyRanking)
}


def choices(spec: TaskSpec, instance: Mapping[str, Any], session: Mapping[str, Any]) -> list[str]:
    """The closed set an answer is drawn from: labels, targets, or (vp) the people; empty where there is none."""
    if spec.answer_model is ViewpointsAnswer:
        return everyone(session)
    if spec.label_set is None:
        return []
    if instance["candidates"]:
        return list(instance["candidates"])
    if spec.label_set in LABEL_FILES:
        return load_labels().names(spec.label_set, session["scenario"])
    return targets(session)


def wanted_ranks(choices: Sequence[str]) -> int:
    """How many ranks are asked for: three, or all when there are fewer."""
    return min(MAX_RANKS, len(choices))


def answer_schema(spec: TaskSpec, instance: Mapping[str, Any], session: Mapping[str, Any]) -> JsonSchema:
    """The strict JSON schema of an answer: all keys required, none added, closed sets as enums."""
    fields = spec.answer_model.field_schemas(choices(spec, instance, session))
    return strict_object({REASON: {"type": "string"}, **fields})


def strict_object(properties: dict[str, JsonSchema]) -> JsonSchema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
