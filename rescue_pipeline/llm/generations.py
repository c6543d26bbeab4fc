"""The known versions of a model, counted: `journal/generations.jsonl` remembers which revision was which generation."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rescue_pipeline.llm.identity import digest
from rescue_pipeline.llm.registry import LEXICAL_JUDGE, ModelEntry
from rescue_pipeline.llm.segments import json_lines, read_records, repair, write_durably
from rescue_pipeline.llm.workspace import Workspace

FILE = "generations.jsonl"


def generation_of(workspace: Workspace, entry: ModelEntry) -> int:
    """The generation of the model's present revision, recorded when it is new.

    A revision met before keeps its number, so that going back to it finds its answers again.
    """
    return generation_for(workspace.datadir.journal, entry.id, revision_of(workspace, entry))


def revision_of(workspace: Workspace, entry: ModelEntry) -> str:
    """The registry's revision; for a baseline a hash of all it answers from: the gold table and its parameters."""
    if not entry.is_baseline or entry.id == LEXICAL_JUDGE:
        return entry.revision
    gold = [
        (row["instance_id"], row["session_group"], row["gold"], row["candidates"], row["support_target"])
        for row in workspace.corpus.instances.values()
    ]
    return f"{entry.revision}-{digest([gold, entry.params])[:16]}"


def generation_for(journal: Path, model: str, revision: str) -> int:
    """The number of a model's revision: known, or the next one, which is then recorded."""
    with _locked(journal) as path:
        known = known_revisions(journal, model)
        if revision in known:
            return known[revision]
        generation = max(known.values(), default=0) + 1
        record = {
            "model": model,
            "revision": revision,
            "generation": generation,
            "recorded_at": datetime.now(UTC).isoformat(),
        }
        with path.open("ab") as file:
            write_durably(file.fileno(), json_lines([record]))
        return generation


def known_revisions(journal: Path, model: str) -> dict[str, int]:
    """The generation of each known revision of a model, oldest first."""
    path = journal / FILE
    records = read_records(path) if path.exists() else []
    return {record["revision"]: record["generation"] for record in records if record["model"] == model}


@contextmanager
def _locked(journal: Path) -> Iterator[Path]:
    """The file, mended and held while it is read and extended: two runs may start at once."""
    journal.mkdir(parents=True, exist_ok=True)
    handle = os.open(journal / f"{FILE}.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        path = journal / FILE
        if path.exists():
            repair(path)
        yield path
    finally:
        os.close(handle)
