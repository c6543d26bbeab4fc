"""Counting tokens offline."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rescue_pipeline.errors import RescueError
from rescue_pipeline.llm import tokens

COUNT_WITHOUT_A_NETWORK = """
import os, sys
touched = []
sys.addaudithook(lambda event, _: touched.append(event) if event.startswith(("socket.", "os.remove")) else None)
from rescue_pipeline.llm.tokens import count_tokens
print(count_tokens([{"role": "system", "content": "Hello world"}, {"role": "user", "content": "\\ud800 and more"}]))
assert touched == [], touched
assert "litellm" not in sys.modules
assert "TIKTOKEN_CACHE_DIR" not in os.environ
"""


def test_counting_touches_no_network_and_leaves_the_environment_alone() -> None:
    # LiteLLM sets the variable in a process that imports it, such as that of another test
    environment = {name: value for name, value in os.environ.items() if name != "TIKTOKEN_CACHE_DIR"}
    program = [sys.executable, "-c", COUNT_WITHOUT_A_NETWORK]
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 3 + (4 + 2) + (4 + 3)


def test_counts_are_those_of_the_tokenizer() -> None:
    # known splits of o200k_base
    assert tokens.count_text("Hello world") == 2
    assert tokens.count_text("tiktoken is great!") == 6
    assert tokens.count_text("") == 0


def test_what_looks_like_a_control_token_is_counted_as_the_text_it_is() -> None:
    assert tokens.count_text("<|endoftext|>") > 1


def test_a_text_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = tokens.count_text("A system prompt that every question repeats.")
    monkeypatch.setattr(tokens, "_encoding", lambda: pytest.fail("it was counted before"))
    assert tokens.count_text("A system prompt that every question repeats.") == first


def test_a_damaged_tokenizer_file_is_reported_and_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = tmp_path / tokens._FILE
    damaged.write_text("IQ== 0\n")
    monkeypatch.setattr(tokens, "_folder", lambda: tmp_path)
    tokens._loaded.cache_clear()
    with pytest.raises(RescueError, match="missing or damaged"):
        tokens._loaded()
    assert damaged.exists()
    assert "TIKTOKEN_CACHE_DIR" not in os.environ or os.environ["TIKTOKEN_CACHE_DIR"] != str(tmp_path)
    tokens._loaded.cache_clear()
