"""transform and every other dbt model: one dbt project, which Dagster splits where Python stages stand between.

Also the export of the task tables to the lake, from which the Python stages read."""

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
from dagster_dbt import DbtCliResource, DbtProject, dbt_assets
from packaging.version import Version

from rescue_pipeline import datadir
from rescue_pipeline.bundle import ASSETS, DBT_PROJECT
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.defs.gates import contract_specs, kept, under_contract
from rescue_pipeline.defs.policies import OWNERS, WAREHOUSE_POOL
from rescue_pipeline.defs.resources import open_datadir, open_workspace
from rescue_pipeline.defs.translation import Translator, with_row_counts
from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.rebuilding import restore_lost_plans
from rescue_pipeline.schemas import Annotations, Instances, LoadedCorpus, Sessions, Turns, UnlabelledRows, check_table
from rescue_pipeline.warehouse import open_duckdb, require_free

_KEPT_SECONDS = 2 * 24 * 3600
EXPORTED = {
    "sessions": Sessions,
    "turns": Turns,
    "instances": Instances,
    "unlabelled_rows": UnlabelledRows,
    "annotations": Annotations,
}
MODELS = {table: ["tasks", table] for table in EXPORTED} | {"annotations": ["staging", "stg_annotations"]}
"""Where each is read from: a view of staging where only the lake, and no published table, needs it."""


def _project_hash() -> str:
    """Changes with every file that dbt parses, with dbt, and with the place, so that a manifest is never stale."""
    # seeds are noted with their absolute path
    digest = hashlib.sha256(f"{version('dbt-core')} {version('dbt-duckdb')} {DBT_PROJECT}".encode())
    folders = [*(DBT_PROJECT / name for name in ("models", "macros", "seeds", "tests")), ASSETS / "reference"]
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
        _parse(project, target)
        _forget_old(target)
    return project


def _parse(project: DbtProject, target: Path) -> None:
    """Fill `target`, whole or not at all: several processes may load the graph at once, and the first one wins."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as private:
        parsed = Path(private) / "target"
        parsed.mkdir()
        dbt_resource(project).cli(["parse", "--quiet"], target_path=parsed).wait()
        if not project.manifest_path.exists():
            shutil.rmtree(target, ignore_errors=True)  # what a process that died left of it
        with suppress(OSError):  # another process was faster
            parsed.rename(target)


def _forget_old(target: Path) -> None:
    """Remove what was parsed from files as they were days ago; anything newer may be in use by another process."""
    for folder in target.parent.iterdir():
        with suppress(OSError):
            if folder != target and time.time() - folder.stat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(folder)


class Dbt(DbtCliResource):
    """dbt as installed beside this Python, whether or not that folder is on the PATH.

    Each invocation of the base class first runs `dbt --version`, which asks a package index for news, and builds an
    adapter of its own for row counts that we read elsewhere: five seconds that this saves. The release is pinned.
    """

    @property
    def _cli_version(self) -> Version:
        return Version(version("dbt-core"))

    def _initialize_dbt_core_adapter(self, args: Sequence[str]) -> None:  # type: ignore[override]
        return None


def dbt_resource(project: DbtProject) -> Dbt:
    return Dbt(
        project_dir=str(project.project_dir),
        profiles_dir=str(project.profiles_dir),
        dbt_executable=str(Path(sys.executable).with_name("dbt")),
    )


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
    directory = open_datadir()
    set_dbt_environment(directory)
    require_free(directory.warehouse)  # dbt's own message would not say who holds it
    invocation = dbt.cli(["build", "--exclude-resource-type", "unit_test"], context=context)
    yield from with_row_counts(invocation, directory.warehouse)
    # every run would leave a folder of compiled SQL
    shutil.rmtree(invocation.target_path, ignore_errors=True)


def _exported(table: str, description: str, deps: Sequence[Sequence[str]] = ()) -> dg.AssetSpec:
    return dg.AssetSpec(
        ["lake", table],
        deps=deps or [MODELS[table]],
        description=description,
        group_name="transform",
        owners=OWNERS,
        kinds={"python", "parquet"},
    )


@dg.multi_asset(
    name="export_tasks",
    specs=[
        *(
            _exported(table, f"{schema.__doc__} One Parquet file per corpus version.")
            for table, schema in EXPORTED.items()
        ),
        _exported("corpus", str(LoadedCorpus.__doc__), deps=[["lake", table] for table in EXPORTED]),
    ],
    check_specs=contract_specs([*EXPORTED, "corpus"]),
    pool=WAREHOUSE_POOL,
)
def export_tasks(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Copy the task tables to the lake, so that asking never opens the warehouse."""
    directory = datadir.current()
    lake = Lake(directory.lake)
    loaded = _select(directory, "select corpus_version from raw.corpus")
    version = loaded["corpus_version"].item()
    for table, schema in EXPORTED.items():
        model = ".".join(MODELS[table])
        frame = _select(directory, f"select * from {model}")
        frame = yield from under_contract([table], check_table, frame, schema, model)
        yield _stored(table, frame.height, version, lake.write(table, frame, name=version))
    # last: questions are asked about a version once all its tables are there
    yield _stored("corpus", 1, version, lake.write("corpus", check_table(loaded, LoadedCorpus, "lake.corpus")))
    if restored := restore_lost_plans(open_workspace()):
        context.log.warning(
            f"the lake had lost plans: {restored.plans} plans, {restored.rows} responses, {restored.answers} answers "
            "were rebuilt from the journal; judgements follow when their models run again, and nothing is asked twice"
        )


def _select(directory: DataDirectory, query: str) -> pl.DataFrame:
    with open_duckdb(directory.warehouse, read_only=True) as connection:
        frame: pl.DataFrame = connection.sql(query).pl()
    return frame


def _stored(table: str, rows: int, version: str, path: str) -> dg.MaterializeResult:  # type: ignore[type-arg]
    return dg.MaterializeResult(
        asset_key=["lake", table],
        metadata={"dagster/row_count": rows, "corpus_version": version, "path": dg.MetadataValue.path(path)},
        check_results=[kept(table)],
    )
