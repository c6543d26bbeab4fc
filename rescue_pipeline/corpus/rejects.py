"""What is refused, and the words in which that is said: types and short codes, never a session's text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from rescue_pipeline.corpus.inventory import SourceFile

_EXPECTED = {
    "string_type": "text",
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "greater_than_equal": "a whole number of 32 bits",
    "less_than_equal": "a whole number of 32 bits",
    "list_type": "a list",
    "dict_type": "an object",
    "missing": "this field",
}
_JSON_TYPES = {
    type(None): "null",
    bool: "true or false",
    int: "a whole number",
    float: "a number with a fraction",
    str: "text",
    list: "a list",
    dict: "an object",
}


class InvalidRecord(Exception):
    """A record or transcript breaks the format. The message is made of our own words only."""

    def __init__(
        self,
        reason: str,
        *,
        field: str | None = None,
        expected: str | None = None,
        found: str | None = None,
        record: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason, self.field, self.expected, self.found = reason, field, expected, found
        self.record, self.line = record, line


@dataclass(frozen=True)
class Reject:
    """One row of raw.rejects."""

    source_path: str
    source_line: int
    record: str | None
    field: str | None
    expected: str | None
    found: str | None
    reason: str
    source_sha256: str | None

    @classmethod
    def of(cls, file: SourceFile, line: int, error: InvalidRecord) -> Reject:
        return cls(
            source_path=file.name,
            source_line=error.line or line,
            record=error.record,
            field=error.field,
            expected=error.expected,
            found=error.found,
            reason=error.reason,
            source_sha256=file.sha256,
        )

    def __str__(self) -> str:
        record = f", record {self.record}" if self.record else ""
        field = f", field {self.field}" if self.field else ""
        expected = f": expected {self.expected}, found {self.found}" if self.expected else ""
        return f"{self.source_path}, line {self.source_line}{record}{field}: {self.reason}{expected}"


def json_type(value: Any) -> str:
    return _JSON_TYPES.get(type(value), type(value).__name__)


def short_code(text: str) -> str:
    """A value that may be quoted because it reads like a label; of any other text only its length."""
    is_label = len(text) <= 40 and text.replace("_", "").replace("-", "").isalnum()
    return text if is_label else f"text of {len(text)} characters"


def from_validation(error: ValidationError, record: str | None) -> InvalidRecord:
    """The first problem Pydantic names, and how many more there are."""
    problems = error.errors(include_url=False)
    first = problems[0]
    if first["type"] == "json_invalid":
        return InvalidRecord("not JSON", expected="one complete JSON object", found=_json_problem(first))
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return InvalidRecord(
        ("a field is missing" if first["type"] == "missing" else "wrong type") + more,
        field=_path(first["loc"]),
        expected=_EXPECTED.get(first["type"], first["type"]),
        found="nothing" if first["type"] == "missing" else json_type(first["input"]),
        record=record,
    )


def _json_problem(problem: ErrorDetails) -> str:
    """The parser's own words: they name a place and a kind of token, not the text."""
    words = str(problem.get("ctx", {}).get("error", "something else"))
    return re.sub(r" at line (\d+) column (\d+)", r", line \1 of the record, character \2", words)


def _path(location: tuple[int | str, ...]) -> str:
    """rows[3].start_time: list positions counted from 0, as in the file."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.lstrip(".") or "(the record)"
