"""The code location loads on a machine that has the checkout and the packages, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from rescue_pipeline.bundle import WORKSPACE

ROOT = Path(__file__).parents[2]
CHECKOUT = ("assets", "dbt_project", "rescue_pipeline", "pyproject.toml", "README.md", "workspace.yaml")
NO_DBT = """
import subprocess
start = subprocess.Popen.__init__
def refuse_dbt(self, command, *args, **kwargs):
    assert "dbt" not in str(command), command
    start(self, command, *args, **kwargs)
subprocess.Popen.__init__ = refuse_dbt
import rescue_pipeline.definitions
print(rescue_pipeline.__file__)
"""


def machine(home: Path) -> dict[str, str]:
    """An environment without our settings, with an empty home and no way out to the network."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("RESCUE_", "DAGSTER_", "DBT_"))}
    nowhere = "http://127.0.0.1:9"
    return {
        **kept,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "https_proxy": nowhere,
        "http_proxy": nowhere,
    }


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh checkout: no data directory, no manifest, no database."""
    root = tmp_path_factory.mktemp("fresh") / "checkout"
    root.mkdir()
    ignore = shutil.ignore_patterns("__pycache__", "target", "logs")
    for name in CHECKOUT:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=ignore)
        else:
            shutil.copy(source, root / name)
    return root


def run(checkout: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = {**machine(checkout.parent), "PYTHONPATH": str(checkout)}
    return subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True, check=False)


def tool(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def test_a_fresh_checkout_loads_and_the_second_time_without_dbt(checkout: Path) -> None:
    first = run(checkout, tool("dagster"), "definitions", "validate", "-w", "workspace.yaml")
    assert first.returncode == 0, first.stderr[-3000:]
    second = run(checkout, sys.executable, "-c", NO_DBT)
    assert second.returncode == 0, second.stderr[-3000:]
    assert second.stdout.strip().startswith(str(checkout))
    assert not (checkout / "data").exists()
    assert not (checkout / "dbt_project" / "target").exists()


def test_dg_checks_the_project(checkout: Path) -> None:
    checked = run(checkout, tool("dg"), "check", "defs")
    assert checked.returncode == 0, (checked.stdout + checked.stderr)[-3000:]


def test_a_changed_model_gets_a_manifest_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rescue_pipeline.defs import transform  # parses the dbt project where no manifest is

    project = tmp_path / "dbt_project"
    shutil.copytree(transform.DBT_PROJECT, project)
    monkeypatch.setattr(transform, "DBT_PROJECT", project)
    monkeypatch.setattr(transform, "ASSETS", tmp_path)
    seen = {transform._project_hash()}
    for changed in ("models/tasks/turns.sql", "macros/has_text.sql", "seeds/reference.yml", "dbt_project.yml"):
        with (project / changed).open("a", encoding="utf-8") as file:
            file.write("\n")
        seen.add(transform._project_hash())
    assert len(seen) == 5


def test_what_another_process_may_still_use_is_not_removed(tmp_path: Path) -> None:
    from rescue_pipeline.defs import transform

    for name, days in (("old", 9), ("recent", 1), ("mine", 9)):
        (tmp_path / name).mkdir()
        then = time.time() - days * 24 * 3600
        os.utime(tmp_path / name, (then, then))
    transform._forget_old(tmp_path / "mine")
    assert {folder.name for folder in tmp_path.iterdir()} == {"recent", "mine"}


def test_the_workspace_and_the_project_name_the_same_location() -> None:
    import tomllib

    [location] = yaml.safe_load(WORKSPACE.read_text(encoding="utf-8"))["load_from"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["dg"]["project"]
    assert location["python_module"]["location_name"] == project["code_location_name"]
    assert location["python_module"]["module_name"] == project["code_location_target_module"]
