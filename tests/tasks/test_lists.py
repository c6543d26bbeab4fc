"""Lists of questions: what they give away is declared, and each answer is found by its id alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.schemas import TASKS
from rescue_pipeline.tasks.leaks import declared_gold, item_id
from rescue_pipeline.tasks.lists import batches, build_list_messages, list_schema, parse_list
from rescue_pipeline.tasks.parsing import ParsedAnswer
from rescue_pipeline.tasks.prompts import build_messages
from rescue_pipeline.tasks.spec import Protocol, load_protocol, load_tasks
from tests.tasks.invented import GOLD, Guarded, instance, session, turns

SPECS = load_tasks()
CLEAN, OFFICIAL = load_protocol("clean"), load_protocol("official")
SHARING = OFFICIAL.model_copy(update={"leaks": ("shared_requests",)})
"""A protocol of a user's own: lists of questions whose ids say nothing."""


def ask(protocol: Protocol, task: str, rows: tuple[int, ...] = (2, 4), **more: Any) -> tuple[str, str]:
    asked = [instance(task, row) for row in rows]
    system, user = build_list_messages(SPECS[task], protocol, asked, session(), turns(), "dialogue", **more)
    return system["content"], user["content"]


def answered(content: Any, asked: tuple[str, ...] = ("2", "4"), task: str = "itp") -> dict[str, ParsedAnswer]:
    questions = {key: (instance(task), session()) for key in asked}
    return parse_list(task, questions, content if isinstance(content, str) else json.dumps(content))


def said(answer: str, key: Any = "2") -> dict[str, Any]:
    return {"id": key, "reason": f"why {answer}", "should_speak": answer}


# ---- which questions share a request


@pytest.mark.parametrize(("size", "parts"), [(1, [1, 1, 1, 1, 1]), (2, [2, 2, 1]), (9, [5]), ("session", [5])])
def test_consecutive_questions_of_a_session_share_a_request(size: int | str, parts: list[int]) -> None:
    protocol = OFFICIAL.model_copy(update={"batching": {**OFFICIAL.batching, "er": size}})
    rows = [instance("er", number, sample_id=name) for name in ("a", "b") for number in (5, 4, 3, 2, 1)]
    found = batches(protocol, "er", rows)
    assert [len(part) for part in found] == parts * 2
    assert all(len({row["sample_id"] for row in part}) == 1 for part in found)
    numbers = [row["row_index"] for part in found for row in part]
    assert numbers == [1, 2, 3, 4, 5] * 2


# ---- what a list gives away


def test_itp_ids_and_fields_hold_the_answer_under_the_leak_ids_only() -> None:
    yes, no = instance("itp", 2), instance("itp", 4, gold=json.dumps({"should_speak": "no"}))
    assert (item_id(OFFICIAL, yes), item_id(OFFICIAL, no)) == (
        "invented_pair/001_secret_file/pos_after_2",
        "invented_pair/001_secret_file/neg_after_4",
    )
    guarded = Guarded(yes, {"gold", "sample_id"})
    assert item_id(SHARING, guarded) == "2"
    _, user = ask(OFFICIAL, "itp")
    assert "actual_therapist_entry: true\n" in user
    assert "sample_id: invented_pair/001_secret_file\nrow_index: 2\n" in user


@pytest.mark.parametrize("task", TASKS)
def test_without_declared_leaks_a_list_reads_no_gold_and_names_no_session(task: str) -> None:
    asked = [Guarded(instance(task, row), {"gold", "sample_id", "instance_id"}) for row in (2, 4)]
    messages = build_list_messages(SPECS[task], SHARING, asked, session(), turns(), "audiovisual")
    text = "\n".join(message["content"] for message in messages)
    for hidden in ("secret", "invented_pair", "GOLDEN", "pos_after", "actual_therapist_entry"):
        assert hidden not in text


def test_gold_is_read_only_for_a_leak_that_the_protocol_declares() -> None:
    row = instance("er")
    assert declared_gold(OFFICIAL, "ids", row) == GOLD["er"]
    for protocol in (CLEAN, SHARING):
        with pytest.raises(RescueError, match="does not give away"):
            declared_gold(protocol, "ids", Guarded(row, {"gold"}))
        with pytest.raises(RescueError):
            ask(protocol.model_copy(update={"template_set": "official"}), "vp", example=instance("vp"))


def test_the_example_of_vp_is_the_gold_of_a_question() -> None:
    system, user = ask(OFFICIAL, "vp", example=instance("vp"))
    assert "GOLDEN he shuts her out" in system
    assert "GOLDEN" not in user
    assert "bitter" not in system


def test_questions_of_a_list_show_each_others_turns() -> None:
    _, user = ask(OFFICIAL, "ssp", (3, 5))
    first, second = user.split("=== Question ")[1:]
    assert "talk to a wall" not in first
    assert "talk to a wall" in second


@pytest.mark.parametrize("task", TASKS)
def test_each_protocol_is_asked_in_its_own_form(task: str) -> None:
    with pytest.raises(UsageError, match="lists of questions"):
        build_messages(SPECS[task], OFFICIAL, instance(task), session(), turns(), "dialogue")


