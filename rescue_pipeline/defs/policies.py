"""Named policies that assets carry: who owns them, what they must not share, when they run by themselves."""

import dagster as dg

OWNERS = ["team:rescue_pipeline"]

WAREHOUSE_POOL = "duckdb"
"""Every step that opens rescue.duckdb holds this pool (one slot): DuckDB has one writer."""

FOLLOW_ANSWERS = (
    dg.AutomationCondition.any_deps_updated().since_last_handled()
    & ~dg.AutomationCondition.in_progress()
    & ~dg.AutomationCondition.any_deps_in_progress()
)
"""Publish after any answer run; free. `eager` would wait until every partition exists, which may be never."""
