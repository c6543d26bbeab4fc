"""Invented names for the people of a session group, in all that a question shows, and back in all that is answered.

A name is replaced as a whole word: as it is written, in capitals, and in small letters unless it is an ordinary word
too (`will`). The longest name comes first, and two names that differ by a letter stay two. The Therapist and the group
labels keep their names; people whom a session only talks about keep theirs.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, field_validator

from rescue_pipeline.bundle import ASSETS
from rescue_pipeline.errors import RescueError
from rescue_pipeline.tasks.declarations import Declaration, read_declaration
from rescue_pipeline.tasks.people import GROUPS, THERAPIST

NAME_FILE = ASSETS / "names.yaml"
SHORTEST_PART = 3
"""Letters of a word in a name of several words that is replaced on its own: initials are not."""

Value = TypeVar("Value")
_LABELS = frozenset([THERAPIST, *GROUPS.values()])
_WORD = re.compile(r"\w+")


class NamePool(Declaration):
    """The names to choose from, and the words about which renaming must know more than their letters."""

    invented: tuple[str, ...] = Field(min_length=1)
    ordinary: tuple[str, ...]
    titles: tuple[str, ...]

    @field_validator("invented")
    @classmethod
    def _never_look_alike(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        capitalised = all(re.fullmatch("[A-Z][a-z]{2,}", name) for name in names)
        if not capitalised or len(set(names)) < len(names):
            raise ValueError("different names of three or more letters, the first one a capital")
        return names


@cache
def name_pool(path: Path = NAME_FILE) -> NamePool:
    """Raises UsageError (file, field, expected, found)."""
    return read_declaration(path, NamePool)


class Renaming:
    """The invented names of one session group. `rename` and `restore` undo each other."""

    def __init__(self, invented: Mapping[str, str]) -> None:
        """invented: by the name or part of a name that it stands for."""
        self.invented = dict(invented)
        self._there = _Replacement(_forms(invented, ordinary=set(name_pool().ordinary)))
        self._back = _Replacement(_forms({new: old for old, new in invented.items()}, ordinary=set()))

    @classmethod
    def of(cls, group: str, names: Iterable[str], taken: Collection[str]) -> Renaming:
        """Names for the people of a group: the same for all its sessions, and none of the words `taken` (casefolded).

        Raises RescueError when the pool has too few.
        """
        wanted = sorted({part for name in names for part in _parts(name)})
        free = [name for name in name_pool().invented if name.casefold() not in taken]
        if len(free) < len(wanted):
            raise RescueError(
                "there are too few invented names for the people of a session group",
                where=str(NAME_FILE),
                expected=f"{len(wanted)} names that the corpus does not have",
                found=str(len(free)),
                advice="add names to the list `invented`",
            )
        free.sort(key=lambda name: hashlib.sha256(f"{group}\0{name}".encode()).hexdigest())
        return cls(dict(zip(wanted, free, strict=False)))

    def rename(self, value: Value) -> Value:
        """`value` (a text, or texts in lists and mappings) with the invented names."""
        return _mapped(value, self._there)

    def restore(self, value: Value) -> Value:
        """`value` with the names of the session."""
        return _mapped(value, self._back)


def words_of(value: Any) -> set[str]:
    """The words of all texts in `value`, casefolded: names that must not be given to anybody else."""
    if isinstance(value, str):
        return {word.casefold() for word in _WORD.findall(value)}
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return set().union(*(words_of(item) for item in items))


class _Replacement:
    """Whole words for whole words."""

    def __init__(self, forms: Mapping[str, str]) -> None:
        self._forms = forms
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)") if forms else None

    def __call__(self, text: str) -> str:
        return self._pattern.sub(lambda found: self._forms[found[0]], text) if self._pattern else text


def _forms(names: Mapping[str, str], ordinary: Collection[str]) -> dict[str, str]:
    """Each spelling of a name and what it becomes; how somebody's name is written goes before how it may be written."""
    forms = dict(names)
    for old, new in names.items():
        forms.setdefault(old.upper(), new.upper())
        if old.lower() not in ordinary:
            forms.setdefault(old.lower(), new.lower())
    for old, new in list(forms.items()):
        forms.setdefault(unicodedata.normalize("NFD", old), new)
        forms.setdefault(unicodedata.normalize("NFC", old), new)
    return forms


def _parts(name: str) -> list[str]:
    """What is replaced of a name: all of it, or each word that is a name by itself (`Aunt May` keeps the aunt)."""
    if name in _LABELS or not name.strip():
        return []
    if len(name.split()) == 1:
        return [name.strip()]
    kept = {word.casefold() for word in (*name_pool().titles, *_LABELS)}
    parts = [
        word
        for word in name.split()
        if len(word) >= SHORTEST_PART and word[0].isupper() and word.isalpha() and word.casefold() not in kept
    ]
    return parts or [name.strip()]


def _mapped(value: Value, replace: _Replacement) -> Value:
    mapped: Any = value
    if isinstance(value, str):
        mapped = replace(value)
    elif isinstance(value, Mapping):
        mapped = {key: _mapped(item, replace) for key, item in value.items()}
    elif isinstance(value, list | tuple):
        mapped = [_mapped(item, replace) for item in value]
    return mapped  # type: ignore[no-any-return]
