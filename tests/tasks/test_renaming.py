"""Invented names: whole words, one name a person, and the way back."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.tasks.people import match_name
from rescue_pipeline.tasks.renaming import NAME_FILE, Renaming, name_pool, words_of

NAMES = ["Dana", "Danah", "Will", "Ann-Marie", "Zoë", "Aunt May", "Lee Park", "A"]


def renaming(names: list[str], taken: set[str] | None = None) -> Renaming:
    return Renaming.of("group", names, taken or set())


def test_a_name_is_replaced_in_every_spelling_and_only_as_a_word() -> None:
    made = renaming(["Dana", "Bo"])
    dana, bo = made.invented["Dana"], made.invented["Bo"]
    text = "Dana, DANA! dana's (Dana) Bo-Dana 'Dana’s' Danas Danahs Dan Boat"
    assert made.rename(text) == (
        f"{dana}, {dana.upper()}! {dana.lower()}'s ({dana}) {bo}-{dana} '{dana}’s' Danas Danahs Dan Boat"
    )


def test_names_that_differ_by_a_letter_stay_two_people() -> None:
    made = renaming(["Dana", "Danah"])
    one, other = made.rename("Dana"), made.rename("Danah")
    assert one != other
    assert match_name(one, [other]) is None
    assert made.restore([one, other]) == ["Dana", "Danah"]


def test_the_longest_name_goes_first_and_a_part_of_a_name_is_the_same_person() -> None:
    made = renaming(["Lee", "Lee Park"])
    assert made.rename("Lee Park") == f"{made.rename('Lee')} {made.rename('Park')}"
    assert made.rename("Park") != "Park"


def test_a_title_stays_and_a_name_that_is_a_title_does_not() -> None:
    made = renaming(["Aunt May", "Father"])
    assert made.rename("Aunt May").startswith("Aunt ")
    assert "May" not in made.rename("Aunt May")
    assert made.rename("Father") != "Father"
    assert made.rename("my father") == "my father"


def test_an_ordinary_word_is_a_name_only_as_the_name_is_written() -> None:
    made = renaming(["Will", "Grace"])
    assert made.rename("will you say grace, Will?") == f"will you say grace, {made.invented['Will']}?"


def test_the_therapist_and_the_group_are_never_renamed() -> None:
    made = renaming(["Therapist", "Family", "Couple", "Noa"])
    assert list(made.invented) == ["Noa"]
    assert made.rename(["Therapist", "Family", "Couple"]) == ["Therapist", "Family", "Couple"]


def test_the_same_group_always_gets_the_same_names_and_no_word_that_is_taken() -> None:
    first = renaming(["Noa", "Mia"])
    assert first.invented == renaming(["Mia", "Noa", "Noa"]).invented
    taken = {name.casefold() for name in first.invented.values()}
    assert not taken & {name.casefold() for name in renaming(["Noa", "Mia"], taken).invented.values()}


def test_too_few_names_is_an_error_that_names_the_file() -> None:
    taken = {name.casefold() for name in name_pool().invented[:-1]}
    with pytest.raises(RescueError, match=str(NAME_FILE)):
        renaming(["Noa", "Mia"], taken)


def test_a_pool_with_names_that_look_alike_is_refused(tmp_path: Path) -> None:
    for names in (["Avel", "Avel"], ["avel"], ["Av"], ["Avel Sun"]):
        (tmp_path / "names.yaml").write_text(yaml.safe_dump({"invented": names, "ordinary": [], "titles": []}))
        with pytest.raises(UsageError, match="field invented"):
            name_pool(tmp_path / "names.yaml")


def test_everything_in_lists_and_mappings_is_renamed_but_their_keys() -> None:
    made = renaming(["Noa"])
    new = made.invented["Noa"]
    assert made.rename({"Noa": ["Noa", 1, None, {"x": "Noa"}]}) == {"Noa": [new, 1, None, {"x": new}]}


WORDS = st.sampled_from(
    [*NAMES, *(n.upper() for n in NAMES), *(n.lower() for n in NAMES), "Park", "Lee", "and", "Danas"]
)
SIGNS = st.sampled_from([" ", "'s ", "’s ", ", ", "-", "", ". ", "\n", "_", "(", ")"])


@given(st.lists(st.tuples(WORDS, SIGNS), max_size=20), st.text(max_size=20))
@settings(max_examples=300, deadline=None)
def test_renaming_there_and_back_is_the_same_text(words: list[tuple[str, str]], rest: str) -> None:
    text = "".join(word + sign for word, sign in words) + rest
    made = Renaming.of("group", NAMES, words_of(text))
    assert made.restore(made.rename(text)) == text
