"""The task tables of synthetic sessions with known answers: seven here, and all of the oracle where it lies at hand."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rescue_pipeline.schemas import Instances, Sessions, Turns, UnlabelledRows, check_table
from rescue_pipeline.warehouse import open_duckdb
from tests.dbt.conftest import ORACLE_SMALL
from tests.dbt.project import OUR_LAYERS, Dbt, load

SHARED = Path(__file__).parents[3] / "shared"

GOLD: dict[str, Callable[[dict[str, Any]], list[Any]]] = {
    "er": lambda gold: [gold["emotion"], gold["intensity"]],
    "vp": lambda gold: [[[item[key] for key in ("source", "target", "viewpoint")] for item in gold["viewpoints"]]],
    "rpp": lambda gold: [gold["relation_pattern"]],
    "itp": lambda gold: [gold["should_speak"]],
    "stp": lambda gold: [gold["target"]],
    "ssp": lambda gold: [gold["strategy"], gold["target"]],
}


def rows(dbt: Dbt, sql: str) -> list[tuple[Any, ...]]:
    assert dbt.warehouse is not None
    with open_duckdb(dbt.warehouse, read_only=True) as connection:
        return connection.execute(sql).fetchall()


def instances(dbt: Dbt) -> dict[str, dict[str, list[list[Any]]]]:
    """sample -> task -> [row, gold ...], as the expected files have it."""
    found: dict[str, dict[str, list[list[Any]]]] = {
        sample_id: {task: [] for task in GOLD} for (sample_id,) in rows(dbt, "select sample_id from tasks.sessions")
    }
    for task, sample_id, row, gold in rows(
        dbt, "select task, sample_id, row_index, gold from tasks.instances order by all"
    ):
        found[sample_id][task].append([row, *GOLD[task](json.loads(gold))])
    return found


def groups(dbt: Dbt) -> dict[str, str]:
    return dict(rows(dbt, "select sample_id, session_group from tasks.sessions"))


def expected(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def test_every_instance_and_its_gold_is_the_expected_one(built: Dbt) -> None:
    assert instances(built) == expected(ORACLE_SMALL / "expected_instances.json")


def test_every_session_is_in_the_expected_group(built: Dbt) -> None:
    assert groups(built) == expected(ORACLE_SMALL / "expected_groups.json")


def test_an_intensity_stays_a_whole_number(built: Dbt) -> None:
    golds = [json.loads(gold) for (gold,) in rows(built, "select gold from tasks.instances where task = 'er'")]
    assert golds
    assert {type(gold["intensity"]) for gold in golds} == {int}


def test_therapist_rows_without_a_clear_pattern_are_counted_and_never_asked(built: Dbt) -> None:
    records = map(json.loads, (ORACLE_SMALL / "corpus.jsonl").read_text(encoding="utf-8").splitlines())
    empty: dict[str, list[int]] = defaultdict(list)
    for record in records:
        has_cycle_state = any("relation_cycle_state" in row for row in record["rows"])
        field = "relation_cycle_state" if has_cycle_state else "relation_pattern"
        for row in record["rows"]:
            if row["primary_speaker"] == "Therapist" and row.get(field) == "":
                empty[record["sample_id"]].append(row["row_index"])
    found: dict[str, list[int]] = defaultdict(list)
    for sample_id, row_index in rows(built, "select sample_id, row_index from tasks.unlabelled_rows order by all"):
        found[sample_id].append(row_index)
    assert found == empty
    asked = "select count(*) from tasks.instances semi join tasks.unlabelled_rows using (sample_id, row_index)"
    assert rows(built, f"{asked} where task = 'rpp'") == [(0,)]


def test_the_task_tables_keep_the_contract_of_the_lake(built: Dbt) -> None:
    assert built.warehouse is not None
    contracts = {"sessions": Sessions, "turns": Turns, "instances": Instances, "unlabelled_rows": UnlabelledRows}
    with open_duckdb(built.warehouse, read_only=True) as connection:
        for table, schema in contracts.items():
            frame = connection.sql(f"from tasks.{table}").pl()
            assert frame.columns == schema.empty().columns
            assert check_table(frame, schema, f"tasks.{table}").height == frame.height > 0


def test_a_label_outside_its_set_is_counted_and_warns_without_stopping_the_build(built: Dbt) -> None:
    found = rows(built, "select scenario, kind, label, n_turns from tasks.labels_outside_set")
    assert found == [("couple", "support_strategy", "soothing", 1)]
    assert built.statuses()["no_label_lies_outside_its_set"] == "warn"


def test_a_corpus_that_ships_no_instances_has_no_differences_from_them(built: Dbt) -> None:
    assert rows(built, "select count(*) from tasks.released_differences") == [(0,)]


@pytest.fixture(scope="module")
def oracle_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for both, so that the second build finds the project parsed."""
    return tmp_path_factory.mktemp("oracle")


@pytest.mark.parametrize(
    ("corpus", "instances_file", "groups_file"),
    [
        ("oracle/corpus.jsonl", "oracle/expected_instances.json", "oracle/expected_groups.json"),
        ("real_shape", "oracle/real_shape_expected.json", None),
    ],
)
def test_the_whole_oracle_has_no_difference(
    corpus: str, instances_file: str, groups_file: str | None, oracle_folder: Path
) -> None:
    if not (SHARED / corpus).exists():
        pytest.skip("the oracle is not part of the repository")
    dbt = load(SHARED / corpus, oracle_folder)
    build = dbt.run("run", *OUR_LAYERS)
    assert build.returncode == 0, build.stdout[-5000:]
    assert instances(dbt) == expected(SHARED / instances_file)
    if groups_file is not None:
        assert groups(dbt) == expected(SHARED / groups_file)
