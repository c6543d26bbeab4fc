"""What `rescue ui` refuses before it starts anything. How it starts and ends: tests/defs/test_ui.py."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import RescueError
from rescue_pipeline.serving import serve_ui


def test_a_port_in_use_is_named_with_another_one_to_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("something was started"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(RescueError) as refused:
            serve_ui(DataDirectory(tmp_path), "127.0.0.1", port)
    assert refused.value.where == f"127.0.0.1:{port}"
    assert "--port" in (refused.value.advice or "")


def test_an_address_of_another_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RescueError):
        serve_ui(DataDirectory(tmp_path), "192.0.2.1", 3000)  # reserved for documentation: nobody has it
