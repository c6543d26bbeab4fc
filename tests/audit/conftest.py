"""A fresh corpus for every test: an audit keeps its outcome beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rescue_pipeline.llm.workspace import Workspace
from tests.audit.audited import world


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return world(tmp_path / "data")
