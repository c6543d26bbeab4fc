"""One run from a corpus to a report: what `rescue demo` and `rescue run` do, without the printing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import duckdb

from rescue_pipeline import datadir, progress
from rescue_pipeline.corpus.source import CorpusSource
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.llm.registry import Registry
from rescue_pipeline.llm.workspace import IMPORTED
from rescue_pipeline.schemas import TASKS
from rescue_pipeline.schemas.predictions import MODALITIES
from rescue_pipeline.tasks.spec import protocol_names
from rescue_pipeline.warehouse import open_results, require_free


@dataclass(frozen=True)
class RunRequest:
    """What to ask of whom. Checked before anything is written."""

    source: CorpusSource
    models: Sequence[str]
    tasks: Sequence[str] = TASKS
    modalities: Sequence[str] = ("dialogue",)
    protocol: str = "clean"
    limit: int | None = None
    judges: Sequence[str] = ()
    budget_usd: float | None = None
    retry: Sequence[str] = ()

    def check(self, registry: Registry) -> None:
        """Raise UsageError for an unknown task, modality, protocol, model or judge."""
        known = {
            "task": (self.tasks, TASKS),
            "modality": (self.modalities, MODALITIES),
            "protocol": ([self.protocol], protocol_names()),
        }
        for kind, (given, allowed) in known.items():
            for name in given:
                if name not in allowed:
                    raise UsageError(f"unknown {kind}", expected=", ".join(allowed), found=name)
        if self.limit is not None and self.limit < 1:
            raise UsageError("--limit is a number of questions per task", expected="1 or more", found=str(self.limit))
        registry.resolve(self.models)
        for judge in self.judges:
            registry.judge(judge)


@dataclass(frozen=True)
class ModelOutcome:
    """What became of one model's planned questions in this run."""

    model: str
    planned: int
    asked: int
    reused: int
    by_status: dict[str, int]
    cost_usd: float | None
    stopped: str | None = None

    @property
    def unanswered(self) -> int:
        return self.by_status.get("api_error", 0) + self.by_status.get("not_run", 0)


@dataclass(frozen=True)
class RunOutcome:
    directory: DataDirectory
    models: list[ModelOutcome] = field(default_factory=list)
    rejected: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """By job: prepare, answer, publish."""
    bad_lines: list[str] = field(default_factory=list)
    """Lines of an imported file that were not taken in."""

    @property
    def exit_code(self) -> int:
        """0 done, 1 a model answered nothing at all, 3 something is missing (rejected records, open questions)."""
        if any(model.planned and model.unanswered == model.planned for model in self.models):
            return 1
        incomplete = self.rejected or self.bad_lines or any(model.unanswered for model in self.models)
        return 3 if incomplete else 0


def use_corpus(source: CorpusSource) -> DataDirectory:
    """Claim the corpus's data directory and make it this process's; nothing is changed on a refusal."""
    directory = datadir.for_corpus(source.corpus_id).create()
    directory.refuse_other(source.corpus_id)
    require_free(directory.warehouse)
    directory.claim(source.corpus_id, source.description())
    return use(directory)


def use(directory: DataDirectory) -> DataDirectory:
    """Make this process, and those it starts, work in `directory`."""
    from rescue_pipeline.defs.instance import use_directory

    use_directory(directory)
    return directory


def run(request: RunRequest, directory: DataDirectory) -> RunOutcome:
    """Prepare, answer, publish in the directory that `use_corpus` claimed; every stage skips what is already done."""
    from rescue_pipeline.defs.launch import FOR_ANSWERING, Launcher

    with Launcher(FOR_ANSWERING) as launcher:
        launcher.prepare()
        directory.make_current()
        options = {
            "protocol": request.protocol,
            "tasks": list(request.tasks),
            "limit": request.limit,
            "judges": list(request.judges),
            "budget_usd": request.budget_usd,
            "retry": list(request.retry),
            "run_id": str(uuid4()),
        }
        try:
            asked = launcher.answer(request.models, request.modalities, options)
        except KeyboardInterrupt:
            progress.report("stopping; publishing the answers", 0)
            raise
        finally:
            # whatever was answered before an error or Ctrl-C is published; a second Ctrl-C leaves at once
            launcher.publish()
    scope = _Scope(request.models, request.modalities, request.tasks, request.protocol)
    return _outcome(directory, scope, asked, launcher.seconds)


