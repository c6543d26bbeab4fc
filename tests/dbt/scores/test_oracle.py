"""All metrics of the oracle's random answers, from its corpus through SQL and Python, where the oracle lies at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.dbt.project import OUR_LAYERS, Dbt, load
from tests.dbt.scores.lake import ScoredLake, of, publish_metrics, table

ORACLE = Path(__file__).parents[4] / "shared" / "oracle"
EXPORTED = ("sessions", "turns", "instances", "unlabelled_rows")

pytestmark = pytest.mark.skipif(not ORACLE.is_dir(), reason="../shared/oracle is not at hand")


def _answered(dbt: Dbt) -> ScoredLake:
    """The exported task tables, and a plan with the oracle's answers."""
    lake = ScoredLake({name: table(dbt, f"tasks.{name}").to_dicts() for name in EXPORTED})
    instances = {row["instance_id"]: row for row in lake.tables["instances"]}
    for line in (ORACLE / "predictions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        question = instances[f"{row['task']}:{row['sample_id']}:{row['row_index']}"]
        lake.ask("oracle", question, "ok", row["answer"])
    return lake


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    dbt = load(ORACLE / "corpus.jsonl", tmp_path_factory.mktemp("oracle"))
    _run(dbt, *OUR_LAYERS)
    scored = _answered(dbt).write(tmp_path_factory.mktemp("oracle_scored"))
    _run(scored, "--select", "predictions", "scores")
    return publish_metrics(scored)


def _run(dbt: Dbt, *selection: str) -> None:
    run = dbt.run("run", *selection)
    assert run.returncode == 0, run.stdout[-5000:]


def test_every_metric_equals_the_oracles(metrics: pl.DataFrame) -> None:
    expected: dict[str, dict[str, Any]] = json.loads((ORACLE / "expected_metrics.json").read_text(encoding="utf-8"))
    for scenario, values in expected.items():
        for name, value in values.items():
            task, metric = name.split(".")
            found = of(metrics, task=task, scenario=scenario)
            got = found["n_planned"][0] if metric == "n" else of(found, metric=metric)["value"][0]
            assert got == pytest.approx(value, abs=1e-9), (scenario, name)
