"""What a user meets who types something wrong, or asks for help: usage lines, exit codes, two streams, 100 columns."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import typer

from rescue_pipeline import __version__, cli
from tests.cli.conftest import Rescue
from tests.cli.finished import RESCUE, environment_for

README = Path(__file__).parents[2] / "README.md"
WIDEST = 100


@pytest.mark.parametrize(
    "arguments",
    [
        ["bogus"],
        ["run"],
        ["run", "--corpus", ".", "--bogus"],
        ["run", "--corpus", ".", "--limit", "many"],
        ["demo", "extra"],
        ["models", "bogus"],
        ["sql"],
    ],
)
def test_a_wrong_command_line_gets_a_usage_line_and_exit_code_2(rescue: Rescue, arguments: list[str]) -> None:
    said = rescue(*arguments)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("Usage: rescue")
    assert "Error: " in said.err


def test_no_command_shows_what_there_is(rescue: Rescue) -> None:
    said = rescue()
    assert said.code == 2
    assert "import-predictions" in said.out + said.err


def test_the_version_is_told(rescue: Rescue) -> None:
    assert rescue("--version").out == f"{__version__}\n"


def test_help_is_at_most_100_columns_wide_and_cuts_no_line_of_the_overview(rescue: Rescue) -> None:
    overview = rescue("--help").out
    assert "..." not in overview.split("Commands:")[1]
    for command in re.findall(r"^  ([a-z-]+) {2}", overview.split("Commands:")[1], re.M):
        text = rescue(command, "--help").out
        assert max(map(len, text.splitlines())) <= WIDEST, command


def test_every_command_the_readme_names_exists() -> None:
    named = set(re.findall(r"rescue ([a-z]+(?:-[a-z]+)*)(?![\w.])", README.read_text(encoding="utf-8")))
    known = set(typer.main.get_group(cli.app).commands)
    assert named, "the README names no command at all?"
    assert named <= known | {"pipeline"}


def test_a_reader_that_has_enough_ends_the_command_quietly(tmp_path: Path) -> None:
    command = subprocess.Popen(
        [RESCUE, "models", "list"],
        cwd=tmp_path,
        env=environment_for(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stdout is not None
    command.stdout.close()  # as `| head -0` does
    assert command.communicate()[1] == ""
    assert command.returncode == 0


def test_a_full_disk_behind_stdout_is_an_error(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [RESCUE, "models", "list"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment_for(), stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert "found:    No space left on device" in done.stderr


def test_the_registry_fits_100_columns(rescue: Rescue) -> None:
    said = rescue("models", "list")
    assert said.code == 0
    assert "majority" in said.out
    assert max(map(len, said.out.splitlines())) <= WIDEST


def test_baselines_are_ready(rescue: Rescue) -> None:
    said = rescue("models", "check", "uniform", "majority")
    assert said.code == 0
    assert said.out.count("ready") == 2
    assert rescue("models", "check", "uniforn").code == 2
