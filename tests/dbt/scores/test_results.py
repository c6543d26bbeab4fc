"""What the report reads: shape, counts, and what may stand beside the paper's figures."""

from __future__ import annotations

import polars as pl
import pytest

from tests.dbt.project import Dbt
from tests.dbt.scores.lake import VERSION, of, table
from tests.dbt.scores.tiny import DISTILBERT


def test_the_leaderboard_has_one_row_per_model_and_scenario_in_the_papers_shape(published: Dbt) -> None:
    leaderboard = table(published, "results.leaderboard")
    good = of(leaderboard, model="good", scenario="both").row(0, named=True)
    expected = {
        "itp_f1": 2 / 3,
        "rpp_accuracy_paper_base": 1 / 2,
        "rpp_macro_f1": None,
        "stp_mrr": 2 / 3,
        "er_judge": 3.5,
        "er_intensity_match": 4.0,
        "er_score": 3.75,
        "er_bertscore_f1": 0.7,
        "vp_judge_total": 5.0,
        "vp_bertscore_f1": None,
        "er_lexical_judge": 2.0,
        "vp_lexical_judge": None,
        "judge": "jury",
        "bertscore": DISTILBERT,
        "n_planned": 11,
        "n_failed": 0,
        "complete": True,
    }
    assert {name: good[name] for name in expected} == pytest.approx(expected)
    assert of(leaderboard, scenario="family")["model"].sort().to_list() == ["down", "flaky", "good"]


def test_a_model_that_only_failed_to_connect_has_a_row_without_a_figure(published: Dbt) -> None:
    down = of(table(published, "results.leaderboard"), model="down", scenario="both").row(0, named=True)
    figures = [name for name in down if name.startswith(("itp_", "rpp_", "stp_", "ssp_", "er_", "vp_"))]
    assert {down[name] for name in figures} == {None}
    assert (down["n_planned"], down["n_failed"], down["n_unanswered"], down["complete"]) == (11, 0, 11, False)


def test_only_complete_and_defined_figures_stand_beside_the_paper(published: Dbt) -> None:
    long = of(table(published, "results.leaderboard_long"), scenario="couple")
    said = {
        (model, scorer, task, metric): comparable
        for model, scorer, task, metric, comparable in long.select(
            "model", "scorer", "task", "metric", "comparable"
        ).iter_rows()
    }
    assert said["good", "none", "itp", "f1"] == "assumed"
    assert said["good", "none", "rpp", "accuracy_paper_base"] == "assumed"
    assert said["good", DISTILBERT, "er", "bertscore_f1"] == "assumed"
    assert said["good", "jury", "vp", "judge"] == "no"
    assert said["good", "lexical-judge", "er", "judge"] == "no"
    assert said["flaky", "none", "rpp", "accuracy_paper_base"] == "no"  # one question is open
    assert {said["good", "none", "rpp", metric] for metric in ("accuracy", "mrr", "macro_f1")} == {None}
    assert long.filter(pl.col("comparable").is_null() != pl.col("comparable_reason").is_null()).is_empty()


def test_on_another_corpus_nothing_is_comparable(republished_as_other_data: Dbt) -> None:
    for name in ("leaderboard_long", "dataset_statistics", "task_instances"):
        assert set(table(republished_as_other_data, f"results.{name}")["comparable"].drop_nulls()) == {"no"}
    assert not table(republished_as_other_data, "results.reference_results")["shown_with_ours"].any()


def test_the_papers_figures_are_fractions_named_as_ours(published: Dbt) -> None:
    figures = table(published, "results.reference_results")
    assert figures.height == 10 * 12 * 3
    assert figures["shown_with_ours"].all()
    kimi = of(figures, model="Kimi K2.5", scenario="family", task="rpp")
    assert kimi.select("metric", "value", "place").rows() == [("accuracy_paper_base", 0.4938, "Table 11")]
    ours = table(published, "results.leaderboard_long").select("task", "metric").unique()
    assert figures.select("task", "metric").unique().join(ours, on=["task", "metric"], how="anti").rows() == [
        ("vp", "bertscore_f1")  # nobody scored it here
    ]


def test_failures_are_counted_by_status_and_add_up_to_the_plan(published: Dbt) -> None:
    failures = table(published, "results.failures")
    flaky = of(failures, model="flaky", task="rpp", scenario="couple").select("status", "n", "n_planned", "share")
    assert sorted(flaky.rows()) == [("api_error", 1, 2, 0.5), ("ok", 1, 2, 0.5)]
    assert of(failures, model="retried").select("status", "n").rows() == [("ok", 1)]


