"""One bad row per kind of gate: what comes after it is not materialized, and the run has failed."""

from __future__ import annotations

import shutil
from pathlib import Path

import dagster as dg
import pytest

from rescue_pipeline.lake import Lake
from rescue_pipeline.llm import rendering
from rescue_pipeline.schemas import Sessions
from rescue_pipeline.warehouse import open_duckdb
from tests.defs.pipeline import Pipeline, failed_checks, materialized


def stages(result: dg.ExecuteInProcessResult) -> set[str]:
    return {key.split("/")[0] for key, _ in materialized(result)}


def change(pipeline: Pipeline, statement: str) -> None:
    with open_duckdb(pipeline.directory.warehouse) as connection:
        connection.execute(statement)


def test_a_raw_row_that_great_expectations_refuses_never_becomes_a_task(pipeline: Pipeline) -> None:
    change(pipeline, "update raw.turns set row_index = 1 where row_index = 2")
    result = pipeline.run("prepare")
    assert not result.success
    assert failed_checks(result) == {"raw/turns:rows_are_numbered"}
    assert stages(result) == {"raw"}


def test_a_question_planned_twice_is_stopped_by_dbt_before_it_is_scored(pipeline: Pipeline) -> None:
    folder = Path(pipeline.directory.lake) / "plan"
    plan = next(file for file in folder.rglob("*.parquet") if file.parent != folder)
    shutil.copy(plan, plan.with_name("again.parquet"))
    result = pipeline.run("publish")
    assert not result.success
    assert any(check.startswith("predictions/plan:key_plan") for check in failed_checks(result))
    assert not {"scores/items", "results/leaderboard", "report/pages"} & {key for key, _ in materialized(result)}


def test_a_task_table_that_breaks_its_contract_is_not_exported(pipeline: Pipeline) -> None:
    before = Lake(pipeline.directory.lake).read("sessions", Sessions)
    change(pipeline, "update tasks.sessions set n_turns = 0")
    exported = ["sessions", "turns", "instances", "unlabelled_rows", "annotations", "corpus"]
    result = pipeline.run("prepare", selection=[f"lake/{table}" for table in exported])
    assert not result.success
    assert failed_checks(result) == {"lake/sessions:contract"}
    assert materialized(result) == []
    assert Lake(pipeline.directory.lake).read("sessions", Sessions).equals(before)


def test_a_score_outside_its_range_reaches_no_metric(pipeline: Pipeline) -> None:
    change(pipeline, "update scores.items set reciprocal_rank = 7 where task = 'ssp'")
    result = pipeline.run("publish", selection=["lake/metrics", "results/leaderboard_long", "report/results_database"])
    assert not result.success
    assert failed_checks(result) == {"lake/metrics:contract"}
    assert materialized(result) == []


def test_a_plan_that_breaks_its_contract_is_never_asked(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "generation_of", lambda *_, **__: 0)  # generations count from 1
    result = pipeline.answer("majority")
    assert not result.success
    assert failed_checks(result) == {"lake/plan:contract"}
    assert {key for key, _ in materialized(result)} == {"lake/audit", "lake/audit_findings"}  # the check before it
    assert not any("majority" in file for file in pipeline.journal())
