"""The baselines: what they may know, and what they answer from it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rescue_pipeline.llm import Partition, Workspace
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.baselines.gold import GoldTable
from rescue_pipeline.llm.baselines.lexical_judge import grade, overlap
from rescue_pipeline.llm.baselines.provider import NO_OTHER_GROUP, Knowledge
from rescue_pipeline.llm.baselines.rules import heuristic, majority
from rescue_pipeline.llm.planning import Renderer
from rescue_pipeline.schemas import TASKS, Responses
from tests.llm.world import COUPLES, FAMILIES, World

MODELS = ("uniform", "majority", "heuristic", "lexical")


def knowledge(world: World, folder: Path) -> Knowledge:
    return Knowledge(world.write(folder).corpus)


def answers_of(known: Knowledge, model: str, group: str) -> dict[str, Any]:
    return {
        key: known.answer(model, {"instance_id": key, "modality": "audio"}, seed=7)[0]
        for key, question in known.gold.questions.items()
        if question.group == group
    }


def reversed_gold(row: dict[str, Any]) -> str:
    """A gold answer of the same form that says something else."""
    gold = json.loads(row["gold"])
    match row["task"]:
        case "itp":
            gold["should_speak"] = "no" if gold["should_speak"] == "yes" else "yes"
        case "rpp":
            gold["relation_pattern"] = row["candidates"][0]
        case "stp":
            gold["target"] = row["candidates"][-1]
        case "ssp":
            gold["strategy"] = row["candidates"][-1]
        case "er":
            gold = {"emotion": "planted", "intensity": 10}
        case "vp":
            gold["viewpoints"] = [
                {"source": row["speaker"], "target": "Therapist", "viewpoint": "planted", "attitude": "x"}
            ]
    return json.dumps(gold)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("group", [COUPLES[0], FAMILIES[1]])
def test_no_baseline_sees_the_gold_of_the_group_it_answers_for(tmp_path: Path, model: str, group: str) -> None:
    world = World(sessions_per_group=2)
    before = answers_of(knowledge(world, tmp_path), model, group)
    changed = World(sessions_per_group=2)
    for row in changed.instances:
        if row["session_group"] == group:
            row["gold"] = reversed_gold(row)
    assert [row["gold"] for row in changed.instances] != [row["gold"] for row in world.instances]
    assert answers_of(knowledge(changed, tmp_path), model, group) == before


def test_asking_for_the_own_groups_gold_is_an_error(tmp_path: Path) -> None:
    gold = GoldTable(World(sessions_per_group=2).write(tmp_path).corpus)
    of_group = [question for question in gold.questions.values() if question.group == COUPLES[0]]
    with pytest.raises(ValueError, match="the group it answers for"):
        gold.gold_of_other(of_group[0], of_group[1])


def test_a_baseline_is_handed_the_instance_without_its_gold(tmp_path: Path) -> None:
    for question in knowledge(World(), tmp_path).gold.questions.values():
        assert "gold" not in question.instance


@pytest.mark.parametrize("model", ["majority", "lexical"])
def test_other_groups_gold_does_matter(tmp_path: Path, model: str) -> None:
    before = answers_of(knowledge(World(), tmp_path), model, COUPLES[0])
    changed = World()
    for row in changed.instances:
        if row["session_group"] != COUPLES[0]:
            row["gold"] = reversed_gold(row)
    assert answers_of(knowledge(changed, tmp_path), model, COUPLES[0]) != before


@pytest.mark.parametrize("model", ["majority", "heuristic", "lexical"])
def test_without_another_group_it_says_so_and_answers_by_chance(
    tmp_path: Path, model: str, caplog: pytest.LogCaptureFixture
) -> None:
    workspace = World(groups=(COUPLES[0], FAMILIES[0])).write(tmp_path)
    with caplog.at_level(logging.WARNING):
        ask_partitions(workspace, [Partition(model, "dialogue"), Partition("uniform", "dialogue")], TASKS)
    for task in TASKS:
        rows = workspace.lake.read(f"responses_{task}", Responses)
        by_model = {name: frame.sort("sent_at")["content"].to_list() for (name,), frame in rows.group_by("model")}
        said = set(rows.filter(model=model)["system_fingerprint"])
        if model == "heuristic" and task in ("itp", "stp"):
            assert said == {None}
        else:
            assert said == {NO_OTHER_GROUP}
            assert sorted(by_model[model]) == sorted(by_model["uniform"])
    told = [record.getMessage() for record in caplog.records if "by chance" in record.getMessage()]
    assert len(told) == len(set(told))
    assert len(told) == (8 if model == "heuristic" else 12)


def test_uniform_depends_on_the_seed_and_on_nothing_else(tmp_path: Path) -> None:
    known = knowledge(World(), tmp_path)
    key = next(key for key in known.gold.questions if key.startswith("ssp"))
    one, same, other = (
        known.answer("uniform", {"instance_id": key, "modality": "audio"}, seed)[0] for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_majority_counts_other_groups_and_breaks_ties_by_the_benchmarks_order(tmp_path: Path) -> None:
    world = World(groups=COUPLES)
    for row in world.instances:
        gold = json.loads(row["gold"])
        if row["task"] == "ssp":
            gold["strategy"] = "repair" if row["session_group"] == COUPLES[1] else "enact"
        if row["task"] == "er":
            gold = {"emotion": "calm" if row["row_index"] > 2 else "tense", "intensity": row["row_index"]}
        row["gold"] = json.dumps(gold)
    gold = GoldTable(world.write(tmp_path).corpus)

    def first(task: str, group: str) -> dict[str, Any]:
        return majority(next(q for q in gold.questions.values() if (q.task, q.group) == (task, group)), gold)

    assert first("ssp", COUPLES[1])["strategy_top3"][0] == "enact"
    order = gold.corpus.instances[next(key for key in gold.questions if key.startswith("ssp"))]["candidates"]
    tied = first("ssp", COUPLES[0])["strategy_top3"]
    assert tied[:2] == sorted(["enact", "repair"], key=order.index)
    assert first("er", COUPLES[0]) == {"emotion": "calm", "intensity": 5}


def test_the_heuristic_names_the_last_client_then_the_others_then_the_group(tmp_path: Path) -> None:
    gold = GoldTable(World().write(tmp_path).corpus)
    question = next(q for q in gold.questions.values() if q.task == "stp" and q.scenario == "couple")
    turns = gold.corpus.turns_of(question.instance["sample_id"])
    before = [turn["speaker"] for turn in turns if turn["row_index"] < question.instance["row_index"]]
    last = next(name for name in reversed(before) if name != "Therapist")
    other = next(name for name in question.session["participants"] if name != last)
    assert heuristic(question, gold) == {"target_top3": [last, other, "Couple"]}
    timing = next(q for q in gold.questions.values() if q.task == "itp")
    assert heuristic(timing, gold) == {"should_speak": "yes"}


def test_lexical_takes_the_gold_of_the_most_similar_question_elsewhere(tmp_path: Path) -> None:
    world = World(groups=COUPLES)
    twin = {"ana_and_bo": "the violin broke", "cem_and_dee": "the violin broke", "eva_and_fin": "pepper in the soup"}
    for turn in world.turns:
        turn["dialogue"] = twin[turn["sample_id"].split("/")[0]]
    for row in world.instances:
        if row["task"] == "er":
            row["gold"] = json.dumps({"emotion": f"felt by {row['session_group']}", "intensity": 4})
    answers = answers_of(knowledge(world, tmp_path), "lexical", "ana_and_bo")
    assert {a["emotion"] for key, a in answers.items() if key.startswith("er")} == {"felt by cem_and_dee"}


def test_lexical_reads_the_cues_of_the_modality_only(tmp_path: Path) -> None:
    world = World(groups=COUPLES)
    tones = {"ana_and_bo": "shrill", "cem_and_dee": "flat", "eva_and_fin": "shrill"}
    for turn in world.turns:
        group = turn["sample_id"].split("/")[0]
        turn["dialogue"], turn["tone_of_voice"] = "word" if group != "eva_and_fin" else "word again", tones[group]
    for row in world.instances:
        if row["task"] == "er":
            row["gold"] = json.dumps({"emotion": row["session_group"], "intensity": 4})
    known = knowledge(world, tmp_path)
    key = next(key for key, q in known.gold.questions.items() if q.task == "er" and q.group == "ana_and_bo")
    heard = {
        m: known.answer("lexical", {"instance_id": key, "modality": m}, 7)[0]["emotion"] for m in ("dialogue", "audio")
    }
    assert heard == {"dialogue": "cem_and_dee", "audio": "eva_and_fin"}


def test_the_same_run_twice_gives_the_same_answers(tmp_path: Path) -> None:
    for model in MODELS:
        one = answers_of(knowledge(World(), tmp_path / "a"), model, COUPLES[0])
        assert one == answers_of(knowledge(World(), tmp_path / "b"), model, COUPLES[0])


def test_only_metadata_tells_a_baseline_which_instance_it_is(workspace: Workspace) -> None:
    renderer = Renderer(workspace, Partition("uniform", "dialogue"))
    for instance in workspace.corpus.instances.values():
        request = renderer.request(instance)
        assert request.metadata is not None
        assert set(request.metadata) == {"instance_id", "session_group", "modality", "corpus"}
        assert instance["instance_id"] not in json.dumps(request.messages)


@pytest.mark.parametrize(
    ("one", "other", "value"),
    [("a b", "a b", 1.0), ("a b", "A B!", 1.0), ("a b", "c", 0.0), ("a b", "a c", 0.5), ("", "", 0.0), ("a", "", 0.0)],
)
def test_overlap_is_the_f1_of_two_sets_of_words(one: str, other: str, value: float) -> None:
    assert overlap(one, other) == value


def test_the_lexical_judge_grades_by_its_fixed_rule() -> None:
    def view(source: str, target: str, text: str) -> dict[str, str]:
        return {"source": source, "target": target, "viewpoint": text}

    er: Callable[[str, str], int] = lambda gold, said: grade("er", {"emotion": gold}, {"emotion": said})["similarity"]  # noqa: E731
    assert (er("hurt and tense", "hurt and tense"), er("hurt", "calm"), er("hurt tense", "hurt calm")) == (5, 1, 3)
    gold = {"viewpoints": [view("A", "B", "leaves too early"), view("A", "C", "is kind")]}
    said = {"viewpoints": [view("A", "B", "leaves too early"), view("B", "A", "is kind")]}
    assert grade("vp", gold, said) == {"reason": "words in common", "pairing": 1, "content": 2, "similarity": 3}
    assert grade("vp", gold, gold) == {"reason": "words in common", "pairing": 2, "content": 4, "similarity": 5}
