"""The Jinja templates below assets/prompts/: rendering them, and hashing the files that one really uses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, meta

from rescue_pipeline.bundle import ASSETS

PROMPTS = ASSETS / "prompts"


@cache
def _environment(folder: Path) -> Environment:
    # autoescape stays off: prompts are plain text, and what a session says must reach the model byte for byte
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        auto_reload=False,  # templates are files of this release; looking at them for each question costs
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(folder: Path, name: str, **values: Any) -> str:
    """The text of a template without blank ends; a missing value raises, and values are never read as templates.

    A template must not begin or end with a value, so that what a session says is never trimmed.
    """
    return _environment(folder).get_template(name).render(values).strip()


def used_files(folder: Path, name: str) -> list[Path]:
    """The template and all that it extends or includes, sorted."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        found.add(current)
        waiting += _references(folder, current)
    return [folder / file for file in sorted(found)]


@cache
def _references(folder: Path, name: str) -> tuple[str, ...]:
    """The templates that one extends or includes itself."""
    syntax = _environment(folder).parse((folder / name).read_text(encoding="utf-8"))
    return tuple(reference for reference in meta.find_referenced_templates(syntax) if reference)


def sha256_of(files: Iterable[Path], *extra: str) -> str:
    """A hash over names and contents of `files` (in the order given) and over `extra` strings."""
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.name}\0{len(content)}\0".encode())
        digest.update(content)
    for text in extra:
        digest.update(f"{len(text)}\0{text}".encode())
    return digest.hexdigest()


def quotation_code(*texts: str) -> str:
    """A code for the tags around quoted `texts` that occurs in none of them: no text can close its own quotation.

    It depends on the texts alone, so that the same question is always the same bytes.
    """
    joined = "\0".join(texts)
    attempt = 0
    while True:
        code = hashlib.sha256(f"{attempt}\0{joined}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
        if code not in joined:
            return code
        attempt += 1
