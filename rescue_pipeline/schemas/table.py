"""What every table model has in common."""

from __future__ import annotations

from functools import cache

import pandera.polars as pa
import polars as pl


class Table(pa.DataFrameModel):
    """Columns beyond the declared ones are dropped, types are brought to the declared ones, rows are checked."""

    class Config:
        strict = "filter"
        coerce = True


@cache
def without_rows(schema: type[pa.DataFrameModel]) -> pl.DataFrame:
    """A typed frame of a table without rows; made once, because Pandera takes milliseconds for each."""
    frame: pl.DataFrame = schema.empty()
    return frame
