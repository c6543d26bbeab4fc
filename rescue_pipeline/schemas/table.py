"""What every table model has in common."""

from __future__ import annotations

import pandera.polars as pa


class Table(pa.DataFrameModel):
    """Columns beyond the declared ones are dropped, types are brought to the declared ones, rows are checked."""

    class Config:
        strict = "filter"
        coerce = True
