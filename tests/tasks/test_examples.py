"""Worked examples come from other session groups, and say nothing but the form."""

from __future__ import annotations

import json

import pytest

from rescue_pipeline.errors import UsageError
from rescue_pipeline.schemas import TASKS
from rescue_pipeline.tasks.examples import EXAMPLE_REASON, ExamplePool, example_answer
from rescue_pipeline.tasks.parsing import parse_answer
from rescue_pipeline.tasks.spec import load_protocol, load_tasks
from tests.tasks.invented import GOLD, instance, session

SPECS = load_tasks()
THREE = load_protocol("few-shot-3")


def rows(groups: int, each: int = 4) -> list[dict[str, object]]:
    return [
        instance("itp", row, instance_id=f"itp:{group}:{row}", session_group=f"group {group}")
        for group in range(groups)
        for row in range(1, each + 1)
    ]


@pytest.mark.parametrize("task", TASKS)
def test_an_example_is_answered_with_its_gold_in_the_form_that_is_asked_for(task: str) -> None:
    row = instance(task, gold=json.dumps({**GOLD[task], "intensity": 6.5}) if task == "er" else json.dumps(GOLD[task]))
    answer = example_answer(SPECS[task], row, session())
    assert list(answer) == ["reason", *SPECS[task].answer_model.model_fields]
    assert answer["reason"] == EXAMPLE_REASON
    parsed = parse_answer(task, row, session(), json.dumps(answer))
    assert (parsed.status, parsed.flags) == ("ok", [])
    best = [value[0] if isinstance(value, list) else value for key, value in answer.items() if key != "reason"]
    gold = list(GOLD[task].values())
    assert best[0] == {k: v for k, v in gold[0][0].items() if k != "attitude"} if task == "vp" else best[0] == gold[0]
    if task == "er":
        assert answer["intensity"] == 6


def test_the_ranks_below_the_gold_are_in_no_fixed_order() -> None:
    below = {
        tuple(example_answer(SPECS["ssp"], instance("ssp", instance_id=f"ssp:x:{n}"), session())["strategy_top3"][1:])
        for n in range(12)
    }
    assert len(below) > 6


def test_no_example_is_of_the_questions_own_group() -> None:
    pool = ExamplePool(rows(3))
    for row in rows(3):
        found = pool.of(SPECS["itp"], THREE, row)
        assert len({other["instance_id"] for other in found}) == 3
        assert row["session_group"] not in {other["session_group"] for other in found}
        assert found == pool.of(SPECS["itp"], THREE, row)


def test_questions_differ_in_their_examples() -> None:
    pool = ExamplePool(rows(4))
    assert len({tuple(o["instance_id"] for o in pool.of(SPECS["itp"], THREE, row)) for row in rows(4)}) > 4


def test_the_order_of_the_corpus_does_not_matter() -> None:
    asked = rows(3)[0]
    assert ExamplePool(rows(3)).of(SPECS["itp"], THREE, asked) == ExamplePool(rows(3)[::-1]).of(
        SPECS["itp"], THREE, asked
    )


def test_too_few_questions_elsewhere_is_a_usage_error_that_names_the_scenario() -> None:
    asked = rows(2, each=2)
    with pytest.raises(UsageError, match="scenario couple"):
        ExamplePool(asked).of(SPECS["itp"], THREE, asked[0])
