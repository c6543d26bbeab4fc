"""The texts that our own files bring into a request: templates, label definitions, and how values are formatted."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, nodes

from rescue_pipeline.tasks.answers import INTENSITIES, MAX_RANKS
from rescue_pipeline.tasks.labels import LABEL_FILES, load_labels
from rescue_pipeline.tasks.spec import Protocol, TaskSpec
from rescue_pipeline.tasks.templates import used_files

FORMATTING = ("not stated", "?", "->")
"""What stands for a value that is missing, and between who acts and on whom."""


@cache
def template_literals(folder: Path, name: str) -> frozenset[str]:
    """Every text between the tags of a template and of what it includes, and every string inside the tags."""
    environment = Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
    found: set[str] = set()
    for file in used_files(folder, name):
        syntax = environment.parse(file.read_text(encoding="utf-8"))
        found |= {data.data for data in syntax.find_all(nodes.TemplateData)}
        found |= {const.value for const in syntax.find_all(nodes.Const) if isinstance(const.value, str)}
    return frozenset(text for text in found if text.strip())


def literals_of(spec: TaskSpec, protocol: Protocol) -> frozenset[str]:
    """What the templates of a task say under a protocol."""
    return template_literals(protocol.templates, spec.prompt)


def label_texts(spec: TaskSpec, scenario: str) -> list[str]:
    """The names, definitions and theories of a task's closed label set; none where answers are people or free text."""
    if spec.label_set not in LABEL_FILES:
        return []
    labels = load_labels().definitions(str(spec.label_set), scenario)
    return [text for label in labels for text in (label.label, label.definition, label.theory)]


def counting_words() -> list[str]:
    """The numbers that a template counts ranks with."""
    return [str(number) for number in range(1, MAX_RANKS + 1)]


def schema_words() -> frozenset[str]:
    """Values in a schema that are no choice of the task."""
    kinds = ("object", "array", "string", "integer", "number", "boolean", "null", "yes", "no")
    return frozenset([*kinds, *(str(intensity) for intensity in INTENSITIES)])
