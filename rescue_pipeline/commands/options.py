"""Options and arguments that several commands have, and what every command says first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rescue_pipeline import console, datadir

CorpusPath = Annotated[Path, typer.Option("--corpus", help="a JSONL file, or a folder of JSON files")]
CorpusArgument = Annotated[Path, typer.Argument(metavar="PATH", help="a JSONL file, or a folder of JSON files")]
Name = Annotated[str | None, typer.Option("--name", help="name of the corpus (default: of its file or folder)")]
Transcripts = Annotated[Path | None, typer.Option(help="folder of .srt/.vtt files (default: beside the corpus)")]
Encoding = Annotated[str | None, typer.Option(help="of the corpus's files, when not UTF-8 (cp1252)")]
Models = Annotated[str | None, typer.Option(metavar="A,B", help="whom to ask (default: the enabled ones)")]
Tasks = Annotated[str | None, typer.Option(metavar="A,B", help="of itp, rpp, stp, ssp, er, vp (default: all)")]
Modalities = Annotated[str | None, typer.Option(metavar="A,B", help="what is shown to them (default: dialogue)")]
Protocol = Annotated[str, typer.Option(metavar="NAME", help="how questions are asked (docs/protocols.md)")]
Limit = Annotated[int | None, typer.Option(help="at most N questions per task; the first 10 are among the first 20")]
Judges = Annotated[
    str | None, typer.Option("--judge", metavar="A,B", help="who grades er and vp (default: the registry's judge)")
]
Budget = Annotated[
    float | None,
    typer.Option("--budget", metavar="USD", min=0, help="what the run may cost, judges included (default: nothing)"),
]
Retry = Annotated[
    str | None, typer.Option(metavar="STATUS,..", help="ask again, in a new epoch, what ended so (refused, ..)")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="results only: no progress, no headline")]


def listed(names: str | None) -> list[str]:
    """The names of a comma-separated option."""
    return [name.strip() for name in (names or "").split(",") if name.strip()]


def current(quiet: bool = False) -> datadir.DataDirectory:
    """The current data directory, named on the console; UsageError when there is none yet."""
    directory = datadir.current().existing()
    say_where(directory, quiet)
    return directory


def say_where(directory: datadir.DataDirectory, quiet: bool = False) -> None:
    from rescue_pipeline.running import n_sessions

    if not quiet:
        console.print_place(directory, directory.owner() or "demo", n_sessions(directory))
