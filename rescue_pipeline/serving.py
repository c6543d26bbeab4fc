"""`rescue ui`: Dagster's webserver and daemon on loopback, ended together with everything they started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from rescue_pipeline.bundle import WORKSPACE
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import RescueError

_GRACE_SECONDS = 15
# `dagster dev` recommends `dg dev`, which belongs to development
_QUIET = "ignore:Function `dev_command`"


def serve_ui(directory: DataDirectory, host: str, port: int) -> int:
    """Run until Ctrl-C or TERM; returns 0 when it was stopped that way, else what Dagster returned."""
    _refuse_taken(host, port)
    dagster = Path(sys.executable).with_name("dagster")
    command = [str(dagster), "dev", "-w", str(WORKSPACE), "-h", host, "-p", str(port), "--log-level", "warning"]
    print(f"http://{host}:{port}   (Ctrl-C ends it; data in {directory.root})", file=sys.stderr, flush=True)
    stopped = threading.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, lambda *_: stopped.set())
    # an own process group, so that what Dagster starts can be ended with it
    process = subprocess.Popen(command, start_new_session=True, env={**os.environ, "PYTHONWARNINGS": _QUIET})
    try:
        while process.poll() is None and not stopped.wait(0.2):
            pass
        if stopped.is_set():
            _interrupt(process)
    finally:
        _end_group(process.pid)
    return 0 if stopped.is_set() else process.wait()


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """Ask Dagster to end, as Ctrl-C would; runs under way are then marked as ended."""
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_SECONDS)


def _refuse_taken(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise RescueError(
                "the UI cannot listen there",
                where=f"{host}:{port}",
                found=error.strerror or str(error),
                advice="another port: rescue ui --port 3001",
            ) from error


def _end_group(group: int) -> None:
    """End what is left of the group: politely, then not."""
    import psutil

    left = [p for p in psutil.process_iter() if _group_of(p.pid) == group]
    for process in left:
        process.terminate()
    _, stubborn = psutil.wait_procs(left, timeout=_GRACE_SECONDS)
    for process in stubborn:
        process.kill()


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, PermissionError):
        return None
