"""What a record may be, what breaks it, and what is derived when it does not say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rescue_pipeline.corpus.records import parse_record
from rescue_pipeline.corpus.rejects import InvalidRecord
from tests.corpus.making import record, row


def parse(content: Any, **options: Any) -> Any:
    return parse_record(content if isinstance(content, str) else json.dumps(content), **options)


def refusal(content: Any, **options: Any) -> InvalidRecord:
    with pytest.raises(InvalidRecord) as caught:
        parse(content, **options)
    return caught.value


def test_a_record_keeps_what_it_says() -> None:
    parsed = parse(record(source_file="data/x.json"))
    assert parsed.sample["sample_id"] == "uma_and_vik/001"
    assert parsed.sample["scenario"] == parsed.sample["scenario_declared"] == "couple"
    assert parsed.sample["participants"] == ["Uma", "Vik"]
    assert parsed.sample["participants_declared"] is True
    assert parsed.sample["record_source_file"] == "data/x.json"
    assert [turn["row_index"] for turn in parsed.turns] == [1, 2, 3]


def test_an_absent_key_is_told_from_a_null() -> None:
    with_null, without = parse(record(rows=[row(1, tone_of_voice=None), row(2)])).turns
    assert "tone_of_voice" in with_null["present_keys"]
    assert "tone_of_voice" not in without["present_keys"]


def test_an_unknown_key_is_accepted_and_its_name_kept() -> None:
    parsed = parse(record(rows=[row(1, relation_cycle_sate="x")], annotator="A"))
    assert "relation_cycle_sate" in parsed.turns[0]["present_keys"]
    assert "annotator" in parsed.sample["present_keys"]


@pytest.mark.parametrize(
    ("change", "field", "expected", "found"),
    [
        ({"start_time": "1.0"}, "rows[0].start_time", "a number", "text"),
        ({"start_time": True}, "rows[0].start_time", "a number", "true or false"),
        ({"row_index": "1"}, "rows[0].row_index", "a whole number", "text"),
        ({"row_index": 2**40}, "rows[0].row_index", "a whole number of 32 bits", "a whole number"),
        ({"target": "Vik"}, "rows[0].target", "a list", "text"),
        ({"target": [None]}, "rows[0].target[0]", "text", "null"),
        ({"primary_speaker": None}, "rows[0].primary_speaker", "text", "null"),
        ({"dialogue_cleaned": ["a"]}, "rows[0].dialogue_cleaned", "text", "a list"),
        (
            {"internal_emotion": [{"person": "Uma", "intensity": "7"}]},
            "rows[0].internal_emotion[0].intensity",
            "a number",
            "text",
        ),
        ({"support_strategy": [{"target": "Uma"}]}, "rows[0].support_strategy[0].target", "a list", "text"),
        ({"viewpoints_attitudes": ["x"]}, "rows[0].viewpoints_attitudes[0]", "an object", "text"),
        (
            {"relation_pattern_evidence_rows": [1.5]},
            "rows[0].relation_pattern_evidence_rows[0]",
            "a whole number",
            "a number with a fraction",
        ),
    ],
)
def test_a_wrong_type_is_refused_with_its_field_and_both_types(
    change: dict[str, Any], field: str, expected: str, found: str
) -> None:
    error = refusal(record(rows=[row(1, **change)]))
    assert (error.reason, error.field, error.expected, error.found) == ("wrong type", field, expected, found)
    assert error.record == "uma_and_vik/001"


@pytest.mark.parametrize("key", ["row_index", "primary_speaker", "dialogue_cleaned"])
def test_a_row_without_a_field_it_needs_is_refused(key: str) -> None:
    broken = row(1)
    del broken[key]
    error = refusal(record(rows=[broken]))
    assert (error.reason, error.field, error.found) == ("a field is missing", f"rows[0].{key}", "nothing")


def test_several_problems_are_counted_and_the_first_is_named() -> None:
    error = refusal(record(rows=[row(1, target="Vik"), row(2, start_time="x")]))
    assert error.reason == "wrong type (and 1 more)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        '{"sample_id": "a/1", "rows": [{"st',
        '{"a": 1} {"b": 2}',
        '{"rows": [{"row_index": 1,}]}',
        "{'a': 1}",
    ],
)
def test_what_is_not_json_is_refused(text: str) -> None:
    assert refusal(text).reason == "not JSON"


@pytest.mark.parametrize("text", ["[]", '"text"', "3", "null"])
def test_json_that_is_no_object_is_refused(text: str) -> None:
    assert refusal(text).expected == "an object"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_time_that_is_no_number_is_refused(number: str) -> None:
    text = json.dumps(record(rows=[row(1, start_time=-17.5)])).replace("-17.5", number)
    assert refusal(text).field == "rows[0].start_time"


def test_a_refusal_never_quotes_the_session() -> None:
    secret = "what nobody else may read"
    for broken in (
        json.dumps(record(rows=[row(1, dialogue_cleaned=[secret])])),
        json.dumps(record(rows=[row(1, start_time=secret)])),
        json.dumps(record(scenario=secret)),
        '{"sample_id": "a/1", "rows": [{"dialogue_cleaned": "' + secret,
        json.dumps(record(rows=[row(1, dialogue_cleaned=secret)])) + secret,
        '{"rows": [{"dialogue_cleaned": "\\x' + secret + '"}]}',
    ):
        error = refusal(broken)
        assert secret not in " ".join(str(part) for part in vars(error).values())


def test_an_unknown_scenario_is_refused() -> None:
    error = refusal(record(scenario="group"))
    assert (error.field, error.expected, error.found) == ("scenario", "couple or family", "group")


@pytest.mark.parametrize(
    ("sample_id", "rows", "scenario"),
    [
        ("uma_and_vik/1", [row(1)], "couple"),
        ("family_therapy/1/merged", [row(1)], "family"),
        ("uma_and_vik/1", [row(1, target=["Family"])], "family"),
        ("uma_and_vik/1", [row(1, primary_speaker="Family")], "family"),
    ],
)
def test_a_missing_scenario_is_derived_from_the_id_or_the_group_label(
    sample_id: str, rows: list[dict[str, Any]], scenario: str
) -> None:
    parsed = parse(record(sample_id, rows, scenario=None))
    assert (parsed.sample["scenario"], parsed.sample["scenario_declared"]) == (scenario, None)


def test_missing_participants_are_everyone_named_in_order_without_therapist_and_groups() -> None:
    rows = [
        row(1, primary_speaker="Therapist", target=["Couple"], support_strategy=[{"target": ["Zoe", "Uma"]}]),
        row(2, primary_speaker="Vik", target=["Uma", "Therapist"]),
        row(3, primary_speaker="Family", target=["Family", ""]),
    ]
    parsed = parse(record(rows=list(reversed(rows)), participants=None))
    assert parsed.sample["participants"] == ["Zoe", "Uma", "Vik"]
    assert parsed.sample["participants_declared"] is False


def test_a_session_in_which_nobody_takes_part_is_refused() -> None:
    error = refusal(record(rows=[row(2, row_index=1, target=["Couple"])], participants=None))
    assert error.field == "participants"


def test_a_missing_sample_id_is_the_path_in_a_folder() -> None:
    assert parse(record(None), path_id="uma_and_vik/007").sample_id == "uma_and_vik/007"


def test_a_missing_sample_id_in_a_jsonl_is_refused() -> None:
    assert refusal(record(None)).field == "sample_id"


@pytest.mark.parametrize("name", ["", " ", " a/1", "a\n1", "a\u0000", "x" * 301])
def test_a_sample_id_that_could_not_be_told_apart_is_refused(name: str) -> None:
    assert refusal(record(name)).field == "sample_id"


def test_a_session_without_rows_is_refused() -> None:
    assert refusal(record(rows=[])).reason == "a session without rows"
    assert refusal({"sample_id": "a/1"}).field == "rows"


def test_rows_out_of_order_are_put_in_order_and_flagged() -> None:
    parsed = parse(record(rows=[row(2), row(1), row(3)]))
    assert [turn["row_index"] for turn in parsed.turns] == [1, 2, 3]
    assert ["moved" in turn["flags"] for turn in parsed.turns] == [True, True, False]


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ([2, 3], "2 where 1 should be"),
        ([1, 1, 2], "1 where 2 should be"),
        ([0, 1], "0 where 1 should be"),
        ([1, 3], "3 where 2 should be"),
    ],
)
def test_rows_not_numbered_one_to_n_are_refused(numbers: list[int], found: str) -> None:
    error = refusal(record(rows=[row(1, row_index=number) for number in numbers]))
    assert (error.field, error.found) == ("rows[].row_index", found)


def test_tied_times_do_not_change_the_order() -> None:
    rows = [
        row(1, start_time=5.0, end_time=5.0),
        row(2, start_time=5.0, end_time=5.0),
        row(3, start_time=5.0, end_time=5.0),
    ]
    parsed = parse(record(rows=rows))
    assert [turn["row_index"] for turn in parsed.turns] == [1, 2, 3]
    assert [turn["flags"] for turn in parsed.turns] == [[], [], []]


def test_times_that_go_back_are_flagged_and_kept() -> None:
    parsed = parse(record(rows=[row(1, start_time=9.0, end_time=9.5), row(2), row(3)]))
    assert [turn["flags"] for turn in parsed.turns] == [[], ["time_goes_back"], ["overlaps_previous"]]
    assert parsed.turns[1]["start_time"] == 2.0


@pytest.mark.parametrize(
    ("times", "field"), [({"start_time": -0.1}, "start_time"), ({"start_time": 5.0, "end_time": 4.9}, "end_time")]
)
def test_a_turn_with_impossible_times_is_refused(times: dict[str, float], field: str) -> None:
    error = refusal(record(rows=[row(1, **times)]))
    assert error.field == f"rows with row_index 1: {field}"


def test_missing_times_are_null_and_flagged() -> None:
    untimed = row(1)
    del untimed["start_time"]
    turns = parse(record(rows=[untimed, row(2, end_time=None)])).turns
    assert [turn["flags"] for turn in turns] == [["no_time"], ["no_time"]]


@pytest.mark.parametrize("target", [[], None, [""]])
def test_an_empty_target_is_accepted_and_flagged(target: list[str] | None) -> None:
    assert parse(record(rows=[row(1, target=target)])).turns[0]["flags"] == ["empty_target"]


def test_a_turn_of_100000_characters_is_accepted_whole_and_flagged() -> None:
    words = "word " * 20_000
    turn = parse(record(rows=[row(1, dialogue_cleaned=words)])).turns[0]
    assert (turn["dialogue_cleaned"], turn["flags"]) == (words, ["long_turn"])


@pytest.mark.parametrize("broken", ["donâ€™t", "don\u00e2\u0080\u0099t", "cafÃ©", "don\ufffdt"])
@pytest.mark.parametrize("escaped", [True, False])
def test_mojibake_is_flagged_in_any_field_and_not_altered(broken: str, escaped: bool) -> None:
    made = record(rows=[row(1, relation_pattern_reason=broken), row(2)])
    first, second = parse_record(json.dumps(made, ensure_ascii=escaped)).turns
    assert (first["relation_pattern_reason"], first["flags"], second["flags"]) == (broken, ["mojibake"], [])


@pytest.mark.parametrize("text", ["café", "Ângela sagt „ja“", "naïve – don’t", "São Paulo", "(laughs) [CHUCKLES]"])
def test_good_text_is_not_taken_for_mojibake(text: str) -> None:
    assert parse(record(rows=[row(1, dialogue_cleaned=text)])).turns[0]["flags"] == []


def test_the_oddities_of_real_annotations_are_accepted() -> None:
    rows = [
        row(1, primary_speaker="Family", target=["Uma", "Vik"]),
        row(
            2,
            start_time=1.5,
            end_time=1.51,
            support_strategy=[{"provider": "Therapist", "target": ["Vik"], "strategy_type": "track"}],
        ),
        row(
            3,
            start_time=92.0,
            end_time=92.01,
            internal_emotion=[{"person": "Vik", "emotion_description": "at ease", "intensity": 3}],
        ),
        row(
            4,
            start_time=93,
            end_time=94,
            internal_emotion=[{"person": "Therapist", "intensity": 6.5}],
            relation_cycle_evidence_rows=[0, 1],
        ),
        row(5, start_time=94, end_time=95, primary_speaker="Father", viewpoints_attitudes=None, background_dialogue=[]),
        row(6, start_time=95, end_time=96, primary_speaker="Danah", dialogue_cleaned="(laughs) [CHUCKLES]"),
    ]
    parsed = parse(record("uma_and_vik_and_zoe/1", rows, participants=["Dana", "Danah", "Zoe"]))
    assert len(parsed.turns) == 6


def test_a_participant_declared_twice_or_without_a_name_counts_once_or_not() -> None:
    assert parse(record(participants=["Uma", "Vik", "Uma", " "])).sample["participants"] == ["Uma", "Vik"]
