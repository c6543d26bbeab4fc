"""What a run of a job touches, asks and writes down."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.defs.automation import model_partitions
from rescue_pipeline.schemas import TASKS
from rescue_pipeline.warehouse import open_results
from tests.defs.conftest import restored
from tests.defs.pipeline import (
    PLANTED,
    SESSIONS,
    Pipeline,
    claim,
    materialized,
    metadata,
    succeeded,
    working_in,
    write_corpus,
)


def leaderboard(directory: DataDirectory) -> dict[str, int]:
    with open_results(directory.results) as connection:
        rows = connection.execute("select model, n_planned from results.leaderboard where scenario = 'both'").fetchall()
    return dict(rows)


@dataclass(frozen=True)
class Later:
    """What another model's answers, and publishing them, did to the published directory."""

    before: dict[str, int]
    answered: dg.ExecuteInProcessResult
    after: dict[str, int]
    published: dg.ExecuteInProcessResult
    board: dict[str, int]


@pytest.fixture(scope="module")
def later(published: tuple[DataDirectory, Path]) -> Later:
    directory = restored(*published)
    with working_in(directory), dg.DagsterInstance.get() as instance:
        pipeline = Pipeline(directory, instance)
        before, answered = pipeline.journal(), succeeded(pipeline.answer("majority"))
        after, published_again = pipeline.journal(), succeeded(pipeline.run("publish"))
        return Later(before, answered, after, published_again, leaderboard(directory))


def test_one_partition_is_answered_and_no_other_is_touched(later: Later) -> None:
    of_the_audit = {"lake/audit", "lake/audit_findings"}  # of a protocol's questions, whoever is asked them
    answered = [event for event in materialized(later.answered) if event[0] not in of_the_audit]
    assert {partition for _, partition in answered} == {"dialogue|majority"}
    assert all("majority" in file for file in later.after.keys() - later.before.keys())
    assert {file for file, lines in later.before.items() if later.after[file] != lines} <= {"generations.jsonl"}


def test_publishing_makes_all_that_comes_after_answers_and_nothing_before(later: Later) -> None:
    stages = {key.split("/")[0] for key, _ in materialized(later.published)}
    assert stages == {"predictions", "scores", "lake", "results", "report"}
    in_the_lake = {key for key, _ in materialized(later.published) if key.startswith("lake/")}
    assert in_the_lake == {"lake/metrics", "lake/protocol_effects"}
    assert later.board.keys() == {"uniform", "majority"}
    assert len(set(later.board.values())) == 1


def test_events_tell_rows_versions_tokens_seconds_and_paths(later: Later) -> None:
    plan, responses = metadata(later.answered, "lake/plan"), metadata(later.answered, "lake/responses_er")
    assert plan["corpus_version"]
    assert {"planned", "asked", "prompt_tokens", "completion_tokens", "cost_usd", "seconds", "path"} <= responses.keys()
    items = metadata(later.published, "scores/items")["dagster/row_count"]
    assert items == 2 * plan["dagster/row_count"] > 0
    assert metadata(later.published, "report/pages")["open"].startswith("file://")


def test_a_second_run_asks_nothing(pipeline: Pipeline) -> None:
    before = pipeline.journal()
    again = succeeded(pipeline.answer("uniform"))
    for task in TASKS:
        numbers = metadata(again, f"lake/responses_{task}")
        assert numbers["asked"] == 0
        assert numbers["reused"] == numbers["planned"] > 0
    assert pipeline.journal() == before


def test_one_task_of_one_partition_can_be_rerun_alone(pipeline: Pipeline) -> None:
    again = succeeded(pipeline.run("answer", "dialogue|uniform", ["lake/answers_rpp"]))
    assert materialized(again) == [("lake/answers_rpp", "dialogue|uniform")]


def test_options_that_leave_a_task_out_keep_it_from_being_asked(pipeline: Pipeline) -> None:
    refused = pipeline.answer("majority", tasks=["itp"])
    assert not refused.success
    assert not any("majority" in file for file in pipeline.journal())
    chosen = ["lake/plan", "lake/responses_itp", "lake/answers_itp"]
    succeeded(pipeline.run("answer", "dialogue|majority", chosen, tasks=["itp"]))
    assert {Path(file).parts[0] for file in pipeline.journal() if "majority" in file} == {"responses_itp"}


def test_a_model_elsewhere_is_asked_neither_about_private_sessions_nor_without_a_budget(
    pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = tmp_path / "models.yaml"
    models.write_text("models:\n  - {id: paid, litellm: openai/paid, price: {input: 1, output: 1}}\n")
    monkeypatch.setenv("RESCUE_MODELS_FILE", str(models))
    assert "these sessions are private" in failure_of(pipeline.answer("paid", budget_usd=1.0))
    corpus = Path(json.loads(pipeline.directory.corpus_file.read_text())["path"])
    declaration = corpus.with_name("corpus.yaml")
    declaration.write_text("consent: ethics board 2026-17\n")
    try:
        refused = pipeline.answer("paid")
    finally:
        declaration.unlink()
    assert "these models cost money" in failure_of(refused)
    assert "budget_usd" in failure_of(refused)
    # what it would cost stands beside the plan, before anybody materializes the responses
    assert metadata(refused, "lake/plan")["expected_cost_usd"] > 0
    assert not any("paid" in file for file in pipeline.journal())


def failure_of(result: dg.ExecuteInProcessResult) -> str:
    assert not result.success
    return " ".join(str(event.event_specific_data) for event in result.all_events if event.is_step_failure)


def test_asking_needs_no_warehouse(pipeline: Pipeline) -> None:
    pipeline.directory.warehouse.unlink()  # as on a machine that sees the lake only, or while dbt holds it
    succeeded(pipeline.answer("uniform", "audio"))


def test_the_partition_sensor_adds_what_models_yaml_names(
    pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = tmp_path / "models.yaml"
    models.write_text("models:\n  - {id: mine, litellm: baseline/uniform}\n")
    monkeypatch.setenv("RESCUE_MODELS_FILE", str(models))
    result = model_partitions(dg.build_sensor_context(instance=pipeline.instance))
    assert isinstance(result, dg.SensorResult)
    [request] = result.dynamic_partitions_requests or ()
    assert "mine" in request.partition_keys
    assert not set(request.partition_keys) & set(pipeline.instance.get_dynamic_partitions("model"))
    pipeline.instance.add_dynamic_partitions("model", list(request.partition_keys))
    assert isinstance(model_partitions(dg.build_sensor_context(instance=pipeline.instance)), dg.SkipReason)


def kept_by_dagster(directory: DataDirectory) -> bytes:
    files = [file for root in (directory.dagster_home, directory.logs) for file in root.rglob("*") if file.is_file()]
    assert any(file.suffix == ".db" for file in files)
    return b"".join(file.read_bytes() for file in files)


def test_no_event_and_no_log_holds_a_sessions_words_or_name(directory: DataDirectory) -> None:
    written = kept_by_dagster(directory)
    found = [text for text in (*PLANTED, *SESSIONS) if text.encode() in written]
    assert found == []


def test_an_error_in_the_corpus_is_told_without_names(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus.jsonl")
    broken = corpus.read_text(encoding="utf-8").replace('"rows"', '"lines"')
    corpus.write_text(broken, encoding="utf-8")
    directory = claim(tmp_path / "data", corpus)
    with working_in(directory), dg.DagsterInstance.get() as instance:
        assert not Pipeline(directory, instance).run("prepare").success
    written = kept_by_dagster(directory)
    assert b"not one session could be read" in written
    assert [text for text in (*PLANTED, *SESSIONS) if text.encode() in written] == []
