"""One run from a corpus to a report: what `rescue demo` and `rescue run` do, without the printing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import duckdb

from rescue_pipeline import datadir, progress
from rescue_pipeline.corpus.source import CorpusSource
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.llm.stopping import insisted
from rescue_pipeline.outcomes import ASKING, RunOutcome, Scope, costs_of, outcome_of
from rescue_pipeline.warehouse import open_results, require_free

if TYPE_CHECKING:
    from rescue_pipeline.llm.estimate import Estimate
    from rescue_pipeline.requesting import RunRequest


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


def estimate(request: RunRequest) -> Estimate:
    """What `run` would ask and cost. The corpus is loaded for it; nothing is planned or asked."""
    from rescue_pipeline.defs.launch import FOR_PREPARING, Launcher
    from rescue_pipeline.defs.resources import open_workspace

    with Launcher(FOR_PREPARING) as launcher:
        launcher.prepare()
    return request.estimated(open_workspace())


def run(request: RunRequest, directory: DataDirectory) -> RunOutcome:
    """Prepare, answer, publish in the directory that `use_corpus` claimed; every stage skips what is already done.

    Raises NeedsBudget, with nothing planned or asked, when paid models have open questions and there is no budget.
    """
    from rescue_pipeline.defs.launch import FOR_ANSWERING, Launcher
    from rescue_pipeline.defs.resources import open_workspace

    run_id = str(uuid4())
    with Launcher(FOR_ANSWERING) as launcher:
        launcher.prepare()
        directory.make_current()
        request.refuse_unpermitted(open_workspace())
        options = {
            "protocol": request.protocol,
            "tasks": list(request.tasks),
            "limit": request.limit,
            "judges": list(request.judges),
            "budget_usd": request.budget,
            "retry": list(request.retry),
            "run_id": run_id,
        }
        try:
            reports = launcher.answer(request.models, request.modalities, options)
        except KeyboardInterrupt:
            progress.report("stopping; publishing the answers", 0)
            raise
        finally:
            # whatever was answered before an error or Ctrl-C is published; a second Ctrl-C leaves at once
            if not insisted.is_set():
                launcher.publish()
    judges = [entry.id for entry in request.judging(open_workspace().registry)]
    scope = Scope(request.models, request.modalities, request.tasks, request.protocol, judges, run_id)
    outcome = outcome_of(directory, scope, reports, launcher.seconds)
    return replace(outcome, costs=costs_of(directory, run_id), budget_usd=request.budget)


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
    from rescue_pipeline.llm.judges import judging
    from rescue_pipeline.llm.workspace import IMPORTED

    with Launcher(FOR_ANSWERING) as launcher:
        launcher.prepare()
        workspace = open_workspace()
        imported = import_predictions(workspace, file, model)
        run_id = str(uuid4())
        modalities = [partition.modality for partition in imported.partitions]
        options = {
            "protocol": IMPORTED,
            "tasks": imported.tasks,
            "judges": list(judges),
            "budget_usd": budget_usd,
            "run_id": run_id,
        }
        reports = launcher.judge([imported.model], modalities, options)
        launcher.publish()
    bad_lines = [
        f"{bad.file} line {bad.line}, {bad.field}: expected {bad.expected}, found {bad.found}"
        for bad in imported.errors
    ]
    named = [entry.id for entry in judging(workspace.registry, imported.tasks, judges)]
    scope = Scope([imported.model], modalities, imported.tasks, IMPORTED, named, run_id)
    taken_in = {"step": ASKING, "model": imported.model, "asked": imported.imported, "reused": imported.reused}
    outcome = outcome_of(directory, scope, [taken_in, *reports], launcher.seconds, bad_lines)
    return replace(outcome, costs=costs_of(directory, run_id), budget_usd=budget_usd)


def n_sessions(directory: DataDirectory) -> int | None:
    """Sessions of the published corpus version; None while there is no published database that can be read."""
    try:
        with open_results(directory.results) as connection:
            return int(connection.execute("select count(*) from raw.samples").fetchall()[0][0])
    except (RescueError, duckdb.Error):
        return None
