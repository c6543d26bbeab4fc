"""A protocol that asks several times: an item's scores are averaged over its repeats, and the best is never chosen."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from rescue_pipeline.metrics import compute_metrics
from tests.metrics.frames import gradings, instances_of, items, pattern, ranking, timing, unlabelled


def _asked(instance: str, epoch: int, question: dict[str, Any]) -> dict[str, Any]:
    return {**question, "instance_id": f"{question['task']}:{instance}", "epoch": str(epoch)}


def _figures(questions: pl.DataFrame, task: str, grades: pl.DataFrame | None = None) -> dict[str, dict[str, Any]]:
    metrics = compute_metrics(
        questions, gradings() if grades is None else grades, instances_of(questions), unlabelled(0)
    )
    wanted = metrics.filter(pl.col("task") == task, pl.col("scenario") == "couple")
    return {row["metric"]: row for row in wanted.iter_rows(named=True)}


def test_repeats_are_averaged_within_an_item_and_items_weigh_the_same() -> None:
    found = _figures(
        items(
            *(_asked("a", epoch, ranking("stp", rank)) for epoch, rank in ((1, 1), (2, None), (3, 2))),
            *(_asked("b", epoch, ranking("stp", 1)) for epoch in (1, 2, 3)),
        ),
        "stp",
    )
    assert found["recall_at_1"]["value"] == pytest.approx((1 / 3 + 1) / 2)
    assert found["mrr"]["value"] == pytest.approx((1.5 / 3 + 1) / 2)
    counts = ("n", "n_planned", "n_instances", "n_repeats", "n_groups", "complete")
    assert [found["mrr"][name] for name in counts] == [2, 2, 2, 3, 1, True]


def test_f1_is_from_counts_in_which_the_repeats_of_an_item_share_its_weight() -> None:
    found = _figures(
        items(
            *(_asked("a", epoch, timing("yes", said)) for epoch, said in ((1, "yes"), (2, "no"))),
            *(_asked("b", epoch, timing("no", said)) for epoch, said in ((1, "yes"), (2, "no"))),
            *(_asked("c", epoch, timing("yes", "yes")) for epoch in (1, 2)),
        ),
        "itp",
    )
    hits, false_alarms, misses = 0.5 + 1, 0.5, 0.5
    assert found["precision"]["value"] == pytest.approx(hits / (hits + false_alarms))
    assert found["recall"]["value"] == pytest.approx(hits / (hits + misses))
    assert found["f1"]["value"] == pytest.approx(2 * hits / (2 * hits + false_alarms + misses))


def test_macro_f1_counts_the_labels_of_all_repeats_by_weight() -> None:
    once = items(pattern("attack_attack", "attack_attack"), pattern("mixed_transition", "attack_attack"))
    twice = pl.concat([once, once.with_columns(epoch=pl.lit("2"))])
    assert _figures(twice, "rpp")["macro_f1"]["value"] == pytest.approx(_figures(once, "rpp")["macro_f1"]["value"])
    assert _figures(twice, "rpp")["macro_f1"]["chance"] == pytest.approx(_figures(once, "rpp")["macro_f1"]["chance"])


def test_asking_again_with_the_same_outcome_changes_no_figure() -> None:
    once = items(ranking("ssp", 1), ranking("ssp", 3), ranking("ssp", None, status="refused"))
    thrice = pl.concat([once.with_columns(epoch=pl.lit(str(epoch))) for epoch in (1, 2, 3)])
    columns = ("value", "value_without_failures", "chance", "n", "n_planned", "n_failed", "n_unanswered", "complete")
    for metric, row in _figures(once, "ssp").items():
        again = _figures(thrice, "ssp")[metric]
        assert [again[name] for name in columns] == [pytest.approx(row[name]) for name in columns]


def test_an_item_is_settled_when_all_its_repeats_are() -> None:
    found = _figures(
        items(
            _asked("a", 1, ranking("stp", 1)),
            _asked("a", 2, ranking("stp", None, status="not_run")),
            _asked("b", 1, ranking("stp", None, status="refused")),
            _asked("b", 2, ranking("stp", 1)),
        ),
        "stp",
    )["recall_at_1"]
    assert (found["value"], found["n"], found["n_planned"]) == (0.5, 1, 2)  # b, right in one of two repeats
    assert (found["n_failed"], found["n_unanswered"], found["complete"]) == (1, 1, False)
    assert (found["bound_low"], found["bound_high"]) == (0.5, 0.75)
    assert found["value_without_failures"] == 1


def test_an_item_that_a_repeat_left_out_is_open() -> None:
    found = _figures(
        items(
            *(_asked("a", epoch, ranking("stp", 1)) for epoch in (1, 2)),
            _asked("b", 1, ranking("stp", None)),
        ),
        "stp",
    )["recall_at_1"]
    assert (found["value"], found["n"], found["n_unanswered"], found["complete"]) == (1, 1, 1, False)


def test_grades_are_averaged_like_scores() -> None:
    answers = {"task": "er", "gold_intensity": 5.0, "intensity_match": 5.0}
    questions = items(*(_asked("a", epoch, answers) for epoch in (1, 2)), *(_asked("b", e, answers) for e in (1, 2)))
    marks = {("a", 1): 2.0, ("a", 2): 5.0, ("b", 1): 4.0}
    grades = gradings(
        *(
            _asked(name, epoch, {"task": "er", "judge": mark, "intensity_match": 5.0, "er_score": (mark + 5) / 2})
            for (name, epoch), mark in marks.items()
        ),
        _asked("b", 2, {"task": "er", "grading_status": "judge_failed", "intensity_match": 5.0}),
    )
    judge = _figures(questions, "er", grades)["judge"]
    assert (judge["value"], judge["n"], judge["complete"]) == (3.5, 1, False)
    assert (judge["bound_low"], judge["bound_high"]) == ((3.5 + 2.5) / 2, (3.5 + 4.5) / 2)
