"""LiteLLM behind one door: nothing leaves the machine when it is loaded, and nothing of it decides for us."""

from __future__ import annotations

import logging
import subprocess
import sys

from rescue_pipeline.llm.adapter import prepare_litellm

AUDITED = """
import sys
seen = []
sys.addaudithook(lambda event, _: seen.append(event) if event in ("socket.getaddrinfo", "socket.connect") else None)
from rescue_pipeline.llm.adapter import prepare_litellm
prepare_litellm()
assert not seen, seen
"""


def test_loading_litellm_looks_nothing_up() -> None:
    subprocess.run([sys.executable, "-c", AUDITED], check=True)


def test_litellms_own_cache_retries_and_dropping_are_off() -> None:
    litellm = prepare_litellm()
    assert (litellm.cache, litellm.drop_params, litellm.num_retries, litellm.telemetry) == (None, False, 0, False)


def test_loggers_that_print_prompts_stay_quiet_whatever_the_root_is_set_to() -> None:
    prepare_litellm()
    for name in ("LiteLLM", "openai", "httpx", "httpcore"):
        assert not logging.getLogger(name).isEnabledFor(logging.WARNING)
