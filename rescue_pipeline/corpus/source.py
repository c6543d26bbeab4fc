"""Which corpus is meant: the path, what corpus.yaml declares about it, and what the caller sets by hand."""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rescue_pipeline.datadir import DataDirectory, session_hash
from rescue_pipeline.errors import UsageError
from rescue_pipeline.tasks.declarations import Declaration, read_declaration

DataClass = Literal["demo", "public-research", "private"]

DECLARATION_FILE = "corpus.yaml"
_CORPUS_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_RESERVED_IDS = {"current"}  # ./data/current names the directory in use


class CorpusDeclaration(Declaration):
    """corpus.yaml, in a corpus folder or beside a corpus file; its paths are relative to it. No field is required."""

    name: str | None = None
    data_class: DataClass | None = None
    groups: str | None = None
    transcripts: str | None = None
    encoding: str | None = None
    consent: str | None = Field(default=None, min_length=1)


class CorpusSource(BaseModel):
    """One corpus as it lies on disk. Nothing of it has been read yet."""

    model_config = ConfigDict(frozen=True)

    corpus_id: str
    path: Path
    transcripts: Path | None = None
    """Where the transcripts lie; None: below a corpus folder, or beside a corpus file."""
    encoding: str = "utf-8"
    """What text that is not UTF-8 is read as."""
    groups: Path | None = None
    data_class: DataClass = "private"
    data_class_declared: bool = False
    """False: nobody said so; the released corpus, once recognised, is then public-research."""
    consent: str | None = None
    purged: frozenset[str] = frozenset()
    """Hashed ids of sessions that were erased and are left out."""
    set_by_hand: frozenset[str] = frozenset()
    """Which of transcripts and encoding the caller gave; these outlive a change of corpus.yaml."""

    def is_purged(self, sample_id: str) -> bool:
        return bool(self.purged) and session_hash(sample_id) in self.purged

    @property
    def folder(self) -> Path:
        """What source paths are relative to."""
        return self.path if self.path.is_dir() else self.path.parent

    @property
    def transcript_folder(self) -> Path:
        return self.transcripts or self.folder

    def description(self) -> dict[str, object]:
        """What a data directory records of its corpus, enough for `from_datadir` to find it again."""
        by_hand = {name: str(getattr(self, name)) for name in sorted(self.set_by_hand)}
        return {"path": str(self.path), "data_class": self.data_class, "consent": self.consent, **by_hand}


def resolve(
    path: Path | str,
    *,
    name: str | None = None,
    transcripts: Path | str | None = None,
    encoding: str | None = None,
) -> CorpusSource:
    """The corpus at `path` (a JSONL file, one JSON record, or a folder of them); arguments win over corpus.yaml.

    Raises UsageError for a path that does not exist and for a wrong corpus.yaml, name, folder, groups file or encoding.
    """
    corpus = _found(Path(path).expanduser().resolve())
    folder = corpus if corpus.is_dir() else corpus.parent
    declared, declaration_file = _declaration(folder)
    by_hand = {key for key, value in (("transcripts", transcripts), ("encoding", encoding)) if value is not None}
    return CorpusSource(
        corpus_id=_corpus_id(name or declared.name, corpus),
        path=corpus,
        transcripts=_transcripts(transcripts, declared.transcripts, folder),
        encoding=_encoding(
            encoding or declared.encoding or "utf-8", "--encoding" if encoding else str(declaration_file)
        ),
        groups=_existing(folder / declared.groups, "groups file", "groups") if declared.groups else None,
        data_class=declared.data_class or "private",
        data_class_declared=declared.data_class is not None,
        consent=declared.consent,
        set_by_hand=frozenset(by_hand),
    )


def from_datadir(directory: DataDirectory) -> CorpusSource:
    """The corpus a data directory was made for, with corpus.yaml as it reads now. Raises UsageError without one."""
    owner = directory.owner()
    if owner is None:
        raise UsageError(
            "this data directory holds no corpus yet",
            where=str(directory.root),
            advice="run `rescue demo`, or `rescue run --corpus PATH`",
        )
    recorded = json.loads(directory.corpus_file.read_text(encoding="utf-8"))
    if not isinstance(recorded.get("path"), str):
        raise UsageError(
            "the data directory does not say where its corpus lies",
            where=f"{directory.corpus_file}, field path",
            expected="the path of the corpus",
            found=type(recorded.get("path")).__name__,
            advice="run `rescue run --corpus PATH` once more",
        )
    source = resolve(
        recorded["path"],
        name=owner,
        transcripts=recorded.get("transcripts"),
        encoding=recorded.get("encoding"),
    )
    return source.model_copy(update={"purged": directory.purged()})


def _found(path: Path) -> Path:
    try:
        if path.is_file() or path.is_dir():
            return path
        found = "neither a file nor a folder" if path.exists() else "nothing at this path"
    except OSError as error:
        found = error.strerror or type(error).__name__
    raise UsageError(
        "there is no such corpus",
        where=str(path),
        expected="a JSONL file, or a folder of JSON files",
        found=found,
        advice="check the path; `rescue fetch` downloads the public benchmark",
    )


def _declaration(folder: Path) -> tuple[CorpusDeclaration, Path]:
    file = folder / DECLARATION_FILE
    return (read_declaration(file, CorpusDeclaration) if file.is_file() else CorpusDeclaration()), file


def _corpus_id(name: str | None, corpus: Path) -> str:
    if name is None:
        derived = re.sub(r"[^A-Za-z0-9._-]+", "-", corpus.name if corpus.is_dir() else corpus.stem).strip(".-_")[:80]
        name = derived or "corpus"
    if not _CORPUS_ID.fullmatch(name) or name in _RESERVED_IDS:
        raise UsageError(
            "this is no name for a corpus",
            expected="letters, digits, dot, dash or underscore, at most 80; not `current`",
            found=repr(name)[:100],
            advice="choose another with --name",
        )
    return name


def _transcripts(given: Path | str | None, declared: str | None, folder: Path) -> Path | None:
    if given is not None:
        return _existing(Path(given).expanduser().resolve(), "folder of transcripts", "--transcripts")
    return _existing(folder / declared, "folder of transcripts", "transcripts") if declared else None


def _existing(path: Path, what: str, field: str) -> Path:
    if not path.exists():
        raise UsageError(
            f"the {what} does not exist", where=str(path), found="nothing at this path", advice=f"correct {field}"
        )
    return path.resolve()


def _encoding(name: str, where: str) -> str:
    """The codec's own name. Lines are split before text is decoded, so an encoding must keep ASCII as it is."""
    try:
        codec = codecs.lookup(name).name
        keeps_ascii = "{}\n".encode(codec) == b"{}\n"
    except (LookupError, UnicodeError):
        keeps_ascii = False
    if not keeps_ascii:
        raise UsageError(
            "this encoding cannot be used",
            where=where,
            expected="utf-8, cp1252 or another one that keeps ASCII as it is",
            found=name[:40],
            advice="convert the files to UTF-8, for example with iconv",
        )
    return codec
