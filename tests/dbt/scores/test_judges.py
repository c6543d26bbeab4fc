"""Several judges: each is a scorer of its own, one is the headline's, and controls stay out of every score."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.dbt.project import Dbt
from tests.dbt.scores.lake import SCORED_LAYERS, VERSION, WITHOUT_UNIT_TESTS, ScoredLake, of, publish_metrics, table

JUDGES = {"alpha": 3, "beta": 2, "kin": 1}
"""With their place in the registry."""


def _judged(lake: ScoredLake, question: dict[str, Any], judge: str, grade: int | None, **more: Any) -> None:
    lake.add(
        "judgements_er",
        **{**question, "request_id": f"{judge}/{question['request_id']}"},
        judge=judge,
        judge_generation=1,
        judge_kind="llm",
        judge_rank=JUDGES[judge],
        status="ok" if grade else "judge_failed",
        similarity=grade,
        same_vendor=more.get("same_vendor", False),
    )


def _control(lake: ScoredLake, control: str, repeat: int, grade: int, instance: str = "er:s/1:1") -> None:
    lake.add(
        "judge_controls_er",
        corpus_version=VERSION,
        task="er",
        control=control,
        instance_id=instance,
        first_request_id=f"{control}/{instance}",
        request_id=f"{control}/{instance}/{repeat}",
        repeat=repeat,
        judge="alpha",
        judge_generation=1,
        judge_kind="llm",
        status="ok",
        similarity=grade,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Dbt:
    lake = ScoredLake()
    session = {"corpus_version": VERSION, "sample_id": "s/1", "scenario": "couple", "session_group": "s"}
    lake.add("sessions", **session, participants=[], n_turns=2, duration_seconds=9.0, source_path="s", source_line=1,
             source_sha256="f", record_sha256="r")  # fmt: skip
    instances = [
        {**session, "instance_id": f"er:s/1:{row}", "task": "er", "row_index": row, "speaker": "Ana"} for row in (1, 2)
    ]
    for instance in instances:
        lake.add("instances", **instance, position=0.5, gold='{"emotion": "calm", "intensity": 5}', candidates=None)
    answers = {
        model: [lake.ask(model, instance, "ok", {"emotion": "glad", "intensity": 5}) for instance in instances]
        for model in ("free", "related")
    }
    first, second = answers["free"]
    for question, grades in ((first, (None, 4, 5)), (second, (2, 3, 5))):
        for judge, grade in zip(JUDGES, grades, strict=True):
            _judged(lake, question, judge, grade)
    for question in answers["related"]:
        _judged(lake, question, "kin", 5, same_vendor=True)
    for repeat, grade in ((1, 4), (2, 4), (3, 5)):
        _control(lake, "repeat", repeat, grade)
    _control(lake, "gold", 1, 5)
    for control, f1 in (("gold", 1.0), ("shuffled", 0.5)):
        pair = {"instance_id": "er:s/1:1", "pair_sha256": control, "scorer": "b", "is_cut": False}
        lake.add("bertscore_controls_er", corpus_version=VERSION, task="er", control=control, f1=f1, **pair)
    folder = tmp_path_factory.mktemp("judges")
    dbt = lake.write(folder)
    _build(dbt, *SCORED_LAYERS)
    publish_metrics(dbt)
    _build(dbt, "--select", "leaderboard_long", "leaderboard")
    return dbt


def _build(dbt: Dbt, *selected: str) -> None:
    build = dbt.run("build", *selected, *WITHOUT_UNIT_TESTS)
    assert build.returncode == 0, build.stdout[-5000:]


def test_a_failed_judge_makes_its_own_cell_incomplete_and_no_other(built: Dbt) -> None:
    long = of(table(built, "results.leaderboard_long"), model="free", metric="judge", scenario="both")
    found = {row["scorer"]: (row["value"], row["n"], row["complete"]) for row in long.to_dicts()}
    assert found == {"alpha": (2.0, 1, False), "beta": (3.5, 2, True), "kin": (5.0, 2, True)}
    bounds = of(long, scorer="alpha").select("bound_low", "bound_high").row(0)
    assert bounds == (1.5, 3.5)


def test_the_headline_is_the_first_judge_of_the_registry_that_graded_everything(built: Dbt) -> None:
    free = of(table(built, "results.leaderboard"), model="free", scenario="both").row(0, named=True)
    assert (free["judge"], free["er_judge"], free["same_vendor"]) == ("kin", 5.0, False)


def test_a_judge_of_the_models_vendor_is_in_the_long_table_but_in_no_headline(built: Dbt) -> None:
    long = of(table(built, "results.leaderboard_long"), model="related", metric="judge", scenario="both")
    assert long.select("scorer", "value", "same_vendor").rows() == [("kin", 5.0, True)]
    related = of(table(built, "results.leaderboard"), model="related", scenario="both").row(0, named=True)
    assert (related["judge"], related["er_judge"], related["er_score"], related["same_vendor"]) == (
        None,
        None,
        None,
        True,
    )
    assert related["er_intensity_match"] == 5.0


def test_gradings_carry_the_vendor(built: Dbt) -> None:
    gradings = table(built, "scores.gradings").group_by("model", "scorer").agg(pl.col("same_vendor").unique().first())
    assert sorted(gradings.filter("same_vendor").select("model", "scorer").rows()) == [("related", "kin")]


def test_agreement_counts_what_both_judges_graded(built: Dbt) -> None:
    agreement = table(built, "results.judge_agreement")
    pairs = {(row["judge"], row["other_judge"]): row["n"] for row in agreement.to_dicts()}
    assert pairs == {("alpha", "beta"): 1, ("alpha", "kin"): 1, ("beta", "kin"): 2}


def test_controls_and_repeats_are_in_no_grading(built: Dbt) -> None:
    assert table(built, "scores.gradings").height == 2 * 3 + 2
    rows = table(built, "results.judge_trust").to_dicts()
    trust = {row["control"]: row for row in rows if row["scorer"] == "alpha"}
    assert {row["control"]: row["mean"] for row in rows if row["scorer"] == "b"} == {"gold": 1, "shuffled": 0.5}
    assert trust["gold"]["mean"] == 5
    assert trust["gold"]["share_at_extreme"] == 1
    assert trust["repeat"]["mean_within_sd"] == pytest.approx(0.577, abs=1e-3)
    assert trust["repeat"]["share_identical"] == 0
