"""Reading a models.yaml: YAML in, plain fields by model id out, and how a wrong field is reported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.addresses import is_loopback

Fields = dict[str, Any]

_OF_THE_ADDRESS = frozenset({"api_key_env", "local", "price"})
# a user may have pasted a key here by mistake, and what is printed gets copied
_NEVER_SHOWN = frozenset({"api_key_env", "api_key", "params", "api_base"})


class _NoDuplicates(yaml.SafeLoader):
    """YAML lets a later key win in silence; here it is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not _can_be_key(key):
                problem = f"a {_kind(key).removeprefix('a ')} cannot be a key"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key} stands twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_models(path: Path) -> dict[str, Fields]:
    """The entries of one file by id. Raises UsageError where the file is no registry."""
    content = _yaml(path)
    listed = content.get("models") if isinstance(content, dict) else None
    if not isinstance(listed, list):
        raise _wrong(path, None, "models", "a list of models, each with an id", _kind(listed if listed else content))
    entries: dict[str, Fields] = {}
    for number, fields in enumerate(listed, start=1):
        if not isinstance(fields, dict) or not isinstance(fields.get("id"), str):
            found = _kind(fields.get("id")) if isinstance(fields, dict) else _kind(fields)
            raise _wrong(path, f"number {number}", "id", "a text such as my-model", found)
        if fields["id"] in entries:
            raise _wrong(path, fields["id"], "id", "each id once", "twice")
        entries[fields["id"]] = fields
    return entries


def merged(base: Mapping[str, Fields], own: Mapping[str, Fields]) -> dict[str, Fields]:
    """`own` over `base`, per id and per field; mappings (limits, params, price) are merged key by key.

    What `base` says of an address (its key, its price, that it is local) is not said of another one.
    """
    return {
        model: _over(_bound(base.get(model, {}), own.get(model, {})), own.get(model, {}))
        for model in [*base, *(m for m in own if m not in base)]
    }


def _bound(base: Fields, own: Fields) -> Fields:
    """The fields that still hold when the own entry asks elsewhere; between ports of this machine all of them do."""
    moved = _place({**base, **own}) != _place(base)
    if not base or not moved or (is_loopback(base.get("api_base")) and is_loopback(own.get("api_base"))):
        return base
    return {name: value for name, value in base.items() if name not in _OF_THE_ADDRESS}


def _place(fields: Fields) -> tuple[str, str]:
    return str(fields.get("litellm")).split("/", 1)[0], str(fields.get("api_base"))


def _over(base: Fields, own: Fields) -> Fields:
    result = dict(base)
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        result[key] = {**base[key], **value} if both else value
    return result


def describe(error: ValidationError, source: Path, model: str) -> UsageError:
    """The first fault of an entry, in words; values that might hold a secret are not shown."""
    first, *others = error.errors(include_url=False)
    path = [str(part) for part in first["loc"]]
    found = "nothing" if first["type"] == "missing" else _kind(first["input"])
    if (
        first["type"] != "extra_forbidden"
        and not _NEVER_SHOWN & set(path)
        and isinstance(first["input"], str | int | float)
    ):
        found = f"{found} {first['input']!r}"[:100]
    if first["type"] == "parameter":
        told = first["ctx"]
        path, found = [part for part in [*path, told["field"]] if part], told["found"]
    expected = "a field that exists (see docs/models.md)" if first["type"] == "extra_forbidden" else first["msg"]
    return _wrong(source, model, ".".join(path) or "(entry)", expected, found, more=len(others))


def _yaml(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8-sig"), Loader=_NoDuplicates)  # noqa: S506 (it is a SafeLoader)
    except OSError as error:
        raise _wrong(path, None, "(file)", "a file that can be read", error.strerror or type(error).__name__) from error
    except UnicodeDecodeError as error:
        raise _wrong(path, None, "(file)", "UTF-8", f"another encoding at byte {error.start}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        raise _wrong(path, None, "(file)", "YAML", f"{line}{getattr(error, 'problem', 'unreadable')}") from None
    except ValueError as error:  # a date that does not exist
        raise _wrong(path, None, "(file)", "YAML", str(error)) from None


def _can_be_key(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _wrong(path: Path, entry: str | None, field: str, expected: str, found: str, more: int = 0) -> UsageError:
    return UsageError(
        "the model registry is malformed; nothing was asked" + (f" (and {more} more faults)" if more else ""),
        where=", ".join([str(path), *([f"entry {entry}"] if entry else []), f"field {field}"]),
        expected=expected,
        found=found,
        advice="docs/models.md describes every field",
    )


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)
