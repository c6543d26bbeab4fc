"""The lake: Parquet files that Python stages write and dbt reads.

A table is a folder; every file carries all its columns (partition values too), so `<table>/**/*.parquet` is the table.
Each folder holds one file without rows, made from the table's Pandera schema, so that the table exists and is typed
before the first row. Files are replaced whole, by rename.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import fsspec
import pandera.polars as pa
import polars as pl

from rescue_pipeline.schemas.table import without_rows

SCHEMA_FILE = "_schema.parquet"


@dataclass(frozen=True)
class Lake:
    """Tables below `root` (a local folder or any fsspec URL)."""

    root: str

    def folder(self, table: str, partition: Mapping[str, str] | None = None) -> str:
        levels = [f"{key}={value}" for key, value in (partition or {}).items()]
        return "/".join([self.root.rstrip("/"), table, *levels])

    def write(
        self,
        table: str,
        frame: pl.DataFrame,
        *,
        partition: Mapping[str, str] | None = None,
        name: str = "part",
    ) -> str:
        """Write one file of a table atomically; returns its path. `frame` is already validated."""
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd")
        path = f"{self.folder(table, partition)}/{name}.parquet"
        self._put(path, buffer.getvalue())
        return path

    def read(
        self,
        table: str,
        schema: type[pa.DataFrameModel],
        *,
        partition: Mapping[str, str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        """All rows of a table, or of the part below `partition`; typed and empty when there are none.

        columns: only these, so that the long ones (texts) need not be read.
        """
        fs, path = fsspec.url_to_fs(self.folder(table, partition))
        files = sorted(name for name in fs.find(path) if name.endswith(".parquet"))
        empty = without_rows(schema) if columns is None else without_rows(schema).select(columns)
        frames = []
        for name in files:
            with fs.open(name, "rb") as source:
                frames.append(_rows(io.BytesIO(source.read()), columns))
        return pl.concat([empty, *frames], how="diagonal_relaxed").select(empty.columns)

    def files(self, table: str, partition: Mapping[str, str] | None = None) -> list[str]:
        """The stems of a table's data files below `partition`, in order."""
        fs, path = fsspec.url_to_fs(self.folder(table, partition))
        stems = [
            name.rsplit("/", 1)[-1].removesuffix(".parquet") for name in fs.find(path) if name.endswith(".parquet")
        ]
        return sorted(stem for stem in stems if f"{stem}.parquet" != SCHEMA_FILE)

    def declare(self, tables: Mapping[str, type[pa.DataFrameModel]]) -> None:
        """Give every table its file without rows."""
        for table, schema in tables.items():
            buffer = io.BytesIO()
            without_rows(schema).write_parquet(buffer)
            self._put(f"{self.folder(table)}/{SCHEMA_FILE}", buffer.getvalue())

    def _put(self, path: str, content: bytes) -> None:
        fs, target = fsspec.url_to_fs(path)
        fs.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
        if "file" not in fs.protocol:
            fs.pipe_file(target, content)  # object stores replace whole objects
            return
        file = Path(target)
        temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)


def _rows(file: io.BytesIO, columns: Sequence[str] | None) -> pl.DataFrame:
    """A file's rows; a column that is younger than the file is left to the schema."""
    if columns is None:
        return pl.read_parquet(file)
    known = pl.read_parquet_schema(file)
    file.seek(0)
    return pl.read_parquet(file, columns=[column for column in columns if column in known])
