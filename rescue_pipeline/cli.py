"""The command line. Every command parses, calls and prints; what it does lives elsewhere.

Libraries that take long to import are imported by the command that needs them; exit codes are explained in exits.py."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rescue_pipeline import __version__, console, datadir
from rescue_pipeline.errors import UsageError
from rescue_pipeline.exits import Commands

if TYPE_CHECKING:
    from rescue_pipeline.running import RunOutcome

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
models_app = typer.Typer(help="The models that can be asked.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(models_app, name="models")

CorpusPath = Annotated[Path, typer.Option("--corpus", help="a JSONL file, or a folder of JSON files")]
CorpusArgument = Annotated[Path, typer.Argument(metavar="PATH", help="a JSONL file, or a folder of JSON files")]
Name = Annotated[str | None, typer.Option("--name", help="name of the corpus (default: of its file or folder)")]
Transcripts = Annotated[Path | None, typer.Option(help="folder of .srt/.vtt files (default: beside the corpus)")]
Encoding = Annotated[str | None, typer.Option(help="of the corpus's files, when not UTF-8 (cp1252)")]
Models = Annotated[str | None, typer.Option(metavar="A,B", help="whom to ask (default: the enabled ones)")]
Tasks = Annotated[str | None, typer.Option(metavar="A,B", help="of itp, rpp, stp, ssp, er, vp (default: all)")]
Modalities = Annotated[str | None, typer.Option(metavar="A,B", help="what is shown to them (default: dialogue)")]
Protocol = Annotated[str, typer.Option(metavar="NAME", help="how questions are asked")]
Limit = Annotated[int | None, typer.Option(help="at most N questions per task; the first 10 are among the first 20")]
Judge = Annotated[str | None, typer.Option(help="the model that grades er and vp (default: the registry's judge)")]
Yes = Annotated[bool, typer.Option("--yes", help="ask models that cost money")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="results only: no progress, no headline")]


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


def _split(listed: str | None) -> list[str]:
    return [name.strip() for name in (listed or "").split(",") if name.strip()]


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
    judge: Judge = None,
    yes: Yes = False,
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
        models=_split(models),
        tasks=_split(tasks),
        modalities=_split(modalities),
        protocol=protocol,
        limit=limit,
        judge=judge,
        allow_paid=yes,
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
    _say_where(directory, quiet)
    with console.stages(quiet):
        outcome = running.run(request, directory)
    _finish(outcome)


def _finish(outcome: RunOutcome) -> None:
    from rescue_pipeline.console_leaderboard import print_leaderboard
    from rescue_pipeline.printing import print_outcome

    print_leaderboard(outcome.directory)
    print_outcome(outcome)
    raise typer.Exit(outcome.exit_code)


@app.command("import-predictions")
def import_predictions(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the answers, one a line")],
    model: Annotated[str | None, typer.Option(help="the name to score them under (default: the rows' own)")] = None,
    judge: Judge = None,
    yes: Yes = False,
    quiet: Quiet = False,
) -> None:
    """Score answers made elsewhere.

    FILE is JSONL with task, sample_id, row_index, modality and answer, about the current corpus.
    """
    from rescue_pipeline import running

    directory = running.use(_current(quiet))
    with console.stages(quiet):
        outcome = running.import_file(directory, file, model, judge, allow_paid=yes)
    _finish(outcome)


@models_app.command("list")
def models_list() -> None:
    """Show the shipped models and those of ./models.yaml."""
    from rescue_pipeline.llm.registry import load_registry
    from rescue_pipeline.printing import print_models
    from rescue_pipeline.settings import Settings

    print_models(load_registry(Settings().models_file))


@models_app.command("check")
def models_check(
    models: Annotated[list[str] | None, typer.Argument(metavar="ID", help="ids (default: the enabled ones)")] = None,
) -> None:
    """Send a tiny request to each.

    Is there a key, does it answer, in the form asked for, at what price, how fast? A paid model bills a few tokens.
    """
    from rescue_pipeline.llm.checking import check_models
    from rescue_pipeline.llm.registry import load_registry
    from rescue_pipeline.printing import print_checks
    from rescue_pipeline.settings import Settings

    checks = check_models(load_registry(Settings().models_file), models or None)
    print_checks(checks)
    raise typer.Exit(0 if all(check.ok for check in checks) else 1)


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
    _say_where(directory)
    raise typer.Exit(serve_ui(running.use(directory), host, port))


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
    sys.stdout.write(run_query(_current(quiet).results, query, "csv" if csv else "json" if json else "table"))


@app.command()
def report(quiet: Quiet = False) -> None:
    """Write the report again from what is stored."""
    from rescue_pipeline.report.provenance import provenance
    from rescue_pipeline.report.report import build_report

    directory = _current(quiet)
    console.out.print(str(build_report(directory.results, directory.reports, provenance()).html))


@app.command()
def export(
    target: Annotated[Path, typer.Argument(metavar="DIR", help="folder for the tables")], quiet: Quiet = False
) -> None:
    """Write the tables as CSV, the report as Markdown."""
    from rescue_pipeline.report.provenance import provenance
    from rescue_pipeline.report.report import export_report

    for file in export_report(_current(quiet).results, target, provenance()):
        console.out.print(str(file))


@app.command()
def docs(quiet: Quiet = False) -> None:
    """Write a page that describes every table (dbt docs)."""
    from rescue_pipeline.documenting import write_docs

    directory = _current(quiet)
    with console.stages(quiet):
        page = write_docs(directory)
    console.out.print(str(page))


def _current(quiet: bool = False) -> datadir.DataDirectory:
    """The current data directory, named on the console; UsageError when there is none yet."""
    directory = datadir.current().existing()
    _say_where(directory, quiet)
    return directory


def _say_where(directory: datadir.DataDirectory, quiet: bool = False) -> None:
    from rescue_pipeline.running import n_sessions

    if not quiet:
        console.print_place(directory, directory.owner() or "demo", n_sessions(directory))


def main() -> None:
    # the libraries behind a run make millions of lasting objects: looking through them again and again is a tenth of it
    gc.set_threshold(100_000, 50, 50)
    app(prog_name="rescue")
