"""How questions are asked: the model of a file in assets/protocols/, and how one file builds on another."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, model_validator

from rescue_pipeline.bundle import ASSETS
from rescue_pipeline.tasks.declarations import Declaration, read_mapping, require, validated
from rescue_pipeline.tasks.templates import PROMPTS

PROTOCOL_FILES = ASSETS / "protocols"
ALL_EARLIER_TURNS = -1
WHOLE_SESSION = "session"
ITEMS = "_items.md.j2"
"""The template of a set that puts a list of questions into a request, and asks for a list of answers."""

_OWN_FIELDS = ("name", "description", "based_on")

Leak = Literal["ids", "shared_requests", "gold_example"]
"""ids: names and fields that give the gold away. shared_requests: questions of one session show each other's turns.
gold_example: the example of the answer's form is the gold of a question that is asked."""


def _batch_size(value: Any) -> int | str:
    if value == WHOLE_SESSION or (type(value) is int and value >= 1):
        return value  # type: ignore[no-any-return]
    raise ValueError(f"a number of questions per request, 1 or more, or {WHOLE_SESSION!r}")


BatchSize = Annotated[int | str, PlainValidator(_batch_size)]


class Context(Declaration):
    """Which turns a question shows."""

    before: int = Field(ge=ALL_EARLIER_TURNS)
    """Turns before the one the instance names: -1 all, 0 none."""
    current: bool


class Protocol(Declaration):
    """How questions are asked. Another way of asking is another file in assets/protocols/."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    description: str
    based_on: str | None = None
    """The protocol that gives all fields which the file does not state."""
    template_set: str = Field(pattern=r"^[a-z0-9_-]+$")
    context: dict[str, Context]
    """By task."""
    batching: dict[str, BatchSize]
    """By task: consecutive questions of one session that share a request, or `session` for all of them."""
    leaks: tuple[Leak, ...]
    """What this protocol gives away on purpose, to measure what it is worth."""
    renamed: bool
    """Whether the participants bear invented names."""
    order_seed: int | None
    few_shot: int = Field(ge=0)
    """Worked examples before each question, from other session groups."""
    epochs: int = Field(ge=1)
    """How often each question is asked; an item's repeats are averaged."""
    temperature: float = Field(ge=0, le=2)
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None
    max_answer_tokens: int = Field(ge=1)
    """For each answer of a request."""
    reasoning_tokens: int = Field(ge=0)
    """On top, for a model that thinks before it answers; twice as many in the retry after a cut."""
    retry_answer_tokens: int = Field(ge=1)

    @model_validator(mode="after")
    def _retry_has_more_room(self) -> Protocol:
        if self.retry_answer_tokens <= self.max_answer_tokens:
            raise ValueError("retry_answer_tokens above max_answer_tokens: the same budget would fail the same way")
        return self

    @property
    def templates(self) -> Path:
        return PROMPTS / self.template_set

    @property
    def asks_lists(self) -> bool:
        """Whether a request holds a list of questions (it may be a list of one) and is answered by a list."""
        return _holds_items(self.templates)


@cache
def _holds_items(folder: Path) -> bool:
    return (folder / ITEMS).is_file()


def protocol_names(folder: Path = PROTOCOL_FILES) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.yaml"))


def protocol_files(name: str, folder: Path = PROTOCOL_FILES) -> list[Path]:
    """The file of a protocol and those it is based on."""
    return [path for path, _ in _chain(name, folder)]


def read_protocol(name: str, folder: Path = PROTOCOL_FILES) -> Protocol:
    """The protocol that a file and those it is based on declare. Raises UsageError (file, field, expected, found)."""
    path = folder / f"{name}.yaml"
    fields: dict[str, Any] = {}
    for _, stated in reversed(_chain(name, folder)):
        fields = _merged({key: value for key, value in fields.items() if key not in _OWN_FIELDS}, stated)
    protocol = validated(path, fields, Protocol)
    require(protocol.name == name, path, "name", f"{name} (the file's name)", protocol.name)
    _agree(path, protocol)
    return protocol


@cache
def _chain(name: str, folder: Path) -> tuple[tuple[Path, dict[str, Any]], ...]:
    """What each file states, from the named one to the one that is based on nothing."""
    chain: list[tuple[Path, dict[str, Any]]] = []
    base: Any = name
    while base is not None:
        path = folder / f"{base}.yaml"
        chain.append((path, read_mapping(path)))
        base = chain[-1][1].get("based_on")
        known = [other for other in protocol_names(folder) if folder / f"{other}.yaml" not in dict(chain)]
        require(base is None or base in known, path, "based_on", ", ".join(known) or "no other protocol", str(base))
    return tuple(chain)


def _merged(base: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the stated fields laid over it, inside mappings too."""
    both = dict(base)
    for key, value in stated.items():
        inner = both.get(key)
        both[key] = _merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return both


def _agree(path: Path, protocol: Protocol) -> None:
    """Raise UsageError where one field of a protocol contradicts another."""
    shared = any(size != 1 for size in protocol.batching.values())
    declared = "shared_requests" in protocol.leaks
    expected = "shared_requests" if shared else "no shared_requests"
    require(shared == declared, path, "leaks", f"{expected}, as batching says", ", ".join(protocol.leaks) or "none")
    one_each = not protocol.asks_lists
    require(not shared or not one_each, path, "template_set", f"a set that holds {ITEMS}", protocol.template_set)
    leaky = sorted({"ids", "gold_example"} & set(protocol.leaks))
    require(not leaky or not one_each, path, "leaks", f"a template set that holds {ITEMS}", ", ".join(leaky))
    require(one_each or not protocol.few_shot, path, "few_shot", "0 with lists of questions", str(protocol.few_shot))
    named = protocol.renamed and bool(leaky)
    require(not named, path, "renamed", f"false beside the leaks {', '.join(leaky)}: they name people", "true")
