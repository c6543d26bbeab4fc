"""`rescue sql`: one read-only query on the published database."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple

import duckdb
import polars as pl

from rescue_pipeline import console
from rescue_pipeline.errors import UsageError
from rescue_pipeline.report.tables import csv_cell
from rescue_pipeline.warehouse import open_results

Form = Literal["table", "csv", "json"]
MOST_ROWS_SHOWN = 200
_NUMBERS = {"bigint", "decimal", "double", "float", "hugeint", "integer", "smallint", "tinyint", "ubigint", "uinteger"}


class _Answer(NamedTuple):
    names: list[str]
    is_number: list[bool]
    rows: list[tuple[Any, ...]]


def run_query(database: Path, query: str, form: Form) -> str:
    """The result as text; raises UsageError for SQL that DuckDB refuses."""
    if not query.strip():
        raise UsageError("the query is empty", advice='rescue sql "select * from results.leaderboard"')
    with open_results(database) as connection:
        try:
            answer = _answer(connection.sql(query))
        except duckdb.Error as error:
            raise UsageError(
                "the query was refused",
                found="\n".join(line for line in str(error).splitlines() if line.strip()),
                advice='rescue sql "select schema_name, table_name from duckdb_tables()" lists the tables',
            ) from error
    return {"csv": _csv, "json": _json, "table": _table}[form](answer)


def as_text(frame: pl.DataFrame, form: Literal["csv", "json"]) -> str:
    """A frame in the forms that `run_query` gives its rows."""
    answer = _Answer(frame.columns, [], frame.rows())
    return _csv(answer) if form == "csv" else _json(answer)


def _answer(relation: duckdb.DuckDBPyRelation | None) -> _Answer:
    if relation is None:  # a statement without a result
        return _Answer([], [], [])
    is_number = [kind.id in _NUMBERS for kind in relation.types]
    return _Answer(list(relation.columns), is_number, relation.fetchall())


def _json(answer: _Answer) -> str:
    rows = [dict(zip(answer.names, map(_plain, row), strict=True)) for row in answer.rows]
    return json.dumps(rows, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _csv(answer: _Answer) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(answer.names)
    writer.writerows([_csv_cell(value) for value in row] for row in answer.rows)
    return text.getvalue()


def _csv_cell(value: Any) -> str:
    return csv_cell(_cell(value) if isinstance(value, dict | list) else value)


def _plain(value: Any) -> Any:
    """What JSON can hold: times in ISO 8601, decimals as numbers, what is no number as null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):
        return _plain(float(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def _cell(value: Any) -> str:
    """One value as text; lists and structs as JSON, which a table cannot hold otherwise."""
    plain = _plain(value)
    if isinstance(plain, dict | list):
        return json.dumps(plain, ensure_ascii=False)
    return "" if plain is None else str(plain).lower() if isinstance(plain, bool) else str(plain)


def _shown(value: Any) -> str:
    """As in a cell, with six significant digits: --csv and --json give all."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    # a control character in a stored text must not reach the terminal
    return "".join(sign if sign.isprintable() or sign == "\n" else "\N{REPLACEMENT CHARACTER}" for sign in _cell(value))


def _table(answer: _Answer) -> str:
    """Side by side when that fits, else a block of lines per row."""
    shown = [[_shown(value) for value in row] for row in answer.rows[:MOST_ROWS_SHOWN]]
    more = len(answer.rows) - len(shown)
    lines = _side_by_side(answer, shown) or _one_below_the_other(answer.names, shown) or answer.names
    rest = [f"... {more} more rows: --csv or --json gives all"] if more else [] if shown else ["no rows"]
    return "".join(f"{line.rstrip()}\n" for line in [*lines, *rest])


def _side_by_side(answer: _Answer, shown: list[list[str]]) -> list[str] | None:
    cells = [answer.names, *shown]
    widths = [max(len(row[at]) for row in cells) for at in range(len(answer.names))]
    if sum(widths) + 2 * (len(widths) - 1) > console.WIDTH or any("\n" in cell for row in cells for cell in row):
        return None
    aligned = [str.rjust if number else str.ljust for number in answer.is_number]
    return [
        "  ".join(align(cell, width) for align, cell, width in zip(aligned, row, widths, strict=True)) for row in cells
    ]


def _one_below_the_other(names: list[str], shown: list[list[str]]) -> list[str]:
    width = max(map(len, names), default=0)
    blocks = []
    for number, row in enumerate(shown, start=1):
        blocks.append(f"row {number}")
        for name, cell in zip(names, row, strict=True):
            blocks.append(f"  {name:<{width}}  {console.wrapped(cell, width + 4)}")
    return blocks
