"""What the graph declares, without running it."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest

from rescue_pipeline.defs.automation import ANSWER, PREPARE, PUBLISH

STAGES = {"ingest", "transform", "predict", "judge", "score", "report"}

ON_THE_SIDE = {"lake/audit", "lake/audit_findings", "lake/estimates"}
"""Tables that come with another one's step (a check's outcome, what asking is to cost) and have none of their own."""


class Declared:
    """The definitions, loaded when the first test needs them: that may mean parsing the dbt project."""

    def __init__(self) -> None:
        from rescue_pipeline.definitions import defs

        self.defs = defs
        self.graph = defs.resolve_asset_graph()
        self.specs = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
        self.checks: dict[str, Any] = {
            f"{key.asset_key.to_user_string()}:{key.name}": self.graph.get(key) for key in self.graph.asset_check_keys
        }

    def keys(self, selection: dg.AssetSelection) -> set[str]:
        return {key.to_user_string() for key in selection.resolve(self.graph)}


@pytest.fixture(scope="module")
def declared() -> Declared:
    return Declared()


def test_every_asset_says_what_a_row_is_who_owns_it_and_what_it_is_made_with(declared: Declared) -> None:
    def opens_well(spec: dg.AssetSpec) -> bool:
        # what the report stage writes are files, which have no rows
        opening = ("One page", "One file") if spec.key.path[0] == "report" else ("One row",)
        return (spec.description or "").startswith(opening)

    specs = declared.specs
    assert len(specs) > 60
    assert [key for key, spec in specs.items() if not opens_well(spec)] == []
    assert [key for key, spec in specs.items() if spec.group_name not in STAGES] == []
    assert [key for key, spec in specs.items() if not (spec.owners and spec.kinds)] == []


def test_no_asset_is_a_stub_that_nothing_describes(declared: Declared) -> None:
    assert {key.to_user_string() for key in declared.graph.get_all_asset_keys()} == set(declared.specs)


def test_asset_keys_are_schema_and_table(declared: Declared) -> None:
    assert {len(spec.key.path) for spec in declared.specs.values()} == {2}


def test_three_jobs_hold_every_asset_once(declared: Declared) -> None:
    parts = [declared.keys(PREPARE), declared.keys(ANSWER), declared.keys(PUBLISH)]
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert set.union(*parts) == set(declared.specs) - ON_THE_SIDE


def test_nothing_that_can_cost_money_starts_by_itself(declared: Declared) -> None:
    paid = {key for key, spec in declared.specs.items() if "litellm" in spec.kinds}
    assert {"lake/responses_er", "lake/judgements_vp"} <= paid
    assert [key for key in paid if declared.specs[key].automation_condition is not None] == []
    targets = [sensor.asset_selection for sensor in declared.defs.sensors or () if sensor.asset_selection is not None]
    assert targets
    assert not paid & set.union(*map(declared.keys, targets))


def test_whatever_publishes_follows_by_itself(declared: Declared) -> None:
    assert [key for key in declared.keys(PUBLISH) if declared.specs[key].automation_condition is None] == []


def test_only_the_sensors_that_cost_nothing_are_on(declared: Declared) -> None:
    sensors = declared.defs.sensors or ()
    on = {sensor.name for sensor in sensors if sensor.default_status is dg.DefaultSensorStatus.RUNNING}
    assert on == {"model_partitions", "dead_runs", "publish_after_answers"}
    assert not declared.defs.schedules


def test_every_table_that_python_writes_to_the_lake_carries_its_contract(declared: Declared) -> None:
    contracts = {check.removesuffix(":contract") for check in declared.checks if check.endswith(":contract")}
    assert contracts == {key for key in declared.specs if key.startswith("lake/")} - ON_THE_SIDE


def test_every_gate_of_money_or_truth_blocks(declared: Declared) -> None:
    from rescue_pipeline.corpus.expectations import EXPECTATIONS

    warnings = {rule.name for rule in EXPECTATIONS if rule.severity == "warning"}
    # dbt's two remarks about a corpus, which is asked about all the same
    warnings |= {"no_label_lies_outside_its_set", "no_instance_differs_from_the_released_ones"}
    assert {name.split(":")[1] for name, check in declared.checks.items() if not check.blocking} <= warnings


def test_every_step_that_opens_the_warehouse_holds_its_pool(declared: Declared) -> None:
    steps = [assets for assets in declared.defs.assets or () if isinstance(assets, dg.AssetsDefinition)]
    pools = {step.op.name: step.op.pool for step in steps}
    free = {"plan_questions", "ask_models", "parse_answers", "judge_answers", "compare_answers", "report__pages"}
    assert {name for name, pool in pools.items() if pool != "duckdb"} == free
