"""Writing a report: report.html, report.md and tables/*.csv, each replaced whole."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rescue_pipeline.datadir import write_atomically
from rescue_pipeline.errors import RescueError
from rescue_pipeline.report.content import Content, assemble
from rescue_pipeline.report.markdown import render_markdown
from rescue_pipeline.report.page import render_page
from rescue_pipeline.report.reading import read_results
from rescue_pipeline.report.run_tables import timestamp
from rescue_pipeline.report.tables import write_tables


@dataclass(frozen=True)
class ReportFiles:
    """What was written; bytes is the size of the page."""

    html: Path
    markdown: Path
    tables: list[Path]
    bytes: int
    seconds: float


def build_report(
    results_path: Path, reports_dir: Path, provenance: Mapping[str, str], *, generated_at: datetime | None = None
) -> ReportFiles:
    """Write the whole report from a published results.duckdb.

    provenance: software -> version. generated_at: the one stamp that differs between two runs (default: now).
    Raises RescueError when there is no such database, it is in use, or the folder cannot be written.
    """
    started = time.perf_counter()
    if not results_path.exists():
        raise RescueError(
            "there are no results to report", where=str(results_path), advice="run `rescue run` or `rescue demo` first"
        )
    content = _content(results_path, provenance, generated_at)
    html, markdown = reports_dir / "report.html", reports_dir / "report.md"
    page = render_page(content)
    try:
        reports_dir.mkdir(parents=True, exist_ok=True)
        write_atomically(html, page)
        write_atomically(markdown, render_markdown(content))
        tables = write_tables(results_path, reports_dir / "tables")
    except OSError as error:
        raise RescueError(
            "the report could not be written; files that were there are unchanged or complete",
            where=str(reports_dir),
            found=error.strerror or type(error).__name__,
            advice="free some disk space, or check that the folder may be written to, and run `rescue report`",
        ) from error
    return ReportFiles(html, markdown, tables, len(page.encode()), time.perf_counter() - started)


def export_report(results_path: Path, target_dir: Path, provenance: Mapping[str, str]) -> list[Path]:
    """Write the result tables (CSV) and report.md to a folder of the reader's choice; returns the files."""
    written = write_tables(results_path, target_dir)
    markdown = target_dir / "report.md"
    write_atomically(markdown, render_markdown(_content(results_path, provenance, None)))
    return [*written, markdown]


def _content(results_path: Path, provenance: Mapping[str, str], generated_at: datetime | None) -> Content:
    return assemble(read_results(results_path), provenance, timestamp(generated_at or datetime.now(UTC)))
