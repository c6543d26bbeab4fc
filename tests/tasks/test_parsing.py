from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rescue_pipeline.schemas import TASKS
from rescue_pipeline.schemas.predictions import ANSWER_STATUSES
from rescue_pipeline.tasks import parsing
from rescue_pipeline.tasks.answers import ANSWER_MODELS, answer_schema
from rescue_pipeline.tasks.labels import load_labels
from rescue_pipeline.tasks.parsing import ParsedAnswer, parse_answer
from rescue_pipeline.tasks.spec import load_tasks
from tests.tasks.invented import Guarded, instance, session

ORACLE = Path(__file__).parents[3] / "shared" / "oracle"
COUPLE = load_labels().names("relation_pattern", "couple")
NO_OBJECT = ["no_answer_object"]


def parse(task: str, content: str | None, scenario: str = "couple", **changes: Any) -> ParsedAnswer:
    return parse_answer(task, Guarded(instance(task, **changes), {"gold"}), session(scenario), content)


def speaks(content: str | None) -> str | None:
    parsed = parse("itp", content)
    assert (parsed.answer is None) == (parsed.status != "ok")
    return parsed.answer["should_speak"] if parsed.answer else None


def ranks(*labels: Any) -> ParsedAnswer:
    return parse("rpp", json.dumps({"relation_top3": list(labels)}))


# ---- the ladder (all tasks read through it; itp stands for them)

YES = '{"reason": "r", "should_speak": "yes"}'


def test_a_plain_object_needs_no_flag() -> None:
    assert parse("itp", YES) == ParsedAnswer("ok", {"should_speak": "yes"}, "r", [])


@pytest.mark.parametrize(
    "content",
    [
        '<think>maybe {"should_speak":"no"}</think>{"should_speak":"yes"}',
        '<THINK>\n{"should_speak":"no"}\n</Think>\n```json\n{"should_speak":"yes"}\n```',
        '<think>a</think><thinking>{"should_speak":"no"}</thinking> {"should_speak":"yes"}',
        'so {"should_speak":"no"} it is</think>{"should_speak":"yes"}',
        '{"should_speak":"yes"} <think>or {"should_speak":"no"}?',
        '[THINK]{"should_speak":"no"}[/THINK]{"should_speak":"yes"}',
        '<|channel|>analysis<|message|>{"should_speak":"no"}<|end|><|start|>assistant<|channel|>final<|message|>'
        '{"should_speak":"yes"}<|return|>',
    ],
)
def test_an_answer_is_never_taken_from_reasoning(content: str) -> None:
    assert speaks(content) == "yes"
    assert "reasoning_dropped" in parse("itp", content).flags


@pytest.mark.parametrize(
    "content",
    [
        '<think>{"should_speak":"yes"}',
        '<think>{"should_speak":"yes"}</think>',
        '<|channel|>analysis<|message|>{"should_speak":"yes"}',
        '```\n<think>{"should_speak":"yes"}\n',
    ],
)
def test_reasoning_alone_is_no_answer(content: str) -> None:
    assert parse("itp", content).status in ("empty", "unparseable")
    assert parse("itp", '<think>{"should_speak":"yes"}').status == "empty"


def test_a_tag_inside_a_valid_string_is_left_alone() -> None:
    parsed = parse("er", '{"reason": "r", "emotion": "a <think> of dread </think>", "intensity": 4}')
    assert parsed.answer == {"emotion": "a <think> of dread </think>", "intensity": 4}
    assert parsed.flags == []


@pytest.mark.parametrize("content", [None, "", "  \n\t ", "\u00a0"])
def test_no_text_is_empty(content: str | None) -> None:
    assert parse("itp", content) == ParsedAnswer("empty")


@pytest.mark.parametrize(
    "content",
    [
        '```json\n{"should_speak": "yes"}\n```',
        '```\n{"should_speak": "yes"}\n```',
        '```json\n{"should_speak": "yes"}',
        '```JSON {"should_speak": "yes"}```',
        'Here you are:\n```json\n{"should_speak": "yes"}\n```\nHope it helps.',
    ],
)
def test_code_fences_are_taken_off(content: str) -> None:
    assert speaks(content) == "yes"
    assert "fenced" in parse("itp", content).flags


