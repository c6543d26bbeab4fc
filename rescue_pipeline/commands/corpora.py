"""Commands about a corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rescue_pipeline import console
from rescue_pipeline.commands.options import (
    CorpusArgument,
    Encoding,
    Name,
    Protocol,
    Quiet,
    Tasks,
    Transcripts,
    current,
    listed,
)
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
def audit(
    protocol: Protocol = "clean",
    modalities: Annotated[str | None, typer.Option(metavar="A,B", help="what is shown (default: all)")] = None,
    tasks: Tasks = None,
    json: Annotated[bool, typer.Option("--json", help="checks and findings as JSON")] = False,
    quiet: Quiet = False,
) -> None:
    """Can the gold be guessed from anything but the content?

    Looks at every request of the current corpus as it would be sent. Asks nobody, costs nothing.
    """
    from rescue_pipeline import running
    from rescue_pipeline.audit.auditing import audit as look
    from rescue_pipeline.console_audit import print_audits, write_json
    from rescue_pipeline.defs.resources import open_workspace
    from rescue_pipeline.schemas import TASKS
    from rescue_pipeline.schemas.predictions import MODALITIES

    running.use(current(quiet))
    with console.stages(quiet):
        audits = look(open_workspace(), protocol, listed(modalities) or MODALITIES, listed(tasks) or TASKS)
    if json:
        write_json(audits)
    else:
        print_audits(audits)
    raise typer.Exit(1 if any(one.leaks for one in audits) else 0)


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


@app.command()
def purge(
    sample_id: Annotated[str, typer.Argument(metavar="SAMPLE", help="the session's sample_id")],
    yes: Annotated[bool, typer.Option("--yes", help="do not ask whether you are sure")] = False,
    quiet: Quiet = False,
) -> None:
    """Erase a session, for good.

    From the current data directory; it is left out whenever the corpus is loaded again. The corpus's own files are
    yours to change.
    """
    from rescue_pipeline.printing import print_purged
    from rescue_pipeline.purging import purge as erase

    directory = current(quiet)
    question = f"Erase {sample_id} from {directory.root}? This cannot be undone."
    if not yes and not sys.stdin.isatty():
        raise UsageError("nobody is there to say that this is meant", advice="add --yes")
    if not yes and not typer.confirm(question, err=True):
        raise UsageError("nothing was erased")
    print_purged(erase(directory, sample_id), directory)
