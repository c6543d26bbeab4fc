"""The command line: its commands and what they have in common. Exit codes are explained in exits.py."""

from __future__ import annotations

import gc
import signal
from typing import Annotated

import typer

from rescue_pipeline import __version__, console
from rescue_pipeline.commands import corpora, models, results, runs, service
from rescue_pipeline.exits import Commands

app = typer.Typer(
    cls=Commands,
    help="RESCUE-BENCH as a pipeline: from annotated therapy sessions to scored, traceable reports. "
    "For research only, never for clinical use.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": console.WIDTH},
)
for group in (runs, corpora, service, results):
    app.add_typer(group.app)
app.add_typer(models.app, name="models")


def _show_version(wanted: bool) -> None:
    if wanted:
        console.out.print(__version__)
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="show the version and leave")
]


@app.callback()
def options(version: Version = False) -> None:
    pass


def main() -> None:
    # the libraries behind a run make millions of lasting objects: looking through them again and again is a tenth of it
    gc.set_threshold(100_000, 50, 50)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends this process gets the same as Ctrl-C
    app(prog_name="rescue")
