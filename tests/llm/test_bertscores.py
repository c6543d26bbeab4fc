"""BERTScore as a step: every readable answer once, the reason where it cannot be computed, a floor and a ceiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl
import pytest

from rescue_pipeline.llm import Partition, Workspace
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.bertscores import BertscoreSummary, score_partitions
from rescue_pipeline.metrics.backbone import NotComputed
from rescue_pipeline.metrics.bertscore import Pair, Scorer
from rescue_pipeline.schemas import Answers, BertscoreControls, BertscoreRuns, Bertscores
from tests.llm.world import World

UNIFORM, MAJORITY = Partition("uniform", "dialogue"), Partition("majority", "dialogue")
TASKS = ["er", "vp", "itp"]


class Words:
    """Counts words in common; notes every pair it is given."""

    max_tokens = 3

    def __init__(self, name: str = "words") -> None:
        self.id, self.asked = name, list[Pair]()

    def f1(self, pairs: Sequence[Pair]) -> list[float]:
        self.asked += pairs
        words = [(set(one.split()), set(other.split())) for one, other in pairs]
        return [2 * len(one & other) / (len(one) + len(other)) for one, other in words]

    def is_cut(self, texts: Sequence[str]) -> list[bool]:
        return [len(text.split()) > self.max_tokens for text in texts]


def answered(workspace: Workspace, *partitions: Partition, limit: int | None = None) -> Workspace:
    ask_partitions(workspace, partitions, TASKS, limit)
    for partition in partitions:
        for task in TASKS:
            parse_partition(workspace, partition, task)
    return workspace


def score(workspace: Workspace, scorer: Scorer, *partitions: Partition) -> list[BertscoreSummary]:
    return score_partitions(workspace, partitions, TASKS, lambda: scorer)


def scores(workspace: Workspace, task: str = "er") -> pl.DataFrame:
    return workspace.lake.read(f"bertscores_{task}", Bertscores)


def test_every_readable_answer_of_er_and_vp_has_a_score(workspace: Workspace) -> None:
    answered(workspace, UNIFORM, MAJORITY)
    summaries = score(workspace, Words(), UNIFORM, MAJORITY)
    assert {(each.partition.model, each.task) for each in summaries} == {
        (model, task) for model in ("uniform", "majority") for task in ("er", "vp")
    }
    for task in ("er", "vp"):
        answers = workspace.lake.read(f"answers_{task}", Answers).filter(pl.col("status") == "ok")
        key = ["instance_id", "model", "epoch"]
        assert scores(workspace, task).height == answers.height
        assert scores(workspace, task).join(answers, on=key, how="anti").is_empty()
        assert set(scores(workspace, task)["scorer"]) == {"words"}


def test_what_was_scored_is_never_scored_again_by_the_same_scorer(workspace: Workspace) -> None:
    answered(workspace, UNIFORM)
    words = Words()
    score(workspace, words, UNIFORM)
    before, asked = scores(workspace), len(words.asked)
    assert len(set(words.asked)) == asked
    again = score(workspace, words, UNIFORM)
    assert len(words.asked) == asked
    assert [each.scored for each in again] == [0, 0]
    assert scores(workspace).equals(before)
    answered(workspace, MAJORITY)
    of_uniform, of_majority, *_ = score(workspace, words, UNIFORM, MAJORITY)
    assert of_uniform.scored == 0
    assert 0 < of_majority.scored <= of_majority.n_answers


def test_another_scorer_stands_beside_the_first_and_takes_nothing_from_it(workspace: Workspace) -> None:
    answered(workspace, UNIFORM)
    score(workspace, Words("one"), UNIFORM)
    score(workspace, Words("other"), UNIFORM)
    assert scores(workspace).group_by("scorer").len().sort("scorer").rows() == [
        ("one", scores(workspace).height // 2),
        ("other", scores(workspace).height // 2),
    ]


def test_the_gold_scores_one_and_another_sessions_gold_is_the_floor(workspace: Workspace) -> None:
    answered(workspace, UNIFORM)
    score(workspace, Words(), UNIFORM)
    for task in ("er", "vp"):
        rows = workspace.lake.read(f"bertscore_controls_{task}", BertscoreControls)
        n = len(workspace.corpus.of_task(task))
        assert rows.filter(control="gold")["f1"].to_list() == [1.0] * n
        assert rows.filter(control="shuffled").height == n
    assert rows.filter(control="shuffled")["f1"].mean() < 1  # type: ignore[operator]


def test_a_limited_run_controls_no_more_than_it_scores(workspace: Workspace) -> None:
    answered(workspace, UNIFORM, limit=2)
    score(workspace, Words(), UNIFORM)
    rows = workspace.lake.read("bertscore_controls_er", BertscoreControls)
    assert rows["instance_id"].n_unique() == 2


def test_cuts_are_counted_per_answer(workspace: Workspace) -> None:
    answered(workspace, UNIFORM)
    short, long = Words(), Words("long")
    short.max_tokens, long.max_tokens = 1, 100
    for scorer, expected in ((short, scores), (long, scores)):
        summary = score(workspace, scorer, UNIFORM)[0]
        cut = expected(workspace).filter(scorer=scorer.id)["is_cut"]
        assert summary.n_cut == cut.sum()
        assert (summary.n_cut > 0) == (scorer is short)


def test_where_it_cannot_be_computed_the_reason_is_recorded_and_nothing_is_scored(workspace: Workspace) -> None:
    answered(workspace, UNIFORM)

    def find() -> Scorer:
        raise NotComputed("the weights are elsewhere")

    summaries = score_partitions(workspace, [UNIFORM], TASKS, find)
    assert [(each.scorer, each.scored, each.reason) for each in summaries] == 2 * [
        (None, 0, "the weights are elsewhere")
    ]
    runs = workspace.lake.read("bertscore_runs_er", BertscoreRuns)
    assert runs.select("model", "scorer", "reason").rows() == [("uniform", None, "the weights are elsewhere")]
    assert scores(workspace).is_empty()
    score(workspace, Words(), UNIFORM)
    assert workspace.lake.read("bertscore_runs_er", BertscoreRuns).select("scorer", "reason").rows() == [
        ("words", None)
    ]


def test_without_answers_nothing_is_loaded(workspace: Workspace) -> None:
    words = Words()
    assert [each.n_answers for each in score(workspace, words, UNIFORM)] == [0, 0]
    assert words.asked == []


@pytest.fixture
def edited(tmp_path: object) -> Callable[[str], Workspace]:
    """The tiny corpus with its first emotion's gold changed."""

    def make(emotion: str) -> Workspace:
        world = World()
        first = next(row for row in world.instances if row["task"] == "er")
        first["gold"] = f'{{"emotion": "{emotion}", "intensity": 3}}'
        return world.write(tmp_path)  # type: ignore[arg-type]

    return make


def test_a_gold_that_changed_is_compared_anew(edited: Callable[[str], Workspace]) -> None:
    words = Words()
    score(answered(edited("violin sorrow"), UNIFORM), words, UNIFORM)
    before = scores(edited("violin sorrow"))
    workspace = edited("kettle joy")
    score(workspace, words, UNIFORM)
    after = scores(workspace)
    assert (before["pair_sha256"] != after["pair_sha256"]).sum() == 1
