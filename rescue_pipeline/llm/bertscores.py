"""Grading free-text answers by BERTScore: on this machine, without a request, into lake/bertscores_<task>.

A pair of gold and answer that a scorer has scored once is never scored again, by any run. Where BERTScore cannot be
computed, lake/bertscore_runs_<task> says why, and everything else goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rescue_pipeline.llm.controls import SAMPLING, control_answers
from rescue_pipeline.llm.dispatch import OnProgress
from rescue_pipeline.llm.plans import read_plans
from rescue_pipeline.llm.workspace import Partition, Workspace, known_tasks
from rescue_pipeline.metrics.backbone import NotComputed
from rescue_pipeline.metrics.bertscore import Pair, Scorer, answer_f1, cut_texts, pair_sha256, pairs_of, score_pairs
from rescue_pipeline.schemas import (
    JUDGED_TASKS,
    Answers,
    BertscoreControls,
    BertscoreRuns,
    Bertscores,
    check_table,
)

_ASKED = ["instance_id", "task", "model", "generation", "modality", "protocol", "epoch"]
_CONTROLS = {"gold": "gold", "other_session": "shuffled"}
AT_ONCE = 2048
"""Pairs between two reports of progress."""


@dataclass(frozen=True)
class BertscoreSummary:
    """What became of one partition's answers to a task. scored: by this run; reason: why nothing was computed."""

    partition: Partition
    task: str
    scorer: str | None
    n_answers: int
    scored: int
    n_cut: int
    reason: str | None

    def metadata(self) -> dict[str, Any]:
        """Numbers for an asset event; no text."""
        return {
            "protocol": self.partition.protocol,
            "scorer": self.scorer,
            "answers": self.n_answers,
            "scored": self.scored,
            "cut": self.n_cut,
            "not_computed": self.reason,
        }


@dataclass(frozen=True)
class _Answer:
    """An answer or a control, with its gold."""

    row: dict[str, Any]
    gold: dict[str, Any]
    answer: dict[str, Any]

    @property
    def task(self) -> str:
        return str(self.row["task"])

    @property
    def sha256(self) -> str:
        return pair_sha256(self.task, self.gold, self.answer)

    @property
    def pairs(self) -> list[Pair]:
        return pairs_of(self.task, self.gold, self.answer)


_Scores = dict[str, tuple[float, bool]]
"""F1, and whether a text was cut, by pair_sha256."""


def score_partitions(
    workspace: Workspace,
    partitions: Sequence[Partition],
    tasks: Sequence[str],
    find: Callable[[], Scorer],
    on_progress: OnProgress | None = None,
) -> list[BertscoreSummary]:
    """Score every answer with status ok of the present corpus version, and the controls, by the scorer that `find`
    finds. Where it raises NotComputed, nothing is scored and its reason is recorded."""
    tasks = [task for task in known_tasks(tasks) if task in JUDGED_TASKS]
    answers = {task: {part: _answers(workspace, part, task) for part in dict.fromkeys(partitions)} for task in tasks}
    try:
        scorer = find()
        summaries = [
            summary
            for task, by_partition in answers.items()
            for summary in _scored(workspace, scorer, task, by_partition, on_progress)
        ]
    except NotComputed as reason:
        summaries = [
            BertscoreSummary(partition, task, None, len(rows), 0, 0, str(reason))
            for task, by_partition in answers.items()
            for partition, rows in by_partition.items()
        ]
    for summary in summaries:
        _store_run(workspace, summary)
    return summaries


def _scored(
    workspace: Workspace,
    scorer: Scorer,
    task: str,
    answers: dict[Partition, list[_Answer]],
    on_progress: OnProgress | None,
) -> list[BertscoreSummary]:
    known = _known(workspace, scorer, task)
    controls = _controls(workspace, scorer, task, answers)
    everything = [*controls, *(answer for rows in answers.values() for answer in rows)]
    fresh = _score(scorer, [answer for answer in everything if answer.sha256 not in known], on_progress)
    scores = {**known, **fresh}
    _store_controls(workspace, scorer, task, controls, scores)
    summaries = []
    for partition, rows in answers.items():
        _store_answers(workspace, scorer, partition, task, rows, scores)
        n_fresh = sum(row.sha256 in fresh for row in rows)
        n_cut = sum(scores[row.sha256][1] for row in rows)
        summaries.append(BertscoreSummary(partition, task, scorer.id, len(rows), n_fresh, n_cut, None))
    return summaries


def _score(scorer: Scorer, answers: Sequence[_Answer], on_progress: OnProgress | None) -> _Scores:
    """The scores of answers that have none; each distinct pair of texts is compared once."""
    pairs = list(dict.fromkeys(pair for answer in answers for pair in answer.pairs))
    f1: dict[Pair, float] = {}
    for start in range(0, len(pairs), AT_ONCE):
        f1.update(score_pairs(scorer, pairs[start : start + AT_ONCE]))
        if on_progress is not None:
            on_progress("computing BERTScore", min(start + AT_ONCE, len(pairs)), len(pairs))
    cut = cut_texts(scorer, pairs)
    return {
        answer.sha256: (
            answer_f1(answer.task, answer.gold, answer.answer, f1),
            any(text in cut for pair in answer.pairs for text in pair),
        )
        for answer in answers
    }


