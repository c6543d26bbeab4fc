from __future__ import annotations

import json
from typing import Any

import pytest

from rescue_pipeline.tasks.controls import CONTROLS, control_answer, role


def instance(speaker: str, **gold: Any) -> dict[str, Any]:
    return {"speaker": speaker, "gold": json.dumps(gold)}


def session(*people: str, scenario: str = "couple") -> dict[str, Any]:
    return {"scenario": scenario, "participants": list(people)}


HERE, OURS = session("Ada", "Bo"), instance("Ada", emotion="hurt", intensity=7)
THERE, THEIRS = session("Cy", "Di"), instance("Cy", emotion="relieved that Di came", intensity=2)
VIEW = {"source": "Ada", "target": "Bo", "viewpoint": "he hides", "attitude": "cold"}
VIEWS = instance("Ada", viewpoints=[VIEW])
OTHER_VIEW = {
    "source": "Cy",
    "target": "Di",
    "viewpoint": "Di tries harder than Cy; Dissent is fair",
    "attitude": "warm",
}
OTHER_VIEWS = instance("Cy", viewpoints=[OTHER_VIEW])


def control(name: str, task: str = "er") -> dict[str, Any]:
    ours, theirs = (OURS, THEIRS) if task == "er" else (VIEWS, OTHER_VIEWS)
    answer: dict[str, Any] = control_answer(name, task, ours, HERE, theirs, THERE)
    return answer


def test_the_gold_control_is_the_gold_without_what_no_answer_has() -> None:
    assert control("gold") == {"emotion": "hurt", "intensity": 7}
    assert control("gold", "vp") == {"viewpoints": [{"source": "Ada", "target": "Bo", "viewpoint": "he hides"}]}


def test_the_swapped_control_exchanges_who_thinks_of_whom_and_nothing_else() -> None:
    assert control("swapped", "vp") == {"viewpoints": [{"source": "Bo", "target": "Ada", "viewpoint": "he hides"}]}
    assert "swapped" not in CONTROLS["er"]


def test_another_sessions_gold_speaks_of_this_sessions_people() -> None:
    assert control("other_session") == {"emotion": "relieved that Bo came", "intensity": 2}
    assert control("other_session", "vp") == {
        "viewpoints": [{"source": "Ada", "target": "Bo", "viewpoint": "Bo tries harder than Ada; Dissent is fair"}]
    }


def test_names_that_are_parts_of_each_other_are_exchanged_whole() -> None:
    there = session("Al", "Al Junior")
    theirs = instance("Al", emotion="proud of Al Junior", intensity=1)
    assert control_answer("other_session", "er", OURS, HERE, theirs, there)["emotion"] == "proud of Bo"


def test_a_session_with_one_person_can_be_answered_with_anothers_gold() -> None:
    alone = session("Ada")
    assert control_answer("other_session", "er", OURS, alone, THEIRS, THERE)["emotion"] == "relieved that Ada came"


@pytest.mark.parametrize("task", CONTROLS)
def test_the_verbose_control_is_long_wrong_and_the_same_each_time(task: str) -> None:
    text = json.dumps(control("verbose_wrong", task))
    assert len(text) > 400
    assert "hurt" not in text
    assert "he hides" not in text
    assert text == json.dumps(control("verbose_wrong", task))


@pytest.mark.parametrize(
    ("speaker", "scenario", "expected"),
    [
        ("Therapist", "couple", "therapist"),
        ("Mother", "family", "parent"),
        ("dad ", "family", "parent"),
        ("Daughter", "family", "child"),
        ("Mia", "family", "client"),
        ("Father", "couple", "client"),  # a name, there
    ],
)
def test_a_role_is_read_from_a_name_only_where_it_tells(speaker: str, scenario: str, expected: str) -> None:
    assert role(speaker, scenario) == expected
