"""`rescue compare` on a published database that is made here: names, tables, forms, and what cannot be compared."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from tests.cli.conftest import Rescue
from tests.metrics.frames import gradings, instances_of, items, ranking, timing

GROUPS = 12


def _asked(**run: Any) -> list[dict[str, Any]]:
    """Two dozen questions of two tasks in a dozen couples; `right` is how many of each are answered well."""
    right = run.pop("right", 12)
    return [
        {**question, "instance_id": f"{question['task']}:s:{place}", "session_group": f"couple {place % GROUPS}", **run}
        for place in range(24)
        for question in (
            timing("yes", "yes" if place < right else "no"),
            ranking("stp", 1 if place < right else 2),
        )
    ]


def _publish(root: Path, questions: pl.DataFrame, grades: pl.DataFrame) -> Path:
    root.mkdir()
    (root / "corpus.json").write_text(json.dumps({"corpus_id": "tiny", "path": "tiny.jsonl"}))
    tables = {"scores.items": questions, "scores.gradings": grades, "tasks.instances": instances_of(questions)}
    with duckdb.connect(str(root / "results.duckdb")) as connection:
        connection.execute("attach ':memory:' as other; create schema raw; create schema scores; create schema tasks")
        connection.execute("create table raw.corpus as select 'v1' as corpus_version")
        connection.execute("create table raw.samples as select 's' as sample_id")
        for name, frame in tables.items():
            connection.register("frame", frame)
            connection.execute(f"create table {name} as from frame")
    return root


@pytest.fixture
def data(tmp_path: Path) -> Path:
    questions = items(
        *_asked(model="good", right=24),
        *_asked(model="poor"),
        *_asked(model="poor", protocol="official", right=20),
        *_asked(model="poor", generation=2, right=15),
        *_asked(model="good", protocol="official", right=24),
        *_asked(model="elsewhere", protocol="imported", right=10),
        *_asked(model="small", right=3)[:6],
        *(row | {"status": "not_run", "correct": None} for row in _asked(model="silent")),
        *_asked(model="ancient", corpus_version="v0"),
    )
    return _publish(tmp_path / "published", questions, gradings())


def test_two_models_are_compared_question_by_question(rescue: Rescue, data: Path) -> None:
    said = rescue("compare", "good", "poor", data=data)
    assert said.code == 0
    lines = [line.split() for line in said.out.splitlines()]
    assert lines[:3] == [
        ["A", "good", "(generation", "1),", "dialogue,", "protocol", "clean"],
        ["B", "poor", "(generation", "2),", "dialogue,", "protocol", "clean"],
        ["Couples", "and", "families", "together"],
    ]
    # 15 of 24 right: F1 of "yes" = 30 / 39
    assert lines[4][:7] == ["itp", "F1", "of", "“yes”,", "%", "100.0", "76.9"]
    assert lines[4][-4:] == ["24", "12", "9", "0"]
    assert lines[5][:6] == ["stp", "Recall@1,", "%", "100.0", "62.5", "+37.5"]
    assert max(map(len, said.out.splitlines())) <= 100


def test_a_generation_may_be_named(rescue: Rescue, data: Path) -> None:
    said = rescue("compare", "good", "poor", "--generation", "1", "--json", data=data)
    (row,) = [row for row in json.loads(said.out) if row["metric"] == "recall_at_1"]
    assert (row["generation_b"], row["value_b"], row["difference"]) == (1, 0.5, 0.5)
    generations = rescue("compare", "2", "1", "--by", "generation", "--model", "poor", "--json", "-q", data=data)
    assert {row["difference"] for row in json.loads(generations.out) if row["metric"] == "recall_at_1"} == {3 / 24}


def test_protocols_are_compared_within_every_model_that_has_both(rescue: Rescue, data: Path) -> None:
    said = rescue("compare", "official", "clean", "--by", "protocol", "--csv", data=data)
    # poor's second generation was never asked under official
    rows = [row for row in csv.DictReader(io.StringIO(said.out)) if row["metric"] == "recall_at_1"]
    assert [(row["model_a"], row["protocol_a"], row["protocol_b"]) for row in rows] == [
        ("good", "official", "clean"),
        ("poor", "official", "clean"),
    ]
    assert [float(row["difference"]) for row in rows] == [0, pytest.approx(8 / 24)]
    assert [row["ci_low"] != "" for row in rows] == [True, True]


def test_imported_answers_are_compared_with_asked_ones(rescue: Rescue, data: Path) -> None:
    said = rescue("compare", "good", "elsewhere", data=data)
    assert "B  elsewhere (generation 1), dialogue, protocol imported" in said.out


def test_few_groups_and_left_out_questions_are_said_in_words(rescue: Rescue, data: Path) -> None:
    said = rescue("compare", "good", "small", data=data)
    assert "no interval: fewer than ten session groups (itp, stp)" in said.out
    assert "left out: itp: 21 asked of one side only" in said.out
    assert said.out.splitlines()[4].split()[-5:] == ["none", "3", "3", "0", "0"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["good", "nobody"], "nobody"),
        (["good", "ancient"], "ancient"),
        (["good", "good"], "good twice"),
        (["official", "renamed", "--by", "protocol"], "renamed"),
        (["good", "poor", "--protocol", "renamed"], "renamed"),
        (["good", "poor", "--modality", "audio"], "audio"),
        (["good", "small", "--protocol", "official"], "protocol official"),
        (["good", "poor", "--model", "good"], "at once"),
        (["imported", "clean", "--by", "protocol"], "both protocol imported and clean"),
        (["good", "silent"], "silent (generation 1)"),
        (["good", "poor", "--csv", "--json"], "--csv and --json"),
    ],
)
def test_what_cannot_be_compared_exits_2_and_says_why(
    rescue: Rescue, data: Path, arguments: list[str], found: str
) -> None:
    said = rescue("compare", *arguments, "-q", data=data)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert found in said.err


def test_long_names_of_models_and_judges_fit_100_columns(rescue: Rescue, tmp_path: Path) -> None:
    answer = {"task": "er", "gold_intensity": 5.0, "intensity_match": 5.0, "instance_id": "er:s:1"}
    mark = {"task": "er", "judge": 4.0, "intensity_match": 5.0, "er_score": 4.5, "instance_id": "er:s:1"}
    names = ["a-model-with-a-long-name" * 3, "b"]
    data = _publish(
        tmp_path / "long",
        items(*({**answer, "model": name} for name in names)),
        gradings(*({**mark, "model": name, "scorer": "a-judge-with-a-long-name" * 3} for name in names)),
    )
    said = rescue("compare", *names, data=data)
    table = [line for line in said.out.splitlines() if not line.startswith(("A  ", "B  "))]
    assert max(map(len, table)) <= 100
    assert "4.00" in said.out
