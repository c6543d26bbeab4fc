"""transform and every other dbt model: one dbt project, which Dagster splits where Python stages stand between.

Also the export of the task tables to the lake, from which the Python stages read."""

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DbtCliResource, DbtProject, dbt_assets

from rescue_pipeline import datadir
from rescue_pipeline.bundle import ASSETS, DBT_PROJECT
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.defs.policies import FOLLOW_ANSWERS, OWNERS, WAREHOUSE_POOL
from rescue_pipeline.defs.resources import open_datadir
from rescue_pipeline.lake import Lake
from rescue_pipeline.schemas import Instances, Sessions, Turns, UnlabelledRows, check_table
from rescue_pipeline.warehouse import open_duckdb

EXPORTED = {"sessions": Sessions, "turns": Turns, "instances": Instances, "unlabelled_rows": UnlabelledRows}
_GROUP_OF_SCHEMA = {"staging": "transform", "tasks": "transform", "scores": "score", "results": "report"}
_JUDGED = {"judgements", "bertscores"}


def _project_hash() -> str:
    """Changes with every file that dbt parses, so that a manifest is never stale."""
    digest = hashlib.sha256()
    folders = [DBT_PROJECT / "models", DBT_PROJECT / "macros", DBT_PROJECT / "tests", ASSETS / "reference"]
    files = [*DBT_PROJECT.glob("*.yml"), *(file for folder in folders for file in folder.rglob("*") if file.is_file())]
    for file in sorted(files):
        digest.update(str(file.relative_to(DBT_PROJECT.parent)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def _target_folder(directory: DataDirectory) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rescue-pipeline" / "dbt"
    return (directory.dbt if directory.root.is_dir() else cache) / _project_hash()


def set_dbt_environment(directory: DataDirectory) -> None:
    """What dbt_project/profiles.yml and the lake sources read."""
    os.environ["RESCUE_WAREHOUSE"] = str(directory.warehouse)
    os.environ["RESCUE_LAKE_PATH"] = directory.lake.rstrip("/")
    os.environ["DBT_TARGET_PATH"] = str(_target_folder(directory))
    os.environ["DBT_LOG_PATH"] = str(directory.logs if directory.root.is_dir() else _target_folder(directory))


def _prepared_project() -> DbtProject:
    """The dbt project with a manifest, parsed now if no earlier process did for exactly these files."""
    directory = datadir.current()
    target = _target_folder(directory)
    project = DbtProject(project_dir=DBT_PROJECT, profiles_dir=DBT_PROJECT, target_path=target)
    if not project.manifest_path.exists():
        set_dbt_environment(directory)
        for stale in target.parent.glob("*") if target.parent.is_dir() else ():
            shutil.rmtree(stale, ignore_errors=True)
        target.mkdir(parents=True, exist_ok=True)
        dbt_resource(project).cli(["parse", "--quiet"], target_path=target).wait()
    return project


def dbt_resource(project: DbtProject) -> DbtCliResource:
    """dbt as installed beside this Python, whether or not that folder is on the PATH."""
    return DbtCliResource(project_dir=project, dbt_executable=str(Path(sys.executable).with_name("dbt")))


class Translator(DagsterDbtTranslator):
    """Asset key = schema.table, for models and sources alike; group = stage of DESIGN's one table of stages."""

    def get_asset_key(self, dbt_resource_props: Mapping[str, Any]) -> dg.AssetKey:
        if dbt_resource_props["resource_type"] == "source":
            return dg.AssetKey([dbt_resource_props["source_name"], dbt_resource_props["name"]])
        return dg.AssetKey([dbt_resource_props["schema"], dbt_resource_props["name"]])

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str:
        schema, name = dbt_resource_props["schema"], dbt_resource_props["name"]
        if schema == "predictions":
            return "judge" if name in _JUDGED else "predict"
        return _GROUP_OF_SCHEMA.get(schema, "report")

    def get_owners(self, dbt_resource_props: Mapping[str, Any]) -> list[str]:
        return OWNERS

    def get_automation_condition(self, dbt_resource_props: Mapping[str, Any]) -> dg.AutomationCondition | None:
        """Whatever comes after answering follows it; ingest and transform wait to be asked."""
        return None if self.get_group_name(dbt_resource_props) == "transform" else FOLLOW_ANSWERS


PROJECT = _prepared_project()


@dbt_assets(
    manifest=PROJECT.manifest_path,
    project=PROJECT,
    dagster_dbt_translator=Translator(),
    name="dbt_build",
    pool=WAREHOUSE_POOL,
)
def dbt_build(context: dg.AssetExecutionContext, dbt: DbtCliResource) -> Iterator[Any]:
    """`dbt build` of the selected models: builds, then tests, and stops below a failing test.

    Unit tests try the SQL on made-up rows, so they belong to the test suite: no corpus can change their outcome.
    """
    set_dbt_environment(open_datadir())
    invocation = dbt.cli(["build", "--exclude-resource-type", "unit_test"], context=context)
    yield from invocation.stream()
    # every run would leave a folder of compiled SQL
    shutil.rmtree(invocation.target_path, ignore_errors=True)


@dg.multi_asset(
    name="export_tasks",
    specs=[
        dg.AssetSpec(
            ["lake", table],
            deps=[["tasks", table]],
            description=f"{(schema.__doc__ or '').strip()} One Parquet file per corpus version.",
            group_name="transform",
            owners=OWNERS,
            kinds={"python", "parquet"},
        )
        for table, schema in EXPORTED.items()
    ],
    check_specs=[
        dg.AssetCheckSpec("contract", asset=["lake", table], blocking=True, description="Pandera: types, keys, values")
        for table in EXPORTED
    ],
    pool=WAREHOUSE_POOL,
)
def export_tasks() -> Iterator[dg.MaterializeResult]:  # type: ignore[type-arg]
    """Copy the task tables to the lake, so that asking never opens the warehouse."""
    directory = datadir.current()
    lake = Lake(directory.lake)
    for table, schema in EXPORTED.items():
        with open_duckdb(directory.warehouse, read_only=True) as connection:
            frame = connection.sql(f'select * from tasks."{table}"').pl()
            version = connection.execute("select corpus_version from raw.corpus").fetchall()[0][0]
        path = lake.write(table, check_table(frame, schema, f"tasks.{table}"), name=version)
        yield dg.MaterializeResult(
            asset_key=["lake", table],
            metadata={
                "dagster/row_count": frame.height,
                "corpus_version": version,
                "path": dg.MetadataValue.path(path),
            },
            check_results=[dg.AssetCheckResult(check_name="contract", asset_key=["lake", table], passed=True)],
        )