@pytest.mark.parametrize(
    "content",
    [
        f'{YES} {{"should_speak": "no"}}',
        f'{YES} no wait {{"should_speak": "no"}}',
        'Form: {"should_speak": "yes"} or {"should_speak": "no"}. I cannot decide.',
        f'{{"example": {{"should_speak": "no"}}}} The right one: {YES}',
        f'```json\n{{"should_speak": "no"}}\n```\n{YES}',
    ],
)
def test_answers_that_contradict_each_other_are_no_answer(content: str) -> None:
    parsed = parse("itp", content)
    assert (parsed.status, parsed.answer, parsed.flags) == ("unparseable", None, ["contradictory"])


def test_back_ticks_inside_a_string_are_no_fence() -> None:
    parsed = parse("itp", '{"reason": "uses ```x``` twice", "should_speak": "yes"}')
    assert (parsed.status, parsed.reason, parsed.flags) == ("ok", "uses ```x``` twice", [])


@pytest.mark.parametrize(
    "content",
    [
        f"Sure. {YES}",
        f"{YES} That is my answer.",
        f"Weighing {{both}} sides: {YES}",
        f"{YES} In short: {YES}",
    ],
)
def test_the_first_balanced_object_in_running_text_counts(content: str) -> None:
    assert speaks(content) == "yes"
    assert parse("itp", content).flags == ["surrounding_text"]


def test_apostrophes_survive_and_python_dictionaries_are_read_and_flagged() -> None:
    assert parse("itp", '{"reason": "she\'s tired", "should_speak": "no"}').reason == "she's tired"
    parsed = parse("itp", "{'reason': \"it's late\", 'should_speak': 'no',}")
    assert (parsed.answer, parsed.reason, parsed.flags) == ({"should_speak": "no"}, "it's late", ["repaired"])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"reason": "she said "no" to him", "should_speak": "yes"}', 'she said "no" to him'),
        ('{"reason": "two\nlines", "should_speak": "yes"}', "two\nlines"),
        ('{reason: "bare keys", should_speak: "yes"}', "bare keys"),
        ('{"reason": "a comma", "should_speak": "yes",}', "a comma"),
    ],
)
def test_small_faults_of_form_are_repaired_and_flagged(content: str, reason: str) -> None:
    parsed = parse("itp", content)
    assert (parsed.answer, parsed.reason) == ({"should_speak": "yes"}, reason)
    assert parsed.flags == ["repaired"]


@pytest.mark.parametrize(
    "content",
    [
        '{"should_speak": "yes", "reason": "he sa',
        '{"reason": "x", "relation_top3": ["attack_attack", "pursue_withdraw"',
        '{"reason": "x", "answer": {"should_speak": "yes"}, "note": "and th',
        '{"viewpoints": [{"source": "Orsolya", "target": "Thibault", "viewpoint": "v"}, {"source": "Thi',
        '```json\n{"should_speak": "yes", "reason": "cut',
        '[{"source": "Orsolya", "target": "Thibault", "viewpoint": "v"}, {"sou',
    ],
)
@pytest.mark.parametrize("task", ["itp", "rpp", "vp"])
def test_a_cut_answer_is_never_completed(task: str, content: str) -> None:
    assert parse(task, content).status == "unparseable"


def test_a_key_with_two_values_is_no_answer() -> None:
    assert parse("itp", '{"should_speak": "yes", "should_speak": "no"}').status == "unparseable"
    assert speaks('{"should_speak": "yes", "should_speak": "yes"}') == "yes"


@pytest.mark.parametrize(
    "content",
    [
        '{"answer": {"should_speak": "yes"}}',
        '{"name": "reply", "arguments": {"should_speak": "yes"}}',
        '{"name": "reply", "arguments": "{\\"should_speak\\": \\"yes\\"}"}',
        '[{"should_speak": "yes"}]',
        '"{\\"should_speak\\": \\"yes\\"}"',
        '{"result": {"data": {"Should-Speak": "yes"}}}',
    ],
)
def test_wrapped_answers_are_opened_and_flagged(content: str) -> None:
    assert speaks(content) == "yes"
    assert parse("itp", content).flags == ["nested"]


