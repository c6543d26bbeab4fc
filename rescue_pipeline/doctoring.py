"""`rescue doctor`: a look at everything a run needs. It changes nothing and shows no secret."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rescue_pipeline import datadir
from rescue_pipeline.bundle import ASSETS, DBT_PROJECT
from rescue_pipeline.errors import RescueError
from rescue_pipeline.llm.registry import load_registry
from rescue_pipeline.settings import Settings
from rescue_pipeline.warehouse import open_duckdb

_PACKAGES = ("dagster", "dagster-dbt", "dbt-core", "dbt-duckdb", "duckdb", "litellm", "pandera", "great-expectations")
_LEAST_FREE_BYTES = 500_000_000


@dataclass(frozen=True)
class Finding:
    what: str
    ok: bool
    detail: str
    advice: str | None = None


def examine() -> list[Finding]:
    return [*_software(), *_directory(), *_registry()]


def _software() -> Iterator[Finding]:
    found = sys.version.split()[0]
    yield Finding("python", sys.version_info >= (3, 11), found, "Python 3.11 or newer")
    for package in _PACKAGES:
        try:
            yield Finding(package, True, version(package))
        except PackageNotFoundError:
            yield Finding(package, False, "not installed", "install the project's lock file: make demo")
    for name, folder in (("declarations", ASSETS), ("dbt project", DBT_PROJECT)):
        yield Finding(name, folder.is_dir(), str(folder), "install the package again")


def _directory() -> Iterator[Finding]:
    directory = datadir.current()
    if not directory.root.is_dir():
        yield Finding("data directory", True, "none yet", "rescue demo")
        return
    yield Finding("data directory", os.access(directory.root, os.W_OK), str(directory.root), "no right to write there")
    free = shutil.disk_usage(directory.root).free
    yield Finding("free space", free > _LEAST_FREE_BYTES, f"{free / 1e9:.1f} GB", "at least 0.5 GB")
    for name, file in (("warehouse", directory.warehouse), ("results", directory.results)):
        yield _database(name, file)


def _database(name: str, file: Path) -> Finding:
    if not file.exists():
        return Finding(name, True, "not made yet")
    try:
        with open_duckdb(file, read_only=True, timeout=0):
            return Finding(name, True, f"{file.stat().st_size / 1e6:.1f} MB, free to open")
    except RescueError as error:
        return Finding(name, False, error.found or error.what, error.advice)


def _registry() -> Iterator[Finding]:
    try:
        registry = load_registry(Settings().models_file)
    except RescueError as error:
        yield Finding("model registry", False, str(error))
        return
    enabled = [entry for entry in registry.models.values() if entry.enabled]
    yield Finding("model registry", True, f"{len(enabled)} enabled: {', '.join(entry.id for entry in enabled)}")
    for entry in enabled:
        if entry.api_key_env is not None:
            present = bool(os.environ.get(entry.api_key_env))
            yield Finding(f"key of {entry.id}", present, entry.api_key_env, f"export {entry.api_key_env}=...")
