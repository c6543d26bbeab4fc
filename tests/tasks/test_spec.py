from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from rescue_pipeline.errors import UsageError
from rescue_pipeline.schemas import JUDGED_TASKS, TASKS
from rescue_pipeline.schemas.predictions import MODALITIES
from rescue_pipeline.tasks import protocol as protocol_module
from rescue_pipeline.tasks import spec as spec_module
from rescue_pipeline.tasks import templates
from rescue_pipeline.tasks.judging import SCALES
from rescue_pipeline.tasks.labels import load_labels
from rescue_pipeline.tasks.protocol import protocol_files as protocol_file_chain
from rescue_pipeline.tasks.spec import (
    PROTOCOL_FILES,
    TASK_FILES,
    asset_version,
    load_protocol,
    load_tasks,
    prompt_files,
    protocol_names,
    question_version,
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
    assert (protocol.temperature, protocol.few_shot, protocol.epochs) == (0, 0, 1)
    assert set(protocol.batching.values()) == {1}
    assert (protocol.leaks, protocol.renamed, protocol.asks_lists) == ((), False, False)
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
        ({"batching": {"er": 0}}, "batching.er"),
        ({"batching": {"er": "some"}}, "batching.er"),
        ({"batching": {"er": True}}, "batching.er"),
        ({"batching": {"mood": 1}}, "batching"),
        ({"batching": {"er": 5}}, "leaks"),
        ({"batching": {"er": 5}, "leaks": ["shared_requests"]}, "template_set"),
        ({"leaks": ["shared_requests"]}, "leaks"),
        ({"leaks": ["ids"]}, "leaks"),
        ({"leaks": ["answers"]}, "leaks.0"),
        ({"template_set": "official", "few_shot": 1}, "few_shot"),
        ({"template_set": "official", "leaks": ["ids"], "renamed": True}, "renamed"),
        ({"reasoning_tokens": -1}, "reasoning_tokens"),
        ({"renamed": "yes"}, "renamed"),
        ({"retry_answer_tokens": 1024}, "(whole file)"),
        ({"template_set": "nowhere"}, "template_set"),
        ({"context": {"er": {"before": 3, "current": True}}}, "context"),
        ({"temperature": "0"}, "temperature"),
        ({"few_shot": -1}, "few_shot"),
    ],
)
def test_a_wrong_protocol_names_file_and_field(protocol_files: Path, fields: dict[str, object], field: str) -> None:
    if isinstance(batching := fields.get("batching"), dict):
        fields = {
            **fields,
            "batching": {**yaml.safe_load((protocol_files / "clean.yaml").read_text())["batching"], **batching},
        }
    change(protocol_files / "clean.yaml", **fields)
    with pytest.raises(UsageError) as caught:
        load_protocol("clean", protocol_files)
    assert str(caught.value.where).endswith(f"field {field}")
    assert caught.value.expected
    assert caught.value.found


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
    assert "long" in protocol_names(protocol_files)


def based_on(folder: Path, name: str, **fields: object) -> None:
    declared = {"name": name, "description": "made", "based_on": "clean", **fields}
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(declared))


def test_a_protocol_states_only_what_differs_from_the_one_it_is_based_on(protocol_files: Path) -> None:
    based_on(protocol_files, "one", context={"er": {"before": 7}}, epochs=2)
    based_on(protocol_files, "two", based_on="one", epochs=4)
    clean, two = load_protocol("clean"), load_protocol("two", protocol_files)
    assert (two.epochs, two.context["er"].before, two.context["er"].current) == (4, 7, True)
    assert {key: context for key, context in two.context.items() if key != "er"} == {
        key: context for key, context in clean.context.items() if key != "er"
    }
    assert [path.stem for path in protocol_file_chain("two", protocol_files)] == ["two", "one", "clean"]


@pytest.mark.parametrize("base", ["nowhere", "mine", "yours", ["clean"]])
def test_a_protocol_cannot_be_based_on_itself_or_on_what_is_not_there(protocol_files: Path, base: object) -> None:
    based_on(protocol_files, "mine", based_on=base)
    based_on(protocol_files, "yours", based_on="mine")
    with pytest.raises(UsageError, match="field based_on"):
        load_protocol("mine", protocol_files)


def test_name_and_description_are_never_taken_from_another_file(protocol_files: Path) -> None:
    (protocol_files / "mine.yaml").write_text("based_on: clean\nname: mine\n")
    with pytest.raises(UsageError, match="field description"):
        load_protocol("mine", protocol_files)


