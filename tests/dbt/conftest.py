"""One build of the task tables, with all unit and data tests, that the tests of this folder look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dbt.project import OUR_LAYERS, Dbt, load

ORACLE_SMALL = Path(__file__).parents[1] / "data" / "oracle_small"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Dbt:
    """The task tables of tests/data/oracle_small."""
    dbt = load(ORACLE_SMALL / "corpus.jsonl", tmp_path_factory.mktemp("oracle_small"))
    build = dbt.run("build", *OUR_LAYERS)
    assert build.returncode == 0, build.stdout[-5000:]
    return dbt
