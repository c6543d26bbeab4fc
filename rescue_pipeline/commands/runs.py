"""Commands that ask, import and score."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rescue_pipeline import console
from rescue_pipeline.commands.options import (
    Budget,
    CorpusPath,
    Encoding,
    Judges,
    Limit,
    Modalities,
    Models,
    Name,
    Protocol,
    Quiet,
    Retry,
    Tasks,
    Transcripts,
    current,
    listed,
    say_where,
)

if TYPE_CHECKING:
    from rescue_pipeline.corpus.source import CorpusSource
    from rescue_pipeline.outcomes import RunOutcome
    from rescue_pipeline.requesting import RunRequest

app = typer.Typer()


@app.command()
def demo(quiet: Quiet = False) -> None:
    """Run everything on the demo corpus, offline."""
    from rescue_pipeline.bundle import DEMO_CORPUS

    _run(DEMO_CORPUS, quiet=quiet)


@app.command()
def run(
    corpus: CorpusPath,
    models: Models = None,
    tasks: Tasks = None,
    modalities: Modalities = None,
    protocol: Protocol = "clean",
    limit: Limit = None,
    judge: Judges = None,
    budget: Budget = None,
    retry: Retry = None,
    name: Name = None,
    transcripts: Transcripts = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Run everything on your data; again: go on with it."""
    _run(
        corpus,
        name=name,
        transcripts=transcripts,
        encoding=encoding,
        quiet=quiet,
        models=listed(models),
        tasks=listed(tasks),
        modalities=listed(modalities),
        protocol=protocol,
        limit=limit,
        judges=listed(judge),
        budget_usd=budget,
        retry=listed(retry),
    )


@app.command()
def estimate(
    corpus: CorpusPath,
    models: Models = None,
    tasks: Tasks = None,
    modalities: Modalities = None,
    protocol: Protocol = "clean",
    limit: Limit = None,
    judge: Judges = None,
    budget: Budget = None,
    retry: Retry = None,
    name: Name = None,
    transcripts: Transcripts = None,
    encoding: Encoding = None,
    json: Annotated[bool, typer.Option("--json", help="exactly, as JSON")] = False,
    quiet: Quiet = False,
) -> None:
    """What a run would ask, cost and take; asks nothing.

    With --budget it says whether the run fits. The corpus is loaded for it. The options are those of `rescue run`.
    """
    from rescue_pipeline import running
    from rescue_pipeline.printing_estimate import estimate_json, print_estimate

    request = _request(
        _resolved(corpus, name, transcripts, encoding),
        models=listed(models),
        tasks=listed(tasks),
        modalities=listed(modalities),
        protocol=protocol,
        limit=limit,
        judges=listed(judge),
        budget_usd=budget,
        retry=listed(retry),
    )
    say_where(running.use_corpus(request.source), quiet)
    with console.stages(quiet):
        expected = running.estimate(request)
    if json:
        sys.stdout.write(estimate_json(expected))
    else:
        print_estimate(expected, request.budget)


def _run(
    corpus: Path,
    *,
    name: str | None = None,
    transcripts: Path | None = None,
    encoding: str | None = None,
    quiet: bool = False,
    **options: Any,
) -> None:
    from rescue_pipeline import running
    from rescue_pipeline.printing_estimate import print_estimate
    from rescue_pipeline.requesting import NeedsBudget

    request = _request(_resolved(corpus, name, transcripts, encoding), **options)
    directory = running.use_corpus(request.source)
    say_where(directory, quiet)
    try:
        with console.stages(quiet):
            outcome = running.run(request, directory)
    except NeedsBudget as refusal:
        print_estimate(refusal.estimate)
        if command := refusal.command(sys.argv):
            console.out.print(f"\nto run it:\n{command}")  # on one line however long: it is there to be copied
        raise
    finish(outcome)


def _resolved(corpus: Path, name: str | None, transcripts: Path | None, encoding: str | None) -> CorpusSource:
    from rescue_pipeline.corpus.source import resolve

    return resolve(corpus, name=name, transcripts=transcripts, encoding=encoding)


def _request(
    source: CorpusSource,
    models: Sequence[str] = (),
    tasks: Sequence[str] = (),
    modalities: Sequence[str] = (),
    **options: Any,
) -> RunRequest:
    """The checked request of a command."""
    from rescue_pipeline.llm.registry import load_registry
    from rescue_pipeline.llm.workspace import known_tasks
    from rescue_pipeline.requesting import RunRequest
    from rescue_pipeline.schemas import TASKS
    from rescue_pipeline.settings import Settings

    registry = load_registry(Settings().models_file)
    request = RunRequest(
        source=source,
        models=[entry.id for entry in registry.resolve(models or None)],
        tasks=known_tasks(tasks or TASKS),
        modalities=list(dict.fromkeys(modalities or ["dialogue"])),
        **options,
    )
    request.check(registry)
    return request


def finish(outcome: RunOutcome) -> None:
    from rescue_pipeline.console_leaderboard import print_leaderboard
    from rescue_pipeline.printing import print_outcome

    print_leaderboard(outcome.directory)
    print_outcome(outcome)
    raise typer.Exit(outcome.exit_code)


@app.command("import-predictions")
def import_predictions(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the answers, one a line")],
    model: Annotated[str | None, typer.Option(help="the name to score them under (default: the rows' own)")] = None,
    judge: Judges = None,
    budget: Budget = None,
    quiet: Quiet = False,
) -> None:
    """Score answers made elsewhere.

    FILE is JSONL with task, sample_id, row_index, modality and answer, about the current corpus.
    """
    from rescue_pipeline import running

    directory = running.use(current(quiet))
    with console.stages(quiet):
        outcome = running.import_file(directory, file, model, listed(judge), budget)
    finish(outcome)
