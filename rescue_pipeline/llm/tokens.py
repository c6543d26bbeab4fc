"""How long a prompt is, in tokens, before it is sent: counted offline by a real tokenizer.

One tokenizer (o200k_base, of GPT-4o and later) stands for all: other vendors' counts of English talk differ by a few
per cent. What was really used is what the provider reports; this is for planning, pacing and cross-checking.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rescue_pipeline.errors import RescueError

if TYPE_CHECKING:
    import tiktoken

ENCODING = "o200k_base"
# LiteLLM's wheel carries the file, under the name by which tiktoken looks for it (the SHA-1 of its address)
_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
_FILE_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

PER_MESSAGE = 4
"""Tokens around each message of a chat (its role and delimiters)."""
PER_REPLY = 3
"""Tokens that open the reply."""

_REMEMBERED_TEXTS = 100_000
_counts: dict[bytes, int] = {}
_loading = threading.Lock()


def count_tokens(messages: Sequence[Mapping[str, str]]) -> int:
    """Tokens of a chat prompt, what the chat format adds included.

    Raises RescueError when the tokenizer's file is not there; nothing is ever downloaded.
    """
    return PER_REPLY + sum(PER_MESSAGE + count_text(message["content"]) for message in messages)


def count_text(text: str) -> int:
    """Tokens of a text. A text is counted once: system prompts recur, and so do questions to the next model."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    count = _counts.get(digest)
    if count is None:
        count = len(_encoding().encode_ordinary(text))
        if len(_counts) < _REMEMBERED_TEXTS:
            _counts[digest] = count
    return count


def _encoding() -> tiktoken.Encoding:
    with _loading:  # the first two callers would otherwise both spend half a second on it
        return _loaded()


@cache
def _loaded() -> tiktoken.Encoding:
    folder = _folder()
    # tiktoken downloads a file that is missing or damaged; so it is looked at first
    if not _is_whole(folder / _FILE):
        raise RescueError(
            "the tokenizer's file is missing or damaged; tokens cannot be counted",
            where=str(folder / _FILE),
            expected=f"{ENCODING} as it comes with the locked LiteLLM",
            advice="install the lock file again (`make demo` does so)",
        )
    import tiktoken

    name, before = "TIKTOKEN_CACHE_DIR", os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ[name] = str(folder)
    try:
        return tiktoken.get_encoding(ENCODING)
    finally:
        os.environ.pop(name) if before is None else os.environ.update({name: before})


def _folder() -> Path:
    """Found without importing LiteLLM, which takes seconds."""
    spec = find_spec("litellm")
    origin = Path(spec.origin) if spec and spec.origin else Path("litellm")
    return origin.parent / "litellm_core_utils" / "tokenizers"


def _is_whole(file: Path) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == _FILE_SHA256
