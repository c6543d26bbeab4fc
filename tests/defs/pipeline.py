"""A data directory with a small corpus, and running the graph on it in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import dagster as dg

from rescue_pipeline.corpus.source import resolve
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.defs.instance import use_directory
from rescue_pipeline.defs.partitions import add_models, partition_key

CORPUS = Path(__file__).parents[1] / "data" / "oracle_small" / "corpus.jsonl"
SESSIONS = ("family_therapy/008/merged", "family_therapy/014/merged", "mina_and_pim/017_s01e09_ct17_segment04")
PLANTED = ("A marmalade telescope sings at noon", "velvet glacier regret", "nobody oils the lighthouse")
"""A sentence, a feeling and a view that stand in the corpus and must stand nowhere in events and logs."""
OPTIONS = {"limit": 4}


def write_corpus(path: Path) -> Path:
    """Three of the small corpus's sessions, with the planted words in every row that can carry them."""
    records = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    chosen = [record for record in records if record["sample_id"] in SESSIONS]
    for row in (row for record in chosen for row in record["rows"]):
        row["dialogue_cleaned"] = PLANTED[0]
        for felt in row.get("internal_emotion") or []:
            felt["emotion_description"] = PLANTED[1]
        for view in row.get("viewpoints_attitudes") or []:
            view["viewpoint"] = PLANTED[2]
    path.write_text("".join(json.dumps(record) + "\n" for record in chosen), encoding="utf-8")
    return path


def claim(root: Path, corpus: Path) -> DataDirectory:
    directory = DataDirectory(root).create()
    source = resolve(corpus)
    directory.claim(source.corpus_id, source.description())
    return directory


@contextmanager
def working_in(directory: DataDirectory) -> Iterator[None]:
    """This process as if `rescue` had been started on the directory, its own registry left out."""
    with mock.patch.dict(os.environ):
        for name in [name for name in os.environ if name.startswith(("RESCUE_", "DAGSTER_", "DBT_"))]:
            del os.environ[name]
        use_directory(directory)
        yield


@dataclass(frozen=True)
class Pipeline:
    """The graph on one data directory; use inside `working_in`."""

    directory: DataDirectory
    instance: dg.DagsterInstance

    def run(
        self, job: str, partition: str | None = None, selection: Iterable[str] = (), **options: Any
    ) -> dg.ExecuteInProcessResult:
        from rescue_pipeline.definitions import defs

        config = {"resources": {"options": {"config": {**OPTIONS, **options}}}} if partition else {}
        return defs.resolve_job_def(job).execute_in_process(
            instance=self.instance,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}, **config},
            partition_key=partition,
            asset_selection=[dg.AssetKey.from_user_string(key) for key in selection] or None,
            raise_on_error=False,
        )

    def answer(self, model: str, modality: str = "dialogue", **options: Any) -> dg.ExecuteInProcessResult:
        add_models(self.instance, [model])
        return self.run("answer", partition_key(model, modality), **options)

    def journal(self) -> dict[str, int]:
        """Lines per file of the journal, plans aside: they are no answers."""
        root = self.directory.journal
        files = (file for file in root.rglob("*.jsonl") if file.relative_to(root).parts[0] != "plan")
        return {str(file.relative_to(root)): file.read_bytes().count(b"\n") for file in files}


def succeeded(result: dg.ExecuteInProcessResult) -> dg.ExecuteInProcessResult:
    """The result of a run that went well; fails with what its failed steps said."""
    failures = [event for event in result.all_events if event.is_failure]
    assert result.success, "\n".join(f"{event.step_key}: {event.event_specific_data}" for event in failures)
    return result


def materialized(result: dg.ExecuteInProcessResult) -> list[tuple[str, str | None]]:
    """The assets of a run's events, with their partitions."""
    events = result.get_asset_materialization_events()
    return [(event.asset_key.to_user_string(), event.partition) for event in events if event.asset_key]


def metadata(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, Any]:
    [event] = [
        e for e in result.get_asset_materialization_events() if e.asset_key == dg.AssetKey.from_user_string(asset)
    ]
    return {name: value.value for name, value in event.step_materialization_data.materialization.metadata.items()}


def failed_checks(result: dg.ExecuteInProcessResult) -> set[str]:
    """`asset:check` of every check that did not pass with severity ERROR."""
    return {
        f"{check.asset_key.to_user_string()}:{check.check_name}"
        for check in result.get_asset_check_evaluations()
        if not check.passed and check.severity == dg.AssetCheckSeverity.ERROR
    }
