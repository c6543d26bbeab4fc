"""What a protocol changes: each model against itself under `clean`, question by question."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rescue_pipeline.metrics.catalogue import RUN, compared
from rescue_pipeline.metrics.comparing import differences
from rescue_pipeline.metrics.estimates import label_sets
from rescue_pipeline.metrics.rows import scored_rows
from rescue_pipeline.schemas import Gradings, Instances, Items, ProtocolEffects, check_table

BASE = "clean"
IMPORTED = "imported"
"""Answers that were made elsewhere: nobody here knows how they were asked for."""

_NAMES = {
    "value_a": "value",
    "value_b": "value_clean",
    "n_better_a": "n_better",
    "n_better_b": "n_worse",
}


def protocol_effects(items: pl.DataFrame, gradings: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """One row per run under another protocol, scorer, scenario, task and main metric: the paired difference to clean.

    items and gradings: the tables of scores.*; instances: the lake's. A run is compared with the same model,
    generation and modality under clean in the same corpus version; without one it has no rows. Raises RescueError when
    a frame breaks its schema.
    """
    labels = label_sets(check_table(instances, Instances, "lake/instances"))
    rows = scored_rows(check_table(items, Items, "scores/items"), check_table(gradings, Gradings, "scores/gradings"))
    found = [pl.DataFrame(schema=dict(ProtocolEffects.empty().schema)), *_effects(rows, labels)]
    return check_table(pl.concat(found).sort(pl.all()), ProtocolEffects, "lake/protocol_effects")


def _effects(rows: pl.DataFrame, labels: pl.DataFrame) -> Iterator[pl.DataFrame]:
    runs = rows.filter(pl.col("protocol") != IMPORTED).partition_by(RUN, as_dict=True)
    primary = compared().filter("primary")
    place = RUN.index("protocol")
    for run, asked in runs.items():
        clean = runs.get((*run[:place], BASE, *run[place + 1 :]))
        if run[place] != BASE and clean is not None:
            effect = differences(asked, clean, labels.filter(pl.col("corpus_version") == run[1]), primary)
            named = effect.rename(_NAMES).with_columns(
                pl.lit(asked[name].first(), asked.schema[name]).alias(name) for name in RUN
            )
            yield named.select(ProtocolEffects.empty().columns)
