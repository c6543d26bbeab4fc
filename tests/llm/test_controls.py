"""Controls: answers of known worth and repeats, asked once, kept apart from judgements."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rescue_pipeline.llm import Partition, Workspace
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.bench import Bench
from rescue_pipeline.llm.controls import (
    SAMPLING,
    Sampling,
    control_answers,
    expected_judge_requests,
    partition_of,
    sample,
)
from rescue_pipeline.llm.estimating import estimate
from rescue_pipeline.llm.judges import Judged, judge_partitions
from rescue_pipeline.llm.planning import select
from rescue_pipeline.schemas import JudgeControls, Judgements, Responses
from tests.llm.conftest import entry
from tests.llm.server import Script, Server, always, completion
from tests.llm.world import COUPLES, FAMILIES, World, with_models

Serve = Callable[[Script], Server]
AskedAt = Callable[..., Workspace]
UNIFORM, MAJORITY = Partition("uniform", "dialogue"), Partition("majority", "dialogue")
GRADED = completion('{"reason": "near", "similarity": 4, "pairing": 2, "content": 3}')


def answered(workspace: Workspace, *partitions: Partition, limit: int | None = None) -> Workspace:
    ask_partitions(workspace, partitions, ["er", "vp"], limit)
    for partition in partitions:
        for task in ("er", "vp"):
            parse_partition(workspace, partition, task)
    return workspace


def controls(workspace: Workspace, task: str = "er") -> pl.DataFrame:
    return workspace.lake.read(f"judge_controls_{task}", JudgeControls)


def judge(workspace: Workspace, *partitions: Partition, judge: str = "lexical-judge", **options: Any) -> Judged:
    return judge_partitions(workspace, partitions, ["er", "vp"], [judge], **options)


def test_the_sample_takes_every_group_once_before_any_twice_and_grows_without_replacing() -> None:
    instances = [row for row in World().instances if row["task"] == "er"]
    n_groups = len(COUPLES + FAMILIES)
    first = sample(instances, n_groups)
    assert len({row["session_group"] for row in first}) == n_groups
    assert sample(instances, 2) == first[:2]
    assert sample(instances, n_groups + 3)[:n_groups] == first
    assert len(sample(instances, 10_000)) == len(instances)
    assert sample(list(reversed(instances)), n_groups) == first


def test_a_wrong_control_is_borrowed_from_another_group_of_the_same_scenario(workspace: Workspace) -> None:
    golds = {row["instance_id"]: json.loads(row["gold"]) for row in workspace.corpus.of_task("er")}
    for answer in control_answers(workspace.corpus, "er", 30):
        if answer["control"] == "other_session":
            mine = workspace.corpus.instances[answer["instance_id"]]
            lenders = [
                workspace.corpus.instances[instance]
                for instance, gold in golds.items()
                if gold["emotion"] == json.loads(answer["answer"])["emotion"]
            ]
            assert any(
                row["session_group"] != mine["session_group"] and row["scenario"] == mine["scenario"] for row in lenders
            )


def test_without_another_group_there_is_nothing_to_borrow(tmp_path: Path) -> None:
    corpus = World(groups=("ana_and_bo",)).write(tmp_path).corpus
    assert {answer["control"] for answer in control_answers(corpus, "er", 30)} == {"gold"}
    assert {answer["control"] for answer in control_answers(corpus, "vp", 30)} == {"gold", "swapped"}


def test_every_control_is_judged_beside_the_answers_and_kept_apart_from_them(workspace: Workspace) -> None:
    answered(workspace, UNIFORM)
    summary = judge(workspace, UNIFORM)
    n = len(workspace.corpus.of_task("er"))
    assert n < 30
    er, vp = controls(workspace), controls(workspace, "vp")
    counts = Counter(er["control"])
    assert {name: counts[name] for name in ("gold", "other_session", "verbose_wrong")} == {
        "gold": n,
        "other_session": n,
        "verbose_wrong": n,
    }
    assert Counter(vp["control"])["swapped"] == n
    assert workspace.lake.read("judgements_er", Judgements).height == n
    assert summary.partitions[0].tasks["er"].planned == n


def test_the_lexical_judge_finds_the_gold_perfect_and_the_swapped_pairs_missing(workspace: Workspace) -> None:
    judge(answered(workspace, UNIFORM), UNIFORM)
    er, vp = controls(workspace), controls(workspace, "vp")
    assert set(er.filter(control="gold")["similarity"]) == {5}
    assert set(vp.filter(control="gold").select("similarity", "pairing", "content").iter_rows()) == {(5, 2, 4)}
    assert set(vp.filter(control="swapped").select("similarity", "pairing", "content").iter_rows()) == {(1, 0, 0)}
    assert er.filter(control="verbose_wrong")["similarity"].max() == 1


def test_a_tenth_of_the_answers_is_judged_three_times_and_the_first_time_counts(
    serve: Serve, asked_at: AskedAt
) -> None:
    server = serve(always(GRADED))
    workspace = answered(asked_at(server, judge=True), UNIFORM)
    judge(workspace, UNIFORM, judge="made")
    repeats = controls(workspace).filter(control="repeat")
    n = workspace.lake.read("judgements_er", Judgements).height
    assert repeats["first_request_id"].n_unique() == SAMPLING.n_repeated(n) == -(-n // 10)
    for (first,), rows in repeats.group_by("first_request_id"):
        assert sorted(rows["repeat"]) == [1, 2, 3]
        assert rows["request_id"].n_unique() == 3
        assert rows.filter(repeat=1)["request_id"].item() == first
        assert first in set(workspace.lake.read("judgements_er", Judgements)["request_id"])
    epochs = workspace.lake.read("judge_responses_er", Responses).filter(pl.col("protocol") != "controls")["epoch"]
    assert Counter(epochs)["2"] == Counter(epochs)["3"] == SAMPLING.n_repeated(n)


def test_controls_and_repeats_are_asked_once_whoever_is_judged(serve: Serve, asked_at: AskedAt) -> None:
    server = serve(always(GRADED))
    workspace = answered(asked_at(server, judge=True), UNIFORM, MAJORITY)
    judge(workspace, UNIFORM, judge="made")
    before, n = controls(workspace).filter(pl.col("control") != "repeat"), len(server.requests)
    judge(workspace, UNIFORM, judge="made")
    assert len(server.requests) == n
    again = judge(workspace, MAJORITY, judge="made")
    of_no_partition = next(part for part in again.controls if part.partition.protocol == "controls")
    assert of_no_partition.asked == 0
    assert controls(workspace).filter(pl.col("control") != "repeat").equals(before)


def test_a_new_revision_of_the_judge_is_controlled_anew(serve: Serve, tmp_path: Path) -> None:
    server = serve(always(GRADED))
    for revision in ("1", "2"):
        entries = with_models(entry(server, judge=True, revision=revision))
        workspace = answered(World().write(tmp_path, entries), UNIFORM)
        judge(workspace, UNIFORM, judge="made")
    golds = controls(workspace).filter(control="gold")
    assert Counter(golds["judge_generation"]) == {1: golds.height // 2, 2: golds.height // 2}


def test_a_limited_run_asks_no_more_controls_than_it_judges_and_a_larger_one_adds_to_them(
    workspace: Workspace,
) -> None:
    judge(answered(workspace, UNIFORM, limit=2), UNIFORM)
    few = set(controls(workspace).filter(control="gold")["instance_id"])
    assert len(few) == 2
    judge(answered(workspace, UNIFORM, limit=5), UNIFORM)
    more = set(controls(workspace).filter(control="gold")["instance_id"])
    assert few < more
    assert len(more) == 5
    judge(answered(workspace, MAJORITY, limit=1), MAJORITY)
    assert set(controls(workspace).filter(control="gold")["instance_id"]) == more


def test_a_failed_judge_is_a_failed_control_never_a_grade(serve: Serve, asked_at: AskedAt) -> None:
    workspace = answered(asked_at(serve(always(completion("5 of 5"))), judge=True), UNIFORM)
    judge(workspace, UNIFORM, judge="made")
    assert set(controls(workspace)["status"]) == {"judge_failed"}
    assert controls(workspace)["similarity"].null_count() == controls(workspace).height


def test_nothing_judged_asks_no_controls(workspace: Workspace) -> None:
    judge(workspace, UNIFORM)
    assert controls(workspace).is_empty()


def test_while_another_process_asks_the_controls_the_answers_are_judged_all_the_same(workspace: Workspace) -> None:
    answered(workspace, UNIFORM)
    bench = Bench(workspace, workspace.registry.get("lexical-judge"), "run")
    with bench.lease(partition_of(bench.entry)):
        summary = judge(workspace, UNIFORM)
    assert summary.partitions[0].by_status == {"ok": summary.partitions[0].planned}
    assert set(controls(workspace)["control"]) == {"repeat"}


@pytest.mark.parametrize("limit", [None, 3])
def test_what_is_expected_is_what_is_asked_when_every_answer_differs(
    serve: Serve, asked_at: AskedAt, limit: int | None
) -> None:
    server = serve(always(GRADED))
    workspace = answered(asked_at(server, judge=True), UNIFORM, limit=limit)
    planned = limit or len(workspace.corpus.of_task("er"))
    made = workspace.registry.get("made")
    expected = [expected_judge_requests(workspace, made, task, [planned]) for task in ("er", "vp")]
    judged = judge(workspace, UNIFORM, judge="made")
    asked = sum(part.planned for part in (*judged.partitions, *judged.controls))
    # the first judgement of a repeated answer is the leaderboard's own
    firsts = 2 * SAMPLING.n_repeated(planned)
    assert sum(each.total for each in expected) == asked - firsts
    assert len(server.requests) <= sum(each.total for each in expected)


def test_an_unlimited_sample_would_cover_every_instance(workspace: Workspace) -> None:
    n = len(workspace.corpus.of_task("vp"))
    everything = Sampling(instances=10_000, share=1.0)
    expected = expected_judge_requests(workspace, workspace.registry.judge(), "vp", [n, n], everything)
    assert (expected.answers, expected.repeats, expected.controls) == (2 * n, 4 * n, 4 * n)


def test_a_limit_asks_about_the_selected_questions_alone_and_takes_no_judgement_away(workspace: Workspace) -> None:
    answered(workspace, UNIFORM)
    n = len(workspace.corpus.of_task("er"))
    few = judge(workspace, UNIFORM, limit=2)
    assert few.partitions[0].tasks["er"].by_status == {"ok": 2}
    asked = workspace.lake.read("judgements_er", Judgements).filter(status="ok")
    assert set(asked["instance_id"]) == {row["instance_id"] for row in select(workspace.corpus.of_task("er"), 2)}
    assert Counter(controls(workspace)["control"])["gold"] == 2
    repeated = set(controls(workspace).filter(control="repeat")["first_request_id"])
    assert len(repeated) == 1
    judge(workspace, UNIFORM)
    everything = workspace.lake.read("judgements_er", Judgements)
    assert Counter(everything["status"]) == {"ok": n}
    assert repeated < set(controls(workspace).filter(control="repeat")["first_request_id"])
    before = controls(workspace).sort(pl.all())
    again = judge(workspace, UNIFORM, limit=2)
    assert sum(summary.asked for summary in again.partitions + again.controls) == 0
    assert workspace.lake.read("judgements_er", Judgements).sort("request_id").equals(everything.sort("request_id"))
    assert controls(workspace).sort(pl.all()).equals(before)


def test_an_estimate_counts_what_the_judge_is_asked_within_the_limit(workspace: Workspace) -> None:
    answered(workspace, UNIFORM)
    for limit in (2, 4, None):
        expected = estimate(workspace, [UNIFORM], ["er"], limit=limit, judges=["lexical-judge"])
        [line] = [line for line in expected.lines if line.purpose == "judge"]
        told = judge_partitions(workspace, [UNIFORM], ["er"], ["lexical-judge"], limit=limit)
        assert line.remaining == sum(summary.asked for summary in told.partitions + told.controls), limit
