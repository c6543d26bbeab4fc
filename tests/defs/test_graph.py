"""What the graph declares, without running it."""

from __future__ import annotations

import dagster as dg
import pytest

from rescue_pipeline.definitions import defs

STAGES = {"ingest", "transform", "predict", "judge", "score", "report"}
GRAPH = defs.resolve_asset_graph()
SPECS = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}


def keys(selection: dg.AssetSelection) -> set[str]:
    return {key.to_user_string() for key in selection.resolve(GRAPH)}


@pytest.mark.parametrize("key", SPECS)
def test_every_asset_says_what_a_row_is_who_owns_it_and_what_it_is_made_with(key: str) -> None:
    spec = SPECS[key]
    # what the report stage writes are files, which have no rows
    opening = ("One page", "One file") if spec.key.path[0] == "report" else ("One row",)
    assert (spec.description or "").startswith(opening)
    assert spec.group_name in STAGES
    assert spec.owners
    assert spec.kinds


def test_no_asset_is_a_stub_that_nothing_describes() -> None:
    assert {key.to_user_string() for key in GRAPH.get_all_asset_keys()} == set(SPECS)


def test_asset_keys_are_schema_and_table() -> None:
    assert {len(spec.key.path) for spec in SPECS.values()} == {2}


def test_three_jobs_hold_every_asset_once() -> None:
    from rescue_pipeline.defs.automation import ANSWER, PREPARE, PUBLISH

    parts = [keys(PREPARE), keys(ANSWER), keys(PUBLISH)]
    outside = {"lake/bertscores_er", "lake/bertscores_vp"}
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert set.union(*parts) | outside == set(SPECS)


def test_nothing_that_can_cost_money_starts_by_itself() -> None:
    paid = {key for key, spec in SPECS.items() if "litellm" in spec.kinds}
    assert {"lake/responses_er", "lake/judgements_vp"} <= paid
    assert [key for key in paid if SPECS[key].automation_condition is not None] == []
    targets = [sensor.asset_selection for sensor in defs.sensors or () if sensor.asset_selection is not None]
    assert targets
    assert not paid & set.union(*map(keys, targets))


def test_whatever_publishes_follows_by_itself() -> None:
    from rescue_pipeline.defs.automation import PUBLISH

    assert [key for key in keys(PUBLISH) if SPECS[key].automation_condition is None] == []


def test_only_the_sensors_that_cost_nothing_are_on() -> None:
    on = {sensor.name for sensor in defs.sensors or () if sensor.default_status is dg.DefaultSensorStatus.RUNNING}
    assert on == {"model_partitions", "dead_runs", "publish_after_answers"}
    assert not defs.schedules


def test_every_table_that_python_writes_to_the_lake_carries_its_contract() -> None:
    contracts = {check.asset_key.to_user_string() for check in GRAPH.asset_check_keys if check.name == "contract"}
    assert contracts == {key for key in SPECS if key.startswith("lake/") and "bertscores" not in key}


def test_every_gate_of_money_or_truth_blocks() -> None:
    from rescue_pipeline.corpus.expectations import EXPECTATIONS

    warnings = {rule.name for rule in EXPECTATIONS if rule.severity == "warning"}
    # dbt's two remarks about a corpus, which is asked about all the same
    warnings |= {"no_label_lies_outside_its_set", "no_instance_differs_from_the_released_ones"}
    assert {key.name for key in GRAPH.asset_check_keys if not GRAPH.get(key).blocking} <= warnings


def test_every_step_that_opens_the_warehouse_holds_its_pool() -> None:
    pools = {assets.op.name: assets.op.pool for assets in defs.assets or () if isinstance(assets, dg.AssetsDefinition)}
    free = {"plan_questions", "ask_models", "parse_answers", "judge_answers", "report__pages"}
    assert {name for name, pool in pools.items() if pool != "duckdb"} == free
