"""The command line. Every command parses, calls and prints; what it does lives elsewhere.

Exit codes: 0 done, 1 failed, 2 usage, 3 finished but incomplete (rejected records, unanswered questions)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rescue_pipeline import __version__, console, datadir, printing
from rescue_pipeline.errors import RescueError, UsageError

app = typer.Typer(
    help="RESCUE-BENCH as a pipeline: from annotated therapy sessions to scored, traceable reports. "
    "For research only, never for clinical use.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
models_app = typer.Typer(help="The model registry.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(models_app, name="models")

CorpusPath = Annotated[Path, typer.Option("--corpus", help="a JSONL file, or a folder of JSON files")]
Name = Annotated[str | None, typer.Option("--name", help="name of the corpus (default: of its file or folder)")]
Transcripts = Annotated[Path | None, typer.Option(help="folder of .srt/.vtt files (default: beside the corpus)")]
Encoding = Annotated[str | None, typer.Option(help="of the corpus's files, when not UTF-8 (cp1252)")]
Listed = Annotated[str | None, typer.Option(metavar="A,B")]
Limit = Annotated[int | None, typer.Option(help="at most N questions per task; the first 10 are among the first 20")]
Judge = Annotated[str | None, typer.Option(help="the model that grades er and vp (default: the registry's judge)")]
Yes = Annotated[bool, typer.Option("--yes", help="ask models that cost money")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="no progress")]


def _split(listed: str | None) -> list[str]:
    return [name.strip() for name in (listed or "").split(",") if name.strip()]


@app.command()
def demo(quiet: Quiet = False) -> None:
    """The whole pipeline on the demo corpus with the offline baselines."""
    from rescue_pipeline.bundle import DEMO_CORPUS

    _run(DEMO_CORPUS, quiet=quiet)


@app.command()
def run(
    corpus: CorpusPath,
    models: Listed = None,
    tasks: Listed = None,
    modalities: Listed = None,
    protocol: str = "clean",
    limit: Limit = None,
    judge: Judge = None,
    yes: Yes = False,
    name: Name = None,
    transcripts: Transcripts = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """The same on your data. Run it again to go on where it stopped."""
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
    models: list[str] | None = None,
    tasks: list[str] | None = None,
    modalities: list[str] | None = None,
    **options: object,
) -> None:
    from rescue_pipeline import running
    from rescue_pipeline.corpus.source import resolve
    from rescue_pipeline.llm.registry import load_registry
    from rescue_pipeline.schemas import TASKS
    from rescue_pipeline.settings import Settings

    registry = load_registry(Settings().models_file)
    request = running.RunRequest(
        source=resolve(corpus, name=name, transcripts=transcripts, encoding=encoding),
        models=[entry.id for entry in registry.resolve(models or None)],
        tasks=[task for task in TASKS if task in tasks] if tasks and set(tasks) <= set(TASKS) else tasks or TASKS,
        modalities=modalities or ["dialogue"],
        **options,  # type: ignore[arg-type]
    )
    request.check(registry)
    directory = running.use_corpus(request.source)
    console.print_place(directory, request.source.corpus_id, running.n_sessions(directory))
    with console.stages(quiet):
        outcome = running.run(request)
    printing.print_leaderboard(directory)
    printing.print_outcome(outcome)
    raise typer.Exit(outcome.exit_code)


@app.command("import-predictions")
def import_predictions(
    file: Path,
    model: Annotated[str | None, typer.Option(help="the name to score them under (default: the rows' own)")] = None,
    quiet: Quiet = False,
) -> None:
    """Score answers that were made elsewhere (JSONL: task, sample_id, row_index, modality, answer)."""
    from rescue_pipeline import running

    directory = _current()
    with console.stages(quiet):
        outcome = running.import_file(directory, file, model)
    printing.print_leaderboard(directory)
    printing.print_outcome(outcome)
    raise typer.Exit(outcome.exit_code)


@models_app.command("list")
def models_list() -> None:
    """Every model of the registry: the shipped ones and those of ./models.yaml."""
    from rescue_pipeline.llm.registry import load_registry
    from rescue_pipeline.settings import Settings

    printing.print_models(load_registry(Settings().models_file))


@models_app.command("check")
def models_check(ids: Annotated[list[str] | None, typer.Argument()] = None, yes: Yes = False) -> None:
    """One tiny request to each: is there a key, does it answer, structured, at what price, how fast?"""
    from rescue_pipeline.llm.checking import check_models
    from rescue_pipeline.llm.registry import load_registry
    from rescue_pipeline.settings import Settings

    registry = load_registry(Settings().models_file)
    entries = registry.resolve(ids or None)
    checks = check_models(registry, [entry.id for entry in entries])
    printing.print_checks(checks)
    raise typer.Exit(0 if all(check.ok for check in checks) else 1)


@app.command()
def validate(path: Path, name: Name = None, transcripts: Transcripts = None, encoding: Encoding = None) -> None:
    """Check a corpus without loading it."""
    from rescue_pipeline.corpus.source import resolve
    from rescue_pipeline.corpus.validate import validate as check

    report = check(resolve(path, name=name, transcripts=transcripts, encoding=encoding))
    printing.print_validation(report)
    raise typer.Exit(report.exit_code)


@app.command()
def fetch(
    target: Annotated[Path | None, typer.Argument(help="folder for it (default ./data/corpora/rescue-bench)")] = None,
    accept_terms: Annotated[bool, typer.Option("--accept-terms", help="you have read and accept the terms")] = False,
) -> None:
    """Download the public benchmark, after you accepted its terms."""
    from rescue_pipeline import fetching

    console.err.print(fetching.TERMS, markup=False)
    if not accept_terms and not typer.confirm("Do you accept these terms?", err=True):
        raise UsageError("the terms were not accepted; nothing was downloaded")
    with console.stages(quiet=False):
        folder = fetching.fetch(target)
    console.out.print(f"next: rescue run --corpus {folder}", markup=False)


@app.command()
def doctor() -> None:
    """What is installed, reachable, locked or misconfigured."""
    from rescue_pipeline.doctoring import examine

    findings = examine()
    printing.print_findings(findings)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)


@app.command()
def ui(port: int = 3000, host: str = "127.0.0.1") -> None:
    """Dagster's UI with its daemon, on the current data directory."""
    from rescue_pipeline.serving import serve_ui

    raise typer.Exit(serve_ui(_current(create=True), host, port))


