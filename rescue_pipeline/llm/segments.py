"""The files of the journal: append-only JSONL segments, their repair after a crash, and their projection to the lake.

A segment's sealed copy in the lake has the same name. Nothing here deletes a segment.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandera.polars as pa
import polars as pl

from rescue_pipeline.errors import RescueError
from rescue_pipeline.lake import Lake
from rescue_pipeline.llm import storable
from rescue_pipeline.schemas import LAKE_TABLES, check_table

log = logging.getLogger(__name__)
SUFFIX = ".jsonl"


@dataclass(frozen=True)
class Stream:
    """Where the records of one table and partition go: the same folder levels in the journal and in the lake."""

    table: str
    levels: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, table: str, levels: dict[str, str]) -> Stream:
        return cls(table, tuple(levels.items()))

    def folder(self, root: Path) -> Path:
        return root.joinpath(self.table, *(f"{key}={value}" for key, value in self.levels))


class Segment:
    """A segment being written. A record counts once `append` has returned: it is on the disk, whole, in order."""

    def __init__(self, root: Path, stream: Stream) -> None:
        self.stream = stream
        folder = stream.folder(root)
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z-{os.getpid()}-{secrets.token_hex(3)}{SUFFIX}"
        self.rows = 0
        self._handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        sync_folder(folder)

    def append(self, records: list[dict[str, Any]]) -> None:
        """Write records and wait for the disk. Raises OSError."""
        write_durably(self._handle, json_lines(records))
        self.rows += len(records)

    def close(self) -> None:
        os.close(self._handle)


def json_lines(records: list[dict[str, Any]]) -> bytes:
    # ASCII only: a lone surrogate in an answer must not make the record unwritable
    return "".join(json.dumps(record, allow_nan=False) + "\n" for record in records).encode("ascii")


def write_durably(handle: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]
    os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """Make a new file's name durable too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def segment_files(root: Path, stream: Stream) -> list[Path]:
    return sorted(stream.folder(root).glob(f"*{SUFFIX}"))


def repair(path: Path) -> bool:
    """Mend the end of a segment whose writer died: a half-written last line is set aside in a `.torn` file.

    Returns whether there was one. Nothing is lost: such a record never counted.
    """
    content = path.read_bytes()
    if not content or content.endswith(b"\n"):
        return False
    start = content.rfind(b"\n") + 1
    with path.with_suffix(".torn").open("ab") as aside:
        write_durably(aside.fileno(), content[start:] + b"\n")
    with path.open("r+b") as file:
        file.truncate(start)
        os.fsync(file.fileno())
    log.warning("the last record of journal segment %s was half written and is set aside", path.stem)
    return True


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of a JSONL file, in order; raises RescueError (file, line) where one is unreadable."""
    records = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                records.append(json.loads(line))
            except ValueError:
                raise RescueError(
                    "a record of the journal cannot be read; nothing was changed",
                    where=f"{path}, line {number}",
                    expected="one JSON object",
                    found=f"{len(line)} characters that are not JSON",
                    advice="restore the file from a backup, or move that line to a .torn file beside it",
                ) from None
    return records


def seal(path: Path, stream: Stream, lake: Lake) -> int:
    """Write a finished segment's rows to the lake; returns how many. An empty segment needs no copy."""
    records = read_records(path)
    if not records:
        return 0
    schema = LAKE_TABLES[stream.table]
    # a journal of an earlier release may hold what no table can: that must not block its partition for ever
    counts = [name for name, column in schema.to_schema().columns.items() if column.nullable and _is_whole(column)]
    records = [storable.row(record, counts) for record in records]
    frame = pl.DataFrame(records, infer_schema_length=None).with_columns(
        pl.col("sent_at").str.to_datetime(time_unit="us", time_zone="UTC"),
        *_columns_since_added(schema, records),
        segment=pl.lit(path.stem),
    )
    lake.write(stream.table, check_table(frame, schema, stream.table), partition=dict(stream.levels), name=path.stem)
    return len(records)


def _is_whole(column: Any) -> bool:
    return str(column.dtype) == "Int64"


def _columns_since_added(schema: type[pa.DataFrameModel], records: list[dict[str, Any]]) -> list[pl.Expr]:
    """Nulls for the columns that a segment of an older version of this project does not have."""
    known = set().union(*records)
    columns = schema.to_schema().columns.items()
    return [pl.lit(None).alias(name) for name, column in columns if column.nullable and name not in known]


def unsealed(root: Path, stream: Stream, lake: Lake) -> list[Path]:
    sealed = set(lake.files(stream.table, dict(stream.levels)))
    return [path for path in segment_files(root, stream) if path.stem not in sealed and path.stat().st_size]
