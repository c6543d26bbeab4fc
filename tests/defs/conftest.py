"""One data directory that is prepared, answered by `uniform` and published; every test begins with it in that state."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from rescue_pipeline.datadir import DataDirectory
from tests.defs.pipeline import Pipeline, claim, succeeded, working_in, write_corpus


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[DataDirectory, Path]:
    """The directory, and a copy to restore it from. It keeps its place: dbt parses all anew where a path differs."""
    root = tmp_path_factory.mktemp("published")
    directory = claim(root / "data", write_corpus(root / "corpus.jsonl"))
    with working_in(directory), dg.DagsterInstance.get() as instance:
        pipeline = Pipeline(directory, instance)
        for result in (pipeline.run("prepare"), pipeline.answer("uniform"), pipeline.run("publish")):
            succeeded(result)
    return directory, Path(shutil.copytree(directory.root, root / "kept"))


@pytest.fixture
def directory(published: tuple[DataDirectory, Path]) -> DataDirectory:
    return restored(*published)


@pytest.fixture
def pipeline(directory: DataDirectory) -> Iterator[Pipeline]:
    with working_in(directory), dg.DagsterInstance.get() as instance:
        yield Pipeline(directory, instance)


def restored(directory: DataDirectory, kept: Path) -> DataDirectory:
    shutil.rmtree(directory.root)
    shutil.copytree(kept, directory.root)
    return directory