@pytest.mark.parametrize(
    "content",
    [
        '{"first": {"should_speak": "yes"}, "second": {"should_speak": "no"}}',
        '{"reasoning": {"should_speak": "yes"}}',
        '{"properties": {"should_speak": {"type": "string", "enum": ["yes", "no"]}}}',
        '[{"should_speak": "yes"}, {"should_speak": "no"}]',
    ],
)
def test_two_answers_a_thought_or_a_schema_are_no_answer(content: str) -> None:
    assert parse("itp", content).status == "unparseable"


def test_key_spelling_is_forgiven() -> None:
    assert speaks('{"Should Speak": "yes"}') == "yes"


# ---- refusals

REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I’m sorry, but I can’t assist with this request.",
    "I cannot provide an assessment of private individuals.",
    "Sorry, I am unable to comply.",
    "As an AI language model, I can't judge therapy sessions.",
    "**I'm unable to continue with this conversation.**",
    '{"refusal": "I can\'t help"}',
    "<think>hm</think>I won't do this.",
]


@pytest.mark.parametrize("content", REFUSALS)
@pytest.mark.parametrize("task", TASKS)
def test_a_plain_refusal_is_refused(task: str, content: str) -> None:
    assert parse(task, content).status == "refused"


@pytest.mark.parametrize(
    "content",
    [
        'Thibault says "I can\'t help it", so the therapist speaks.',
        "The client cannot answer.",
        "Apologies are exchanged; I think yes.",
        "I can see that she is hurt.",
        "yes",
    ],
)
def test_prose_that_is_no_refusal_is_not_called_one(content: str) -> None:
    assert parse("itp", content) == ParsedAnswer("unparseable", flags=NO_OBJECT)


def test_an_answer_that_speaks_of_refusing_is_an_answer() -> None:
    assert (
        parse("er", '{"reason": "I cannot be sure", "emotion": "I\'m sorry, but hurt", "intensity": 3}').status == "ok"
    )


# ---- labels are read from fields, never found in text


@pytest.mark.parametrize(
    "content",
    [
        "not attack_attack, rather repair_softening",
        "attack_attack",
        "no intervention needed",
        "yes/no",
        "INCORRECT",
        "The label is: pursue_withdraw.",
    ],
)
@pytest.mark.parametrize("task", TASKS)
def test_a_label_that_a_text_mentions_is_never_an_answer(task: str, content: str) -> None:
    assert parse(task, content) == ParsedAnswer("unparseable", flags=NO_OBJECT)


@pytest.mark.parametrize("value", ["not attack_attack, rather repair_softening", "attack_attack, repair_softening",
                                   "not_so_attack_attack", "attack", "enmeshment"])  # fmt: skip
def test_a_field_that_merely_contains_a_label_is_out_of_set(value: str) -> None:
    assert ranks(value).status == "out_of_set"
    assert parse("rpp", json.dumps({"relation_top3": value})).status == "out_of_set"


def test_a_label_of_the_other_scenario_is_out_of_set() -> None:
    content = '{"relation_top3": ["boundary_hierarchy_strain"]}'
    assert parse("rpp", content).status == "out_of_set"
    assert parse("rpp", content, scenario="family").status == "ok"


def test_one_label_is_not_another_that_ends_like_it() -> None:
    content = '{"relation_top3": ["uncooperative_family_alliance"]}'
    assert parse("rpp", content, scenario="family").status == "out_of_set"


# ---- itp


@pytest.mark.parametrize(
    ("value", "expected"),
    [("yes", "yes"), ("Yes", "yes"), (" NO. ", "no"), (True, "yes"), (False, "no"), ("true", "yes"), ("False", "no")],
)
def test_timing_accepts_yes_no_and_booleans(value: object, expected: str) -> None:
    assert speaks(json.dumps({"should_speak": value})) == expected


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("maybe", "out_of_set"),
        ("no intervention needed", "out_of_set"),
        ("yes/no", "out_of_set"),
        ("y", "out_of_set"),
        ("", "empty"),
        (None, "empty"),
        (1, "unparseable"),
        (["yes"], "unparseable"),
        ({"yes": 1}, "unparseable"),
    ],
)
def test_timing_accepts_nothing_else(value: object, status: str) -> None:
    assert parse("itp", json.dumps({"should_speak": value})).status == status


