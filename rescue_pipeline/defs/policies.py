"""Named policies that assets carry: who owns them, what they must not share, when they run by themselves."""

from functools import reduce
from operator import or_
from typing import Any

import dagster as dg

from rescue_pipeline.schemas import JUDGED_TASKS, TASKS

OWNERS = ["team:rescue_pipeline"]

WAREHOUSE_POOL = "duckdb"
"""Every step that opens rescue.duckdb holds this pool (one slot): DuckDB has one writer."""

# what runs that prepare or answer write last, and no more: each is looked at for every publishing asset at every tick
_WRITTEN_LAST = [
    "corpus",
    *(f"answers_{task}" for task in TASKS),
    *(f"{table}_{task}" for table in ("judgements", "bertscores") for task in JUDGED_TASKS),
]
_ANSWERS_ARE_COMING = reduce(
    or_,
    (
        dg.AutomationCondition.asset_matches(dg.AssetKey(["lake", table]), dg.AutomationCondition.in_progress())
        for table in _WRITTEN_LAST
    ),
).with_label("a run that prepares or answers is under way")

_CORPUS_WAS_LOADED: dg.AutomationCondition[Any] = dg.AutomationCondition.asset_matches(
    dg.AssetKey(["lake", "corpus"]), dg.AutomationCondition.newly_updated()
)

FOLLOW_ANSWERS = (
    (dg.AutomationCondition.any_deps_updated() | _CORPUS_WAS_LOADED).since_last_handled()
    & ~dg.AutomationCondition.in_progress()
    & ~dg.AutomationCondition.any_deps_in_progress()
    & ~_ANSWERS_ARE_COMING
).with_label("publish after answers")
"""Publish once after any run that prepared or answered; free. Without the last part the plan's arrival would publish
before anything is answered; without the corpus, tables that only answers feed would be missing where others read them.
`eager` would wait until every partition exists, which may be never."""
