"""What it costs: whole commands in their own processes (seconds, memory, growth with size), and asking (throughput
beside LiteLLM alone and beside a sequential client, an unknown quota, memory, kills)."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.asking import bench_asking, bench_ceiling, bench_memory, bench_quota
from tests.bench.generated import RELEASED_SESSIONS, write_corpus
from tests.bench.kills import bench_kills

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


BENCHES: dict[str, Callable[[Path, argparse.Namespace], None]] = {
    "demo": lambda folder, _: bench_demo(folder),
    "sizes": lambda folder, arguments: bench_sizes(folder, [int(factor) for factor in arguments.factors.split(",")]),
    "asking": lambda *_: bench_asking(),
    "ceiling": lambda *_: bench_ceiling(),
    "memory": lambda *_: bench_memory(),
    "quota": lambda *_: bench_quota(),
    "kills": lambda *_: bench_kills(),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("what", nargs="*", default=list(BENCHES), help=f"some of {', '.join(BENCHES)}")
    parser.add_argument("--factors", default="1,10,100", help="sizes, in multiples of the released corpus")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.what) - set(BENCHES))
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}")
    for name in arguments.what:
        with tempfile.TemporaryDirectory(prefix="rescue-bench-") as folder:
            BENCHES[name](Path(folder), arguments)


if __name__ == "__main__":
    main()
