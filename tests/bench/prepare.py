"""Ingest and transform of one corpus file, as `rescue run` does them, in a process of their own."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rescue_pipeline.corpus.source import resolve
from rescue_pipeline.running import use_corpus


def main() -> None:
    started = time.monotonic()
    use_corpus(resolve(Path(sys.argv[1]), name="generated"))
    from rescue_pipeline.defs.launch import Launcher

    with Launcher() as launcher:
        loaded = time.monotonic()
        launcher.prepare()
    print(f"time  start-up {loaded - started:.1f} s, prepare {time.monotonic() - loaded:.1f} s")


if __name__ == "__main__":
    main()
