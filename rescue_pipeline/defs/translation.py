"""How a dbt model, seed, test or source appears in the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DbtCliInvocation
from dagster_dbt.errors import DagsterDbtCliRuntimeError

from rescue_pipeline import progress
from rescue_pipeline.defs.policies import FOLLOW_ANSWERS, OWNERS
from rescue_pipeline.warehouse import open_duckdb

# the paper's tables (reference) are loaded when a corpus is prepared: they change with neither answers nor scores
_GROUP_OF_SCHEMA = {
    "reference": "transform",
    "staging": "transform",
    "tasks": "transform",
    "scores": "score",
    "results": "report",
}
_BUILDING = "building and testing tables"
_JUDGED = {
    "judge_responses",
    "judgements",
    "judge_controls",
    "bertscores",
    "bertscore_controls",
    "bertscore_runs",
}


class Translator(DagsterDbtTranslator):
    """Asset key = schema.table, for models and sources alike; group = stage of DESIGN's one table of stages."""

    def get_asset_key(self, dbt_resource_props: Mapping[str, Any]) -> dg.AssetKey:
        if dbt_resource_props["resource_type"] == "source":
            return dg.AssetKey([dbt_resource_props["source_name"], dbt_resource_props["name"]])
        return dg.AssetKey([dbt_resource_props["schema"], dbt_resource_props["name"]])

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str | None:
        schema, name = dbt_resource_props["schema"], dbt_resource_props["name"]
        if schema == "predictions":
            return "judge" if name in _JUDGED else "predict"
        return _GROUP_OF_SCHEMA.get(schema)  # none: a source, whose own spec says its group

    def get_owners(self, dbt_resource_props: Mapping[str, Any]) -> list[str]:
        return OWNERS

    def get_automation_condition(self, dbt_resource_props: Mapping[str, Any]) -> dg.AutomationCondition[Any] | None:
        """Whatever comes after answering follows it; ingest and transform wait to be asked."""
        return None if self.get_group_name(dbt_resource_props) == "transform" else FOLLOW_ANSWERS


def with_row_counts(invocation: DbtCliInvocation, warehouse: Path) -> Iterator[Any]:
    """dbt's events, those of tables with their numbers of rows; raises what dbt's failure raised, after them.

    Counting waits until dbt has ended: while it writes, nobody else can open the warehouse.
    """
    events, failure = [], None
    try:
        for event in invocation.stream():
            events.append(event)
            progress.report(_BUILDING, len(events))
    except DagsterDbtCliRuntimeError as error:
        failure = error
    progress.report(_BUILDING, len(events), len(events))
    nodes = invocation.manifest["nodes"]
    with open_duckdb(warehouse, read_only=True) as connection:
        for event in events:
            if not isinstance(event, dg.Output | dg.AssetMaterialization):
                yield event
                continue
            node = nodes[event.metadata["unique_id"].value]
            rows = connection.execute(f'select count(*) from "{node["schema"]}"."{node["alias"]}"').fetchall()[0][0]
            yield event.with_metadata({**event.metadata, "dagster/row_count": rows})
    if failure is not None:
        raise failure