# ---- rankings


def test_spellings_are_normalised_to_the_label() -> None:
    parsed = ranks("Pursue-Withdraw", "ATTACK ATTACK.", "mixed\u00a0transition")
    assert parsed.answer == {"relation_top3": ["pursue_withdraw", "attack_attack", "mixed_transition"]}
    assert parsed.flags == []


def test_unknown_labels_and_repeats_are_removed_before_ranks_are_read() -> None:
    parsed = ranks("enmeshment", "attack_attack", "Attack-Attack", "pursue_withdraw", 7, None)
    assert parsed.answer == {"relation_top3": ["attack_attack", "pursue_withdraw"]}
    assert parsed.flags == ["unknown_label", "repeated_label", "short_list"]


def test_more_than_three_are_cut_and_fewer_are_valid_and_both_are_flagged() -> None:
    assert ranks(*COUPLE).answer == {"relation_top3": COUPLE[:3]}
    assert ranks(*COUPLE).flags == ["extra_labels"]
    assert ranks(COUPLE[0]).answer == {"relation_top3": COUPLE[:1]}
    assert ranks(COUPLE[0]).flags == ["short_list"]


def test_two_ranks_are_complete_where_there_are_two_candidates() -> None:
    parsed = parse("stp", '{"target_top3": ["Orsolya", "Couple"]}', candidates=["Orsolya", "Couple"])
    assert parsed.flags == []


@pytest.mark.parametrize(
    "value",
    [
        {"1": "Thibault", "2": "Orsolya", "3": "Couple"},
        {"2": "Orsolya", "1": "Thibault", "3": "Couple"},
        {"rank_1": "Thibault", "rank_2": "Orsolya", "rank_3": "Couple"},
        {"third": "Couple", "second": "Orsolya", "first": "Thibault"},
        [{"label": "Thibault", "p": 0.6}, {"label": "Orsolya", "p": 0.3}, {"name": "Couple"}],
    ],
)
def test_ranks_given_as_keys_or_objects_are_read_in_rank_order(value: object) -> None:
    assert parse("stp", json.dumps({"target_top3": value})).answer == {"target_top3": ["Thibault", "Orsolya", "Couple"]}


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ([], "empty"),
        (None, "empty"),
        ("", "empty"),
        ([""], "empty"),
        ({}, "empty"),
        ([1, 2], "unparseable"),
        (3, "unparseable"),
        ({"type": "array"}, "unparseable"),
        (["Danah"], "out_of_set"),
        (["orsolya's husband"], "out_of_set"),
    ],
)
def test_a_ranking_without_a_valid_label_says_why(value: object, status: str) -> None:
    assert parse("stp", json.dumps({"target_top3": value})).status == status


def test_danah_never_becomes_dana() -> None:
    parsed = parse("stp", '{"target_top3": ["Danah", "Couple"]}', candidates=["Dana", "Hal", "Couple"])
    assert parsed.answer == {"target_top3": ["Couple"]}
    both = parse("stp", '{"target_top3": ["Danah", "Dana"]}', candidates=["Dana", "Danah", "Couple"])
    assert both.answer == {"target_top3": ["Danah", "Dana"]}


def test_names_are_not_normalised_like_labels() -> None:
    parsed = parse("stp", '{"target_top3": ["Mary-Ann", "Couple"]}', candidates=["Mary Ann", "Hal", "Couple"])
    assert parsed.answer == {"target_top3": ["Couple"]}


def test_a_bare_list_counts_only_when_it_is_all_there_is() -> None:
    assert parse("stp", '["Orsolya", "Couple"]').answer == {"target_top3": ["Orsolya", "Couple"]}
    assert "bare_list" in parse("stp", '["Orsolya", "Couple"]').flags
    assert parse("stp", 'Rather not ["Orsolya", "Couple"]').status == "unparseable"


