"""`rescue doctor`: a look at everything a run needs. It changes nothing, asks no model and shows no secret."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

from rescue_pipeline import datadir
from rescue_pipeline.bundle import ASSETS, DBT_PROJECT
from rescue_pipeline.corpus.source import from_datadir
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import RescueError
from rescue_pipeline.keys import read_key
from rescue_pipeline.llm.registry import load_registry
from rescue_pipeline.settings import Settings
from rescue_pipeline.warehouse import open_duckdb

_PACKAGES = ("dagster", "dagster-dbt", "dbt-core", "dbt-duckdb", "duckdb", "litellm", "pandera", "great-expectations")
_LEAST_FREE_BYTES = 500_000_000
_CONNECT_SECONDS = 3


@dataclass(frozen=True)
class Finding:
    what: str
    ok: bool
    detail: str
    advice: str | None = None


def examine() -> list[Finding]:
    return [*_software(), *_settings()]


def _settings() -> Iterator[Finding]:
    try:
        Settings()
    except RescueError as error:
        yield _faulty("settings", error)
        return
    yield from _directory(datadir.current())
    yield from _registry()


def _software() -> Iterator[Finding]:
    found = sys.version.split()[0]
    yield Finding("python", sys.version_info >= (3, 11), found, "install Python 3.11 or newer")
    for package in _PACKAGES:
        try:
            yield Finding(package, True, version(package))
        except PackageNotFoundError:
            yield Finding(package, False, "not installed", "make demo installs the lock file")
    dbt = Path(sys.executable).with_name("dbt")
    yield Finding("dbt command", os.access(dbt, os.X_OK), str(dbt), "install the package again, in a venv of its own")
    for name, folder in (("declarations", ASSETS), ("dbt project", DBT_PROJECT)):
        yield Finding(name, folder.is_dir(), str(folder), "install the package again")


def _directory(directory: DataDirectory) -> Iterator[Finding]:
    if not directory.root.is_dir():
        yield Finding("data directory", True, f"{directory.root}: none yet (`rescue demo` makes one)")
        return
    writable = _writable(directory.root)
    yield Finding("data directory", writable, str(directory.root), "it cannot be written: mend permissions or the disk")
    free = shutil.disk_usage(directory.root).free
    yield Finding("free space", free > _LEAST_FREE_BYTES, f"{free / 1e9:.1f} GB", "free at least 0.5 GB")
    yield _corpus(directory)
    # a run writes the warehouse, so that even a reader elsewhere is in its way; results.duckdb is only read
    yield _database("warehouse", directory.warehouse, read_only=False)
    yield _database("results", directory.results, read_only=True)
    yield from _leases(directory)


def _writable(folder: Path) -> bool:
    """Tried, not asked for: a read-only file system grants root every permission."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 4096)
        return True
    except OSError:
        return False


def _corpus(directory: DataDirectory) -> Finding:
    try:
        source = from_datadir(directory)
    except RescueError as error:
        return _faulty("corpus", error)
    return Finding("corpus", True, f"{source.corpus_id}, {source.path}")


def _database(name: str, file: Path, *, read_only: bool) -> Finding:
    if not file.exists():
        return Finding(name, True, "not made yet")
    try:
        with open_duckdb(file, read_only=read_only, timeout=0):
            return Finding(name, True, f"{file.stat().st_size / 1e6:.1f} MB, free to open")
    except RescueError as error:
        return _faulty(name, error)


def _leases(directory: DataDirectory) -> Iterator[Finding]:
    """Which partitions are being asked right now: no fault, but a reason why a second run refuses."""
    for file in sorted((directory.journal / "leases").glob("*.lock")):
        with file.open("rb") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = handle.read(32).decode("ascii", "replace").strip()
                yield Finding("being asked", True, f"{file.stem.replace('--', ', ')}: by process {holder}")


def _registry() -> Iterator[Finding]:
    try:
        registry = load_registry(Settings().models_file)
    except RescueError as error:
        yield _faulty("model registry", error)
        return
    enabled = [entry for entry in registry.models.values() if entry.enabled]
    yield Finding("model registry", True, f"{len(enabled)} enabled: {', '.join(entry.id for entry in enabled)}")
    for entry in enabled:
        if entry.api_key_env is not None:
            key, name = read_key(entry.api_key_env), entry.api_key_env
            detail = f"{name}: {'there' if key else 'not set'}"
            yield Finding(f"key of {entry.id}", key is not None, detail, f"export {name}=..., or write it to .env")
        if entry.api_base is not None:
            yield _endpoint(entry.id, entry.api_base)


def _endpoint(model: str, address: str) -> Finding:
    """Does anybody listen there? Nothing is sent."""
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with socket.create_connection((parts.hostname or "", port), timeout=_CONNECT_SECONDS):
            return Finding(f"server of {model}", True, f"{parts.hostname}:{port} listens")
    except OSError as error:
        found = f"{parts.hostname}:{port}: {error.strerror or type(error).__name__}"
        return Finding(f"server of {model}", False, found, "start it, or correct api_base in models.yaml")


def _faulty(what: str, error: RescueError) -> Finding:
    told = [error.what, *(text for label, text in error.lines() if label != "try")]
    return Finding(what, False, "; ".join(told), error.advice)
