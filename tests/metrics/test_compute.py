from __future__ import annotations

import polars as pl
import pytest

from rescue_pipeline.errors import RescueError
from rescue_pipeline.metrics import compute_metrics
from rescue_pipeline.schemas import Metrics
from tests.metrics.frames import (
    PATTERNS,
    gradings,
    instances_of,
    items,
    pattern,
    ranking,
    timing,
    unlabelled,
)


def _metrics(questions: pl.DataFrame, grades: pl.DataFrame | None = None, **more: pl.DataFrame) -> pl.DataFrame:
    return compute_metrics(
        questions,
        gradings() if grades is None else grades,
        more.get("instances", instances_of(questions)),
        more.get("unlabelled_rows", unlabelled(0)),
    )


def _row(metrics: pl.DataFrame, task: str, metric: str, scenario: str = "couple", **where: str) -> dict[str, object]:
    return metrics.row(by_predicate=_where(task=task, metric=metric, scenario=scenario, **where), named=True)


def _where(**values: str) -> pl.Expr:
    return pl.all_horizontal(pl.col(column) == value for column, value in values.items())


def test_failed_answers_stay_in_the_denominator_and_are_shown_apart() -> None:
    failures = ["empty", "truncated", "refused", "filtered", "unparseable", "out_of_set", "over_context"]
    questions = items(
        *(ranking("ssp", 1) for _ in range(6)),
        *(ranking("ssp", None, status=status) for status in failures for _ in range(2)),
    )
    row = _row(_metrics(questions), "ssp", "recall_at_1")
    assert row["value"] == pytest.approx(6 / 20)
    assert row["value_without_failures"] == 1
    assert (row["n"], row["n_planned"], row["n_failed"], row["n_unanswered"]) == (20, 20, 14, 0)
    assert row["complete"] is True
    assert (row["bound_low"], row["bound_high"]) == (None, None)


def test_a_failed_timing_answer_counts_as_the_opposite_of_the_gold() -> None:
    metrics = _metrics(
        items(
            timing("yes", "yes"),
            timing("no", "no"),
            timing("yes", status="refused"),  # a miss
            timing("no", status="empty"),  # a false alarm
        )
    )
    values = {metric: _row(metrics, "itp", metric)["value"] for metric in ("precision", "recall", "f1", "accuracy")}
    assert values == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "accuracy": 0.5}
    assert _row(metrics, "itp", "f1")["value_without_failures"] == 1


def test_open_questions_make_a_cell_incomplete_and_bounded() -> None:
    questions = items(
        ranking("stp", 1),
        ranking("stp", 2),
        ranking("stp", None, status="not_run"),
        ranking("stp", None, status="api_error"),
    )
    row = _row(_metrics(questions), "stp", "mrr")
    assert row["value"] == pytest.approx(0.75)
    assert (row["bound_low"], row["bound_high"]) == (pytest.approx(1.5 / 4), pytest.approx(3.5 / 4))
    assert (row["n"], row["n_unanswered"], row["complete"]) == (2, 2, False)


def test_the_bounds_of_f1_take_each_open_question_as_wrong_or_right() -> None:
    questions = items(
        timing("yes", "yes"), timing("no", "no"), timing("yes", status="not_run"), timing("no", status="not_run")
    )
    row = _row(_metrics(questions), "itp", "f1")
    assert (row["value"], row["bound_low"], row["bound_high"]) == (1, pytest.approx(0.5), 1)


def test_a_model_whose_every_request_failed_publishes_no_score() -> None:
    questions = items(
        timing("yes", status="api_error"),
        pattern("attack_attack", None, status="api_error"),
        {"task": "er", "status": "api_error", "gold_intensity": 5.0},
    )
    metrics = _metrics(questions, unlabelled_rows=unlabelled(3))
    assert metrics.select("value", "value_without_failures", "bound_low", "bound_high").null_count().row(0) == (
        (metrics.height,) * 4
    )
    assert not metrics["complete"].any()
    assert metrics["n"].sum() == 0


def test_a_precision_without_any_yes_is_null_while_f1_is_zero() -> None:
    metrics = _metrics(items(timing("yes", "no"), timing("no", "no")))
    assert _row(metrics, "itp", "precision")["value"] is None
    assert _row(metrics, "itp", "recall")["value"] == 0
    assert _row(metrics, "itp", "f1")["value"] == 0


def test_the_papers_base_counts_rows_without_a_clear_pattern_as_wrong() -> None:
    questions = items(
        pattern("attack_attack", "attack_attack"),
        pattern("attack_attack", "mixed_transition"),
        pattern("escalation_conflict", "escalation_conflict", scenario="family"),
    )
    metrics = _metrics(questions, unlabelled_rows=pl.concat([unlabelled(2), unlabelled(1, "family")]))
    assert _row(metrics, "rpp", "accuracy")["value"] == pytest.approx(1 / 2)
    expected = {"couple": (1 / 4, 4), "family": (1 / 2, 2), "both": (2 / 6, 6)}
    for scenario, (value, n) in expected.items():
        row = _row(metrics, "rpp", "accuracy_paper_base", scenario)
        assert (row["value"], row["n"]) == (pytest.approx(value), n)


def test_the_papers_base_has_no_figure_while_instances_are_left_out() -> None:
    everything = items(pattern("attack_attack", "attack_attack"), pattern("mixed_transition", "attack_attack"))
    metrics = _metrics(everything.head(1), instances=instances_of(everything), unlabelled_rows=unlabelled(1))
    row = _row(metrics, "rpp", "accuracy_paper_base")
    assert (row["value"], row["chance"], row["complete"]) == (None, None, False)
    limited = _row(metrics, "rpp", "accuracy")
    assert (limited["value"], limited["n_planned"], limited["n_instances"], limited["complete"]) == (1, 1, 2, False)


