"""Contracts as asset checks: what a Pandera model refuses is a red check in the graph, ends the step, is not stored."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import ParamSpec, TypeVar

import dagster as dg

from rescue_pipeline.schemas.checking import BrokenContract

_CONTRACT = "contract"
P = ParamSpec("P")
T = TypeVar("T")


def contract_specs(tables: Iterable[str]) -> list[dg.AssetCheckSpec]:
    """The check that each of these lake tables carries."""
    return [
        dg.AssetCheckSpec(
            _CONTRACT,
            asset=["lake", table],
            blocking=True,
            description="Pandera: the columns, types, vocabularies and key of rescue_pipeline/schemas. "
            "A table that breaks them is not stored.",
        )
        for table in tables
    ]


def kept(table: str) -> dg.AssetCheckResult:
    """The contract of a table that was stored: storing it checked it."""
    return dg.AssetCheckResult(check_name=_CONTRACT, asset_key=["lake", table], passed=True)


def under_contract(
    tables: Iterable[str], work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> Generator[dg.AssetCheckResult, None, T]:
    """Do the work (`yield from`); a contract broken in it fails the check of these lake tables, and the step."""
    try:
        return work(*args, **kwargs)
    except BrokenContract as error:
        for table in tables:
            yield dg.AssetCheckResult(
                check_name=_CONTRACT,
                asset_key=["lake", table],
                passed=False,
                metadata={"table": error.table, "broken": error.broken},
            )
        raise
