"""What is handed out: the source distribution, and the wheel built from it, hold all that a run needs and no more."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from rescue_pipeline import bundle

ROOT = Path(__file__).parents[1]
BUNDLE = "rescue_pipeline/_bundle"


def build(source: Path, target: str, to: Path) -> Path:
    """Build with the build backend of pyproject.toml, as `make wheel` does, but without fetching it."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(to)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    [built] = to.iterdir()
    return built


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build(ROOT, "sdist", folder)) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    [unpacked] = (folder / "unpacked").iterdir()
    return unpacked


@pytest.fixture(scope="module")
def installed(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it lies in site-packages."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(build(sdist, "wheel", folder)) as archive:
        archive.extractall(folder / "site-packages")
    return folder / "site-packages"


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def tracked(*folders: str) -> set[str]:
    """The checkout's files below these folders, without what a run or an editor left there."""
    left_behind = {"__pycache__", "target", "logs"}
    return {
        str(path.relative_to(ROOT))
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not left_behind & set(path.parts) and path.name != ".user.yml"
    }


def test_the_wheel_holds_the_package_with_its_declarations_and_sql(installed: Path) -> None:
    packaged = {name for name in files(installed) if ".dist-info" not in name}
    declared = {f"{BUNDLE}/{name}" for name in (*tracked("assets", "dbt_project"), "workspace.yaml")}
    assert packaged == tracked("rescue_pipeline") | declared


def test_the_sources_hold_the_tests_and_nothing_that_a_run_wrote(sdist: Path) -> None:
    top = {path.name for path in sdist.iterdir()}
    assert {"pyproject.toml", "uv.lock", "README.md", "LICENSE", "Makefile", "tests", "docs"} <= top
    assert not {"data", ".venv", "models.yaml", "dist", ".env"} & top
    assert tracked("assets", "dbt_project", "rescue_pipeline") <= files(sdist)


def test_the_installed_package_finds_what_it_brought(installed: Path, tmp_path: Path) -> None:
    program = "from rescue_pipeline import bundle as b; print(b.ASSETS, b.DBT_PROJECT, b.DEMO_CORPUS, b.WORKSPACE)"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert len(found) == 4
    assert all(path.startswith(str(installed / BUNDLE)) and Path(path).exists() for path in found)


def test_the_checkout_finds_its_own_folders() -> None:
    assert bundle.ASSETS == ROOT / "assets"
    assert bundle.WORKSPACE == ROOT / "workspace.yaml"
    assert (bundle.DBT_PROJECT / "dbt_project.yml").is_file()


def test_every_locked_file_has_a_hash() -> None:
    """A release that was replaced on the index is refused instead of installed."""
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    packages = [package for package in lock["package"] if "registry" in package["source"]]
    assert len(packages) > 100
    for package in packages:
        files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
        assert files, package["name"]
        assert all(file["hash"].startswith("sha256:") for file in files), package["name"]


def test_nothing_that_was_installed_runs_code_whenever_python_starts() -> None:
    """A poisoned release did so through a .pth file; ours and those of known packages hold paths or are named here."""
    known = {"distutils-precedence.pth", "coloredlogs.pth", "_virtualenv.pth"}
    for folder in {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}:
        for file in folder.glob("*.pth"):
            lines = file.read_text("utf-8").splitlines()
            runs_code = any(line.startswith(("import ", "import\t")) for line in lines)
            assert file.name in known or not runs_code, file.name
