"""Where keys are read, and that nothing else learns them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rescue_pipeline.keys import known_secrets, read_key
from rescue_pipeline.llm.redaction import redact


@pytest.fixture(autouse=True)
def dotenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MADE_KEY", raising=False)
    return tmp_path / ".env"


def test_the_environment_wins_over_dotenv(dotenv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_key("MADE_KEY") is None
    dotenv.write_text("MADE_KEY='from-the-file-1'\nOTHER=1\n")
    assert read_key("MADE_KEY") == "from-the-file-1"
    monkeypatch.setenv("MADE_KEY", " from-outside-2 \n")
    assert read_key("MADE_KEY") == "from-outside-2"
    monkeypatch.setenv("MADE_KEY", "")
    assert read_key("MADE_KEY") == "from-the-file-1"


def test_a_changed_dotenv_is_read_again(dotenv: Path) -> None:
    dotenv.write_text("MADE_KEY=first-1\n")
    assert read_key("MADE_KEY") == "first-1"
    dotenv.write_text("MADE_KEY=second-22\n")
    assert read_key("MADE_KEY") == "second-22"


def test_dotenv_is_not_copied_into_the_environment_and_stands_as_written(dotenv: Path) -> None:
    dotenv.write_text("MADE_KEY=a$HOME-b1\n")
    assert read_key("MADE_KEY") == "a$HOME-b1"
    assert "MADE_KEY" not in os.environ


def test_a_key_in_dotenv_is_redacted_though_nobody_named_it(dotenv: Path) -> None:
    dotenv.write_text("SOME_API_KEY=plain9looking8value\nNOTE=plain words\n")
    assert known_secrets() >= {"plain9looking8value"}
    assert redact("refused: plain9looking8value") == "refused: [key]"
