"""Checking a corpus without loading it anywhere: a temporary database that is gone afterwards."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from rescue_pipeline.corpus.expectations import QualityReport, check_corpus
from rescue_pipeline.corpus.load import LoadReport, load_corpus
from rescue_pipeline.corpus.loading import OnProgress
from rescue_pipeline.corpus.source import CorpusSource
from rescue_pipeline.warehouse import open_duckdb


@dataclass(frozen=True)
class ValidationReport:
    """What would be loaded, what would be refused, and what the quality gate says of it."""

    load: LoadReport
    quality: QualityReport

    @property
    def exit_code(self) -> int:
        """0 all is well (warnings included), 1 the quality gate would stop the pipeline, 3 some records are refused."""
        if not self.quality.passed:
            return 1
        return 3 if self.load.n_rejected else 0


def validate(source: CorpusSource, *, on_progress: OnProgress | None = None) -> ValidationReport:
    """Read and check a corpus. Raises RescueError as `load_corpus` does; no data directory is touched."""
    with (
        tempfile.TemporaryDirectory(prefix="rescue-validate-") as folder,
        open_duckdb(Path(folder) / "validate.duckdb") as connection,
    ):
        load = load_corpus(source, connection, on_progress=on_progress)
        return ValidationReport(load, check_corpus(connection))
