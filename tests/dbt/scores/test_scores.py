"""From plan and answers to scores: every planned question is scored once, and failures count."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

from rescue_pipeline.bundle import DBT_PROJECT
from tests.dbt.project import Dbt
from tests.dbt.scores.lake import SCORED_LAYERS, WITHOUT_UNIT_TESTS, ScoredLake, of, publish_metrics, table, tables


def test_every_planned_question_has_one_status_and_they_add_up_to_the_plan(scored: Dbt) -> None:
    items = table(scored, "scores.items")
    plan = table(scored, "predictions.plan")
    assert items.height == plan.height == 3 * 11 + 3 + 6
    flaky = dict(of(items, model="flaky").group_by("status").len().rows())
    failures = ["refused", "out_of_set", "truncated", "empty", "unparseable"]
    assert flaky == {"ok": 4, "api_error": 1, "not_run": 1, **dict.fromkeys(failures, 1)}


def test_a_failed_request_never_scores_as_correct(scored: Dbt) -> None:
    items = table(scored, "scores.items").filter(~pl.col("status").is_in(["ok", "api_error", "not_run"]))
    assert not items["correct"].any()
    assert items["reciprocal_rank"].drop_nulls().sum() == 0
    assert items["intensity_match"].drop_nulls().to_list() == [1.0]


def test_a_retried_question_is_scored_in_its_newest_complete_try(scored: Dbt) -> None:
    epochs = of(table(scored, "scores.items"), model="retried").select("epoch", "status", "correct", "scored")
    assert sorted(epochs.rows()) == [
        ("1", "refused", False, False),
        ("1.2", "ok", True, True),
        ("canary-2026-02-01", "ok", False, False),
    ]


def test_every_repeat_is_scored_and_its_item_is_their_mean(scored: Dbt, metrics: pl.DataFrame) -> None:
    repeats = of(table(scored, "scores.items"), model="repeated", protocol="epochs-2")
    assert sorted(repeats.select("epoch", "repeat_number", "correct", "scored").rows()) == [
        ("1", 1, False, True),
        ("1", 1, True, True),
        ("2", 2, False, True),
        ("2", 2, True, True),
    ]
    accuracy = of(metrics, model="repeated", protocol="epochs-2", metric="accuracy", scenario="couple")
    assert accuracy.select("value", "n", "n_planned", "n_repeats", "n_failed", "complete").rows() == [
        (0.5, 2, 2, 2, 1, True)
    ]


def test_the_final_response_to_a_request_counts_even_if_a_later_one_broke_off(scored: Dbt) -> None:
    responses = of(table(scored, "predictions.responses"), model="retried", epoch="1.2")
    assert responses.select("status", "segment").rows() == [("ok", "s1")]


def test_an_answer_that_two_corpus_versions_share_is_read_once_by_the_newest_parser(scored: Dbt) -> None:
    answers = of(table(scored, "predictions.answers"), model="good", task="itp")
    assert answers.select("status", "parser_version").rows() == [("ok", "1")] * 2


def test_answers_are_graded_by_every_scorer_of_their_cell(scored: Dbt) -> None:
    grades = of(table(scored, "scores.gradings"), model="flaky")
    assert sorted(grades.select("instance_id", "scorer", "grading_status", "judge").rows()) == [
        ("er:ana_and_lou/001:3", "jury", "ok", 1.0),  # the answer was empty
        ("er:dov_and_mia/002:1", "jury", "judge_failed", None),
        ("vp:ana_and_lou/001:1", "jury", "ok", 1.0),  # no answer could be read, so nobody was asked
    ]


def test_the_metrics_of_a_complete_model_are_those_worked_out_by_hand(scored: Dbt, metrics: pl.DataFrame) -> None:
    found = {
        (task, metric): value
        for task, metric, value in of(metrics, model="good", scenario="couple")
        .filter(pl.col("scorer") != "lexical-judge")
        .select("task", "metric", "value")
        .iter_rows()
    }
    assert found == pytest.approx(
        {
            ("itp", "precision"): 1 / 2,
            ("itp", "recall"): 1,
            ("itp", "f1"): 2 / 3,
            ("itp", "accuracy"): 1 / 2,
            ("rpp", "accuracy"): 1 / 2,
            ("rpp", "accuracy_paper_base"): 1 / 3,
            ("rpp", "mrr"): 3 / 4,
            ("rpp", "macro_f1"): 1 / 3,
            ("stp", "recall_at_1"): 1,
            ("stp", "recall_at_2"): 1,
            ("stp", "recall_at_3"): 1,
            ("stp", "mrr"): 1,
            ("ssp", "recall_at_1"): 0,
            ("ssp", "recall_at_2"): 1,
            ("ssp", "recall_at_3"): 1,
            ("ssp", "mrr"): 1 / 2,
            ("er", "intensity_match"): 4,
            ("er", "judge"): 3.5,
            ("er", "er_score"): 3.75,
            ("er", "bertscore_f1"): 0.7,
            ("vp", "judge"): 4,
            ("vp", "pairing"): 2,
            ("vp", "content"): 3,
            ("vp", "judge_total"): 5,
        }
    )
    assert of(metrics, model="good")["complete"].all()


def test_both_scenarios_are_pooled_and_a_scenario_without_questions_has_no_row(metrics: pl.DataFrame) -> None:
    good = of(metrics, model="good")
    assert of(good, scenario="both", task="rpp", metric="accuracy_paper_base")["value"].to_list() == [2 / 4]
    assert of(good, scenario="both", task="stp", metric="mrr")["value"].to_list() == pytest.approx([2 / 3])
    assert of(good, scenario="family", task="itp").is_empty()


def test_an_empty_lake_builds_every_table_without_rows(tmp_path: Path) -> None:
    dbt = ScoredLake().write(tmp_path)
    build = dbt.run("build", *SCORED_LAYERS, *WITHOUT_UNIT_TESTS)
    assert build.returncode == 0, build.stdout[-5000:]
    assert publish_metrics(dbt).is_empty()
    filled = [name for name in tables(dbt) if not table(dbt, name).is_empty()]
    assert filled == ["results.reference_results"]


@pytest.mark.parametrize("layer", ["predictions", "scores", "results"])
def test_every_model_says_its_grain_in_a_file_beside_it(layer: str) -> None:
    models = sorted((DBT_PROJECT / "models" / layer).glob("*.sql"))
    assert models
    for model in models:
        declared = yaml.safe_load(model.with_suffix(".yml").read_text(encoding="utf-8"))["models"]
        assert [entry["name"] for entry in declared] == [model.stem]
        assert declared[0]["description"].startswith("One row per ")