@app.command()
def sql(
    query: str,
    csv: Annotated[bool, typer.Option("--csv")] = False,
    json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Query results.duckdb (schemas tasks, predictions, scores, results)."""
    from rescue_pipeline.query import run_query

    if csv and json:
        raise UsageError("choose one of --csv and --json")
    sys.stdout.write(run_query(_current().results, query, "csv" if csv else "json" if json else "table"))


@app.command()
def report() -> None:
    """Write the report again from what is stored."""
    from rescue_pipeline.report.provenance import provenance
    from rescue_pipeline.report.report import build_report

    directory = _current()
    console.out.print(str(build_report(directory.results, directory.reports, provenance()).html), markup=False)


@app.command()
def export(target: Annotated[Path, typer.Argument(help="folder for the tables")]) -> None:
    """Write the result tables as CSV and Markdown."""
    from rescue_pipeline.report.report import write_tables

    for file in write_tables(_current().results, target):
        console.out.print(str(file), markup=False)


@app.command()
def version() -> None:
    """The version of this software."""
    console.out.print(__version__)


def _current(create: bool = False) -> datadir.DataDirectory:
    """The current data directory, named on the console; UsageError when there is none yet."""
    from rescue_pipeline.running import n_sessions, use_current

    directory = use_current(create)
    console.print_place(directory, directory.owner() or "demo", n_sessions(directory))
    return directory


def main() -> None:
    try:
        # without standalone mode click returns the code of an Exit instead of leaving
        sys.exit(app(standalone_mode=False) or 0)
    except RescueError as error:
        console.print_error(error)
        sys.exit(error.exit_code)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        console.err.print("stopped; what was answered is kept: run the same command to go on")
        sys.exit(3)
    except typer.BadParameter as error:
        error.show() if hasattr(error, "show") else console.err.print(str(error))
        sys.exit(2)
