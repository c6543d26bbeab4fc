"""The project as such: it parses anywhere, says what its tables are, and stops where a table would be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rescue_pipeline.bundle import DBT_PROJECT
from rescue_pipeline.schemas import LAKE_TABLES
from rescue_pipeline.warehouse import open_duckdb
from tests.dbt.conftest import ORACLE_SMALL
from tests.dbt.project import OUR_LAYERS, Dbt, load

MODELS = sorted(path for layer in ("staging", "tasks") for path in (DBT_PROJECT / "models" / layer).glob("*.sql"))


def described(model: Path) -> dict[str, Any]:
    declared: dict[str, Any] = yaml.safe_load(model.with_suffix(".yml").read_text(encoding="utf-8"))
    return declared


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.stem)
def test_a_model_says_its_grain_in_a_file_beside_it_and_tests_its_rule(model: Path) -> None:
    declared = described(model)
    assert [entry["name"] for entry in declared["models"]] == [model.stem]
    assert declared["models"][0]["description"].startswith("One row per ")
    passes_through = model.stem == "sessions"  # its rules are those of stg_sessions
    assert passes_through or declared["unit_tests"]


def test_the_lake_sources_are_the_lakes_tables() -> None:
    declared = yaml.safe_load((DBT_PROJECT / "models" / "sources.yml").read_text(encoding="utf-8"))
    tables = {source["name"]: [table["name"] for table in source["tables"]] for source in declared["sources"]}
    assert sorted(tables["lake"]) == sorted(LAKE_TABLES)


def test_the_project_parses_without_a_database_and_without_a_lake(tmp_path: Path) -> None:
    parse = Dbt(tmp_path).run("parse")
    assert parse.returncode == 0, parse.stdout[-5000:]
    assert not list(tmp_path.rglob("*.duckdb"))


def test_a_session_that_occurs_twice_fails_its_key_and_stops_what_follows(tmp_path: Path) -> None:
    dbt = load(ORACLE_SMALL / "corpus.jsonl", tmp_path)
    assert dbt.warehouse is not None
    with open_duckdb(dbt.warehouse) as connection:
        connection.execute("insert into raw.samples from raw.samples limit 1")
    build = dbt.run("build", *OUR_LAYERS, "--exclude-resource-type", "unit_test")
    statuses = dbt.statuses()
    assert build.returncode == 1
    assert statuses["unique_sessions_sample_id"] == "fail"
    assert statuses["instances"] == "skipped"
