"""Commands about the installation and its user interface."""

from __future__ import annotations

from typing import Annotated

import typer

from rescue_pipeline import datadir
from rescue_pipeline.commands.options import say_where

app = typer.Typer()


@app.command()
def doctor() -> None:
    """What is installed, reachable, locked or misconfigured."""
    from rescue_pipeline.doctoring import examine
    from rescue_pipeline.printing import print_findings

    findings = examine()
    print_findings(findings)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)


@app.command()
def ui(
    port: int = 3000, host: Annotated[str, typer.Option(help="stay on this machine: it has no login")] = "127.0.0.1"
) -> None:
    """Look at the graph and run it in Dagster's UI."""
    from rescue_pipeline import running
    from rescue_pipeline.serving import serve_ui

    directory = datadir.current().create()
    say_where(directory)
    raise typer.Exit(serve_ui(running.use(directory), host, port))
