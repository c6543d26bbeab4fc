"""Answers made elsewhere: planned whole, journaled like responses, versioned when they contradict each other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm import Partition, Workspace
from rescue_pipeline.llm.importing import import_predictions
from rescue_pipeline.llm.rebuilding import rebuild_lake
from rescue_pipeline.schemas import Answers, Plan, Responses

Lines = list[dict[str, Any] | str]


def lines_for(workspace: Workspace, task: str, answer: dict[str, Any], n: int | None = None, **more: Any) -> Lines:
    rows = workspace.corpus.of_task(task)[:n]
    return [
        {
            "model": "elsewhere",
            "modality": "dialogue",
            "task": task,
            "sample_id": row["sample_id"],
            "row_index": row["row_index"],
            "answer": answer,
            **more,
        }
        for row in rows
    ]


def write(workspace: Workspace, lines: Lines, name: str = "predictions.jsonl") -> Path:
    path = workspace.datadir.root / name
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def table(workspace: Workspace, name: str, schema: Any) -> pl.DataFrame:
    frame: pl.DataFrame = workspace.lake.read(name, schema)
    return frame


YES, NO = {"should_speak": "yes"}, {"should_speak": "no"}


def test_all_instances_of_the_files_tasks_are_planned_and_missing_ones_are_not_run(workspace: Workspace) -> None:
    summary = import_predictions(workspace, write(workspace, lines_for(workspace, "itp", YES, 4)))
    n = len(workspace.corpus.of_task("itp"))
    assert (summary.model, summary.generation, summary.tasks) == ("elsewhere", 1, ["itp"])
    assert (summary.planned, summary.imported, summary.errors) == (n, 4, [])
    assert summary.by_status == {"ok": 4, "not_run": n - 4}
    plan = table(workspace, "plan", Plan)
    assert (plan.height, plan["protocol"].unique().to_list(), plan["task"].unique().to_list()) == (
        n,
        ["imported"],
        ["itp"],
    )
    assert {json.loads(answer)["should_speak"] for answer in table(workspace, "answers_itp", Answers)["answer"]} == {
        "yes"
    }


def test_importing_the_same_again_changes_nothing(workspace: Workspace) -> None:
    path = write(workspace, lines_for(workspace, "itp", YES))
    import_predictions(workspace, path)
    before = {file: file.read_bytes() for file in workspace.datadir.journal.rglob("*.jsonl")}
    again = import_predictions(workspace, path)
    assert (again.generation, again.imported) == (1, 0)
    assert {file: file.read_bytes() for file in workspace.datadir.journal.rglob("*.jsonl")} == before


def test_more_questions_of_the_same_model_join_its_generation(workspace: Workspace) -> None:
    import_predictions(workspace, write(workspace, lines_for(workspace, "itp", YES, 4)))
    more = import_predictions(workspace, write(workspace, lines_for(workspace, "itp", YES, 9)))
    er = lines_for(workspace, "er", {"emotion": "calm", "intensity": 2})
    other = import_predictions(workspace, write(workspace, er))
    assert (more.generation, more.imported, more.reused) == (1, 5, 4)
    assert (other.generation, other.imported) == (1, len(er))


def test_other_answers_under_the_same_name_are_the_next_generation_and_both_stay(workspace: Workspace) -> None:
    first, second = (
        write(workspace, lines_for(workspace, "itp", answer), f"{n}.jsonl") for n, answer in enumerate((YES, NO))
    )
    generations = [import_predictions(workspace, path).generation for path in (first, second, first, second)]
    assert generations == [1, 2, 1, 2]
    answers = table(workspace, "answers_itp", Answers)
    assert set(answers.select("generation", "answer").unique().iter_rows()) == {
        (1, json.dumps(YES)),
        (2, json.dumps(NO)),
    }


def test_bad_lines_are_told_by_line_and_field_and_good_ones_are_kept(workspace: Workspace) -> None:
    good = lines_for(workspace, "itp", YES, 2)
    broken = dict(lines_for(workspace, "itp", NO, 1)[0])  # type: ignore[arg-type]
    lines: Lines = [
        good[0],
        "not json, but secret words",
        {**broken, "task": "mood"},
        {**broken, "row_index": "3"},
        {**broken, "row_index": 999},
        {**broken, "answer": None},
        {**broken, "modality": "smell"},
        {name: value for name, value in broken.items() if name != "sample_id"},
        broken,
        "[1, 2]",
        '{"answer": NaN}',
        "",
        good[1],
        good[1],
    ]
    summary = import_predictions(workspace, write(workspace, lines))
    assert summary.imported == 2
    told = {error.line: (error.field, error.expected, error.found) for error in summary.errors}
    assert sorted(told) == [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert told[3][0] == "task"
    assert told[4] == ("row_index", told[4][1], "str")
    assert "999" in told[5][2]
    assert told[6][2] == "NoneType"
    assert told[8] == ("sample_id", told[8][1], "nothing")
    assert told[9][0] == "answer"
    assert not any("secret" in part for parts in told.values() for part in parts)


def test_raw_text_is_parsed_like_any_reply(workspace: Workspace) -> None:
    lines = lines_for(workspace, "itp", YES, 3)
    for line, answer in zip(lines, ['```json\n{"should_speak": "no"}\n```', "perhaps later", "  "], strict=True):
        line["answer"] = answer  # type: ignore[index]
    summary = import_predictions(workspace, write(workspace, lines))
    assert summary.by_status == {"ok": 1, "unparseable": 1, "empty": 1, "not_run": summary.planned - 3}


def test_invalid_answers_are_failures_not_omissions(workspace: Workspace) -> None:
    lines = [
        *lines_for(workspace, "itp", {"should_speak": "maybe"}, 1),
        *lines_for(workspace, "rpp", {"other": 1}, 1),
    ]
    summary = import_predictions(workspace, write(workspace, lines))
    assert summary.by_status["out_of_set"] == 1
    assert summary.by_status["unparseable"] == 1


def test_a_name_given_overrides_the_rows_and_several_names_need_one(workspace: Workspace) -> None:
    lines = [
        *lines_for(workspace, "itp", YES, 1),
        *lines_for(workspace, "er", {"emotion": "x", "intensity": 1}, 1, model="b"),
    ]
    path = write(workspace, lines)
    with pytest.raises(UsageError, match="--model"):
        import_predictions(workspace, path)
    assert import_predictions(workspace, path, "mine").partitions == [Partition("mine", "dialogue", "imported")]
    with pytest.raises(UsageError, match="model's name"):
        import_predictions(workspace, path, "My Model!")


@pytest.mark.parametrize("content", ["", "nonsense\n", '{"task": "itp"}\n'])
def test_a_file_without_a_usable_line_is_an_error_and_changes_nothing(workspace: Workspace, content: str) -> None:
    path = workspace.datadir.root / "bad.jsonl"
    path.write_text(content)
    with pytest.raises(UsageError, match=r"bad\.jsonl, line 1"):
        import_predictions(workspace, path)
    with pytest.raises(UsageError, match=r"absent\.jsonl"):
        import_predictions(workspace, path.with_name("absent.jsonl"))
    assert not list(workspace.datadir.journal.rglob("*.jsonl"))


def test_the_journal_alone_gives_an_import_back(workspace: Workspace) -> None:
    import_predictions(workspace, write(workspace, lines_for(workspace, "itp", YES, 4)))
    names = {"plan": Plan, "responses_itp": Responses, "answers_itp": Answers}
    before = {name: table(workspace, name, schema).sort("request_id") for name, schema in names.items()}
    for name in names:
        shutil.rmtree(workspace.lake.folder(name))
    rebuild_lake(workspace)
    for name, schema in names.items():
        assert table(workspace, name, schema).sort("request_id").equals(before[name])


def test_a_number_out_of_range_is_a_bad_line_and_the_rest_is_imported(workspace: Workspace, tmp_path: Path) -> None:
    sample_id, row_index = next(
        (row["sample_id"], row["row_index"]) for row in workspace.corpus.instances.values() if row["task"] == "er"
    )
    line = '{"task":"er","sample_id":%s,"row_index":%d,"modality":"dialogue","answer":{"emotion":"x","intensity":%s}}'
    file = tmp_path / "answers.jsonl"
    lines = [line % (json.dumps(sample_id), row_index, number) for number in ("1e999", "5")]
    file.write_text("\n".join(lines), encoding="utf-8")
    summary = import_predictions(workspace, file, "far")
    assert [bad.line for bad in summary.errors] == [1]
    assert summary.imported == 1
