"""One corpus, one data directory: where each kind of file lies, and whose directory it is."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.settings import Settings

DATA_ROOT = Path("data")


@dataclass(frozen=True)
class DataDirectory:
    """The files of one corpus. Everything but `journal`, `corpus.json` and `purged.json` can be rebuilt from them."""

    root: Path

    @property
    def corpus_file(self) -> Path:
        """Which corpus this directory holds, and where its source lies."""
        return self.root / "corpus.json"

    @property
    def warehouse(self) -> Path:
        return self.root / "rescue.duckdb"

    @property
    def results(self) -> Path:
        """The published copy that people query; replaced atomically."""
        return self.root / "results.duckdb"

    @property
    def lake(self) -> str:
        return Settings().lake or str(self.root / "lake")

    @property
    def journal(self) -> Path:
        return self.root / "journal"

    @property
    def reports(self) -> Path:
        return self.root / "reports"

    @property
    def quality(self) -> Path:
        return self.root / "quality"

    @property
    def dagster_home(self) -> Path:
        return self.root / "dagster"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def dbt(self) -> Path:
        """dbt's target and log folders."""
        return self.root / "dbt"

    def create(self) -> DataDirectory:
        """Make the directory and its folders; raises RescueError where that is not allowed."""
        try:
            for folder in (self.root, self.journal, self.reports, self.quality, self.dagster_home, self.logs):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RescueError(
                "the data directory cannot be written",
                where=str(self.root),
                found=error.strerror or type(error).__name__,
                advice="set RESCUE_DATA_DIR to a directory that you may write to",
            ) from error
        return self

    def existing(self) -> DataDirectory:
        """This directory; raises UsageError while there is none."""
        if not self.root.is_dir():
            advice = "rescue demo, or rescue run --corpus ..."
            raise UsageError("there is no data directory yet", where=str(self.root), advice=advice)
        return self

    def owner(self) -> str | None:
        """The corpus_id this directory was made for; None while it is new."""
        if not self.corpus_file.exists():
            return None
        try:
            return str(json.loads(self.corpus_file.read_text(encoding="utf-8"))["corpus_id"])
        except (ValueError, KeyError, TypeError) as error:
            raise RescueError(
                "the data directory's own record of its corpus cannot be read",
                where=str(self.corpus_file),
                expected="a JSON object with corpus_id and path",
                advice="restore the file, or use another directory with RESCUE_DATA_DIR",
            ) from error

    def refuse_other(self, corpus_id: str) -> None:
        """Raise UsageError when this directory holds another corpus than `corpus_id`."""
        owner = self.owner()
        if owner not in (None, corpus_id):
            raise UsageError(
                "this data directory holds another corpus; nothing was changed",
                where=str(self.root),
                expected=corpus_id,
                found=str(owner),
                advice=f"use another directory (RESCUE_DATA_DIR=...), or --name {owner} if it is the same corpus",
            )

    def claim(self, corpus_id: str, description: dict[str, object]) -> None:
        """Record that this directory holds `corpus_id`; raises UsageError when it holds another corpus."""
        self.refuse_other(corpus_id)
        write_atomically(self.corpus_file, json.dumps({"corpus_id": corpus_id, **description}, indent=1) + "\n")

    def record_use(self, data_class: str, consent: str | None) -> None:
        """Note how the corpus may be used; loading may know more than the caller who claimed the directory."""
        recorded = json.loads(self.corpus_file.read_text(encoding="utf-8"))
        if (recorded.get("data_class"), recorded.get("consent")) != (data_class, consent):
            noted = {**recorded, "data_class": data_class, "consent": consent}
            write_atomically(self.corpus_file, json.dumps(noted, indent=1) + "\n")

    def use(self) -> tuple[str, str | None]:
        """The corpus's data_class and its consent or ethics reference. What is not recorded is private."""
        if not self.corpus_file.exists():
            return "private", None
        recorded = json.loads(self.corpus_file.read_text(encoding="utf-8"))
        return str(recorded.get("data_class") or "private"), recorded.get("consent")

    def purged(self) -> frozenset[str]:
        """The hashed ids of the sessions that were erased here and must not come back."""
        if not self._purged_file.exists():
            return frozenset()
        return frozenset(json.loads(self._purged_file.read_text(encoding="utf-8"))["sessions"])

    def record_purge(self, sample_id: str) -> None:
        """Note that a session is erased here, without its name."""
        sessions = sorted({*self.purged(), session_hash(sample_id)})
        write_atomically(self._purged_file, json.dumps({"sessions": sessions}, indent=1) + "\n")

    @property
    def _purged_file(self) -> Path:
        return self.root / "purged.json"

    def make_current(self) -> None:
        """Let `./data/current` name this directory, for the commands that take no corpus.

        A directory elsewhere (RESCUE_DATA_DIR) is named by that variable, and the working directory stays clean.
        """
        if DATA_ROOT.resolve() in self.root.parents:
            write_atomically(DATA_ROOT / "current", f"{self.root}\n")


def session_hash(sample_id: str) -> str:
    """What stands for a session where its id must not: ids hold first names."""
    return hashlib.sha256(f"session {sample_id}".encode()).hexdigest()


def write_atomically(path: Path, text: str) -> None:
    """Replace `path` in one step, so that a reader sees the old text or the new, never half of one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def for_corpus(corpus_id: str) -> DataDirectory:
    """The directory of a corpus: RESCUE_DATA_DIR, else ./data/<corpus_id>."""
    return DataDirectory((Settings().data_dir or DATA_ROOT / corpus_id).expanduser().resolve())


def current() -> DataDirectory:
    """The directory of commands without a corpus: RESCUE_DATA_DIR, else what ./data/current names, else the demo's."""
    configured = Settings().data_dir
    if configured is not None:
        return DataDirectory(configured.expanduser().resolve())
    pointer = DATA_ROOT / "current"
    if pointer.exists():
        return DataDirectory(Path(pointer.read_text(encoding="utf-8").strip()))
    return for_corpus("demo")
