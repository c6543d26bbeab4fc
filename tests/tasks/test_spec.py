from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from rescue_pipeline.errors import UsageError
from rescue_pipeline.schemas import JUDGED_TASKS, TASKS
from rescue_pipeline.schemas.predictions import MODALITIES
from rescue_pipeline.tasks import spec as spec_module
from rescue_pipeline.tasks import templates
from rescue_pipeline.tasks.judging import SCALES
from rescue_pipeline.tasks.labels import load_labels
from rescue_pipeline.tasks.spec import (
    PROTOCOL_FILES,
    TASK_FILES,
    asset_version,
    load_protocol,
    load_tasks,
    prompt_files,
    protocol_names,
)


@pytest.fixture
def task_files(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TASK_FILES, tmp_path / "tasks"))


@pytest.fixture
def protocol_files(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROTOCOL_FILES, tmp_path / "protocols"))


def change(path: Path, **fields: object) -> None:
    declared = yaml.safe_load(path.read_text())
    declared.update(fields)
    path.write_text(yaml.safe_dump(declared))


def test_the_six_tasks_load_in_order_and_agree_with_the_table_contracts() -> None:
    tasks = load_tasks()
    assert tuple(tasks) == TASKS
    assert tuple(key for key, task in tasks.items() if task.judged) == JUDGED_TASKS == tuple(SCALES)
    assert all(list(task.modalities) == MODALITIES for task in tasks.values())


def test_the_clean_protocol_grants_the_benchmarks_context() -> None:
    protocol = load_protocol("clean")
    assert {key: (context.before, context.current) for key, context in protocol.context.items()} == {
        "er": (3, True),
        "vp": (3, True),
        "rpp": (-1, False),
        "itp": (2, True),
        "stp": (3, False),
        "ssp": (3, False),
    }
    assert (protocol.temperature, protocol.few_shot, protocol.epochs, protocol.batching) == (0, 0, 1, 1)
    assert protocol.order_seed is None
    assert protocol.reasoning_effort is None
    assert "clean" in protocol_names()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"modalities": ["smell"]}, "modalities.0"),
        ({"judged": "perhaps"}, "judged"),
        ({"answer": "Essay"}, "answer"),
        ({"version": 1}, "version"),
        ({"surprise": 1}, "surprise"),
        ({"key": "er2"}, "key"),
        ({"metrics": []}, "metrics"),
    ],
)
def test_a_wrong_task_declaration_names_file_and_field(task_files: Path, fields: dict[str, object], field: str) -> None:
    change(task_files / "er.yaml", **fields)
    with pytest.raises(UsageError) as caught:
        load_tasks(task_files)
    assert str(task_files / "er.yaml") in str(caught.value.where)
    assert str(caught.value.where).endswith(f"field {field}")
    assert caught.value.expected
    assert caught.value.found


def test_a_missing_field_is_found_as_nothing(task_files: Path) -> None:
    declared = yaml.safe_load((task_files / "er.yaml").read_text())
    del declared["prompt"]
    (task_files / "er.yaml").write_text(yaml.safe_dump(declared))
    with pytest.raises(UsageError) as caught:
        load_tasks(task_files)
    assert caught.value.found == "nothing"


@pytest.mark.parametrize("text", ["key: [", "- a list", "", "key: \x00"])
def test_a_file_that_is_no_declaration_is_a_usage_error(task_files: Path, text: str) -> None:
    (task_files / "er.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"er\.yaml"):
        load_tasks(task_files)


def test_a_declaration_in_another_encoding_is_a_usage_error(task_files: Path) -> None:
    (task_files / "er.yaml").write_bytes(b"key: \x92")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_tasks(task_files)


def test_an_unknown_protocol_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        load_protocol("dirty")
    assert caught.value.expected == ", ".join(protocol_names())
    assert caught.value.found == "dirty"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"batching": 4}, "batching"),
        ({"retry_answer_tokens": 1024}, "(whole file)"),
        ({"template_set": "nowhere"}, "template_set"),
        ({"context": {"er": {"before": 3, "current": True}}}, "context"),
        ({"temperature": "0"}, "temperature"),
        ({"few_shot": -1}, "few_shot"),
    ],
)
def test_a_wrong_protocol_names_file_and_field(protocol_files: Path, fields: dict[str, object], field: str) -> None:
    change(protocol_files / "clean.yaml", **fields)
    with pytest.raises(UsageError) as caught:
        load_protocol("clean", protocol_files)
    assert str(caught.value.where).endswith(f"field {field}")


@pytest.mark.parametrize(("task", "current"), [("rpp", True), ("stp", True), ("ssp", True), ("itp", False)])
def test_no_protocol_can_show_the_therapists_coming_turn_or_hide_the_one_just_spoken(
    protocol_files: Path, task: str, current: bool
) -> None:
    context = yaml.safe_load((protocol_files / "clean.yaml").read_text())["context"]
    context[task]["current"] = current
    change(protocol_files / "clean.yaml", context=context)
    with pytest.raises(UsageError, match=rf"context\.{task}\.current"):
        load_protocol("clean", protocol_files)


def test_a_new_protocol_is_a_new_file(protocol_files: Path) -> None:
    shutil.copy(protocol_files / "clean.yaml", protocol_files / "long.yaml")
    change(protocol_files / "long.yaml", name="long", order_seed=7, few_shot=2, epochs=3)
    assert load_protocol("long", protocol_files).epochs == 3
    assert protocol_names(protocol_files) == ["clean", "long"]


def test_a_label_file_with_a_label_out_of_form_or_repeated_is_refused(tmp_path: Path) -> None:
    item = {"label": "Pursue-Withdraw", "definition": "d", "theory": "t"}
    good = {**item, "label": "one"}
    for name in ("relation_patterns.yaml", "support_strategies.yaml"):
        (tmp_path / name).write_text(yaml.safe_dump({"couple": [item], "family": [good]}))
    with pytest.raises(UsageError, match="pursue_withdraw"):
        load_labels(tmp_path)
    (tmp_path / "relation_patterns.yaml").write_text(yaml.safe_dump({"couple": [good, good], "family": [good]}))
    with pytest.raises(UsageError, match="labels that differ"):
        load_labels(tmp_path)


def names(task: str) -> set[str]:
    return {path.name for path in prompt_files(load_tasks()[task], load_protocol("clean"))}


def test_only_the_files_a_prompt_uses_are_hashed() -> None:
    assert names("itp") == {
        "itp.md.j2",
        "_layout.md.j2",
        "_setting.md.j2",
        "_turn.md.j2",
        "_facts.md.j2",
        "_labels.md.j2",
    }
    assert names("ssp") - names("itp") == {"ssp.md.j2", "_ranking.md.j2", "support_strategies.yaml"}
    assert "relation_patterns.yaml" in names("rpp")


def test_an_asset_version_changes_with_task_prompt_labels_and_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {task: asset_version(task) for task in TASKS}
    assert len(set(before.values())) == len(TASKS)
    copy = Path(shutil.copytree(templates.PROMPTS, tmp_path / "prompts"))
    monkeypatch.setattr(spec_module, "PROMPTS", copy)
    assert {task: asset_version(task) for task in TASKS} == before, "where the files lie does not matter"
    with (copy / "standard" / "itp.md.j2").open("a") as template:
        template.write("{# one more remark #}\n")
    assert [task for task in TASKS if asset_version(task) != before[task]] == ["itp"]
    monkeypatch.setattr(spec_module, "PARSER_VERSION", "another")
    assert [task for task in TASKS if asset_version(task) != before[task]] == list(TASKS)
