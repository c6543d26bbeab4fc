"""A lake with plan, responses, answers and grades written by hand, for the tests of predictions, scores, results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from rescue_pipeline.lake import Lake
from rescue_pipeline.metrics import compute_metrics
from rescue_pipeline.metrics.effects import protocol_effects
from rescue_pipeline.schemas import LAKE_TABLES, Instances, UnlabelledRows, check_table
from rescue_pipeline.warehouse import open_duckdb
from tests.dbt.project import Dbt

SCORED_LAYERS = ["--select", "predictions", "scores", "results", "resource_type:seed"]
WITHOUT_UNIT_TESTS = ["--exclude-resource-type", "unit_test"]
VERSION = "00000000000000aa"
_SENT = datetime(2026, 1, 1, tzinfo=UTC)
_CORPUS = """
create schema raw;
create table raw.corpus (
    corpus_id varchar, corpus_version varchar, data_class varchar, path varchar, is_released boolean,
    annotations_sha256 varchar, ingest_version varchar, n_records bigint, n_rejected bigint, loaded_at timestamptz
)
"""


@dataclass
class ScoredLake:
    """Rows to be, table by table; `write` makes a warehouse and a lake of them."""

    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, table: str, **row: Any) -> None:
        self.tables.setdefault(table, []).append(row)

    def ask(
        self,
        model: str,
        instance: dict[str, Any],
        status: str,
        answer: Any = None,
        truncated_in: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Plan one question and, unless its status is not_run, record a response and what was parsed from it."""
        task, how = instance["task"], (more.get("protocol", "clean"), more.get("epoch", "1"))
        request_id = "/".join([model, instance["instance_id"], *how])
        asked = {"task": task, "model": model, "generation": 1, "modality": "dialogue", "protocol": "clean"}
        asked |= {"epoch": "1", "request_id": request_id, **more}
        question = {**asked, "instance_id": instance["instance_id"], "corpus_version": instance["corpus_version"]}
        self.add(
            "plan", **question, corpus_id="tiny", task_version="1", scenario=instance["scenario"], template_sha256="t"
        )
        if status != "not_run":
            self.respond(asked, status, truncated_in=truncated_in)
            self.add(
                f"answers_{task}",
                **question,
                status=status,
                answer=answer and json.dumps(answer),
                flags=[],
                parser_version="1",
            )
        return {**question, "answer_request_id": request_id}

    def respond(self, asked: dict[str, Any], status: str, **more: Any) -> None:
        parsed_only = status in ("unparseable", "out_of_set")
        response = {"status": "ok" if parsed_only else status, "final": status != "api_error", "content": "text"}
        response |= {
            "parameters": "{}",
            "attempts": 1,
            "cost_usd": 0.0,
            "sent_at": _SENT,
            "seconds": 0.5,
            "segment": "s1",
        }
        self.add(f"responses_{asked['task']}", **{**asked, **response, **more})

    def judge(self, question: dict[str, Any], judge: str, kind: str, status: str = "ok", **grades: int) -> None:
        self.add(
            f"judgements_{question['task']}",
            **{**question, "request_id": f"{judge}/{question['request_id']}"},
            judge=judge,
            judge_generation=1,
            judge_kind=kind,
            judge_rank=1,
            same_vendor=False,
            status=status,
            **grades,
        )

    def write(self, folder: Path, *, is_released: bool = False) -> Dbt:
        dbt, lake = Dbt(folder, folder / "rescue.duckdb"), Lake(str(folder / "lake"))
        lake.declare(LAKE_TABLES)
        for table, rows in self.tables.items():
            lake.write(table, _frame(table, rows))
        assert dbt.warehouse is not None
        with open_duckdb(dbt.warehouse) as connection:
            connection.execute(_CORPUS)
            if self.tables:
                connection.execute(
                    "insert into raw.corpus values ('tiny', ?, 'demo', '', ?, '', '1', 1, 0, now())",
                    [VERSION, is_released],
                )
        return dbt

    def write_again(self, dbt: Dbt, table: str, **changed: Any) -> None:
        """A second file of a table with the same rows, as an older corpus version leaves it."""
        rows = [{**row, **changed} for row in self.tables[table]]
        Lake(str(dbt.folder / "lake")).write(table, _frame(table, rows), name="older")


def _frame(table: str, rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    types = LAKE_TABLES[table].empty().schema
    frame = pl.DataFrame([{name: row.get(name) for name in types} for row in rows], schema=types)
    return check_table(frame, LAKE_TABLES[table], table)


def publish_metrics(dbt: Dbt) -> pl.DataFrame:
    """The Python steps between scores and results."""
    lake = Lake(str(dbt.folder / "lake"))
    items, gradings, instances = (
        table(dbt, "scores.items"),
        table(dbt, "scores.gradings"),
        lake.read("instances", Instances),
    )
    metrics = compute_metrics(items, gradings, instances, lake.read("unlabelled_rows", UnlabelledRows))
    lake.write("metrics", metrics)
    lake.write("protocol_effects", protocol_effects(items, gradings, instances))
    return metrics


def table(dbt: Dbt, name: str) -> pl.DataFrame:
    assert dbt.warehouse is not None
    with open_duckdb(dbt.warehouse, read_only=True) as connection:
        found: pl.DataFrame = connection.sql(f"select * from {name}").pl()
        return found


def tables(dbt: Dbt) -> list[str]:
    """The names of all tables of predictions, scores and results."""
    listed = table(dbt, "information_schema.tables").sort("table_schema", "table_name")
    ours = listed.filter(pl.col("table_schema").is_in(["predictions", "scores", "results"]))
    return [f"{schema}.{name}" for schema, name in ours.select("table_schema", "table_name").iter_rows()]


def of(rows: pl.DataFrame, **values: object) -> pl.DataFrame:
    """The rows with these values."""
    return rows.filter(pl.all_horizontal(pl.col(column) == value for column, value in values.items()))
