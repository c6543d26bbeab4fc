from __future__ import annotations

import pytest

from rescue_pipeline.tasks.people import everyone, match_name, targets
from tests.tasks.invented import session


@pytest.mark.parametrize("text", ["Danah", "Dan", "Dana.", "Dana (wife)", "not Dana", "Däna", "", " "])
def test_a_name_never_becomes_a_similar_one(text: str) -> None:
    assert match_name(text, ["Dana", "Couple"]) is None


def test_near_identical_participants_stay_two_people() -> None:
    assert match_name("Danah", ["Dana", "Danah"]) == "Danah"
    assert match_name("dana", ["Dana", "Danah"]) == "Dana"


def test_case_is_forgiven_only_where_one_person_fits() -> None:
    assert match_name("COUPLE", ["Ana", "Couple"]) == "Couple"
    assert match_name("ana", ["Ana", "ANA"]) is None
    assert match_name("ANA", ["Ana", "ANA"]) == "ANA"


def test_composed_and_decomposed_letters_are_the_same_name() -> None:
    assert match_name(" Rene\u0301e ", ["Ren\u00e9e"]) == "Ren\u00e9e"


@pytest.mark.parametrize(("scenario", "group"), [("couple", "Couple"), ("family", "Family")])
def test_targets_are_the_participants_then_the_group(scenario: str, group: str) -> None:
    assert targets(session(scenario, ["Ana", "Beto", "Ana"])) == ["Ana", "Beto", group]
    assert everyone(session(scenario, ["Ana"])) == ["Ana", group, "Therapist"]
