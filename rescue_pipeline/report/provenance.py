"""Which software made a report: the versions that a reader needs to make it again."""

from __future__ import annotations

import platform
from importlib.metadata import version

_PACKAGES = ("rescue-pipeline", "dagster", "duckdb", "dbt-core", "dbt-duckdb", "litellm", "polars", "scikit-learn")


def provenance() -> dict[str, str]:
    """Name -> version, this Python included; nothing about the machine or its user."""
    return {**{package: version(package) for package in _PACKAGES}, "python": platform.python_version()}
