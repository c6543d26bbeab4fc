"""Commands that ask, import and score."""

from __future__ import annotations

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
    from rescue_pipeline.running import RunOutcome

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


def _run(
    corpus: Path,
    *,
    name: str | None = None,
    transcripts: Path | None = None,
    encoding: str | None = None,
    quiet: bool = False,
    models: Sequence[str] = (),
    tasks: Sequence[str] = (),
    modalities: Sequence[str] = (),
    **options: Any,
) -> None:
    from rescue_pipeline import running
    from rescue_pipeline.corpus.source import resolve
    from rescue_pipeline.llm.registry import load_registry
    from rescue_pipeline.llm.workspace import known_tasks
    from rescue_pipeline.schemas import TASKS
    from rescue_pipeline.settings import Settings

    registry = load_registry(Settings().models_file)
    request = running.RunRequest(
        source=resolve(corpus, name=name, transcripts=transcripts, encoding=encoding),
        models=[entry.id for entry in registry.resolve(models or None)],
        tasks=known_tasks(tasks or TASKS),
        modalities=list(dict.fromkeys(modalities or ["dialogue"])),
        **options,
    )
    request.check(registry)
    directory = running.use_corpus(request.source)
    say_where(directory, quiet)
    with console.stages(quiet):
        outcome = running.run(request, directory)
    finish(outcome)


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
