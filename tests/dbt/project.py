"""Running dbt on a warehouse, as the pipeline does: in a process of its own, told by environment variables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rescue_pipeline.bundle import DBT_PROJECT
from rescue_pipeline.corpus.load import load_corpus
from rescue_pipeline.corpus.source import resolve
from rescue_pipeline.warehouse import open_duckdb

OUR_LAYERS = ["--select", "staging", "tasks"]


@dataclass(frozen=True)
class Dbt:
    """dbt with a folder for its output and, unless it only parses, a warehouse."""

    folder: Path
    warehouse: Path | None = None

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DBT_", "RESCUE_"))}
        told = {"DBT_TARGET_PATH": str(self.folder / "target"), "DBT_LOG_PATH": str(self.folder / "logs")}
        if self.warehouse is not None:
            told |= {"RESCUE_WAREHOUSE": str(self.warehouse), "RESCUE_LAKE_PATH": str(self.folder / "lake")}
        dbt = [str(Path(sys.executable).with_name("dbt")), "--no-use-colors"]
        where = ["--project-dir", str(DBT_PROJECT), "--profiles-dir", str(DBT_PROJECT)]
        return subprocess.run(
            [*dbt, *arguments, *where], env=kept | told, cwd=self.folder, capture_output=True, text=True, check=False
        )

    def statuses(self) -> dict[str, str]:
        """What became of each model and test of the last run, by its name."""
        results: list[dict[str, Any]] = json.loads((self.folder / "target" / "run_results.json").read_text())["results"]
        return {result["unique_id"].split(".")[2]: result["status"] for result in results}


def load(corpus: Path, folder: Path) -> Dbt:
    """A warehouse in `folder` with this corpus in raw.*, and dbt for it."""
    dbt = Dbt(folder, folder / "rescue.duckdb")
    assert dbt.warehouse is not None
    with open_duckdb(dbt.warehouse) as connection:
        load_corpus(resolve(corpus), connection)
    return dbt
