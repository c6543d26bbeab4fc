"""One scored and published build of the tiny lake, with all unit and data tests of its layers."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from rescue_pipeline.warehouse import open_duckdb
from tests.dbt.project import Dbt
from tests.dbt.scores.lake import SCORED_LAYERS, WITHOUT_UNIT_TESTS, publish_metrics
from tests.dbt.scores.tiny import tiny_lake


@pytest.fixture(scope="session")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Dbt:
    """predictions and scores, as after `dbt build`; the tiny corpus plays the released one."""
    lake = tiny_lake()
    dbt = lake.write(tmp_path_factory.mktemp("scored"), is_released=True)
    lake.write_again(dbt, "answers_itp", status="unparseable", answer=None, parser_version="0")
    build = dbt.run("build", *SCORED_LAYERS)
    assert build.returncode == 0, build.stdout[-5000:]
    return dbt


@pytest.fixture(scope="session")
def metrics(scored: Dbt) -> pl.DataFrame:
    return publish_metrics(scored)


@pytest.fixture(scope="session")
def published(scored: Dbt, metrics: pl.DataFrame) -> Dbt:
    """The results of `metrics`, which the Python step has written to the lake."""
    assert not metrics.is_empty()
    return _rebuilt(scored, "leaderboard_long", "leaderboard", "protocol_effects")


@pytest.fixture
def republished_as_other_data(published: Dbt, tmp_path: Path) -> Dbt:
    """A copy of it in which the loaded corpus is not recognised as the paper's."""
    folder = Path(shutil.copytree(published.folder, tmp_path / "other"))
    dbt = Dbt(folder, folder / "rescue.duckdb")
    with open_duckdb(folder / "rescue.duckdb") as connection:
        connection.execute("update raw.corpus set is_released = false")
    return _rebuilt(
        dbt, "corpus_versions", "dataset_statistics", "task_instances", "leaderboard_long", "reference_results"
    )


def _rebuilt(dbt: Dbt, *models: str) -> Dbt:
    build = dbt.run("build", "--select", *models, *WITHOUT_UNIT_TESTS)
    assert build.returncode == 0, build.stdout[-5000:]
    return dbt
