"""Keys: read from the environment or from .env in the working directory, and never put anywhere else.

.env is read here and not copied into the environment, so that no process started from here inherits it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from dotenv import dotenv_values

DOTENV = Path(".env")
_KEY_VARIABLE = re.compile(r"(?i)(api_?key|token|secret|password|credential)")
_SHORTEST_SECRET = 6


def read_key(variable: str) -> str | None:
    """The key that an environment variable holds, else the same name in .env; None when neither has one."""
    return os.environ.get(variable, "").strip() or (_dotenv().get(variable) or "").strip() or None


def known_secrets() -> set[str]:
    """The value of everything that is named like a key, here or in .env: what must never be shown."""
    named = [*os.environ.items(), *_dotenv().items()]
    return {value for name, value in named if value and _KEY_VARIABLE.search(name) and is_tellable(value)}


def is_tellable(value: str) -> bool:
    """Whether a key can be told from plain words: `none` or `local`, as some servers want, occurs in any text."""
    return len(value) >= _SHORTEST_SECRET and not value.isalpha()


def _dotenv() -> Mapping[str, str | None]:
    try:
        state = DOTENV.stat()
    except OSError:
        return {}
    return _read(DOTENV.resolve(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1)
def _read(path: Path, _modified: int, _size: int) -> Mapping[str, str | None]:
    return dotenv_values(path, interpolate=False)