def import_file(
    directory: DataDirectory,
    file: Path,
    model: str | None,
    judges: Sequence[str] = (),
    budget_usd: float | None = None,
) -> RunOutcome:
    """Score answers that were made elsewhere; the current corpus must be loaded, and is if it is not."""
    if not file.is_file():
        raise UsageError("the predictions cannot be read", where=str(file), found="no file at this path")
    require_free(directory.warehouse)
    from rescue_pipeline.defs.launch import FOR_ANSWERING, Launcher
    from rescue_pipeline.defs.resources import open_workspace
    from rescue_pipeline.llm.importing import import_predictions

    with Launcher(FOR_ANSWERING) as launcher:
        launcher.prepare()
        imported = import_predictions(open_workspace(), file, model)
        modalities = [partition.modality for partition in imported.partitions]
        options = {
            "protocol": IMPORTED,
            "tasks": imported.tasks,
            "judges": list(judges),
            "budget_usd": budget_usd,
            "run_id": str(uuid4()),
        }
        launcher.judge([imported.model], modalities, options)
        launcher.publish()
    bad_lines = [
        f"{bad.file} line {bad.line}, {bad.field}: expected {bad.expected}, found {bad.found}"
        for bad in imported.errors
    ]
    scope = _Scope([imported.model], modalities, imported.tasks, IMPORTED)
    asked = [{"model": imported.model, "asked": imported.imported, "reused": imported.reused}]
    return _outcome(directory, scope, asked, launcher.seconds, bad_lines)


class _Scope(NamedTuple):
    """Which partitions a run was about."""

    models: Sequence[str]
    modalities: Sequence[str]
    tasks: Sequence[str]
    protocol: str


def _outcome(
    directory: DataDirectory,
    scope: _Scope,
    asked: list[dict[str, Any]],
    seconds: dict[str, float],
    bad_lines: Sequence[str] = (),
) -> RunOutcome:
    """What the published tables say of this run's models."""
    with open_results(directory.results) as connection:
        rejected = connection.execute("select count(*) from raw.rejects").fetchall()[0][0]
        rows = connection.execute(
            """
            select model, status, count(*) from scores.items
            where corpus_version = (select corpus_version from raw.corpus)
                and list_contains($models, model) and list_contains($modalities, modality)
                and list_contains($tasks, task) and protocol = $protocol
            group by all
            """,
            {name: value if isinstance(value, str) else list(value) for name, value in scope._asdict().items()},
        ).fetchall()
    models = [
        _model_outcome(model, {status: n for name, status, n in rows if name == model}, asked) for model in scope.models
    ]
    return RunOutcome(directory, models, rejected, dict(seconds), list(bad_lines))


def _model_outcome(model: str, by_status: dict[str, int], asked: list[dict[str, Any]]) -> ModelOutcome:
    mine = [entry for entry in asked if entry["model"] == model]
    costs = [entry["cost_usd"] for entry in mine if entry.get("cost_usd") is not None]
    return ModelOutcome(
        model=model,
        planned=sum(by_status.values()),
        asked=sum(entry["asked"] for entry in mine),
        reused=sum(entry["reused"] for entry in mine),
        by_status=by_status,
        cost_usd=sum(costs) if costs else None,
        stopped=next((entry["stopped"] for entry in mine if entry.get("stopped")), None),
    )


def n_sessions(directory: DataDirectory) -> int | None:
    """Sessions of the published corpus version; None while there is no published database that can be read."""
    try:
        with open_results(directory.results) as connection:
            return int(connection.execute("select count(*) from raw.samples").fetchall()[0][0])
    except (RescueError, duckdb.Error):
        return None
