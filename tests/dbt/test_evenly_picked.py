"""The macro that picks m of n evenly, against the definition written out in Python."""

from __future__ import annotations

import duckdb
import pytest
from jinja2 import Environment, FileSystemLoader

from rescue_pipeline.bundle import DBT_PROJECT


def picked(available: int, wanted: int, sole: int) -> list[int]:
    """The definition; Python's round rounds halves to even."""
    if available <= wanted:
        return list(range(available))
    if wanted <= 1:
        return [sole] * wanted
    return [round(k * (available - 1) / (wanted - 1)) for k in range(wanted)]


@pytest.fixture(scope="module")
def evenly_picked() -> str:
    """The macro as SQL over the columns item, n and m."""
    macros = Environment(loader=FileSystemLoader(DBT_PROJECT / "macros"), autoescape=False)
    module = macros.get_template("evenly_picked.sql").make_module()
    return str(module.evenly_picked("item", "n", "m", "n // 2"))  # type: ignore[attr-defined]


def test_as_many_as_wanted_are_picked_halves_to_even(evenly_picked: str) -> None:
    every_case = f"""
        select n, m, coalesce(list(item order by item) filter ({evenly_picked}), [])
        from range(1, 101) as available(n), range(101) as wanted(m), range(n) as items(item)
        group by all
    """
    cases = duckdb.connect().execute(every_case).fetchall()
    assert len(cases) == 100 * 101
    assert [case for case in cases if case[2] != picked(case[0], case[1], case[0] // 2)] == []
