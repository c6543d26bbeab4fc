"""Commands that read what was published."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rescue_pipeline import console
from rescue_pipeline.commands.options import Quiet, current
from rescue_pipeline.errors import UsageError

app = typer.Typer()


@app.command()
def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="one SQL statement")],
    csv: Annotated[bool, typer.Option("--csv", help="all rows, safe to open in a spreadsheet")] = False,
    json: Annotated[bool, typer.Option("--json", help="all rows as a JSON list, exactly")] = False,
    quiet: Quiet = False,
) -> None:
    """Query the published tables.

    Schemas of results.duckdb: raw, tasks, predictions, scores, results.
    """
    from rescue_pipeline.query import run_query

    if csv and json:
        raise UsageError("choose one of --csv and --json")
    sys.stdout.write(run_query(current(quiet).results, query, "csv" if csv else "json" if json else "table"))


@app.command()
def report(quiet: Quiet = False) -> None:
    """Write the report again from what is stored."""
    from rescue_pipeline.report.provenance import provenance
    from rescue_pipeline.report.report import build_report

    directory = current(quiet)
    console.out.print(str(build_report(directory.results, directory.reports, provenance()).html))


@app.command()
def export(
    target: Annotated[Path, typer.Argument(metavar="DIR", help="folder for the tables")], quiet: Quiet = False
) -> None:
    """Write the tables as CSV, the report as Markdown."""
    from rescue_pipeline.report.provenance import provenance
    from rescue_pipeline.report.report import export_report

    for file in export_report(current(quiet).results, target, provenance()):
        console.out.print(str(file))


@app.command()
def docs(quiet: Quiet = False) -> None:
    """Write a page that describes every table (dbt docs)."""
    from rescue_pipeline.documenting import write_docs

    directory = current(quiet)
    with console.stages(quiet):
        page = write_docs(directory)
    console.out.print(str(page))
