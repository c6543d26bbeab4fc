"""`rescue sql`: one read-only query on the published database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import duckdb
import polars as pl
from rich.console import Console
from rich.table import Table

from rescue_pipeline.errors import UsageError
from rescue_pipeline.warehouse import open_results

Form = Literal["table", "csv", "json"]
MOST_ROWS_SHOWN = 200


def run_query(database: Path, query: str, form: Form) -> str:
    """The result as text; raises UsageError for SQL that DuckDB refuses."""
    with open_results(database) as connection:
        try:
            relation = connection.sql(query)
            frame = relation.pl() if relation is not None else pl.DataFrame()
        except duckdb.Error as error:
            raise UsageError(
                "the query was refused",
                found=str(error).strip(),
                advice='rescue sql "select table_schema, table_name from information_schema.tables" lists the tables',
            ) from error
    if form == "csv":
        return _flat(frame).write_csv()
    if form == "json":
        return json.dumps(frame.to_dicts(), default=str, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    return _table(frame)


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists and structs as JSON text, which CSV cannot hold otherwise."""
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    return frame.with_columns(
        pl.col(name).map_elements(_as_json, return_dtype=pl.String, skip_nulls=True) for name in nested
    )


def _as_json(value: object) -> str:
    plain = value.to_list() if isinstance(value, pl.Series) else value
    return json.dumps(plain, default=str, ensure_ascii=False)


def _table(frame: pl.DataFrame) -> str:
    table = Table(box=None, pad_edge=False)
    for name, kind in frame.schema.items():
        table.add_column(name, justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in frame.head(MOST_ROWS_SHOWN).iter_rows():
        table.add_row(*("" if value is None else str(value) for value in row))
    console = Console(highlight=False, markup=False)
    with console.capture() as captured:
        console.print(table)
        if frame.height > MOST_ROWS_SHOWN:
            console.print(f"... {frame.height - MOST_ROWS_SHOWN} more rows: --csv or --json gives all")
    return captured.get()
