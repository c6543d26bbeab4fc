"""How commands end: Ctrl-C, closed pipes, faults of the disk and of dbt, each with its message and exit code."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
import typer
from dagster_dbt.errors import DagsterDbtCliRuntimeError

from rescue_pipeline.console import WIDTH, print_error, wrapped
from rescue_pipeline.defs.failures import explained as explained_stage
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.exits import explained

LOGS = Path("data/logs")
DBT_TEXT = """The dbt CLI process with command `dbt build` failed with exit code `1`.
Errors parsed from dbt logs:
Failure in model items (models/scores/items.sql)
  Runtime Error in model items: Conversion Error: Could not convert string 'a secret sentence' to INT32
"""


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (RescueError("it broke", found="a lock"), 1, "error: it broke\n  found:    a lock\n"),
        (UsageError("not so"), 2, "error: not so\n"),
        (OSError(28, "No space left on device", "data/x"), 1, "where:    data/x\n  found:    No space left on device"),
        (KeyboardInterrupt(), 3, "stopped; nothing stored was lost"),
        (typer.Abort(), 3, "stopped; nothing stored was lost"),
    ],
)
def test_what_ends_a_command_becomes_a_message_and_a_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, message: str
) -> None:
    with pytest.raises(typer.Exit) as left, explained():
        raise error
    assert left.value.exit_code == code
    assert message in capsys.readouterr().err


def test_a_fault_of_the_program_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), explained():
        raise ZeroDivisionError


def test_messages_are_wrapped_but_paths_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    path = "/a" * WIDTH
    print_error(RescueError("word " * 50, where=path, expected="one of " + "names, " * 40))
    lines = capsys.readouterr().err.splitlines()
    assert any(path in line for line in lines)
    assert max(len(line) for line in lines if path not in line) <= WIDTH
    assert wrapped("LINE 1: selec 1\n        ^", 4) == "LINE 1: selec 1\n            ^"


def _raised(error: BaseException) -> BaseException:
    """The error as Dagster hands it on: as the cause of one of its own."""
    try:
        raise dg.DagsterError("Error occurred while executing op") from error
    except dg.DagsterError as outer:
        return outer


def _dbt(text: str) -> Callable[[], BaseException]:
    return lambda: DagsterDbtCliRuntimeError(description=text)


def test_our_own_error_comes_out_of_the_graph_unchanged() -> None:
    ours = UsageError("not so")
    assert explained_stage("the answer stage", _raised(ours), LOGS) is ours


def test_ctrl_c_in_the_graph_is_ctrl_c() -> None:
    assert isinstance(
        explained_stage("the answer stage", dg.DagsterExecutionInterruptedError(), LOGS), KeyboardInterrupt
    )


def test_a_failure_of_dbt_names_its_model_and_log_but_no_value() -> None:
    error = explained_stage("the publish stage", _raised(_dbt(DBT_TEXT)()), LOGS)
    assert isinstance(error, RescueError)
    assert (error.what, error.found, error.where) == (
        "the publish stage failed",
        "dbt refuses items",
        "data/logs/dbt.log",
    )
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    "make",
    [
        _dbt("Failure in model items\n  IO Error: Could not write file: No space left on device"),
        lambda: OSError(30, "Read-only file system"),
        lambda: sqlite3.OperationalError("database or disk is full"),
        lambda: sqlite3.OperationalError("attempt to write a readonly database"),
    ],
)
def test_a_disk_that_cannot_be_written_is_called_that(make: Callable[[], BaseException]) -> None:
    error = explained_stage("the publish stage", _raised(make()), LOGS)
    assert isinstance(error, RescueError)
    assert "the disk cannot be written; nothing stored was lost" in error.what
