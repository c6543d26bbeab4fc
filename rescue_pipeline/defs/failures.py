"""What ended a stage, in words: our own errors out of Dagster's wrapping, and what dbt and the disk say."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
from dagster_dbt.errors import DagsterDbtCliRuntimeError

from rescue_pipeline.errors import RescueError

_FAILED_NODE = re.compile(r"(?:Failure|Error) in (?:model|test|seed|unit_test) (\w+)")
_DISK = re.compile(r"No space left|File too large|Read-only file system|disk I/O error|is full|readonly database", re.I)
_KEPT = "what was answered is kept: mend it and run the same command again"


def explained(stage: str, error: BaseException, logs: Path) -> BaseException:
    """What to raise instead of `error`; `stage` names what was being done."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, RescueError):
            return cause
        if isinstance(cause, dg.DagsterExecutionInterruptedError | KeyboardInterrupt):
            return KeyboardInterrupt()
    innermost = causes[-1]
    if isinstance(innermost, DagsterDbtCliRuntimeError):
        return _dbt_failed(stage, str(innermost), logs)
    if isinstance(innermost, OSError | sqlite3.OperationalError) and _DISK.search(str(innermost)):
        return _disk_failed(stage, str(innermost))
    if isinstance(innermost, dg.DagsterError) and "asset check" in str(innermost).lower():
        return _check_failed(stage, logs)
    found = f"{type(innermost).__name__}: {innermost}"
    return RescueError(f"{stage} failed", found=found[:500], advice=_KEPT)


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _dbt_failed(stage: str, text: str, logs: Path) -> RescueError:
    if disk := _DISK.search(text):
        return _disk_failed(stage, disk.group(0))
    nodes = list(dict.fromkeys(_FAILED_NODE.findall(text)))
    found = f"dbt refuses {', '.join(nodes)}" if nodes else "dbt ended with an error"
    # dbt's own text may quote values of a session, so that it stays in the log
    return RescueError(f"{stage} failed", where=str(logs / "dbt.log"), found=found, advice=_KEPT)


def _disk_failed(stage: str, found: str) -> RescueError:
    return RescueError(
        f"{stage} failed: the disk cannot be written; nothing stored was lost",
        found=found,
        advice="free disk space or mend the permissions of the data directory, then run the same command again",
    )


def _check_failed(stage: str, logs: Path) -> RescueError:
    return RescueError(
        f"{stage} stopped at a check: what follows would be built on wrong data",
        where=str(logs.parent / "quality" / "index.html"),
        advice="look at the page, mend the corpus, run the same command again; `rescue validate` says the same",
    )
