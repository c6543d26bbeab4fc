"""Whole commands, each in its own process: wall seconds, peak memory of the largest process, growth with size."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.bench.generated import RELEASED_SESSIONS, write_corpus

RESCUE = str(Path(sys.executable).with_name("rescue"))


@dataclass(frozen=True)
class Figure:
    what: str
    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    output: str


def measure(what: str, command: list[str], folder: Path) -> Figure:
    """Run a command to its end; peak memory is that of its largest process, children included."""
    environment = {**os.environ, "RESCUE_DATA_DIR": str(folder), "PYTHONPATH": str(Path(__file__).parents[2])}
    with tempfile.TemporaryFile("w+") as output:
        started = time.monotonic()
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT, cwd=folder.parent)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        output.seek(0)
        text = output.read()
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{what} failed:\n{text}")
    return Figure(what, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text)


def show(figure: Figure, note: str = "") -> None:
    print(
        f"{figure.what:<44}{figure.seconds:8.1f} s wall {figure.cpu_seconds:8.1f} s cpu "
        f"{figure.peak_megabytes:8.0f} MB peak  {note}",
        flush=True,
    )


def bench_demo(work: Path) -> None:
    first = measure("demo, empty data directory", [RESCUE, "demo"], work / "demo")
    show(first)
    print("\n".join(line for line in first.output.splitlines() if " s  " in line or line.startswith("time ")))
    show(measure("demo again (nothing to ask)", [RESCUE, "demo"], work / "demo"))


def bench_sizes(work: Path, factors: list[int]) -> None:
    earlier: Figure | None = None
    for factor in factors:
        corpus = work / f"generated_{factor}.jsonl"
        turns = write_corpus(corpus, RELEASED_SESSIONS * factor)
        size = corpus.stat().st_size / 1e6
        figure = measure(
            f"ingest + transform, {turns:,} turns ({size:.0f} MB)",
            [sys.executable, "-m", "tests.bench.prepare", str(corpus)],
            work / f"data_{factor}",
        )
        show(figure, f"{figure.seconds / earlier.seconds:.1f}x the time of the size before" if earlier else "")
        print("\n".join(line for line in figure.output.splitlines() if line.startswith("time ")))
        earlier = figure
        corpus.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("what", nargs="*", default=["demo", "sizes"], choices=["demo", "sizes"])
    parser.add_argument("--factors", default="1,10,100", help="sizes, in multiples of the released corpus")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rescue-bench-") as folder:
        if "demo" in arguments.what:
            bench_demo(Path(folder))
        if "sizes" in arguments.what:
            bench_sizes(Path(folder), [int(factor) for factor in arguments.factors.split(",")])


if __name__ == "__main__":
    main()
