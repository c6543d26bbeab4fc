"""How a command ends when it does not end well: what the user reads, and the exit code.

0 done, 1 failed, 2 usage, 3 finished but incomplete (rejected records, unanswered questions) or stopped by the user.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from rescue_pipeline import console
from rescue_pipeline.errors import RescueError

STOPPED = 3


class Commands(TyperGroup):
    """The commands, ended in our words. Wrong options and unknown commands stay Typer's: usage line, exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        with explained():
            return super().invoke(ctx)


@contextmanager
def explained() -> Iterator[None]:
    """Turn what a user can meet into a message and an exit code; a fault of the program keeps its traceback."""
    try:
        yield
        sys.stdout.flush()
    except RescueError as error:
        console.print_error(error)
        raise typer.Exit(error.exit_code) from error
    except BrokenPipeError:
        # whoever read our output has enough (`| head`); nothing more may be written, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except OSError as error:
        console.print_error(_unwritable(error))
        raise typer.Exit(1) from error
    except (typer.Abort, KeyboardInterrupt):
        console.err.print("stopped; nothing stored was lost. The same command goes on where it stopped.")
        raise typer.Exit(STOPPED) from None


def _unwritable(error: OSError) -> RescueError:
    return RescueError(
        "a file could not be read or written; what was stored before is unchanged",
        where=str(error.filename) if error.filename else None,
        found=error.strerror or type(error).__name__,
        advice="check free disk space and permissions (`rescue doctor`), then run the same command again",
    )
