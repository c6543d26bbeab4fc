"""The closed label sets with their definitions, and the one function that brings a spelling of a label to its form.

For labels only. Names of people are compared in people.py, where nothing is ever made similar.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from rescue_pipeline.bundle import ASSETS
from rescue_pipeline.tasks.declarations import Declaration, read_declaration

LABELS = ASSETS / "labels"
LABEL_FILES = {"relation_pattern": "relation_patterns.yaml", "support_strategy": "support_strategies.yaml"}

LabelKind = Literal["relation_pattern", "support_strategy"]

_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+")  # \s holds NBSP; the rest are dashes


class Label(Declaration):
    """One label: its meaning with the boundary to its neighbours, and the theory it stands in."""

    label: str
    definition: str = Field(min_length=1)
    theory: str = Field(min_length=1)

    @field_validator("label")
    @classmethod
    def _is_in_normal_form(cls, label: str) -> str:
        if label != normalise_label(label):
            raise ValueError(f"a label in its normal form: {normalise_label(label)!r}")
        return label


class _LabelFile(Declaration):
    couple: tuple[Label, ...] = Field(min_length=1)
    family: tuple[Label, ...] = Field(min_length=1)

    @field_validator("couple", "family")
    @classmethod
    def _are_distinct(cls, labels: tuple[Label, ...]) -> tuple[Label, ...]:
        if len({label.label for label in labels}) < len(labels):
            raise ValueError("labels that differ")
        return labels


@dataclass(frozen=True)
class LabelSets:
    """The label sets by kind and scenario, in the benchmark's order."""

    files: Mapping[str, _LabelFile]

    def definitions(self, kind: str, scenario: str) -> list[Label]:
        labels: tuple[Label, ...] = getattr(self.files[kind], scenario)
        return list(labels)

    def names(self, kind: str, scenario: str) -> list[str]:
        return [label.label for label in self.definitions(kind, scenario)]


@cache
def load_labels(folder: Path = LABELS) -> LabelSets:
    """Both label files. Raises UsageError (file, field, expected, found)."""
    return LabelSets({kind: read_declaration(folder / name, _LabelFile) for kind, name in LABEL_FILES.items()})


def normalise_label(text: str) -> str:
    """The normal form of a label's spelling: case, hyphens, dashes, any white space, a trailing dot make no difference.

    The same function serves gold and prediction. It never looks inside a text for a label.
    """
    plain = unicodedata.normalize("NFKC", text).casefold().strip().rstrip(".")
    return _SEPARATORS.sub("_", plain).strip("_")


def match_label(text: str, labels: Iterable[str]) -> str | None:
    """The label of the set that `text` spells, or None."""
    wanted = normalise_label(text)
    return next((label for label in labels if normalise_label(label) == wanted), None)
