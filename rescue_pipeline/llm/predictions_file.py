"""Reading a file of answers made elsewhere: JSONL, a line per answer. Bad lines are collected, good ones kept."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.workspace import Corpus
from rescue_pipeline.schemas import TASKS
from rescue_pipeline.schemas.predictions import MODALITIES


class Prediction(BaseModel):
    """One line of the file. answer: the answer's JSON object, or a model's raw text (it is parsed like any reply)."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    task: Literal[TASKS]  # type: ignore[valid-type]
    sample_id: Annotated[str, Field(min_length=1)]
    row_index: Annotated[int, Field(ge=1)]
    modality: Literal[tuple(MODALITIES)]  # type: ignore[valid-type]
    answer: dict[str, Any] | str
    model: str | None = None

    @property
    def instance_id(self) -> str:
        return f"{self.task}:{self.sample_id}:{self.row_index}"

    @property
    def content(self) -> str:
        """The answer as a response's text."""
        if isinstance(self.answer, str):
            return self.answer
        return json.dumps(self.answer, ensure_ascii=False, sort_keys=True, allow_nan=False)


@dataclass(frozen=True)
class BadLine:
    """Why a line was not taken: where it stands, what was expected and found; never the text itself."""

    file: str
    line: int
    field: str
    expected: str
    found: str


Key = tuple[str, str]
"""modality and instance_id."""


def read_predictions(path: Path, corpus: Corpus) -> tuple[dict[Key, Prediction], list[BadLine]]:
    """The predictions of a file that are about questions of the corpus, and the lines that are not usable.

    A line said twice counts once; said twice with different answers, the later line is bad. Raises UsageError when the
    file cannot be read or no line is usable.
    """
    good: dict[Key, Prediction] = {}
    bad: list[BadLine] = []
    for number, line in _lines(path):
        found = _prediction(line, corpus, good)
        if isinstance(found, Prediction):
            good[found.modality, found.instance_id] = found
        else:
            bad.append(BadLine(str(path), number, *found))
    if not good:
        raise _nothing_usable(path, bad)
    return good, bad


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, numbered from 1; CRLF and a byte-order mark are accepted."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise UsageError("the predictions cannot be read", where=str(path), found=error.strerror) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            "the predictions are not UTF-8", where=str(path), expected="UTF-8", found=error.reason
        ) from None


def _prediction(line: str, corpus: Corpus, good: Mapping[Key, Prediction]) -> Prediction | tuple[str, str, str]:
    """The prediction of a line, or (field, expected, found)."""
    try:
        fields = json.loads(line, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        return "(line)", "a JSON object", f"{len(line)} characters that are not JSON"
    try:
        prediction = Prediction.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        found = "nothing" if first["type"] == "missing" else type(first["input"]).__name__
        return ".".join(str(part) for part in first["loc"]) or "(line)", first["msg"], found
    if prediction.instance_id not in corpus.instances:
        return "sample_id, row_index", f"a question of {prediction.task} in this corpus", prediction.instance_id
    earlier = good.get((prediction.modality, prediction.instance_id))
    if earlier is not None and earlier.content != prediction.content:
        return "answer", "one answer per question and modality", f"another one for {prediction.instance_id}"
    return prediction


def _finite(number: str) -> float:
    """1e999 is JSON, and infinite to Python; what is stored could not be written as JSON again."""
    value = float(number)
    if not math.isfinite(value):
        raise ValueError("a number out of range")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _nothing_usable(path: Path, bad: list[BadLine]) -> UsageError:
    first = bad[0] if bad else BadLine(str(path), 1, "(line)", "a JSON object", "an empty file")
    return UsageError(
        "no line of the file can be used; nothing was imported",
        where=f"{first.file}, line {first.line}, field {first.field}",
        expected=first.expected,
        found=first.found,
        advice="a line is {task, sample_id, row_index, modality, answer}; is this the corpus the answers are about?",
    )
