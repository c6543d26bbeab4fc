"""Reading one declaration of assets/: YAML in, a validated model out, or a UsageError that names file and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from rescue_pipeline.errors import UsageError

ADVICE = "correct the field; a declaration that does not validate is never used in part"


class Declaration(BaseModel):
    """A declaration: unknown fields are errors (a typo must not pass as a default), and it never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Model = TypeVar("Model", bound=Declaration)


def read_declaration(path: Path, model: type[Model]) -> Model:
    """The declaration in `path`. Raises UsageError (file, field, expected, found)."""
    return validated(path, read_mapping(path), model)


def read_mapping(path: Path) -> dict[str, Any]:
    """The fields that a file states, before they are checked. Raises UsageError when it holds no mapping."""
    content = _yaml(path)
    if not isinstance(content, dict):
        raise UsageError(
            "a declaration must be a mapping", where=str(path), found=type(content).__name__, advice=ADVICE
        )
    return content


def validated(path: Path, content: dict[str, Any], model: type[Model]) -> Model:
    """The declaration that `content` makes; errors name `path`, the field, what was expected and found."""
    try:
        # by way of JSON: strict about types (no "0" for 0), while a list may still fill a tuple
        return model.model_validate_json(json.dumps(content, default=str))
    except ValidationError as error:
        raise _explained(path, error) from None


def require(holds: bool, path: Path, field: str, expected: str, found: str) -> None:
    """Raise UsageError for a field that is wrong beside others, or beside another file."""
    if not holds:
        raise UsageError("a declaration is wrong", where=f"{path}, field {field}", expected=expected, found=found)


def _yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError("a declaration cannot be read", where=str(path), found=error.strerror) from error
    except UnicodeDecodeError as error:
        raise UsageError("a declaration is not UTF-8", where=str(path), found=f"byte {error.start}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or type(error).__name__
        raise UsageError("a declaration is not valid YAML", where=f"{path}{line}", found=str(problem)) from error


def _explained(path: Path, error: ValidationError) -> UsageError:
    first, *others = error.errors(include_url=False)
    field = ".".join(str(part) for part in first["loc"]) or "(whole file)"
    found = "nothing" if first["type"] == "missing" else f"{type(first['input']).__name__} {first['input']!r}"[:120]
    more = f" (and {len(others)} more)" if others else ""
    return UsageError(
        f"a declaration is wrong{more}",
        where=f"{path}, field {field}",
        expected=first["msg"],
        found=found,
        advice=ADVICE,
    )
