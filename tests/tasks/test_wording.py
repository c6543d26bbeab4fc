"""The template sets: other words for the same question, and nothing else."""

from __future__ import annotations

import pytest

from rescue_pipeline.schemas import TASKS
from rescue_pipeline.schemas.predictions import MODALITIES
from rescue_pipeline.tasks.labels import load_labels
from rescue_pipeline.tasks.prompts import build_messages
from rescue_pipeline.tasks.spec import load_protocol, load_tasks
from tests.tasks.golden import protocol_messages
from tests.tasks.invented import Guarded, instance, session, turns

WORDINGS = ("wording-b", "wording-c")
SPECS = load_tasks()


def ask(wording: str, task: str, modality: str = "dialogue") -> str:
    asked = Guarded(instance(task), {"gold"})
    messages = build_messages(SPECS[task], load_protocol(wording), asked, session(), turns(), modality)
    return "\n".join(message["content"] for message in messages)


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("task", TASKS)
def test_every_wording_shows_the_same_turns_facts_and_form(wording: str, task: str) -> None:
    text, clean = ask(wording, task), ask("clean", task)
    for turn in turns():
        assert (turn["dialogue"] in text) == (turn["dialogue"] in clean)
    for time in ("0.00-4.25 s", "13.00-17.25 s", "19.50-23.75 s"):
        assert (time in text) == (time in clean)
    for name in ("Orsolya", "Thibault", "Therapist", "Couple", "Anything."):
        assert name in text
    form = [key for key in ("reason", *SPECS[task].answer_model.model_fields) if f'"{key}":' in clean]
    assert [key for key in form if f'"{key}":' in text] == form
    assert [text.index(f'"{key}":') for key in form] == sorted(text.index(f'"{key}":') for key in form)


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("task", ["rpp", "ssp"])
def test_every_wording_defines_the_labels_of_the_scenario(wording: str, task: str) -> None:
    for label in load_labels().definitions(str(SPECS[task].label_set), "couple"):
        assert label.label in ask(wording, task)
        assert label.definition in ask(wording, task)
        assert label.theory in ask(wording, task)


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("modality", MODALITIES)
def test_every_wording_shows_the_cues_of_the_modality_only(wording: str, modality: str) -> None:
    text = ask(wording, "er", modality)
    assert ("tight, quickening" in text) == (modality in ("audio", "audiovisual"))
    for seen in (
        "upright, hands on her knees",
        "jaw set, eyes lowered",
        "turns his ring",
        "looks over at him and waits",
    ):
        assert (seen in text) == (modality in ("visual", "audiovisual"))


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("task", TASKS)
def test_no_wording_says_a_sentence_of_another(wording: str, task: str) -> None:
    def sentences(text: str) -> set[str]:
        said = {turn["dialogue"] for turn in turns()}
        found = {part.strip() for line in text.splitlines() for part in line.split(". ")}
        labels = {label.theory for kind in ("relation_pattern", "support_strategy")
                  for label in load_labels().definitions(kind, "couple")}  # fmt: skip
        long = {part for part in found if len(part.split()) > 5 and not any(part in words for words in said)}
        definitions = " ".join(label.definition for kind in ("relation_pattern", "support_strategy")
                               for label in load_labels().definitions(kind, "couple"))  # fmt: skip
        return {part for part in long if part.rstrip(".") not in definitions and not any(t in part for t in labels)}

    others = {"clean", *WORDINGS} - {wording}
    mine = sentences(ask(wording, task, "audiovisual"))
    assert mine
    for other in others:
        assert not {part for part in mine & sentences(ask(other, task, "audiovisual")) if "Orsolya" not in part}


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("task", TASKS)
def test_in_every_wording_what_comes_from_the_session_stands_between_the_tags(wording: str, task: str) -> None:
    lines = ask(wording, task, "audiovisual").splitlines()
    opening = next(number for number, line in enumerate(lines) if line.startswith(("<excerpt-", "<data-")))
    closing = lines.index(f"</{lines[opening].strip('<>')}>")
    outside = "\n".join([*lines[:opening], *lines[closing + 1 :]])
    for said in ("Orsolya", "Thibault", "Tuesday", "a wall", "his ring"):
        assert said not in outside


@pytest.mark.parametrize("task", TASKS)
def test_official_words_the_task_as_clean_does(task: str) -> None:
    """A difference between the two is owed to the leaks, not to other words."""
    clean = protocol_messages("clean", task, "audio", "couple")[0]["content"]
    official = protocol_messages("official", task, "audio", "couple")[0]["content"]
    words = clean.split("# Task\n\n")[1].split("# Answer")[0].strip()
    assert words in official
    rules = [line for line in clean.split("# Answer")[1].splitlines() if line.startswith("- ")]
    assert rules
    assert all(rule in official for rule in rules)
