"""The UI as a person uses it: a model is added while it runs, and answers one partition."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import psutil

from rescue_pipeline.datadir import DataDirectory
from tests.defs.pipeline import Pipeline
from tests.defs.test_runs import leaderboard
from tests.defs.ui import RESCUE, Ui, is_free, serving

ENTRY = "models:\n  - {id: second, litellm: baseline/uniform, revision: two}\n"


def assert_nothing_is_left(ui: Ui) -> None:
    _, alive = psutil.wait_procs([process for process in ui.family if process.is_running()], timeout=10)
    assert alive == []
    assert is_free(ui.port)


def answers(directory: DataDirectory) -> dict[str, bytes]:
    """The journal's answer files with their bytes."""
    names = Pipeline(directory, None).journal()  # type: ignore[arg-type]
    return {name: (directory.journal / name).read_bytes() for name in names if name != "generations.jsonl"}


def test_a_model_added_while_the_ui_runs_is_answered_and_published_and_nothing_else_is_asked(
    directory: DataDirectory, tmp_path: Path
) -> None:
    before = answers(directory)
    with serving(directory, tmp_path) as ui:
        (tmp_path / "models.yaml").write_text(ENTRY)
        ui.wait("the partition", lambda: "dialogue|second" in ui.partitions())
        known = ui.runs().keys()
        asked = ui.launch_answer("second", "dialogue")
        ui.wait("answering", lambda: ui.runs()[asked][1] == "SUCCESS")
        ui.wait("publishing", lambda: "second" in leaderboard(directory))
        [follower] = ui.runs().keys() - known - {asked}
        ui.wait("the end", lambda: ui.runs()[follower][1] == "SUCCESS")
        assert ui.stop(signal.SIGINT) == 0
        assert_nothing_is_left(ui)
    after = answers(directory)
    assert before.items() <= after.items()
    assert all("second" in name for name in after.keys() - before.keys())
    assert leaderboard(directory).keys() == {"uniform", "second"}


def test_the_end_of_the_ui_ends_what_it_runs_and_the_next_command_is_not_held_up(
    directory: DataDirectory, tmp_path: Path
) -> None:
    with serving(directory, tmp_path) as ui:
        taken = subprocess.run(
            [RESCUE, "ui", "--port", str(ui.port)],
            env={**os.environ, "RESCUE_DATA_DIR": str(directory.root)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert taken.returncode == 1
        assert "another port" in taken.stderr
        run = ui.launch_answer("uniform", "audio")
        ui.wait("the start", lambda: ui.runs()[run][1] == "STARTED")
        assert ui.stop(signal.SIGTERM) == 0
        assert_nothing_is_left(ui)