# ---- er


@pytest.mark.parametrize("value", [7, 7.0, "7", " 7 ", "7.0", "07"])
def test_a_whole_intensity_is_read_as_number_or_text(value: object) -> None:
    assert parse("er", json.dumps({"emotion": " hurt ", "intensity": value})).answer == {
        "emotion": "hurt",
        "intensity": 7,
    }


@pytest.mark.parametrize(
    "value", ["8/10", 7.5, "7.5", 11, -1, "-1", "11", True, None, "", "high", [7], "7-8", 1e400, "seven", 10**30]
)
def test_any_other_intensity_is_unparseable(value: object) -> None:
    parsed = parse("er", json.dumps({"emotion": "hurt", "intensity": value}))
    assert (parsed.status, parsed.flags) == ("unparseable", ["bad_intensity"])


def test_the_ends_of_the_intensity_scale_count() -> None:
    for value in (0, 10):
        assert parse("er", json.dumps({"emotion": "x", "intensity": value})).status == "ok"


@pytest.mark.parametrize(
    ("emotion", "status"),
    [("", "empty"), ("  ", "empty"), (None, "empty"), (4, "unparseable"), (["sad"], "unparseable")],
)
def test_an_emotion_must_have_words(emotion: object, status: str) -> None:
    assert parse("er", json.dumps({"emotion": emotion, "intensity": 5})).status == status


def test_text_with_half_a_surrogate_pair_can_be_stored() -> None:
    parsed = parse("er", '{"reason": "\\ud83d", "emotion": "hurt \\ud800", "intensity": 5}')
    assert parsed.answer is not None
    parsed.answer["emotion"].encode()
    assert parsed.reason is not None
    parsed.reason.encode()


# ---- vp


def view(source: str = "Orsolya", target: Any = "Thibault", viewpoint: Any = "he hides") -> dict[str, Any]:
    return {"source": source, "target": target, "viewpoint": viewpoint}


def viewpoints(*items: Any) -> ParsedAnswer:
    return parse("vp", json.dumps({"viewpoints": list(items)}))


def test_viewpoints_between_participants_therapist_and_group_are_kept() -> None:
    items = [view(), view("Orsolya", "Therapist", "fair"), view("Thibault", "Couple", "stuck")]
    assert viewpoints(*items) == ParsedAnswer("ok", {"viewpoints": items}, None, [])


def test_viewpoints_of_people_who_are_not_there_are_dropped_and_flagged() -> None:
    parsed = viewpoints(view("Orsola"), view(), view(target="Family"))
    assert parsed.answer == {"viewpoints": [view()]}
    assert parsed.flags == ["unknown_person"]
    assert viewpoints(view("Orsola")).status == "out_of_set"


def test_items_without_text_or_form_are_dropped_and_flagged() -> None:
    extra = {**view(viewpoint="he tries"), "attitude": "warm"}
    parsed = viewpoints(
        view(viewpoint=" "), "Orsolya -> Thibault: he hides", {"source": "Orsolya"}, view(), view(), extra
    )
    assert parsed.answer == {"viewpoints": [view(), view(viewpoint="he tries")]}
    assert parsed.flags == ["empty_viewpoint", "malformed_viewpoint", "repeated_viewpoint"]


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ([], "empty"),
        (None, "empty"),
        ([view(viewpoint="")], "empty"),
        (["text"], "unparseable"),
        ("text", "unparseable"),
        ([{"source": "Orsolya", "target": "Thibault"}], "unparseable"),
        ([view("Nobody"), "text"], "out_of_set"),
    ],
)
def test_viewpoints_without_a_valid_item_say_why(value: object, status: str) -> None:
    assert parse("vp", json.dumps({"viewpoints": value})).status == status


def test_a_target_list_is_one_viewpoint_for_each_name() -> None:
    parsed = viewpoints(view(target=["Thibault", "Therapist"]))
    assert parsed.answer == {"viewpoints": [view(), view(target="Therapist")]}


