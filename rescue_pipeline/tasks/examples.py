"""Worked examples: which solved questions of other session groups stand before a question, and how they are solved."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from rescue_pipeline.errors import UsageError
from rescue_pipeline.tasks.answers import REASON, Ranking, Viewpoint, choices, wanted_ranks
from rescue_pipeline.tasks.labels import match_label
from rescue_pipeline.tasks.people import match_name
from rescue_pipeline.tasks.spec import Protocol, TaskSpec

Row = Mapping[str, Any]

EXAMPLE_SEED = 20260911
EXAMPLE_REASON = "This is what the session points to."
"""The same for every example: it shows the form and argues for nothing."""

_GOLD_LABEL = {"rpp": "relation_pattern", "stp": "target", "ssp": "strategy"}
_VIEW = tuple(Viewpoint.model_fields)


class ExamplePool:
    """The solved questions of one task and scenario, in a seeded order that is the same for every question."""

    def __init__(self, instances: Sequence[Row]) -> None:
        self._ring = sorted(instances, key=lambda row: _hash(row["instance_id"]))

    def of(self, spec: TaskSpec, protocol: Protocol, instance: Row) -> list[Row]:
        """The examples for a question: from a place in the order that its hash names, without its own session group.

        Raises UsageError when other groups have fewer than the protocol wants.
        """
        start = int(_hash(f"{protocol.name}:{instance['instance_id']}"), 16) % max(1, len(self._ring))
        found: list[Row] = []
        for row in (*self._ring[start:], *self._ring[:start]):
            if len(found) == protocol.few_shot:
                break
            if row["session_group"] != instance["session_group"]:
                found.append(row)
        if len(found) < protocol.few_shot:
            raise UsageError(
                "other session groups have too few questions to make examples of",
                where=f"protocol {protocol.name}, field few_shot; {spec.key}, scenario {instance['scenario']}",
                expected=f"{protocol.few_shot} questions of the scenario {instance['scenario']} in other groups",
                found=str(len(found)),
                advice="leave the task out (--tasks), or use a protocol without examples",
            )
        return found


def solved(spec: TaskSpec, gold: Mapping[str, Any], options: Sequence[str] = (), seed: str = "") -> dict[str, Any]:
    """A gold answer in the form that is asked for, with a reason that says nothing.

    A ranking begins with the gold; the ranks below it are other `options` in an order that `seed` determines.
    """
    model = spec.answer_model
    if issubclass(model, Ranking):
        match = match_name if spec.label_set == "target" else match_label
        name = gold[_GOLD_LABEL[spec.key]]
        first = match(name, options) or name
        others = [option for option in options if option != first]
        random.Random(seed).shuffle(others)
        answer: dict[str, Any] = {model.field: [first, *others][: wanted_ranks(options)]}
    else:
        answer = {field: gold[field] for field in model.model_fields}
    if "intensity" in answer:
        answer["intensity"] = round(answer["intensity"])
    if "viewpoints" in answer:
        answer["viewpoints"] = [{key: view[key] for key in _VIEW} for view in answer["viewpoints"]]
    return {REASON: EXAMPLE_REASON, **answer}


def example_answer(spec: TaskSpec, instance: Row, session: Row) -> dict[str, Any]:
    """The answer of a worked example, from the gold of its instance: of another session group than the question's."""
    gold = json.loads(instance["gold"])
    return solved(spec, gold, choices(spec, instance, session), _hash(instance["instance_id"]))


def _hash(text: str) -> str:
    return hashlib.sha256(f"{EXAMPLE_SEED}:{text}".encode()).hexdigest()
