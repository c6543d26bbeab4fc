"""Commands in this process: fast, for everything that does not start the graph."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rescue_pipeline import cli


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


Rescue = Callable[..., Said]


@pytest.fixture
def rescue(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Rescue:
    """`rescue("sql", "select 1", data=...)` in a working directory of the test's own."""
    for name in [name for name in os.environ if name.startswith("RESCUE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, data: Path | None = None) -> Said:
        if data is not None:
            monkeypatch.setenv("RESCUE_DATA_DIR", str(data))
        monkeypatch.setattr(sys, "argv", ["rescue", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capfd.readouterr()
        return Said(int(left.value.code or 0), said.out, said.err)

    return run
