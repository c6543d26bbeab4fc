"""The output ladder: how the form of an answer is asked for, from the strictest way down to words alone.

What a server takes is found out once per endpoint and model, by asking, and kept in journal/capabilities.jsonl.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.remembered import facts, kept_for_one, remember
from rescue_pipeline.llm.tool import TOOL_NAME

FILE = "capabilities.jsonl"
JSON_SCHEMA, TOOL, JSON_OBJECT, PLAIN = "json_schema", "tool", "json_object", "plain"
LADDER = (JSON_SCHEMA, TOOL, JSON_OBJECT, PLAIN)

_Schema = Mapping[str, Any]


class Capabilities:
    """What is known of the servers. Without a journal it is known for the length of a run."""

    def __init__(self, journal: Path | None = None) -> None:
        self._path = journal / FILE if journal else None
        self._known: dict[tuple[str, str, str], str] = {}
        if self._path and self._path.exists():
            with kept_for_one(self._path):
                self._known = {_key(fact): str(fact["rung"]) for fact in facts(self._path)}

    def rung(self, entry: ModelEntry) -> str | None:
        return self._known.get(_key(_named(entry)))

    def learn(self, entry: ModelEntry, rung: str) -> None:
        """Remember the highest rung that a model takes. Raises OSError when it cannot be written down."""
        named = _named(entry)
        if self._known.get(_key(named)) == rung:
            return
        self._known[_key(named)] = rung
        if self._path:
            with kept_for_one(self._path):
                remember(self._path, {**named, "rung": rung})


class Ladder:
    """One model's place on the ladder. An entry that names its way stays there; `auto` goes down when it is refused."""

    def __init__(self, entry: ModelEntry, capabilities: Capabilities) -> None:
        self._entry, self._capabilities = entry, capabilities
        self.is_open = entry.structured_output == "auto" and not entry.is_baseline
        self._rung = PLAIN if entry.structured_output == "none" or entry.is_baseline else entry.structured_output
        if self.is_open:
            self._rung = capabilities.rung(entry) or LADDER[0]

    def rung(self, schema: _Schema | None) -> str:
        """How to ask now; in words alone where no form is asked for."""
        return PLAIN if schema is None else self._rung

    def refused(self, rung: str) -> bool:
        """The server takes no such request: step down. False when there is no other way to ask."""
        if not self.is_open or rung == PLAIN:
            return False
        below = LADDER.index(rung) + 1
        if LADDER.index(self._rung) < below:  # another request may have found out first
            self._rung = LADDER[below]
        return True

    def accepted(self, rung: str, schema: _Schema | None) -> None:
        if self.is_open and schema is not None and rung == self._rung:
            self._capabilities.learn(self._entry, rung)


def request_fields(rung: str, schema: _Schema | None) -> dict[str, Any]:
    """What a rung adds to a request."""
    named = {"name": TOOL_NAME, "strict": True}
    if rung == JSON_SCHEMA:
        return {"response_format": {"type": JSON_SCHEMA, "json_schema": {**named, "schema": schema}}}
    if rung == TOOL:
        function = {**named, "description": "Give the answer.", "parameters": schema}
        return {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": TOOL_NAME}},
        }
    return {"response_format": {"type": JSON_OBJECT}} if rung == JSON_OBJECT else {}


def _named(entry: ModelEntry) -> dict[str, str]:
    return {"endpoint": entry.endpoint, "model": entry.litellm, "revision": entry.revision}


def _key(fact: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(fact["endpoint"]), str(fact["model"]), str(fact["revision"])