DIFFERENCES = {
    "official": {"template_set", "batching", "leaks"},
    "context-0": {"context"},
    "context-10": {"context"},
    "context-all": {"context"},
    "wording-b": {"template_set"},
    "wording-c": {"template_set"},
    "epochs-3": {"epochs"},
    "few-shot-3": {"few_shot"},
    "renamed": {"renamed"},
}


def test_every_shipped_protocol_differs_from_clean_in_what_its_name_says_and_nothing_else() -> None:
    assert set(protocol_names()) == {"clean", *DIFFERENCES}
    clean = load_protocol("clean").model_dump()
    for name, fields in DIFFERENCES.items():
        other = load_protocol(name).model_dump()
        assert {field for field in clean if clean[field] != other[field]} - {
            "name",
            "description",
            "based_on",
        } == fields


def test_official_sends_as_many_questions_a_request_as_the_public_scripts() -> None:
    official = load_protocol("official")
    assert official.batching == {"er": 5, "vp": "session", "rpp": 3, "itp": 4, "stp": 3, "ssp": 3}
    assert official.leaks == ("ids", "shared_requests", "gold_example")
    assert official.context == load_protocol("clean").context


@pytest.mark.parametrize(("name", "before"), [("context-0", 0), ("context-10", 10), ("context-all", -1)])
def test_a_context_protocol_shows_so_many_turns_and_itp_counts_the_one_just_spoken(name: str, before: int) -> None:
    for task, context in load_protocol(name).context.items():
        assert context.before == (9 if (task, before) == ("itp", 10) else before)
        assert context.current == load_protocol("clean").context[task].current


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
    monkeypatch.setattr(protocol_module, "PROMPTS", copy)
    assert {task: asset_version(task) for task in TASKS} == before, "where the files lie does not matter"
    for name in ("official", "wording-b", "wording-c"):
        with (copy / name / "er.md.j2").open("a") as template:
            template.write("{# a remark #}\n")
        assert [task for task in TASKS if asset_version(task) != before[task]] == ["er"], name
        before["er"] = asset_version("er")
    with (copy / "standard" / "itp.md.j2").open("a") as template:
        template.write("{# one more remark #}\n")
    assert [task for task in TASKS if asset_version(task) != before[task]] == ["itp"]
    monkeypatch.setattr(spec_module, "PARSER_VERSION", "another")
    assert [task for task in TASKS if asset_version(task) != before[task]] == list(TASKS)


def test_the_version_of_a_protocols_questions_covers_its_base_and_its_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len({question_version("er", name) for name in protocol_names()}) == len(protocol_names())
    before = {name: question_version("er", name) for name in ("clean", "renamed", "context-0")}
    names = tmp_path / "names.yaml"
    names.write_text(spec_module.NAME_FILE.read_text() + "# changed\n")
    with monkeypatch.context() as patched:
        patched.setattr(spec_module, "NAME_FILE", names)
        assert {name for name in before if question_version("er", name) != before[name]} == {"renamed"}
    base = Path(shutil.copytree(PROTOCOL_FILES, tmp_path / "protocols"))
    with (base / "clean.yaml").open("a") as file:
        file.write("# changed\n")
    monkeypatch.setattr(spec_module, "protocol_files", lambda name: protocol_file_chain(name, base))
    assert {name for name in before if question_version("er", name) != before[name]} == set(before)


def test_the_documentation_describes_every_protocol_as_its_file_does() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "protocols.md").read_text(encoding="utf-8")
    for name in protocol_names():
        assert f"| `{name}` | {load_protocol(name).description} |" in docs
    fields = set(type(load_protocol("clean")).model_fields) - {"name", "description"}
    assert not [field for field in fields if f"`{field}`" not in docs]


def test_the_documented_protocol_is_valid(protocol_files: Path) -> None:
    docs = (Path(__file__).parents[2] / "docs" / "protocols.md").read_text(encoding="utf-8")
    example = docs.split("```yaml\n")[1].split("```")[0]
    (protocol_files / "context-20.yaml").write_text(example)
    protocol = load_protocol("context-20", protocol_files)
    assert (protocol.context["er"].before, protocol.context["vp"].before) == (20, 3)


def test_each_leak_can_be_asked_alone(protocol_files: Path) -> None:
    one = dict.fromkeys(TASKS, 1)
    for name, leaks, batching in (("ids", ["ids"], one), ("shared", ["shared_requests"], {}), ("none", [], one)):
        based_on(protocol_files, name, based_on="official", leaks=leaks, batching=batching)
        assert load_protocol(name, protocol_files).leaks == tuple(leaks)
