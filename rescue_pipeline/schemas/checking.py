"""Validating a frame against its Pandera model without ever quoting a value: failing cells may hold session text."""

from __future__ import annotations

import pandera.polars as pa
import polars as pl
from pandera.errors import SchemaError, SchemaErrors

from rescue_pipeline.errors import RescueError


class BrokenContract(RescueError):
    """A frame that its table's contract refuses. broken: columns, checks and numbers of rows, no values."""

    def __init__(self, table: str, schema: type[pa.DataFrameModel], broken: str) -> None:
        self.table, self.broken = table, broken
        super().__init__(
            "a table breaks its contract; it was not stored",
            where=table,
            expected=f"{schema.__name__}: {(schema.__doc__ or '').splitlines()[0]}",
            found=broken,
        )


def check_table(frame: pl.DataFrame, schema: type[pa.DataFrameModel], table: str) -> pl.DataFrame:
    """Return `frame` with the schema's columns; raises BrokenContract that names columns, checks and row counts only.

    `frame` is collected: on a LazyFrame Pandera would look at types alone.
    """
    try:
        checked: pl.DataFrame = schema.validate(frame, lazy=True)
    except (SchemaErrors, SchemaError) as error:
        raise BrokenContract(table, schema, _summary(error)) from None  # the original error quotes the failing values
    return checked


def _summary(error: SchemaErrors | SchemaError) -> str:
    if isinstance(error, SchemaError):
        return f"{getattr(error.schema, 'name', '')}: {error.reason_code}"
    counts = error.failure_cases.group_by("column", "check").len().sort("column", "check")
    return "; ".join(f"{column}: {check} ({n} rows)" for column, check, n in counts.iter_rows())
