"""A report of the four baselines, made once; tests that need other models make their own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rescue_pipeline.report.report import ReportFiles, build_report
from tests.report.factory import warehouse

MADE = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
SOFTWARE = {"duckdb": "2.0.1", "python": "3.11.2"}


def make_report(folder: Path, **made: Any) -> ReportFiles:
    return build_report(warehouse(folder / "results.duckdb", **made), folder / "reports", SOFTWARE, generated_at=MADE)


@pytest.fixture(scope="session")
def baseline_report(tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    return make_report(tmp_path_factory.mktemp("baselines"))


@pytest.fixture
def report(tmp_path: Path) -> Callable[..., ReportFiles]:
    """Make a report of other models: the arguments are the factory's."""
    return lambda **made: make_report(tmp_path, **made)
