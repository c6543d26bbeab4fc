"""One data directory that is prepared, answered by `uniform` and published; tests work on copies of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from rescue_pipeline.datadir import DataDirectory
from tests.defs.pipeline import Pipeline, claim, working_in, write_corpus


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> DataDirectory:
    root = tmp_path_factory.mktemp("published")
    directory = claim(root / "data", write_corpus(root / "corpus.jsonl"))
    with working_in(directory), dg.DagsterInstance.get() as instance:
        pipeline = Pipeline(directory, instance)
        for result in (pipeline.run("prepare"), pipeline.answer("uniform"), pipeline.run("publish")):
            assert result.success
    return directory


@pytest.fixture
def pipeline(published: DataDirectory, tmp_path: Path) -> Iterator[Pipeline]:
    """The graph on a copy of the published directory."""
    directory = DataDirectory(shutil.copytree(published.root, tmp_path / "data"))
    with working_in(directory), dg.DagsterInstance.get() as instance:
        yield Pipeline(directory, instance)