def test_the_schema_asks_for_one_answer_for_each_id() -> None:
    rows = [instance("stp", 3), instance("stp", 5)]
    answers = list_schema(SPECS["stp"], SHARING, rows, session())["properties"]["answers"]
    assert (answers["minItems"], answers["maxItems"]) == (2, 2)
    assert list(answers["items"]["properties"]) == ["id", "reason", "target_top3"]
    assert answers["items"]["properties"]["id"]["enum"] == ["3", "5"]
    assert answers["items"]["required"] == ["id", "reason", "target_top3"]


# ---- taking a reply apart

WHOLE = {"answers": [said("yes", "2"), said("no", "4")]}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(WHOLE),
        json.dumps({"answers": WHOLE["answers"][::-1]}),
        json.dumps(WHOLE["answers"]),
        f"```json\n{json.dumps(WHOLE)}\n```",
        f"Here they are:\n{json.dumps(WHOLE)}\nThat is all.",
        f"<think>{json.dumps({'answers': [said('no', '2'), said('yes', '4')]})}</think>{json.dumps(WHOLE)}",
        json.dumps({"result": WHOLE}),
        json.dumps({"answers": json.dumps(WHOLE["answers"])}),
        json.dumps({"answers": [said("yes", 2), said("no", " 4 ")]}),
        "\n".join(json.dumps(entry) for entry in WHOLE["answers"]),
        str(WHOLE),
    ],
)
def test_every_answer_is_found_by_its_id_whatever_stands_around_the_list(content: str) -> None:
    found = answered(content)
    assert [(a.status, (a.answer or {}).get("should_speak")) for a in found.values()] == [("ok", "yes"), ("ok", "no")]
    assert [answer.reason for answer in found.values()] == ["why yes", "why no"]


def test_a_missing_id_is_unparseable_and_the_others_count() -> None:
    found = answered({"answers": [said("no", "4")]})
    assert (found["2"].status, found["2"].flags) == ("unparseable", ["missing_in_batch"])
    assert found["4"].answer == {"should_speak": "no"}


def test_an_answer_is_never_given_by_its_place() -> None:
    found = answered({"answers": [{"should_speak": "yes"}, {"should_speak": "no"}]})
    assert {(answer.status, tuple(answer.flags)) for answer in found.values()} == {
        ("unparseable", ("missing_in_batch", "unknown_id"))
    }


def test_two_answers_to_one_id_that_differ_are_contradictory_and_the_same_twice_is_one() -> None:
    found = answered({"answers": [said("yes", "2"), said("no", "2"), said("no", "4"), said("no", "4")]})
    assert (found["2"].status, found["2"].flags) == ("unparseable", ["contradictory"])
    assert (found["4"].status, found["4"].flags) == ("ok", ["repeated_in_batch"])


def test_an_unknown_id_is_ignored_and_flagged() -> None:
    found = answered({"answers": [*WHOLE["answers"], said("yes", "7")]})
    assert {(answer.status, tuple(answer.flags)) for answer in found.values()} == {("ok", ("unknown_id",))}


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("", "empty"),
        ("<think>hm</think>", "empty"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ('{"refusal": "no"}', "refused"),
        ('{"should_speak": "yes"}', "unparseable"),
        ('{"answers": []}', "unparseable"),
        ('{"answers": ["yes", "no"]}', "unparseable"),
        ('{"answers": [{"id": "2", "should_speak": "yes"}, {"id": "4", "should', "unparseable"),
        ('{"answers": {"2": {"should_speak": "yes"}}}', "unparseable"),
        ("yes, no", "unparseable"),
    ],
)
def test_a_reply_without_a_list_is_the_same_for_every_question(content: str, status: str) -> None:
    assert {answer.status for answer in answered(content).values()} == {status}


@pytest.mark.parametrize("task", TASKS)
def test_each_part_is_read_as_the_tasks_answers_are(task: str) -> None:
    good: dict[str, Any] = {
        "er": {"emotion": "hurt", "intensity": "7"},
        "vp": {"viewpoints": [{"source": "Orsolya", "target": "thibault", "viewpoint": "leaves her alone"}]},
        "rpp": {"relation_top3": ["Pursue-Withdraw", "attack_attack", "nothing"]},
        "itp": {"should_speak": True},
        "stp": {"target_top3": ["Orsolya", "Couple", "Thibault"]},
        "ssp": {"strategy_top3": {"1": "evoke", "2": "track"}},
    }
    found = answered({"answers": [{"id": "2", **good[task]}, {"id": "4"}]}, task=task)
    assert found["2"].status == "ok"
    assert found["4"].status == "unparseable"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["2", "4", "yes", "no"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["id", "answers", "should_speak", "reason", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(ANYTHING)
@settings(max_examples=150, deadline=None)
def test_whatever_comes_back_each_question_has_one_status_and_nothing_is_invented(content: Any) -> None:
    text = json.dumps(content)
    for key, answer in answered(content).items():
        assert answer.status in ("ok", "empty", "refused", "unparseable", "out_of_set")
        if answer.status == "ok":
            assert f'"{key}"' in text or f" {key}" in text
            assert "should_speak" in text
