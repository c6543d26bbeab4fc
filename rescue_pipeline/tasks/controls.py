"""Answers made by us whose worth is known, to see what a judge makes of them.

`gold` is right, the others are wrong: `other_session` is the gold of somebody in another session, `swapped` the gold
viewpoints with source and target exchanged (vp), `verbose_wrong` another session's gold in many confident words. Wrong
answers name the people of the session that is asked about, as any model would: foreign names would be too easy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from rescue_pipeline.tasks.people import GROUPS, THERAPIST, participants

Row = Mapping[str, Any]

CONTROLS = {
    "er": ("gold", "other_session", "verbose_wrong"),
    "vp": ("gold", "other_session", "swapped", "verbose_wrong"),
}
"""The controls of each judged task. The judge of er compares phrases only, so there is nothing to swap."""

_PARENTS = {"mother", "father", "mom", "mum", "mommy", "mummy", "dad", "daddy", "stepmother", "stepfather"}
_PARENTS |= {"grandmother", "grandfather", "parent"}
_CHILDREN = {"son", "daughter", "child", "kid", "stepson", "stepdaughter", "brother", "sister"}

_BEFORE = (
    "There can be no serious doubt about this one. Anybody who has followed the conversation up to this point, and who "
    "weighs what has been said against how it has been said, must come to the same reading, and every detail supports "
    "it:"
)
_AFTER = (
    "This is not a guess but the only interpretation that accounts for the whole exchange. It explains the choice of "
    "words, the pace and what is left unsaid; it agrees with the earlier turns; and no other reading would be as "
    "complete, as precise or as certain."
)


def role(speaker: str, scenario: str) -> str:
    """Who somebody is in a session, as far as the name tells: therapist, parent, child, or client."""
    if speaker == THERAPIST:
        return "therapist"
    word = speaker.strip().casefold()
    if scenario == "family" and word in _PARENTS:
        return "parent"
    return "child" if scenario == "family" and word in _CHILDREN else "client"


def control_answer(control: str, task: str, instance: Row, session: Row, donor: Row, donor_session: Row) -> Any:
    """The canonical answer that `control` gives to `instance`; donor: a question of another session."""
    if control == "gold":
        return _answer(task, json.loads(instance["gold"]))
    if control == "swapped":
        viewpoints = _answer(task, json.loads(instance["gold"]))["viewpoints"]
        return {"viewpoints": [{**view, "source": view["target"], "target": view["source"]} for view in viewpoints]}
    names = _renaming(instance, session, donor, donor_session)
    answer = _renamed(_answer(task, json.loads(donor["gold"])), names)
    return _verbose(task, answer) if control == "verbose_wrong" else answer


def _answer(task: str, gold: Mapping[str, Any]) -> dict[str, Any]:
    """The gold as an answer: without what answers do not have."""
    if task == "er":
        return {"emotion": gold["emotion"], "intensity": gold["intensity"]}
    fields = ("source", "target", "viewpoint")
    return {"viewpoints": [{name: view[name] for name in fields} for view in gold["viewpoints"]]}


def _renaming(instance: Row, session: Row, donor: Row, donor_session: Row) -> dict[str, str]:
    """Whom each person of the donor's session becomes: the speaker the speaker, the others the others in turn."""
    others = [name for name in participants(session) if name != instance["speaker"]]
    theirs = [name for name in participants(donor_session) if name != donor["speaker"]]
    names = dict(zip(theirs, cycle(others or [instance["speaker"]]), strict=False))
    group = {GROUPS[donor_session["scenario"]]: GROUPS[session["scenario"]]}
    return {**names, **group, donor["speaker"]: instance["speaker"]}


def _renamed(answer: Any, names: Mapping[str, str]) -> Any:
    """The answer with every whole word that is a name exchanged, in one pass."""
    longest_first = sorted(filter(None, names), key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")

    def renamed(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(lambda found: names[found.group(0)], value)
        if isinstance(value, Mapping):
            return {key: renamed(item) for key, item in value.items()}
        return [renamed(item) for item in value] if isinstance(value, Sequence) else value

    return renamed(answer)


def _verbose(task: str, answer: dict[str, Any]) -> dict[str, Any]:
    if task == "er":
        return {**answer, "emotion": f"{_BEFORE} {answer['emotion']}. {_AFTER}"}
    views = answer["viewpoints"]
    return {"viewpoints": [{**view, "viewpoint": f"{_BEFORE} {view['viewpoint']}. {_AFTER}"} for view in views]}
