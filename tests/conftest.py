"""Finished data directories, made once by the command line; tests that change one work on a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.finished import LONGEST_SECONDS, Finished, demo, once, small

_MADE_BY_RUNS = {"finished_demo", "finished_small"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever needs a finished directory may have to wait until it is made."""
    for item in items:
        if _MADE_BY_RUNS.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.timeout(3 * LONGEST_SECONDS))


def _shared(factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this test run see."""
    own = factory.getbasetemp()
    return own.parent if own.name.startswith("popen-") else own


@pytest.fixture(scope="session")
def finished_demo(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """`rescue demo` on an empty data directory."""
    return once(_shared(tmp_path_factory) / "finished_demo", demo)


@pytest.fixture(scope="session")
def finished_small(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """tests/data/oracle_small and one broken record, asked of two models, then its predictions imported."""
    return once(_shared(tmp_path_factory) / "finished_small", small)
