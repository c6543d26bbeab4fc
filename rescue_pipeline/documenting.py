"""`rescue docs`: dbt's own documentation of every model, as one page that asks for nothing from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rescue_pipeline import progress
from rescue_pipeline.bundle import DBT_PROJECT
from rescue_pipeline.datadir import DataDirectory, write_atomically
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.warehouse import require_free

_OFFLINE = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'unsafe-inline' 'unsafe-eval' data: blob:; "
    "connect-src 'none'\">"
)
"""The page's own scripts may run; an address outside of it may not even be asked for."""


def write_docs(directory: DataDirectory) -> Path:
    """Write <data>/reports/dbt-docs.html from the warehouse; needs a corpus that was loaded."""
    if not directory.warehouse.exists():
        raise UsageError("nothing is loaded yet", where=str(directory.warehouse), advice="rescue demo, or rescue run")
    require_free(directory.warehouse)
    page = directory.reports / "dbt-docs.html"
    progress.report("describing tables", 0, 1)
    with tempfile.TemporaryDirectory(prefix="rescue-docs-") as target:
        _generate(directory, Path(target))
        html = (Path(target) / "static_index.html").read_text(encoding="utf-8")
    write_atomically(page, html.replace("<head>", f"<head>{_OFFLINE}", 1))
    progress.report("describing tables", 1, 1)
    return page


def _generate(directory: DataDirectory, target: Path) -> None:
    dbt = str(Path(sys.executable).with_name("dbt"))
    told = {
        "RESCUE_WAREHOUSE": str(directory.warehouse),
        "RESCUE_LAKE_PATH": directory.lake.rstrip("/"),
        "DBT_TARGET_PATH": str(target),
        "DBT_LOG_PATH": str(directory.logs),
    }
    where = ["--project-dir", str(DBT_PROJECT), "--profiles-dir", str(DBT_PROJECT)]
    done = subprocess.run(
        [dbt, "--quiet", "--no-use-colors", "docs", "generate", "--static", *where],
        env=os.environ | told,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = [line for line in done.stdout.splitlines() if line.strip()]
        raise RescueError(
            "dbt could not write its documentation; nothing was changed",
            where=str(directory.warehouse),
            found=" ".join(said[:3])[:300] or f"exit code {done.returncode}",
            advice=f"look at {directory.logs / 'dbt.log'}",
        )
