"""The Dagster instance of a data directory: its home, its settings, and what runs that died left behind."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg
import psutil

from rescue_pipeline.datadir import DataDirectory, write_atomically

_TEMPLATE = Path(__file__).with_name("dagster.yaml")
PROCESS_TAG = "rescue/process"
"""Process id and start time of what executes an in-process run, so that a later process can tell whether it lives."""


def use_directory(directory: DataDirectory) -> None:
    """Point this process, and those it starts, at a data directory. Call before the definitions are imported."""
    os.environ["RESCUE_DATA_DIR"] = str(directory.root)
    os.environ["DAGSTER_HOME"] = str(directory.dagster_home)
    template = _TEMPLATE.read_text(encoding="utf-8")
    settings = directory.dagster_home / "dagster.yaml"
    if not settings.exists() or settings.read_text(encoding="utf-8") != template:
        write_atomically(settings, template)


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark runs whose process is gone as failed and free the slots they hold; returns their ids.

    A killed run stays STARTED for ever and keeps its pool slot, so that the next run would wait for it.
    """
    for run_id in instance.event_log_storage.get_concurrency_run_ids():
        holder = instance.get_run_by_id(run_id)
        if holder is None or holder.is_finished:
            instance.event_log_storage.free_concurrency_slots_for_run(run_id)
    unfinished = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING])
    ended = []
    for run in instance.get_runs(filters=unfinished):
        if not _may_live(instance, run):
            instance.report_run_failed(run, "its process ended without finishing the run")
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
            ended.append(run.run_id)
    return ended


def this_process() -> str:
    return _identity(psutil.Process())


def _may_live(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether the run's process is there. Our own runs carry it as a tag, those of the UI note it in their first event;
    a run that says neither has not begun yet."""
    if (process := run.tags.get(PROCESS_TAG)) is not None:
        return _alive(process)
    for event in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        pid = event.get_dagster_event().engine_event_data.metadata.get("pid")
        if pid is not None:
            return _was_there(int(str(pid.value)), event.timestamp)
    return True


def _was_there(pid: int, moment: float) -> bool:
    """Whether the process of this id is one that ran at that moment already."""
    try:
        return bool(psutil.Process(pid).create_time() <= moment)
    except psutil.NoSuchProcess:
        return False


def _identity(process: psutil.Process) -> str:
    # process ids are reused; together with the start time they are not
    return f"{process.pid}@{process.create_time():.2f}"


def _alive(identity: str) -> bool:
    try:
        return _identity(psutil.Process(int(identity.split("@")[0]))) == identity
    except psutil.NoSuchProcess:
        return False
