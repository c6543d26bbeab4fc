"""One lease per partition: whoever asks or imports holds it, so that no question is asked twice at the same time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rescue_pipeline.errors import RescueError


class HeldElsewhere(RescueError):
    """Another process holds the lease."""


def lease_file(journal: Path, levels: Mapping[str, str]) -> Path:
    """The lock file of a partition (or of a partition and judge), named after its folder levels."""
    return journal / "leases" / f"{'--'.join(levels.values())}.lock"


@contextmanager
def lease(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file `path` while the block runs; the system frees it when the process dies, however it dies.

    what: the partition's name, for people. Raises HeldElsewhere that names the process holding it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _held(handle, path, what) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def _held(handle: int, path: Path, what: str) -> HeldElsewhere:
    holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip()
    return HeldElsewhere(
        f"{what} is being asked by another process; nothing was asked twice and nothing was lost",
        where=str(path),
        found=f"process {holder} holds the lease" if holder else "another process holds the lease",
        advice="wait until it ends, or stop it, and run again: what it has finished is reused",
    )
