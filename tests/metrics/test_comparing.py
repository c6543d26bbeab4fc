"""Differences between two runs: over the questions both settled, with counts of those that changed sides."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from rescue_pipeline.metrics.catalogue import PRIMARY
from rescue_pipeline.metrics.comparing import differences
from rescue_pipeline.metrics.effects import protocol_effects
from rescue_pipeline.metrics.estimates import label_sets
from rescue_pipeline.metrics.paired import TOO_FEW_GROUPS
from rescue_pipeline.metrics.rows import scored_rows
from rescue_pipeline.schemas import Instances
from tests.metrics.frames import frame, gradings, instances_of, items, pattern, ranking, timing

GROUPS = 12


def _labels() -> pl.DataFrame:
    return label_sets(instances_of(items(pattern("attack_attack", None, status="not_run"))))


def _compared(left: pl.DataFrame, right: pl.DataFrame, *grades: pl.DataFrame) -> pl.DataFrame:
    """grades: of the left and the right side, where there are any."""
    first, second = grades or (gradings(), gradings())
    return differences(scored_rows(left, first), scored_rows(right, second), _labels())


def _row(table: pl.DataFrame, task: str, metric: str, scenario: str = "couple") -> dict[str, Any]:
    wanted = pl.col("task").eq(task) & pl.col("metric").eq(metric) & pl.col("scenario").eq(scenario)
    return table.row(by_predicate=wanted, named=True)


def _grouped(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    """The questions spread over a dozen couples."""
    return [{**row, "session_group": f"couple {place % GROUPS}"} for place, row in enumerate(rows)]


def test_the_difference_is_over_the_questions_that_both_settled() -> None:
    left = items(ranking("stp", 1), ranking("stp", None, status="refused"), ranking("stp", 1), ranking("stp", 1))
    right = items(ranking("stp", None), ranking("stp", 1), ranking("stp", 2, status="not_run"))
    row = _row(_compared(left, right), "stp", "recall_at_1")
    assert (row["value_a"], row["value_b"], row["difference"]) == (0.5, 0.5, 0)
    assert (row["n"], row["n_open"], row["n_one_sided"]) == (2, 1, 1)
    assert (row["n_better_a"], row["n_better_b"]) == (1, 1)


def test_few_groups_have_a_difference_and_a_reason_instead_of_an_interval() -> None:
    row = _row(_compared(items(ranking("stp", 1)), items(ranking("stp", 2))), "stp", "mrr")
    assert (row["difference"], row["ci_low"], row["no_interval"], row["n_groups"]) == (0.5, None, TOO_FEW_GROUPS, 1)


def test_a_whole_table_equals_recomputing_every_figure_by_hand() -> None:
    generator = np.random.default_rng(5)
    said = {side: generator.choice(["yes", "no"], 60).tolist() for side in "ab"}
    gold = generator.choice(["yes", "no"], 60).tolist()
    sides = [items(*_grouped(*map(timing, gold, said[side]))) for side in "ab"]
    row = _row(_compared(*sides), "itp", "f1")
    assert row["difference"] == pytest.approx(_f1(gold, said["a"]) - _f1(gold, said["b"]))
    assert row["ci_low"] < row["difference"] < row["ci_high"]
    drawn = np.random.default_rng(20_260_911).multinomial(GROUPS, [1 / GROUPS] * GROUPS, size=2000)
    # the groups stand in alphabetical order
    place = {name: rank for rank, name in enumerate(sorted(f"couple {group}" for group in range(GROUPS)))}
    found = []
    for times in drawn:
        chosen = [q for q in range(60) for _ in range(times[place[f"couple {q % GROUPS}"]])]
        picked = {side: [said[side][q] for q in chosen] for side in "ab"}
        found.append(_f1([gold[q] for q in chosen], picked["a"]) - _f1([gold[q] for q in chosen], picked["b"]))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(np.quantile(found, [0.025, 0.975])))


def _f1(gold: list[str], said: list[str]) -> float:
    hits = sum(g == s == "yes" for g, s in zip(gold, said, strict=True))
    return 2 * hits / (gold.count("yes") + said.count("yes"))


def test_macro_f1_is_compared_per_scenario_over_the_whole_label_set() -> None:
    right = pattern("mixed_transition", "mixed_transition")
    left = items(*_grouped(*[pattern("attack_attack", "attack_attack")] * 12, *[right] * 12))
    other = items(*_grouped(*[pattern("attack_attack", None, status="empty")] * 12, *[right] * 12))
    table = _compared(left, other)
    row = _row(table, "rpp", "macro_f1")
    assert (row["value_a"], row["value_b"], row["n_better_a"]) == (1, 0.5, 12)
    assert row["ci_low"] is not None
    assert table.filter(pl.col("metric") == "macro_f1", pl.col("scenario") == "both").is_empty()


def test_a_figure_that_one_side_does_not_define_has_no_difference() -> None:
    table = _compared(items(*_grouped(*[timing("yes", "yes")] * 12)), items(*_grouped(*[timing("yes", "no")] * 12)))
    row = _row(table, "itp", "precision")
    assert (row["value_a"], row["value_b"], row["difference"], row["ci_low"]) == (1, None, None, None)


def test_only_grades_of_one_scorer_are_compared() -> None:
    questions = items({"task": "er", "gold_intensity": 5.0, "intensity_match": 5.0})
    mark = {"task": "er", "judge": 4.0, "intensity_match": 5.0, "er_score": 4.5}
    table = _compared(
        questions,
        questions,
        gradings(mark, {**mark, "scorer": "k", "instance_id": "er:s:1"}),
        gradings({**mark, "judge": 3.0, "er_score": 4.0}),
    )
    judged = table.filter(pl.col("scenario") == "couple", pl.col("metric") == "judge")
    assert judged.select("scorer", "difference").rows() == [("j", 1.0)]


def test_repeats_change_sides_by_their_mean() -> None:
    twice = [
        items(ranking("stp", rank, instance_id="stp:q"), ranking("stp", 1, instance_id="stp:q", epoch="2"))
        for rank in (1, 2)
    ]
    row = _row(_compared(*twice), "stp", "recall_at_1")
    assert (row["difference"], row["n"], row["n_better_a"], row["n_better_b"]) == (0.5, 1, 1, 0)


def test_repeats_that_change_nothing_differ_by_exactly_nothing() -> None:
    once = items(*_grouped(*[ranking("stp", 1 + place % 3) for place in range(36)]))
    thrice = pl.concat([once.with_columns(epoch=pl.lit(str(epoch))) for epoch in (1, 2, 3)])
    table = _compared(thrice, once)
    assert table.select(pl.col("difference", "ci_low", "ci_high").abs().max()).row(0) == (0, 0, 0)
    assert table["n_better_a"].sum() + table["n_better_b"].sum() == 0


def test_the_main_metrics_come_first() -> None:
    questions = items(ranking("stp", 1), timing("yes", "yes"), pattern("attack_attack", "attack_attack"))
    table = _compared(questions, questions).filter(pl.col("scenario") == "couple")
    first = table.filter("primary")
    assert first.select("task", "metric").rows() == [(task, PRIMARY[task]) for task in ("itp", "rpp", "stp")]
    assert table.head(first.height).equals(first)


def test_sides_without_a_question_in_common_have_no_figure() -> None:
    table = _compared(items(ranking("stp", 1)), items(ranking("stp", 1, instance_id="stp:other")))
    row = _row(table, "stp", "mrr")
    assert (row["n"], row["value_a"], row["difference"], row["n_one_sided"]) == (0, None, None, 2)


def _effects(questions: pl.DataFrame) -> pl.DataFrame:
    return protocol_effects(questions, gradings(), instances_of(questions))


def test_a_protocol_is_compared_with_the_same_model_under_clean() -> None:
    def asked(rank: int, **run: Any) -> list[dict[str, Any]]:
        return _grouped(*[ranking("stp", rank, instance_id=f"stp:{place}", **run) for place in range(24)])

    effects = _effects(
        items(
            *asked(2),
            *asked(1, protocol="official"),
            *asked(1, protocol="official", model="never asked under clean"),
            *asked(1, protocol="official", modality="audio"),
            *asked(1, protocol="imported"),
        )
    )
    assert set(effects.select("model", "modality", "protocol").iter_rows()) == {("m", "dialogue", "official")}
    row = effects.row(by_predicate=pl.col("scenario") == "both", named=True)
    expected = {"metric": "recall_at_1", "value": 1, "value_clean": 0, "difference": 1, "ci_low": 1, "ci_high": 1}
    assert {name: row[name] for name in expected} == expected
    assert (row["n"], row["n_groups"], row["n_better"], row["n_worse"]) == (24, 12, 24, 0)


def test_versions_of_a_corpus_are_never_compared_with_each_other() -> None:
    questions = items(
        ranking("stp", 1, instance_id="stp:q"),
        ranking("stp", 1, instance_id="stp:q", corpus_version="v2", protocol="official"),
    )
    assert _effects(questions).is_empty()


def test_one_protocol_has_no_effects() -> None:
    assert _effects(items(ranking("stp", 1))).is_empty()
    assert protocol_effects(items(), gradings(), frame(Instances, [])).is_empty()
