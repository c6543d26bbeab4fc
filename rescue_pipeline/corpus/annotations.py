"""Annotation files, read a record at a time: JSON Lines (a record a line) and single JSON files.

Only one record is in memory at once, and never more than MAX_RECORD_BYTES of a file.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rescue_pipeline.corpus.inventory import SourceFile
from rescue_pipeline.corpus.rejects import InvalidRecord

MAX_RECORD_BYTES = 64 * 1024 * 1024
HOPELESS_LINES = 1_000
"""A JSONL file whose first lines hold no record at all is given up after as many."""

_BOM = b"\xef\xbb\xbf"
_NAMED = re.compile(rb'"sample_id"\s*:\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True)
class RecordText:
    """The bytes of one record and where they stand."""

    line: int
    content: bytes
    problem: InvalidRecord | None = None


def read_records(file: SourceFile) -> Iterator[RecordText]:
    """The records of a file in order. A part that cannot be one has a `problem` instead."""
    try:
        yield from _read_single(file) if file.kind == "record" else _read_lines(file.path)
    except OSError as error:
        problem = InvalidRecord("the file cannot be read", expected="a readable file", found=error.strerror)
        yield RecordText(1, b"", problem)


def decode(content: bytes, encoding: str) -> tuple[str, bool]:
    """Text, and whether the declared encoding was needed: UTF-8 is always tried first. Raises InvalidRecord."""
    try:
        return content.decode("utf-8"), False
    except UnicodeDecodeError as error:
        found = f"byte 0x{content[error.start]:02X} at position {error.start + 1}"
        if encoding == "utf-8":
            raise InvalidRecord("not UTF-8 (is it --encoding cp1252?)", expected="UTF-8", found=found) from None
    try:
        return content.decode(encoding), True
    except UnicodeDecodeError:
        raise InvalidRecord("text in another encoding", expected=f"UTF-8 or {encoding}", found=found) from None


def sample_ids(path: Path) -> list[str]:
    """What the records of a file call themselves: a quick look for the first such key of each line."""
    names: dict[str, None] = {}
    with path.open("rb") as file:
        while line := file.readline(MAX_RECORD_BYTES):
            match = _NAMED.match(line, max(line.find(b'"sample_id"'), 0))
            with contextlib.suppress(ValueError):  # a broken line is refused, with its number, when it is read
                names.setdefault(json.loads(match[1]) if match else "")
    return [name for name in names if name]


def _read_single(file: SourceFile) -> Iterator[RecordText]:
    if file.size > MAX_RECORD_BYTES:
        yield RecordText(1, b"", _too_large("write one record a line into a .jsonl file"))
        return
    content = file.path.read_bytes().removeprefix(_BOM).strip()
    yield RecordText(1, content, None if content else InvalidRecord("empty file", expected="a record", found="nothing"))


def _read_lines(path: Path) -> Iterator[RecordText]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_RECORD_BYTES + 1):
            number += 1
            if len(line) > MAX_RECORD_BYTES:
                _skip_line(file.readline)
                yield RecordText(number, b"", _too_large("is this one JSON document instead of a record a line?"))
                continue
            content = (line.removeprefix(_BOM) if number == 1 else line).strip()
            if content in (b"{", b"[", b"[{"):
                yield RecordText(number, b"", _one_document())
                return
            if content:
                yield RecordText(number, content)
        if number == 0:
            yield RecordText(1, b"", InvalidRecord("empty file", expected="a record a line", found="nothing"))


def _skip_line(readline: object) -> None:
    assert callable(readline)
    while (part := readline(MAX_RECORD_BYTES)) and not part.endswith(b"\n"):
        pass


def _too_large(advice: str) -> InvalidRecord:
    limit = f"at most {MAX_RECORD_BYTES // 1024 // 1024} MiB for one record"
    return InvalidRecord(f"too large for one session; {advice}", expected=limit, found="more")


def _one_document() -> InvalidRecord:
    return InvalidRecord(
        "one JSON document over many lines; the rest of the file was not read",
        expected="JSON Lines: each line one complete record",
        found="a line that only opens a list or an object",
    )