def test_a_list_or_one_viewpoint_without_its_object_is_accepted_and_flagged() -> None:
    for content in (json.dumps([view(), view(target="Couple")]), json.dumps(view())):
        parsed = parse("vp", content)
        assert parsed.status == "ok"
        assert parsed.flags == ["bare_list"]
    assert parse("vp", f"One of them: {json.dumps(view())}").status == "unparseable"


# ---- properties

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([*COUPLE, "Orsolya"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
FIELDS = [
    "should_speak",
    "relation_top3",
    "target_top3",
    "strategy_top3",
    "emotion",
    "intensity",
    "viewpoints",
    "reason",
]
objects = st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=4).map(json.dumps)
FRAGMENTS = [
    *("{", "}", "[", "]", '"', "'", "```", "```json\n", "<think>", "</think>", ":", ",", "\\", " ", "\n", "\x00"),
    *("yes", YES, "<|channel|>final<|message|>", '"relation_top3"', "attack_attack", "I'm sorry, but"),
]
texts = st.text() | objects | st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)


STATUS_TABLE, FLAG_TABLE = (parsing.__doc__ or "").split("\nflag ")
DOCUMENTED_STATUSES = set(re.findall(r"^(\w+) {2,}", STATUS_TABLE, re.MULTILINE)) - {"status"}
DOCUMENTED_FLAGS = {
    flag for line in re.findall(r"^([\w, ]+?) {2,}\S", FLAG_TABLE, re.MULTILINE) for flag in line.split(", ")
}


@given(st.sampled_from(TASKS), texts)
@settings(max_examples=600, deadline=None)
@example("er", "[" * 3000)
@example("vp", '{"a":' * 3000)
@example("vp", "{1:" + "-" * 3000 + "1}")
@example("rpp", "{" + "9" * 5000 + "}")
@example("itp", "\ud800{")
def test_no_text_makes_the_parser_raise_or_say_what_is_not_documented(task: str, content: str) -> None:
    parsed = parse(task, content)
    assert parsed.status in DOCUMENTED_STATUSES & set(ANSWER_STATUSES)
    assert set(parsed.flags) <= DOCUMENTED_FLAGS
    assert (parsed.answer is not None) == (parsed.status == "ok")
    if parsed.answer is not None:
        json.dumps(parsed.answer, allow_nan=False).encode()
        model = load_tasks()[task].answer_model
        assert model.model_validate(parsed.answer).model_dump() == parsed.answer


@given(
    st.lists(st.sampled_from([*COUPLE, "enmeshment", "Pursue-Withdraw", ""]) | st.none() | st.integers(), max_size=8)
)
def test_a_ranking_has_at_most_three_ranks_without_repeats(labels: list[Any]) -> None:
    parsed = ranks(*labels)
    if parsed.answer is not None:
        kept = parsed.answer["relation_top3"]
        assert 1 <= len(kept) <= 3
        assert len(set(kept)) == len(kept)
        assert set(kept) <= set(COUPLE)


@given(st.lists(st.sampled_from([*COUPLE, "enmeshment"]), min_size=1, max_size=6), st.data())
def test_adding_a_repeat_never_changes_the_answer(labels: list[str], data: st.DataObject) -> None:
    repeated = data.draw(st.sampled_from(range(len(labels))))
    place = data.draw(st.integers(repeated + 1, len(labels)))
    longer = [*labels[:place], labels[repeated], *labels[place:]]
    assert ranks(*longer).answer == ranks(*labels).answer


@given(st.sampled_from(["rpp", "ssp", "stp"]), st.sampled_from(["couple", "family"]), st.data())
def test_every_answer_that_fits_the_requested_schema_is_ok_without_a_flag(task: str, scenario: str, data: Any) -> None:
    spec, held = load_tasks()[task], session(scenario)
    asked = instance(task, candidates=None)
    field = answer_schema(spec, asked, held)["properties"][
        f"{ {'rpp': 'relation', 'ssp': 'strategy', 'stp': 'target'}[task] }_top3"
    ]
    labels = data.draw(st.lists(st.sampled_from(field["items"]["enum"]), unique=True, min_size=3, max_size=3))
    field_name = spec.answer_model.field  # type: ignore[attr-defined]
    content = json.dumps({"reason": "r", field_name: labels})
    assert parse_answer(task, asked, held, content) == ParsedAnswer("ok", {field_name: labels}, "r", [])


