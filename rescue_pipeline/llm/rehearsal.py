"""A workspace in which everything can be planned and nothing is kept: what an estimate is made in.

Reading sees the real lake and journal; writing goes to a folder that is gone afterwards.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pandera.polars as pa
import polars as pl

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.generations import FILE
from rescue_pipeline.llm.workspace import Workspace


@dataclass(frozen=True)
class _Overlaid(Lake):
    """A lake over another one: its files hide those of the same name below, which are never touched."""

    below: Lake

    def read(
        self,
        table: str,
        schema: type[pa.DataFrameModel],
        *,
        partition: Mapping[str, str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        written = super().read(table, schema, partition=partition, columns=columns)
        if not super().files(table, partition):
            return self.below.read(table, schema, partition=partition, columns=columns)
        # plans are the only thing that is rehearsed, and a new plan repeats the rows of the old one that still hold
        kept = self.below.read(table, schema, partition=partition, columns=columns)
        key = [name for name in schema.Config.unique or () if name in written.columns]
        return pl.concat([written, kept.join(written, on=key, how="anti")])

    def files(self, table: str, partition: Mapping[str, str] | None = None) -> list[str]:
        return sorted({*super().files(table, partition), *self.below.files(table, partition)})


@contextmanager
def rehearsal(workspace: Workspace) -> Iterator[Workspace]:
    """A copy of `workspace` whose plans go nowhere."""
    with tempfile.TemporaryDirectory(prefix="rescue-rehearsal-") as folder:
        directory = DataDirectory(Path(folder))
        directory.journal.mkdir()
        known = workspace.datadir.journal / FILE
        if known.exists():
            shutil.copyfile(known, directory.journal / FILE)
        lake = _Overlaid(f"{folder}/lake", workspace.lake)
        copy = replace(workspace, datadir=directory, lake=lake)
        copy.__dict__["corpus"] = workspace.corpus  # rendered once for both
        yield copy
