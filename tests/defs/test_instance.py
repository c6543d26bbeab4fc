"""The Dagster instance of a data directory, and what killed runs leave in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.events import EngineEventData
from dagster._core.test_utils import create_run_for_test

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.defs.automation import dead_runs
from rescue_pipeline.defs.instance import PROCESS_TAG, end_dead_runs, this_process
from tests.defs.pipeline import working_in

STARTED = dg.DagsterRunStatus.STARTED


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with working_in(DataDirectory(tmp_path / "data").create()), dg.DagsterInstance.get() as instance:
        instance.event_log_storage.set_concurrency_slots("duckdb", 1)
        yield instance


@pytest.fixture
def dead_process() -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process


def holding_the_slot(instance: dg.DagsterInstance, **tags: str) -> dg.DagsterRun:
    run = create_run_for_test(instance, status=STARTED, tags=tags)
    claim = instance.event_log_storage.claim_concurrency_slot("duckdb", run.run_id, "a_step")
    assert claim.is_claimed
    return run


def status(instance: dg.DagsterInstance, run: dg.DagsterRun) -> dg.DagsterRunStatus:
    stored = instance.get_run_by_id(run.run_id)
    assert stored is not None
    return stored.status


def slot_is_free(instance: dg.DagsterInstance) -> bool:
    return not instance.event_log_storage.get_concurrency_run_ids()


def test_a_killed_run_of_the_command_line_frees_its_slot(instance: dg.DagsterInstance) -> None:
    # the process id is alive, but it is another process by now
    run = holding_the_slot(instance, **{PROCESS_TAG: f"{this_process().split('@')[0]}@1.00"})
    assert end_dead_runs(instance) == [run.run_id]
    assert status(instance, run) is dg.DagsterRunStatus.FAILURE
    assert slot_is_free(instance)


def test_a_killed_run_of_the_ui_frees_its_slot(
    instance: dg.DagsterInstance, dead_process: subprocess.Popen[bytes]
) -> None:
    run = holding_the_slot(instance)
    instance.report_engine_event("Started process for run.", run, EngineEventData.in_process(dead_process.pid))
    dead_runs(dg.build_sensor_context(instance=instance))
    assert status(instance, run) is dg.DagsterRunStatus.FAILURE
    assert slot_is_free(instance)


def test_a_run_whose_process_lives_is_left_alone(instance: dg.DagsterInstance) -> None:
    ours = holding_the_slot(instance, **{PROCESS_TAG: this_process()})
    not_begun = create_run_for_test(instance, status=STARTED)
    of_the_ui = create_run_for_test(instance, status=STARTED)
    pid = int(this_process().split("@")[0])
    instance.report_engine_event("Started process for run.", of_the_ui, EngineEventData.in_process(pid))
    assert end_dead_runs(instance) == []
    assert {status(instance, run) for run in (ours, not_begun, of_the_ui)} == {STARTED}
    assert not slot_is_free(instance)


def test_a_slot_of_a_run_that_has_ended_is_freed(instance: dg.DagsterInstance) -> None:
    run = holding_the_slot(instance, **{PROCESS_TAG: this_process()})
    instance.report_run_failed(run)
    end_dead_runs(instance)
    assert slot_is_free(instance)


def test_telemetry_and_its_pop_up_are_off(instance: dg.DagsterInstance) -> None:
    assert instance.telemetry_enabled is False
    assert instance.nux_enabled is False
