"""Opening DuckDB files: one writer at a time, waiting for a lock and naming its holder."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.settings import Settings


@contextmanager
def open_duckdb(
    path: Path, *, read_only: bool = False, timeout: float | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB file and close it again.

    timeout: seconds to wait for a lock held by another process (default RESCUE_LOCK_TIMEOUT_SECONDS).
    Raises RescueError when the lock stays, or the file is of another DuckDB version or no database.
    """
    connection = _connect(path, read_only, Settings().lock_timeout_seconds if timeout is None else timeout)
    try:
        connection.execute("set timezone = 'UTC'")
        yield connection
    finally:
        connection.close()


@contextmanager
def open_results(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the published database for reading, so that `results.leaderboard` is found.

    Opened directly, results.duckdb is a catalog called `results` that holds a schema called `results`, and DuckDB
    refuses every `results.<table>` as ambiguous. Attached as `rescue` it answers to the same names as the warehouse.
    Raises UsageError when nothing is published, RescueError as open_duckdb does.
    """
    if not path.exists():
        raise UsageError("nothing is published yet", where=str(path), advice="rescue demo, or rescue run --corpus ...")
    with open_duckdb(path, read_only=True):
        pass  # waits for a lock, and explains a file that cannot be read
    with open_duckdb(Path(":memory:")) as connection:
        connection.execute(f"attach {quoted(str(path))} as rescue (read_only)")
        connection.execute("use rescue")
        yield connection


def require_free(path: Path) -> None:
    """Wait until nobody else holds the database; raises RescueError as open_duckdb does. A missing file is free.

    For what goes on to open it in another process, whose own message would not say who holds it.
    """
    if path.exists():
        with open_duckdb(path):
            pass


def quoted(text: str) -> str:
    """An SQL string."""
    return "'" + text.replace("'", "''") + "'"


def _connect(path: Path, read_only: bool, timeout: float) -> duckdb.DuckDBPyConnection:
    deadline, pause = time.monotonic() + timeout, 0.05
    while True:
        try:
            return duckdb.connect(str(path), read_only=read_only)
        except duckdb.Error as error:
            if not _is_lock(error) or time.monotonic() > deadline:
                raise _explained(path, error) from error
            # jitter, so that two waiting processes do not wake in step
            time.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 2, 1.0)


def _is_lock(error: duckdb.Error) -> bool:
    return re.search(r"\block\b", str(error), re.IGNORECASE) is not None  # "block" occurs in other messages


def _explained(path: Path, error: duckdb.Error) -> RescueError:
    text = str(error)
    holder = re.search(r"PID (\d+)", text)
    if _is_lock(error):
        return RescueError(
            "the database is in use by another process; nothing was changed",
            where=str(path),
            found=f"process {holder.group(1)} holds it" if holder else "a lock",
            advice="close that program (a notebook, `duckdb`, a database viewer), or query results.duckdb instead",
        )
    if "version number" in text:
        return RescueError(
            "the database was written by another version of DuckDB",
            where=str(path),
            expected=f"a file that DuckDB {duckdb.__version__} can read",
            found=text.splitlines()[0][:200],
            advice="use that version, or move the file away and run again: it is rebuilt from the lake and the journal",
        )
    return RescueError(
        "the database cannot be opened",
        where=str(path),
        found=text.splitlines()[0][:200],
        advice="move the file away and run again: it is rebuilt from the lake and the journal",
    )
