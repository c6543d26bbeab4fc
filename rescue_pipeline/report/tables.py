"""The result tables as CSV: full precision, UTF-8, and no cell that a spreadsheet would run as a formula."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb

from rescue_pipeline.datadir import write_atomically
from rescue_pipeline.report.reading import LINEAGE, RESULT_TABLES, of_version, tables_of
from rescue_pipeline.report.run_tables import in_utc
from rescue_pipeline.warehouse import open_results

_EXPORTED = [*(("results", table) for table in (*RESULT_TABLES, LINEAGE)), ("raw", "rejects")]
_FORMULA_STARTS = tuple("=+-@＝＋－＠")
_CONTROL_STARTS = ("\t", "\r", "\n")
_BATCH = 10_000


def write_tables(results_path: Path, target_dir: Path) -> list[Path]:
    """Write one CSV per result table that exists, and raw.rejects, of the loaded corpus version; returns the files.

    Times are UTC with their offset, lists are joined by "; ", what is missing is an empty cell.
    """
    target_dir.mkdir(parents=True, exist_ok=True)
    written = []
    with open_results(results_path) as connection:
        present = tables_of(connection)
        version = _loaded_version(connection) if ("raw", "corpus") in present else None
        for schema, table in _EXPORTED:
            if (schema, table) in present:
                path = target_dir / f"{table}.csv"
                write_atomically(path, _as_csv(connection, schema, table, present[schema, table], version))
                written.append(path)
    return written


def _loaded_version(connection: duckdb.DuckDBPyConnection) -> str | None:
    row = connection.execute("select corpus_version from raw.corpus").fetchone()
    return None if row is None else row[0]


def _as_csv(
    connection: duckdb.DuckDBPyConnection, schema: str, table: str, columns: list[str], version: str | None
) -> str:
    where, parameters = of_version(columns, version)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    connection.execute(f'select * from "{schema}"."{table}" {where} order by all', parameters)
    writer.writerows([csv_cell(value) for value in row] for row in _fetched(connection))
    return text.getvalue()


def _fetched(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while batch := connection.fetchmany(_BATCH):
        yield from batch


def csv_cell(value: Any) -> str:
    """One value as a cell. Only text can be taken for a formula; numbers stay as they are."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return in_utc(value).isoformat()
    if isinstance(value, int | float | date):
        return repr(value) if isinstance(value, float) else str(value)
    return _safe("; ".join(map(str, value)) if isinstance(value, list) else str(value))


def _safe(text: str) -> str:
    """HAZARD: a cell that starts like a formula becomes one; blanks before it do not help."""
    starts_a_formula = text.startswith(_CONTROL_STARTS) or text.lstrip().startswith(_FORMULA_STARTS)
    return f"'{text}" if starts_a_formula else text
