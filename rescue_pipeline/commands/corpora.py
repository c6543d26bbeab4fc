"""Commands about a corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rescue_pipeline import console
from rescue_pipeline.commands.options import CorpusArgument, Encoding, Name, Quiet, Transcripts
from rescue_pipeline.errors import UsageError

app = typer.Typer()


@app.command()
def validate(
    path: CorpusArgument,
    name: Name = None,
    transcripts: Transcripts = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Check a corpus without loading it."""
    from rescue_pipeline import progress
    from rescue_pipeline.corpus.source import resolve
    from rescue_pipeline.corpus.validate import validate as check
    from rescue_pipeline.printing import print_validation

    source = resolve(path, name=name, transcripts=transcripts, encoding=encoding)
    with console.stages(quiet):
        report = check(source, on_progress=progress.report)
    print_validation(report)
    raise typer.Exit(report.exit_code)


@app.command()
def fetch(
    target: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="folder for it (default ./data/corpora/rescue-bench)")
    ] = None,
    accept_terms: Annotated[bool, typer.Option("--accept-terms", help="you have read and accept the terms")] = False,
    quiet: Quiet = False,
) -> None:
    """Download the public benchmark, its terms accepted."""
    from rescue_pipeline import fetching

    console.err.print(fetching.TERMS)
    if not accept_terms:
        if not sys.stdin.isatty():
            raise UsageError("nobody is there to accept the terms", advice="rescue fetch --accept-terms")
        if not typer.confirm("Do you accept these terms?", err=True):
            raise UsageError("the terms were not accepted; nothing was downloaded")
    with console.stages(quiet):
        folder = fetching.fetch(target)
    console.out.print(f"next: rescue run --corpus {folder}")
