"""Answers made elsewhere, taken in as responses to a plan of their own: protocol `imported`, then as any other model.

An imported model's generation is a set of answers that do not contradict each other. Importing a file again, or more
questions of the same set, adds to a generation; another answer to a question already answered opens the next one, and
both stay. The rule needs no file names: the answers themselves are what makes a version.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.answering import AnswerSummary, parse_partition
from rescue_pipeline.llm.asking import partition_lease, response_stream
from rescue_pipeline.llm.exchange import Reply
from rescue_pipeline.llm.generations import generation_for, known_revisions
from rescue_pipeline.llm.identity import digest
from rescue_pipeline.llm.journal import Journal
from rescue_pipeline.llm.planning import plan_row
from rescue_pipeline.llm.plans import PlanKey, read_plan, store_plan
from rescue_pipeline.llm.predictions_file import BadLine, Key, Prediction, read_predictions
from rescue_pipeline.llm.registry import MODEL_ID
from rescue_pipeline.llm.responses import counting_responses
from rescue_pipeline.llm.workspace import EPOCH, IMPORTED, Partition, Workspace
from rescue_pipeline.schemas import TASKS
from rescue_pipeline.tasks.spec import load_tasks

Predictions = Mapping[Key, Prediction]


@dataclass(frozen=True)
class ImportSummary:
    """What an import did. imported: answers new to the journal; reused: those it held already."""

    model: str
    generation: int
    partitions: list[Partition]
    tasks: list[str]
    planned: int
    imported: int
    reused: int
    errors: list[BadLine]
    answers: list[AnswerSummary]

    @property
    def by_status(self) -> dict[str, int]:
        total: dict[str, int] = defaultdict(int)
        for summary in self.answers:
            for status, n in summary.by_status.items():
                total[status] += n
        return dict(total)


def import_predictions(workspace: Workspace, file: Path, model: str | None = None) -> ImportSummary:
    """Take in a file of answers and parse them.

    model: the name to score them under; without it the name the rows give, which must be one. All instances of the
    tasks in the file are planned, so that a missing answer counts as not run. Raises UsageError when the file or the
    name cannot be used; single bad lines are collected in the summary's errors.
    """
    predictions, errors = read_predictions(file, workspace.corpus)
    name = _name(model, predictions, file)
    by_partition: dict[Partition, set[str]] = defaultdict(set)
    for prediction in predictions.values():
        by_partition[Partition(name, prediction.modality, IMPORTED)].add(prediction.task)
    tasks = [task for task in TASKS if any(task in found for found in by_partition.values())]
    with ExitStack() as held:
        for partition in sorted(by_partition):
            held.enter_context(partition_lease(workspace, partition))
        generation = _generation(workspace, name, predictions)
        planned = sum(_plan(workspace, part, found, generation) for part, found in by_partition.items())
        imported = _journal(workspace, name, predictions, generation)
    answers = [parse_partition(workspace, part, task) for part, found in by_partition.items() for task in sorted(found)]
    return ImportSummary(
        name, generation, sorted(by_partition), tasks, planned, imported, len(predictions) - imported, errors, answers
    )


def _name(model: str | None, predictions: Predictions, file: Path) -> str:
    names = {prediction.model for prediction in predictions.values()}
    if model is None and len(names) == 1:
        model = names.pop()
    if model is None:
        found = ", ".join(sorted(name or "(none)" for name in names)[:5])
        raise UsageError("the rows do not name one model", where=str(file), found=found, advice="give --model NAME")
    if not re.fullmatch(MODEL_ID, model):
        expected = "up to 80 of a-z, 0-9, dot, underscore, hyphen"
        raise UsageError(
            "this cannot be a model's name", expected=expected, found=model[:100], advice="give --model NAME"
        )
    return model


def _request_id(model: str, generation: int, key: Key) -> str:
    return digest(
        {"protocol": IMPORTED, "model": model, "generation": generation, "modality": key[0], "instance": key[1]}
    )


def _generation(workspace: Workspace, model: str, predictions: Predictions) -> int:
    """The newest generation that no answer of the file contradicts, else a new one."""
    journal, stored = workspace.datadir.journal, _stored(workspace, model, predictions)
    known = sorted(known_revisions(journal, model).values(), reverse=True)
    for generation in known:
        before = {key: stored.get(_request_id(model, generation, key)) for key in predictions}
        if all(before[key] in (None, prediction.content) for key, prediction in predictions.items()):
            return generation
    content = sorted((*key, prediction.content) for key, prediction in predictions.items())
    return generation_for(journal, model, f"imported-{digest(content)[:16]}")


def _stored(workspace: Workspace, model: str, predictions: Predictions) -> dict[str, str]:
    """The text of every imported response of this model, by request."""
    stored: dict[str, str] = {}
    for task in {prediction.task for prediction in predictions.values()}:
        rows = counting_responses(workspace.lake, task, Partition(model, "", IMPORTED))
        stored.update(zip(rows["request_id"], rows["content"], strict=True))
    return stored


def _plan(workspace: Workspace, partition: Partition, tasks: set[str], generation: int) -> int:
    """Plan every instance of the tasks; returns how many."""
    planned = 0
    for task in sorted(tasks):
        key = PlanKey(partition, task, workspace.corpus_version, generation, EPOCH)
        rows = [
            plan_row(
                workspace,
                key,
                instance,
                _request_id(partition.model, generation, (partition.modality, instance["instance_id"])),
                task_version=load_tasks()[task].version,
                template=IMPORTED,
            )
            for instance in workspace.corpus.of_task(task)
        ]
        planned += store_plan(workspace, key, rows, read_plan(workspace.lake, key)).height
    return planned


def _journal(workspace: Workspace, model: str, predictions: Predictions, generation: int) -> int:
    """Journal the answers that are not there yet; returns how many."""
    stored, written = _stored(workspace, model, predictions), 0
    with Journal(workspace.datadir.journal, workspace.lake) as journal:
        for key, prediction in predictions.items():
            request = _request_id(model, generation, key)
            if request in stored:
                continue
            partition = Partition(model, prediction.modality, IMPORTED)
            record = {
                "request_id": request,
                "task": prediction.task,
                "generation": generation,
                "epoch": EPOCH,
                "run_id": None,
                **partition.levels,
                **_reply(prediction),
            }
            journal.append(response_stream(partition, prediction.task), record, lambda _failure: None)
            written += 1
    return written


def _reply(prediction: Prediction) -> dict[str, Any]:
    """What is known of an answer made elsewhere: its text, and that nothing was asked."""
    empty = not prediction.content.strip()
    known = {
        "status": "empty" if empty else "ok",
        "final": True,
        "content": prediction.content,
        "parameters": "{}",
        "attempts": 0,
        "sent_at": datetime.now(UTC).isoformat(),
        "seconds": 0.0,
    }
    return {**dict.fromkeys(Reply.__dataclass_fields__), **known}
