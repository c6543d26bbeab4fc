"""`rescue purge`: erasing one session from a data directory.

The journal is rewritten without it; everything that is derived from the journal and the corpus is deleted, because
databases and caches keep deleted text in free pages. The next run makes the rest again and asks nothing twice.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import fsspec
import polars as pl

from rescue_pipeline.datadir import DataDirectory, session_hash
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.keeping import Kept, kept_requests, sample_of
from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.segments import SUFFIX, read_records, sync_folder, write_durably
from rescue_pipeline.warehouse import open_duckdb

_KEPT_TABLES = {"estimates"}
"""Of the lake: numbers about models only, and nothing could make them again."""
_CUT_TABLES = ("sessions", "turns", "instances", "unlabelled_rows", "annotations")
"""Of the lake: older corpus versions lie there too, and what was asked about their other sessions still counts."""

_UNFINISHED = ".tmp"


@dataclass
class Purged:
    """What was removed. records: lines of the journal, those of baselines included."""

    planned: int = 0
    records: int = 0
    files: int = 0
    deleted: tuple[str, ...] = ()


def purge(directory: DataDirectory, sample_id: str) -> Purged:
    """Erase a session; safe to repeat after an interruption.

    Raises UsageError for a session that was never here, RescueError while a run is going on.
    """
    with _nobody_at_work(directory):
        kept = kept_requests(directory, sample_id)
        if not kept.is_known and session_hash(sample_id) not in directory.purged():
            raise UsageError(
                "there is no such session in this data directory; nothing was changed",
                where=str(directory.root),
                expected="a sample_id as raw.samples has it",
                found=sample_id[:100],
            )
        directory.record_purge(sample_id)
        result = Purged()
        for path in sorted(directory.journal.rglob("*")):
            if path.suffix == ".torn":  # half a record: nobody can tell whose
                path.unlink()
            elif path.suffix == SUFFIX and path.parent != directory.journal:
                _rewrite(path, directory, sample_id, kept, result)
        _drop_unfinished(directory)
        _cut(Lake(directory.lake), sample_id)
        result.deleted = tuple(_delete_derived(directory))
        return result


def _rewrite(path: Path, directory: DataDirectory, sample_id: str, kept: Kept, result: Purged) -> None:
    """Leave a journal file without the session's lines: a new file beside it takes its place, or nothing changes."""
    table, records = path.relative_to(directory.journal).parts[0], read_records(path)
    if table == "plan":
        good = [row for row in records if sample_of(row["instance_id"]) != sample_id]
        result.planned += len(records) - len(good)
    else:
        good = [row for row in records if row["request_id"] in kept.of(table)]
        result.records += len(records) - len(good)
    if len(good) == len(records):
        return
    result.files += 1
    temporary = path.with_name(f".{path.name}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        write_durably(handle, "".join(json.dumps(row, allow_nan=False) + "\n" for row in good).encode("ascii"))
    finally:
        os.close(handle)
    temporary.replace(path)
    sync_folder(path.parent)


def _drop_unfinished(directory: DataDirectory) -> None:
    """Delete the temporary files of writes that were killed: they may hold the session, and nothing reads them."""
    for path in directory.journal.rglob(f"*{_UNFINISHED}"):
        path.unlink()
    fs, root = fsspec.url_to_fs(directory.lake)
    for name in fs.find(root) if fs.exists(root) else []:
        if name.endswith(_UNFINISHED):
            fs.rm(name)


def _cut(lake: Lake, sample_id: str) -> None:
    """Leave the corpus's own tables without the session's rows, file by file."""
    for table in _CUT_TABLES:
        for name in lake.files(table):
            with fsspec.open(f"{lake.folder(table)}/{name}.parquet", "rb") as file:
                rows = pl.read_parquet(file)
            others = rows.filter(pl.col("sample_id") != sample_id)
            if others.height < rows.height:
                lake.write(table, others, name=name)


def _delete_derived(directory: DataDirectory) -> Iterator[str]:
    """Delete what can be made again; yields what was there."""
    fs, root = fsspec.url_to_fs(directory.lake)
    if fs.exists(root):
        for folder in fs.ls(root, detail=False):
            if folder.rstrip("/").rsplit("/", 1)[-1] not in {*_KEPT_TABLES, *_CUT_TABLES}:
                fs.rm(folder, recursive=True)
        yield "lake"
    for database in (directory.warehouse, directory.results):
        for file in [path for path in directory.root.glob(f"{database.name}*") if path.exists()]:
            shutil.rmtree(file) if file.is_dir() else file.unlink()
            yield file.name
    for folder in (directory.reports, directory.quality, directory.dbt, directory.logs):
        if folder.is_dir() and any(folder.iterdir()):
            shutil.rmtree(folder)
            yield folder.name
    directory.create()


@contextmanager
def _nobody_at_work(directory: DataDirectory) -> Iterator[None]:
    """Hold every lease and see that the warehouse is free; raises RescueError that names who is at work."""
    with open_duckdb(directory.warehouse, timeout=0) if directory.warehouse.exists() else _nothing():
        pass
    handles: list[int] = []
    try:
        for file in sorted((directory.journal / "leases").glob("*.lock")):
            handles.append(os.open(file, os.O_RDWR))
            try:
                fcntl.flock(handles[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(handles[-1], 32, 0).decode("ascii", "replace").strip()
                raise RescueError(
                    "a run is going on in this data directory; nothing was changed",
                    where=str(file),
                    found=f"process {holder} is asking",
                    advice="wait until it ends, or stop it",
                ) from None
        yield
    finally:
        for handle in handles:
            os.close(handle)


@contextmanager
def _nothing() -> Iterator[None]:
    yield