def _answers(workspace: Workspace, partition: Partition, task: str) -> list[_Answer]:
    """The answers of the present corpus version that can be read."""
    lake, key = workspace.lake, ["instance_id", "request_id"]
    plan = read_plans(lake, partition, task).filter(pl.col("corpus_version") == workspace.corpus_version)
    answers = lake.read(f"answers_{task}", Answers, partition=partition.levels).filter(pl.col("status") == "ok")
    known = answers.join(plan, on=key, how="semi").unique([*key, "epoch"], keep="any", maintain_order=True)
    return [_with_gold(workspace, row) for row in known.to_dicts()]


def _with_gold(workspace: Workspace, row: dict[str, Any]) -> _Answer:
    instance = workspace.corpus.instances[row["instance_id"]]
    return _Answer(row, json.loads(instance["gold"]), json.loads(row["answer"]))


def _known(workspace: Workspace, scorer: Scorer, task: str) -> _Scores:
    """What this scorer has scored in any run, partition and corpus version."""
    tables = (("bertscores", Bertscores), ("bertscore_controls", BertscoreControls))
    frames = [workspace.lake.read(f"{table}_{task}", schema) for table, schema in tables]
    rows = pl.concat([frame.select("scorer", "pair_sha256", "f1", "is_cut") for frame in frames])
    mine = rows.filter(pl.col("scorer") == scorer.id).drop_nulls()
    return {sha256: (f1, is_cut) for _, sha256, f1, is_cut in mine.iter_rows()}


def _controls(
    workspace: Workspace, scorer: Scorer, task: str, answers: dict[Partition, list[_Answer]]
) -> list[_Answer]:
    """On the judges' sample, as large as it is for them: the gold itself, and another session's gold."""
    stored = workspace.lake.read(f"bertscore_controls_{task}", BertscoreControls).filter(
        pl.col("corpus_version") == workspace.corpus_version, pl.col("scorer") == scorer.id
    )
    answered = {answer.row["instance_id"] for rows in answers.values() for answer in rows}
    size = max(stored["instance_id"].n_unique(), min(SAMPLING.instances, len(answered)))
    rows = control_answers(workspace.corpus, task, size)
    return [_with_gold(workspace, row) for row in rows if row["control"] in _CONTROLS]


def _store_answers(
    workspace: Workspace, scorer: Scorer, partition: Partition, task: str, answers: Sequence[_Answer], scores: _Scores
) -> None:
    rows = [
        {
            **_scores_of(workspace, scorer, answer, scores),
            **{name: answer.row[name] for name in _ASKED},
            "answer_request_id": answer.row["request_id"],
        }
        for answer in answers
    ]
    table = f"bertscores_{task}"
    frame = check_table(pl.DataFrame(rows, infer_schema_length=None) if rows else Bertscores.empty(), Bertscores, table)
    workspace.lake.write(table, frame, partition=partition.levels, name=_file(workspace, scorer))


def _store_controls(
    workspace: Workspace, scorer: Scorer, task: str, controls: Sequence[_Answer], scores: _Scores
) -> None:
    if not controls:
        return
    rows = [
        {
            **_scores_of(workspace, scorer, control, scores),
            "task": task,
            "control": _CONTROLS[control.row["control"]],
            "instance_id": control.row["instance_id"],
        }
        for control in controls
    ]
    table = f"bertscore_controls_{task}"
    frame = check_table(pl.DataFrame(rows), BertscoreControls, table)
    workspace.lake.write(table, frame, name=_file(workspace, scorer))


def _store_run(workspace: Workspace, summary: BertscoreSummary) -> None:
    row = {
        "corpus_version": workspace.corpus_version,
        "task": summary.task,
        "model": summary.partition.model,
        "modality": summary.partition.modality,
        "protocol": summary.partition.protocol,
        "scorer": summary.scorer,
        "reason": summary.reason,
        "n_answers": summary.n_answers,
        "n_cut": summary.n_cut,
    }
    table = f"bertscore_runs_{summary.task}"
    frame = check_table(pl.DataFrame([row]), BertscoreRuns, table)
    workspace.lake.write(table, frame, partition=summary.partition.levels, name=workspace.corpus_version)


def _scores_of(workspace: Workspace, scorer: Scorer, answer: _Answer, scores: _Scores) -> dict[str, Any]:
    f1, is_cut = scores[answer.sha256]
    return {
        "corpus_version": workspace.corpus_version,
        "scorer": scorer.id,
        "pair_sha256": answer.sha256,
        "f1": f1,
        "is_cut": is_cut,
    }


def _file(workspace: Workspace, scorer: Scorer) -> str:
    """One file per scorer, so that a new one leaves the old one's scores where they are."""
    return f"{workspace.corpus_version}.{hashlib.sha256(scorer.id.encode()).hexdigest()[:12]}"
