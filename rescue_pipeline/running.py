"""One run from a corpus to a report: what `rescue demo` and `rescue run` do, without the printing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rescue_pipeline import datadir
from rescue_pipeline.corpus.source import CorpusSource
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.registry import Registry
from rescue_pipeline.schemas import TASKS
from rescue_pipeline.schemas.predictions import MODALITIES
from rescue_pipeline.tasks.spec import protocol_names
from rescue_pipeline.warehouse import open_duckdb


@dataclass(frozen=True)
class RunRequest:
    """What to ask of whom. Checked before anything is written."""

    source: CorpusSource
    models: Sequence[str]
    tasks: Sequence[str] = TASKS
    modalities: Sequence[str] = ("dialogue",)
    protocol: str = "clean"
    limit: int | None = None
    judge: str | None = None
    allow_paid: bool = False

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
        registry.judge(self.judge)


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

    @property
    def exit_code(self) -> int:
        """0 done, 1 a model answered nothing at all, 3 something is missing (rejected records, open questions)."""
        if any(model.planned and model.unanswered == model.planned for model in self.models):
            return 1
        return 3 if self.rejected or any(model.unanswered for model in self.models) else 0


def use_corpus(source: CorpusSource) -> DataDirectory:
    """Claim the corpus's data directory and make it this process's; nothing else is changed on a refusal."""
    from rescue_pipeline.defs.instance import use_directory

    directory = datadir.for_corpus(source.corpus_id).create()
    directory.claim(source.corpus_id, source.description())
    directory.make_current()
    use_directory(directory)
    return directory


def run(request: RunRequest) -> RunOutcome:
    """Prepare, answer, publish; every stage skips what is already done."""
    directory = use_corpus(request.source)
    from rescue_pipeline.defs.launch import Launcher

    with Launcher() as launcher:
        launcher.prepare()
        options = {
            "protocol": request.protocol,
            "tasks": list(request.tasks),
            "limit": request.limit,
            "judge": request.judge,
            "allow_paid": request.allow_paid,
        }
        try:
            asked = launcher.answer(request.models, request.modalities, options)
        finally:
            # whatever was answered before an error or Ctrl-C is published
            launcher.publish()
    return outcome(directory, request, asked)


def outcome(directory: DataDirectory, request: RunRequest, asked: list[dict[str, Any]]) -> RunOutcome:
    """What the published tables say of this run's models."""
    with open_duckdb(directory.results, read_only=True) as connection:
        rejected = connection.execute("select count(*) from raw.rejects").fetchall()[0][0]
        rows = connection.execute(
            """
            select model, status, count(*) from scores.items
            where corpus_version = (select corpus_version from raw.corpus)
                and list_contains($models, model) and list_contains($modalities, modality)
                and list_contains($tasks, task) and protocol = $protocol
            group by all
            """,
            {
                "models": list(request.models),
                "modalities": list(request.modalities),
                "tasks": list(request.tasks),
                "protocol": request.protocol,
            },
        ).fetchall()
    models = []
    for model in request.models:
        by_status = {status: n for name, status, n in rows if name == model}
        mine = [entry for entry in asked if entry["model"] == model]
        costs = [entry["cost_usd"] for entry in mine if entry.get("cost_usd") is not None]
        models.append(
            ModelOutcome(
                model=model,
                planned=sum(by_status.values()),
                asked=sum(entry["asked"] for entry in mine),
                reused=sum(entry["reused"] for entry in mine),
                by_status=by_status,
                cost_usd=sum(costs) if costs else None,
                stopped=next((entry["stopped"] for entry in mine if entry.get("stopped")), None),
            )
        )
    return RunOutcome(directory, models, rejected)


def use_current(create: bool = False) -> DataDirectory:
    """The current data directory for this process; UsageError when there is none, unless it may be created."""
    from rescue_pipeline.defs.instance import use_directory

    directory = datadir.current()
    if not directory.root.is_dir():
        if not create:
            raise UsageError(
                "there is no data directory yet",
                where=str(directory.root),
                advice="rescue demo, or rescue run --corpus ...",
            )
        directory.create()
    use_directory(directory)
    return directory


def n_sessions(directory: DataDirectory) -> int | None:
    """Sessions of the published corpus version; None before the first publication."""
    if not directory.results.exists():
        return None
    with open_duckdb(directory.results, read_only=True) as connection:
        return int(connection.execute("select count(*) from raw.samples").fetchall()[0][0])