def test_macro_f1_is_over_the_scenarios_whole_label_set_and_never_pooled() -> None:
    metrics = _metrics(items(pattern("attack_attack", "attack_attack"), pattern("attack_attack", None, status="empty")))
    # attack_attack: 2 / 3; mixed_transition never occurs: 0
    assert _row(metrics, "rpp", "macro_f1")["value"] == pytest.approx(1 / 3)
    assert metrics.filter(_where(metric="macro_f1", scenario="both")).is_empty()


def test_both_pools_the_questions_of_couples_and_families() -> None:
    questions = items(
        *(ranking("stp", 1) for _ in range(3)), ranking("stp", None, scenario="family", session_group="f")
    )
    row = _row(_metrics(questions), "stp", "recall_at_1", "both")
    assert (row["value"], row["n"], row["n_groups"]) == (pytest.approx(3 / 4), 4, 2)


def test_a_scenario_without_instances_has_no_row() -> None:
    assert set(_metrics(items(timing("yes", "yes")))["scenario"]) == {"couple", "both"}


def test_nothing_planned_gives_an_empty_table_with_its_columns() -> None:
    metrics = _metrics(items())
    assert metrics.is_empty()
    assert metrics.columns == Metrics.empty().columns


def test_only_the_scored_epoch_counts() -> None:
    questions = items(ranking("stp", 1), ranking("stp", None, epoch="0", scored=False))
    row = _row(_metrics(questions, instances=instances_of(questions.head(1))), "stp", "recall_at_1")
    assert (row["value"], row["n_planned"], row["complete"]) == (1, 1, True)


def test_chance_is_what_uniform_answers_would_score() -> None:
    metrics = _metrics(
        items(
            timing("yes", "yes"),
            timing("no", "no"),
            ranking("stp", 1, n_candidates=3),
            ranking("stp", 1, n_candidates=4),
            pattern("attack_attack", "attack_attack"),
            {"task": "er", "gold_intensity": 5.0, "intensity_match": 5.0, "chance_intensity_match": 27 / 11},
        ),
        unlabelled_rows=unlabelled(1),
    )
    expected = {
        ("itp", "f1"): 0.5,
        ("itp", "accuracy"): 0.5,
        ("stp", "recall_at_1"): (1 / 3 + 1 / 4) / 2,
        ("stp", "recall_at_3"): (1 + 3 / 4) / 2,
        ("stp", "mrr"): (1 + 1 / 2 + 1 / 3) * (1 / 3 + 1 / 4) / 2,
        ("rpp", "accuracy"): 1 / 2,
        ("rpp", "accuracy_paper_base"): 1 / 4,
        # of one question half a hit on a label with one gold and half a prediction: F1 = 1 / 1.5; the other label: 0
        ("rpp", "macro_f1"): (2 / 3) / 2,
        ("er", "intensity_match"): 27 / 11,
    }
    assert {cell: _row(metrics, *cell)["chance"] for cell in expected} == pytest.approx(expected)


def test_a_judge_failure_makes_the_cell_incomplete_but_never_a_low_score() -> None:
    answers = {"task": "er", "gold_intensity": 5.0}
    questions = items({**answers, "intensity_match": 5.0}, {**answers, "intensity_match": 3.0})
    grades = gradings(
        {"task": "er", "judge": 4.0, "intensity_match": 5.0, "er_score": 4.5},
        {"task": "er", "grading_status": "judge_failed", "intensity_match": 3.0},
    )
    metrics = _metrics(questions, grades)
    judge = _row(metrics, "er", "judge", scorer="j")
    assert (judge["value"], judge["bound_low"], judge["bound_high"]) == (4, 2.5, 4.5)
    assert (judge["n"], judge["n_planned"], judge["n_unanswered"], judge["complete"]) == (1, 2, 0, False)
    score = _row(metrics, "er", "er_score", scorer="j")
    assert (score["value"], score["bound_low"], score["bound_high"]) == (4.5, (4.5 + 2) / 2, (4.5 + 4) / 2)
    assert _row(metrics, "er", "intensity_match")["complete"] is True


def test_each_scorer_has_its_own_figures_and_only_those_of_its_kind() -> None:
    parts = {"task": "vp", "judge": 4.0, "pairing": 2.0, "content": 3.0, "judge_total": 5.0}
    metrics = _metrics(
        items({"task": "vp"}),
        gradings(
            parts,
            {**parts, "scorer": "words", "scorer_kind": "lexical", "judge": 2.0},
            {"task": "vp", "scorer": "b", "scorer_kind": "bertscore", "bertscore_f1": 0.8},
        ),
    )
    figures = metrics.filter(_where(scenario="couple")).select("scorer", "metric", "value").rows()
    assert sorted(figures) == [
        ("b", "bertscore_f1", 0.8),
        ("j", "content", 3),
        ("j", "judge", 4),
        ("j", "judge_total", 5),
        ("j", "pairing", 2),
        ("words", "content", 3),
        ("words", "judge", 2),
        ("words", "judge_total", 5),
        ("words", "pairing", 2),
    ]


def test_the_order_of_the_rows_changes_nothing() -> None:
    questions = items(
        *(pattern(gold, said) for gold in PATTERNS["couple"] for said in PATTERNS["couple"]),
        *(timing(gold, said) for gold in ("yes", "no") for said in ("yes", "no")),
    )
    assert _metrics(questions).equals(_metrics(questions.sample(fraction=1.0, shuffle=True, seed=1)))


def test_a_status_nobody_knows_is_refused_without_quoting_it() -> None:
    with pytest.raises(RescueError, match=r"scores/items.*status") as refused:
        _metrics(items(timing("yes", "yes", status="maybe")))
    assert "maybe" not in str(refused.value)