HUGE = 100_000
HOSTILE = [
    "{" * HUGE,
    "[" * HUGE,
    "{}" * (HUGE // 2),
    "```" + " " * HUGE + "x",
    "```x" * (HUGE // 4),
    "!" + " " * HUGE + "x",
    "<think>" * (HUGE // 7),
    '{"a":"' + "\\" * HUGE,
    "{'a':" * (HUGE // 5),
]


@pytest.mark.parametrize("content", HOSTILE, ids=lambda content: content[:8])
def test_a_long_hostile_text_is_read_to_its_end(content: str) -> None:
    # a ladder that takes quadratic time does not come back from these
    assert parse("er", content).status in ("unparseable", "empty")


# ---- the schema


@pytest.mark.parametrize("task", TASKS)
def test_the_requested_schema_is_strict_and_its_fields_are_the_models(task: str) -> None:
    spec = load_tasks()[task]
    schema = answer_schema(spec, Guarded(instance(task), {"gold"}), session())
    assert list(schema["properties"]) == ["reason", *spec.answer_model.model_fields]
    stack = [schema]
    while stack:
        part = stack.pop()
        if part["type"] == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
            stack += part["properties"].values()
        elif part["type"] == "array":
            stack.append(part["items"])


def test_closed_sets_are_enums() -> None:
    def field(task: str, name: str, scenario: str = "couple") -> dict[str, Any]:
        return answer_schema(load_tasks()[task], instance(task), session(scenario))["properties"][name]

    assert field("itp", "should_speak")["enum"] == ["yes", "no"]
    assert field("er", "intensity") == {"type": "integer", "enum": list(range(11))}
    assert field("rpp", "relation_top3")["items"]["enum"] == COUPLE
    assert field("ssp", "strategy_top3", "family")["items"]["enum"] == load_labels().names("support_strategy", "family")
    assert field("stp", "target_top3")["items"]["enum"] == ["Orsolya", "Thibault", "Couple"]
    person = field("vp", "viewpoints")["items"]["properties"]["target"]
    assert person["enum"] == ["Orsolya", "Thibault", "Couple", "Therapist"]


def test_there_is_one_answer_model_for_each_task() -> None:
    assert {spec.answer for spec in load_tasks().values()} == set(ANSWER_MODELS)


# ---- answers of the reference set


@pytest.mark.skipif(not ORACLE.is_dir(), reason="the reference answers are not on this machine")
@pytest.mark.parametrize(
    ("task", "gold_at_1"), [("rpp", "rpp.accuracy"), ("stp", "stp.recall_at_1"), ("ssp", "ssp.recall_at_1")]
)
def test_reference_answers_parse_to_the_reference_scores(task: str, gold_at_1: str) -> None:
    golds = json.loads((ORACLE / "expected_instances.json").read_text())
    expected = json.loads((ORACLE / "expected_metrics.json").read_text())["both"]
    with (ORACLE / "corpus.jsonl").open() as corpus:
        sessions = {record["sample_id"]: record for record in map(json.loads, corpus)}
    with (ORACLE / "predictions.jsonl").open() as lines:
        answers = [line for line in map(json.loads, lines) if line["task"] == task]
    reciprocal = []
    for line in answers:
        gold = {row: label for row, label, *_ in golds[line["sample_id"]][task]}[line["row_index"]]
        parsed = parse_answer(task, {"candidates": None}, sessions[line["sample_id"]], json.dumps(line["answer"]))
        ranked = next(iter(parsed.answer.values())) if parsed.answer else []
        reciprocal.append(1 / (1 + ranked.index(gold)) if gold in ranked else 0)
    assert len(reciprocal) == expected[f"{task}.n"]
    assert sum(reciprocal) / len(reciprocal) == pytest.approx(expected[f"{task}.mrr"], abs=1e-9)
    assert sum(value == 1 for value in reciprocal) / len(reciprocal) == pytest.approx(expected[gold_at_1], abs=1e-9)
