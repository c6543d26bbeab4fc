"""The files of a corpus and their hashes: what there is to read, and the version that follows from it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rescue_pipeline.corpus.source import CorpusSource
from rescue_pipeline.errors import RescueError

Kind = Literal["records", "record", "transcript", "groups", "instances"]
OnBytes = Callable[[int], None]

RECORD_SUFFIXES: dict[str, Kind] = {".jsonl": "records", ".ndjson": "records", ".json": "record"}
TRANSCRIPT_SUFFIXES = (".srt", ".vtt")
RELEASED_INSTANCE_FILES = {"er.jsonl": "er", "vp.jsonl": "vp"}


@dataclass(frozen=True)
class SourceFile:
    """One file of a corpus. `sha256` is None, and `problem` says why, when it cannot be read."""

    path: Path
    name: str
    """Path relative to the corpus, with forward slashes."""
    kind: Kind
    size: int
    sha256: str | None
    modified_ns: int = 0
    problem: str | None = None
    sample_id: str | None = None
    """What the path says: the session of a transcript, or of a record that does not name itself."""


@dataclass(frozen=True)
class Inventory:
    """All files of a corpus, in the order they are read."""

    source: CorpusSource
    records: tuple[SourceFile, ...]
    transcripts: tuple[SourceFile, ...]
    instances: tuple[SourceFile, ...]
    groups: SourceFile | None

    @property
    def n_bytes(self) -> int:
        return sum(file.size for file in (*self.records, *self.transcripts))

    @property
    def annotations_sha256(self) -> str:
        if len(self.records) == 1 and self.records[0].sha256:
            return self.records[0].sha256
        return self._digest(self.records)

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """What the corpus version is made of."""
        return (*self.records, *self.transcripts, *((self.groups,) if self.groups else ()))

    @property
    def sha256s(self) -> dict[str, str]:
        return {file.name: file.sha256 for file in self.files if file.sha256}

    def refuse_changes(self) -> None:
        """Raise RescueError when a file is no longer the one that was hashed."""
        for file in self.files:
            if file.sha256 and _signature(file.path) != (file.size, file.modified_ns):
                raise RescueError(
                    "the corpus changed while it was read; nothing was stored",
                    where=str(file.path),
                    advice="run again once nothing writes to it",
                )

    def version(self, ingest_version: str) -> str:
        """The corpus_version: 16 hex digits over what the files hold and how they are read.

        A corpus file may be renamed and stays the same corpus; in a folder the paths count, since ids come from them.
        """
        left_out = "".join(f"without {purged}\n" for purged in sorted(self.source.purged))
        return self._digest(self.files, f"ingest {ingest_version}, {self.source.encoding}\n{left_out}")[:16]

    def _digest(self, files: tuple[SourceFile, ...], prefix: str = "") -> str:
        digest = hashlib.sha256(prefix.encode())
        for file in files:
            is_whole_corpus = file.path == self.source.path
            name = "" if is_whole_corpus or file.kind == "groups" else file.name
            digest.update(
                f"{file.kind}\0{file.sample_id if file.kind == 'transcript' else name}\0{file.sha256}\n".encode()
            )
        return digest.hexdigest()


def take_inventory(source: CorpusSource) -> Inventory:
    """Find and hash the files of a corpus. Raises RescueError when there is no annotation file that can be read."""
    found = list(_walk(source.path)) if source.path.is_dir() else [source.path]
    instances = [path for path in _beside(source, found) if _holds_instances(path)]
    records = [path for path in found if path.suffix.lower() in RECORD_SUFFIXES and path not in instances]
    if source.path.is_file():
        records = [source.path]
    if not records:
        raise RescueError(
            "this folder holds no sessions",
            where=str(source.path),
            expected="*.json files with one record each, or *.jsonl files with one record a line",
            found=f"{len(found)} other files" if found else "no files",
            advice="give the folder or the JSONL file that holds the annotations",
        )
    described = tuple(_describe(source, path, RECORD_SUFFIXES.get(path.suffix.lower(), "records")) for path in records)
    groups = _describe(source, source.groups, "groups") if source.groups else None
    _refuse_unreadable(described, groups)
    return Inventory(
        source=source,
        records=described,
        transcripts=tuple(_transcripts(source, found)),
        instances=tuple(_describe(source, path, "instances") for path in instances),
        groups=groups,
    )


def _signature(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse_unreadable(records: tuple[SourceFile, ...], groups: SourceFile | None) -> None:
    """One unreadable file of many is a reject; nothing readable, or an unreadable groups file, ends the load."""
    hopeless = [] if any(file.sha256 for file in records) else [records[0]]
    for file in [*hopeless, *([groups] if groups and not groups.sha256 else [])]:
        raise RescueError(
            "the corpus cannot be read",
            where=str(file.path),
            expected="a file that you may read",
            found=file.problem,
            advice="check the file's permissions (ls -l)",
        )


def _walk(folder: Path) -> Iterator[Path]:
    """Every visible file below `folder`, in a fixed order; data directories of this project are left out."""
    for root, folders, files in os.walk(folder, onerror=_refuse_folder):
        here = Path(root)
        folders[:] = sorted(name for name in folders if name[0] != "." and not _is_data_directory(here / name))
        yield from (here / name for name in sorted(files) if name[0] != ".")


def _refuse_folder(error: OSError) -> None:
    """A folder that cannot be listed may hold any number of sessions: going on would lose them silently."""
    raise RescueError(
        "a folder of the corpus cannot be read",
        where=str(error.filename),
        expected="a folder that you may list",
        found=error.strerror,
        advice="check the folder's permissions (ls -ld)",
    ) from error


def _is_data_directory(folder: Path) -> bool:
    return (folder / "corpus.json").is_file() and (folder / "journal").is_dir()


def _beside(source: CorpusSource, found: list[Path]) -> list[Path]:
    candidates = found if source.path.is_dir() else [source.folder / name for name in sorted(RELEASED_INSTANCE_FILES)]
    return [path for path in candidates if path.name in RELEASED_INSTANCE_FILES and path.is_file()]


def _holds_instances(path: Path) -> bool:
    """er.jsonl and vp.jsonl hold questions when their lines name a row; a corpus may have files of these names too."""
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline(1 << 20))
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and "row_index" in first and "rows" not in first


def _transcripts(source: CorpusSource, found: list[Path]) -> Iterator[SourceFile]:
    folder = source.transcript_folder
    if source.path.is_file() and source.transcripts is None:
        paths = _named_transcripts(source)
    else:
        paths = found if folder == source.path else list(_walk(folder))
    for path in paths:
        if path.suffix.lower() in TRANSCRIPT_SUFFIXES:
            yield _describe(source, path, "transcript", sample_id=path.relative_to(folder).with_suffix("").as_posix())


def _named_transcripts(source: CorpusSource) -> list[Path]:
    """Transcripts beside a corpus file: only those whose path is one of its sample ids.

    The file may lie among other people's subtitles, so its folder is not searched.
    """
    from rescue_pipeline.corpus.annotations import sample_ids

    folder = source.folder
    candidates = (
        folder / f"{sample_id}{suffix}" for sample_id in sample_ids(source.path) for suffix in TRANSCRIPT_SUFFIXES
    )
    return sorted(path for path in candidates if path.is_file() and path.resolve().is_relative_to(folder))


def _describe(source: CorpusSource, path: Path, kind: Kind, sample_id: str | None = None) -> SourceFile:
    name = Path(os.path.relpath(path, source.folder)).as_posix()
    if kind == "record":
        sample_id = path.relative_to(source.folder).with_suffix("").as_posix()
    try:
        status = path.stat()
        return SourceFile(path, name, kind, status.st_size, hash_file(path), status.st_mtime_ns, sample_id=sample_id)
    except OSError as error:
        problem = error.strerror or type(error).__name__
        return SourceFile(path, name, kind, 0, None, problem=problem, sample_id=sample_id)
