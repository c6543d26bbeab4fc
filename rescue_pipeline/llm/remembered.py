"""Small facts learnt while asking, one JSON line each in a file of the journal: durable, and never rewritten."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rescue_pipeline.llm.segments import json_lines, read_records, repair, sync_folder, write_durably


def facts(path: Path) -> list[dict[str, Any]]:
    """All that is remembered there, oldest first."""
    return read_records(path) if path.exists() else []


def remember(path: Path, fact: dict[str, Any]) -> None:
    """Add a fact and wait for the disk. Whoever decides by what is there holds `kept_for_one` meanwhile."""
    new = not path.exists()
    with path.open("ab") as file:
        write_durably(file.fileno(), json_lines([{**fact, "recorded_at": datetime.now(UTC).isoformat()}]))
    if new:
        sync_folder(path.parent)


@contextmanager
def kept_for_one(path: Path) -> Iterator[None]:
    """The file, mended and held while it is read and extended: two runs may start at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if path.exists():
            repair(path)
        yield
    finally:
        os.close(handle)
