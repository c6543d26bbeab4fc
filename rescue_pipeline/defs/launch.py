"""Starting the graph from Python: the same jobs that the UI runs, in this process."""

from __future__ import annotations

import importlib
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from itertools import groupby
from typing import Any

import dagster as dg

from rescue_pipeline.datadir import current
from rescue_pipeline.defs.failures import explained
from rescue_pipeline.defs.instance import PROCESS_TAG, end_dead_runs, this_process
from rescue_pipeline.defs.partitions import add_models, partition_key
from rescue_pipeline.llm.stopping import insisted
from rescue_pipeline.outcomes import ASKING, JUDGING
from rescue_pipeline.schemas import JUDGED_TASKS
from rescue_pipeline.schemas.predictions import MODALITIES

FOR_PREPARING = ("great_expectations",)
FOR_ANSWERING = (*FOR_PREPARING, "litellm", "sklearn.feature_extraction.text")
"""Libraries that the steps of these jobs need and that take seconds to import."""


def _import_ahead(names: Sequence[str]) -> None:
    """Import them while this process waits for dbt; a step that comes first simply waits for the import lock."""
    for name in names:
        importlib.import_module(name)


class Launcher:
    """Runs jobs on the instance that DAGSTER_HOME names. `use_directory` comes first."""

    def __init__(self, ahead: Sequence[str] = FOR_PREPARING) -> None:
        threading.Thread(target=_import_ahead, args=(ahead,), name="import-ahead", daemon=True).start()
        with _in_our_words("the start"):
            from rescue_pipeline.definitions import defs

            self._defs = defs
            self._instance = dg.DagsterInstance.get()
            end_dead_runs(self._instance)
        self.seconds: dict[str, float] = defaultdict(float)
        """How long each job took in this process."""

    def __enter__(self) -> Launcher:
        return self

    def __exit__(self, *_: object) -> None:
        self._instance.dispose()

    def prepare(self) -> None:
        self._run("prepare")

    def publish(self) -> None:
        self._run("publish")

    def answer(
        self, models: Sequence[str], modalities: Sequence[str], options: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Ask, parse and judge; returns what the steps reported of each partition and task, answers and judgements."""
        per_task = [f"{table}_{task}" for task in options["tasks"] for table in ("responses", "answers")]
        try:
            results = self._run_partitions(["plan", *per_task, *_judged(options)], models, modalities, options)
        except KeyboardInterrupt:
            if not insisted.is_set():  # what came back before the stop is to be read and scored
                self._run_partitions([f"answers_{task}" for task in options["tasks"]], models, modalities, options)
            raise
        return [report for result in results for report in _reports(result)]

    def judge(
        self, models: Sequence[str], modalities: Sequence[str], options: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Grade what is answered already, where a task needs a judge; returns what the judging reported."""
        judged = _judged(options)
        results = self._run_partitions(judged, models, modalities, options) if judged else []
        return [report for result in results for report in _reports(result)]

    def _run_partitions(
        self, tables: Sequence[str], models: Sequence[str], modalities: Sequence[str], options: Mapping[str, Any]
    ) -> list[dg.ExecuteInProcessResult]:
        """One run per rectangle of neighbouring partition keys: a Dagster run names its partitions by two corners."""
        add_models(self._instance, models)
        known = self._instance.get_dynamic_partitions("model")
        return [
            self._run(
                "answer",
                {"resources": {"options": {"config": dict(options)}}},
                {
                    "dagster/asset_partition_range_start": partition_key(some_models[0], some_modalities[0]),
                    "dagster/asset_partition_range_end": partition_key(some_models[-1], some_modalities[-1]),
                },
                [f"lake/{table}" for table in tables],
            )
            for some_models in _neighbours(known, models)
            for some_modalities in _neighbours(MODALITIES, modalities)
        ]

    def _run(
        self,
        job: str,
        config: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        selection: Sequence[str] | None = None,
    ) -> dg.ExecuteInProcessResult:
        started = time.monotonic()
        quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
        try:
            with _in_our_words(f"the {job} stage"):
                return self._defs.resolve_job_def(job).execute_in_process(
                    instance=self._instance,
                    run_config={**quiet, **(config or {})},
                    tags={PROCESS_TAG: this_process(), **(tags or {})},
                    asset_selection=[dg.AssetKey.from_user_string(key) for key in selection] if selection else None,
                )
        finally:
            self.seconds[job] += time.monotonic() - started


def _reports(result: dg.ExecuteInProcessResult) -> list[dict[str, Any]]:
    """What the steps that ask somebody reported, per partition and task."""
    return [
        {
            "step": event.step_key,
            **{name: value.value for name, value in event.step_materialization_data.materialization.metadata.items()},
        }
        for event in result.get_asset_materialization_events()
        if event.step_key in (ASKING, JUDGING)
    ]


def _neighbours(order: Sequence[str], chosen: Collection[str]) -> list[list[str]]:
    """The chosen names in blocks that are contiguous in `order`."""
    blocks = groupby(order, key=lambda name: name in chosen)
    return [list(block) for is_chosen, block in blocks if is_chosen]


def _judged(options: Mapping[str, Any]) -> list[str]:
    tables = ("judge_responses", "judgements", "judge_controls", "bertscores", "bertscore_controls", "bertscore_runs")
    return [f"{table}_{task}" for task in options["tasks"] if task in JUDGED_TASKS for table in tables]


@contextmanager
def _in_our_words(stage: str) -> Iterator[None]:
    """Keep dbt's talk in its log (stdout belongs to our own results), and say plainly what ended the stage."""
    logs = current().logs
    try:
        with (logs / "dbt.log").open("a", encoding="utf-8") as log, redirect_stdout(log):
            yield
    except (Exception, dg.DagsterExecutionInterruptedError) as error:
        raise explained(stage, error, logs) from error
