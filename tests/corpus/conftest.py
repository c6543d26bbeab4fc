"""A database, and loading a corpus of invented records into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rescue_pipeline.corpus.load import LoadReport, load_corpus
from rescue_pipeline.corpus.source import resolve
from tests.corpus.making import column, jsonl, write


@dataclass
class Loaded:
    """A load and the database it went to."""

    report: LoadReport
    connection: duckdb.DuckDBPyConnection

    def column(self, query: str) -> list[Any]:
        return column(self.connection, query)

    @property
    def rejects(self) -> list[dict[str, Any]]:
        query = "select * from raw.rejects order by source_path, source_line"
        rows: list[dict[str, Any]] = self.connection.sql(query).pl().to_dicts()
        return rows

    @property
    def flags(self) -> list[list[str]]:
        return self.column("select flags from raw.turns order by sample_id, row_index")


Load = Callable[..., Loaded]


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(tmp_path / "rescue.duckdb")) as opened:
        yield opened


@pytest.fixture
def load(tmp_path: Path, connection: duckdb.DuckDBPyConnection) -> Load:
    """Load records (objects or raw lines), or bytes, as a JSONL corpus, or a path that is already there."""

    def _load(*content: Any, **options: Any) -> Loaded:
        path = content[0] if len(content) == 1 and isinstance(content[0], Path) else tmp_path / "corpus.jsonl"
        if path == tmp_path / "corpus.jsonl" and not isinstance(content[0], Path):
            write(path, content[0] if isinstance(content[0], bytes) else jsonl(content))
        return Loaded(load_corpus(resolve(path, **options), connection), connection)

    return _load