def test_answers_that_were_cut_while_reasoning_are_counted_apart(published: Dbt) -> None:
    failures = of(table(published, "results.failures"), model="repeated", protocol="epochs-2", status="truncated")
    columns = ("n", "n_planned", "n_cut_in_reasoning", "n_cut_in_answer", "share_cut_in_reasoning")
    assert failures.select(columns).rows() == [(1, 4, 1, 0, 0.25)]


def test_a_question_asked_twice_is_one_question_of_the_leaderboard(published: Dbt) -> None:
    row = of(table(published, "results.leaderboard"), model="repeated", protocol="epochs-2", scenario="both")
    assert row.select("itp_f1", "n_planned", "n_failed", "n_unanswered").rows() == [(0.5, 2, 1, 0)]


def test_what_repeats_differ_by_is_published_where_there_are_any(published: Dbt) -> None:
    spread = of(table(published, "results.epoch_spread"), scenario="both")
    columns = ("model", "protocol", "metric", "mean_deviation", "share_differing", "n", "n_repeats")
    assert spread.select(columns).rows() == [("repeated", "epochs-2", "accuracy", pytest.approx(0.5**0.5), 1.0, 2, 2)]


def test_a_protocol_is_published_with_its_difference_to_clean(published: Dbt) -> None:
    effects = of(table(published, "results.protocol_effects"), scenario="both")
    columns = ("model", "protocol", "metric", "value", "value_clean", "difference", "n", "ci_low", "no_interval")
    assert effects.select(columns).rows() == [
        ("repeated", "epochs-2", "f1", 0.5, 0.0, 0.5, 2, None, "fewer than ten session groups")
    ]


def test_a_failed_answer_is_confused_with_nothing(published: Dbt) -> None:
    confusions = of(table(published, "results.confusions"), model="flaky", task="itp")
    assert sorted(confusions.select("gold_label", "predicted_label", "n").rows()) == [("no", "no", 1), ("yes", None, 1)]


def test_lineage_leads_from_a_question_to_the_journal_and_the_source(published: Dbt) -> None:
    lineage = of(table(published, "results.lineage"), model="good", task="vp").row(0, named=True)
    expected = {
        "response_status": "ok",
        "segment": "s1",
        "parser_version": "1",
        "template_sha256": "t",
        "judges": ["jury"],
        "source_path": "ana_and_lou/001.json",
        "source_line": 1,
        "record_sha256": "r",
    }
    assert {name: lineage[name] for name in expected} == expected


def test_usage_counts_what_failed_and_does_not_guess_a_price(published: Dbt) -> None:
    usage = of(table(published, "results.usage"), model="retried", task="ssp").row(0, named=True)
    counts = ("purpose", "requests", "finals", "attempts", "cost_usd", "seconds_total")
    assert tuple(usage[name] for name in counts) == ("answer", 3, 3, 3 + 5, 0.0, 2.0)


def test_a_task_without_instances_is_a_row_of_zero(published: Dbt) -> None:
    counted = of(table(published, "results.task_instances"), task="itp")
    columns = ("scenario", "n_instances", "n_samples", "paper_instances", "comparable")
    assert sorted(counted.select(columns).rows()) == [("couple", 2, 2, 2722, "yes"), ("family", 0, 0, 284, "yes")]


def test_dataset_statistics_are_those_counted_by_hand(published: Dbt) -> None:
    statistics = of(table(published, "results.dataset_statistics"), corpus_version=VERSION)
    both = dict(of(statistics, scenario="both").select("statistic", "value").rows())
    assert both == pytest.approx(
        {
            "samples": 3,
            "duration_minutes": 4.5,
            "turns": 9,
            "mean_duration_minutes": 1.5,
            "mean_turns": 3,
            "mean_speakers": (3 + 2 + 2) / 3,
            "therapist_turn_share_percent": 100 * 4 / 9,
        }
    )


def test_every_label_of_a_set_is_in_the_distribution(published: Dbt) -> None:
    labels = of(table(published, "results.label_distribution"), task="rpp", scenario="family")
    assert sorted(labels.select("label", "n", "share").rows()) == [
        ("escalation_conflict", 0, 0.0),
        ("pursue_withdraw", 1, 1.0),
    ]
