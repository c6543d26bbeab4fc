"""Commands that read what was published."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

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
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="a model id, or what --by says")],
    b: Annotated[str, typer.Argument(metavar="B", help="what to compare it with: differences are A - B")],
    by: Annotated[
        Literal["model", "protocol", "modality", "generation"], typer.Option(help="what A and B are")
    ] = "model",
    model: Annotated[str | None, typer.Option(help="whose answers (default: of every model that has both)")] = None,
    protocol: Annotated[str | None, typer.Option(help="under which protocol (default: clean)")] = None,
    modality: Annotated[str | None, typer.Option(help="in which modality (default: dialogue)")] = None,
    generation: Annotated[str | None, typer.Option(help="of which generation (default: the newest)")] = None,
    scenario: Annotated[Literal["both", "couple", "family"], typer.Option(help="whose sessions")] = "both",
    csv: Annotated[bool, typer.Option("--csv", help="all columns, safe to open in a spreadsheet")] = False,
    json: Annotated[bool, typer.Option("--json", help="all columns as a JSON list, exactly")] = False,
    quiet: Quiet = False,
) -> None:
    """Compare two models or two ways of asking.

    For example: rescue compare official clean --by protocol
    """
    from rescue_pipeline.comparison import Wanted, as_frame
    from rescue_pipeline.comparison import compare as compared
    from rescue_pipeline.console_comparison import print_comparisons
    from rescue_pipeline.query import as_text

    if csv and json:
        raise UsageError("choose one of --csv and --json")
    wanted = Wanted(a, b, by, model, protocol, modality, generation, scenario)
    comparisons = compared(current(quiet).results, wanted)
    if csv or json:
        sys.stdout.write(as_text(as_frame(comparisons), "csv" if csv else "json"))
    else:
        print_comparisons(comparisons)


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
