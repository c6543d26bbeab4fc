"""The plan: written before asking, nested, never shrinking; and what makes a request the same request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm import Partition, Workspace, rendering
from rescue_pipeline.llm.exchange import Request
from rescue_pipeline.llm.identity import request_id
from rescue_pipeline.llm.planning import Renderer, select, write_plan
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.schemas import TASKS, Plan
from tests.llm.world import World

UNIFORM = Partition("uniform", "dialogue")
ENTRY = ModelEntry(id="made", litellm="openai/made", api_base="http://127.0.0.1:1/v1", structured_output="json_schema")
REQUEST = Request([{"role": "user", "content": "a"}], {"temperature": 0}, schema={"type": "object"})


def plan_of(workspace: Workspace) -> pl.DataFrame:
    return workspace.lake.read("plan", Plan)


def test_every_instance_is_planned_once_before_anything_is_asked(workspace: Workspace) -> None:
    summary = write_plan(workspace, UNIFORM, TASKS)
    plan = plan_of(workspace)
    assert summary.planned == summary.selected == plan.height == len(workspace.corpus.instances)
    assert plan["instance_id"].n_unique() == plan["request_id"].n_unique() == plan.height
    assert len(workspace.lake.files("plan")) == len(TASKS)
    assert not workspace.lake.files("responses_er")


def test_a_smaller_limit_is_part_of_a_larger_one(workspace: Workspace) -> None:
    instances = workspace.corpus.of_task("itp")
    small, large = ({row["instance_id"] for row in select(instances, n)} for n in (4, 9))
    assert len(small) == 4
    assert small < large
    assert select(instances, 10_000) == instances


def test_a_smaller_limit_never_shrinks_a_plan(workspace: Workspace) -> None:
    write_plan(workspace, UNIFORM, ["itp"], 9)
    before = plan_of(workspace)
    summary = write_plan(workspace, UNIFORM, ["itp"], 4)
    assert (summary.planned, summary.selected) == (9, 4)
    assert plan_of(workspace).equals(before)


def test_an_unchanged_plan_is_not_written_again(workspace: Workspace) -> None:
    write_plan(workspace, UNIFORM, ["itp"])
    files = sorted(Path(workspace.lake.root).glob("plan/**/*.parquet"))
    stamps = [file.stat().st_mtime_ns for file in files]
    write_plan(workspace, UNIFORM, ["itp"])
    assert [file.stat().st_mtime_ns for file in files] == stamps


def test_a_changed_prompt_replaces_that_tasks_plan_only(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plan(workspace, UNIFORM, ["itp", "er"], 6)
    before = plan_of(workspace)
    original: Callable[..., list[dict[str, str]]] = rendering.build_messages

    def reworded(spec: Any, *rest: Any, **more: Any) -> list[dict[str, str]]:
        messages = original(spec, *rest, **more)
        return [{**messages[0], "content": "reworded"}, *messages[1:]] if spec.key == "itp" else messages

    monkeypatch.setattr(rendering, "build_messages", reworded)
    write_plan(replace(workspace), UNIFORM, ["itp", "er"], 3)  # a later run: nothing rendered before is at hand
    after = plan_of(workspace)
    joined = before.join(after, on="instance_id", suffix="_after")
    same = joined["request_id"] == joined["request_id_after"]
    assert after.height == before.height
    assert joined.filter(same)["task"].unique().to_list() == ["er"]
    assert joined.filter(~same)["task"].unique().to_list() == ["itp"]


def test_no_message_names_the_instance(workspace: Workspace) -> None:
    renderer = Renderer(workspace, UNIFORM)
    for instance in workspace.corpus.instances.values():
        text = " ".join(message["content"] for message in renderer.request(instance).messages)
        for hidden in (instance["instance_id"], instance["sample_id"], instance["session_group"]):
            assert hidden not in text


@pytest.mark.parametrize(
    ("entry", "request_", "more"),
    [
        (replace_entry, request_, more)
        for replace_entry, request_, more in [
            ({"api_base": "http://127.0.0.1:2/v1"}, {}, {}),
            ({"litellm": "openai/other"}, {}, {}),
            ({"structured_output": "none"}, {}, {}),
            ({}, {"parameters": {"temperature": 1}}, {}),
            ({}, {"parameters": {"temperature": 0, "num_ctx": 8192}}, {}),
            ({}, {"parameters": {"temperature": 0, "extra_body": {"top_k": 1}}}, {}),
            ({}, {"messages": [{"role": "user", "content": "b"}]}, {}),
            ({}, {"schema": {"type": "array"}}, {}),
            ({}, {}, {"generation": 2}),
            ({}, {}, {"epoch": "2"}),
        ]
    ],
)
def test_every_part_of_a_request_is_part_of_its_identity(
    entry: dict[str, Any], request_: dict[str, Any], more: dict[str, Any]
) -> None:
    known = {"generation": 1, "epoch": "1"}
    before = request_id(ENTRY, REQUEST, **known)  # type: ignore[arg-type]
    after = request_id(ENTRY.model_copy(update=entry), replace(REQUEST, **request_), **{**known, **more})
    assert before != after


def test_what_changes_no_request_changes_no_identity() -> None:
    known: dict[str, Any] = {"generation": 1, "epoch": "1"}
    other = ENTRY.model_copy(update={"enabled": True, "vendor": "x", "judge": True})
    told = replace(REQUEST, metadata={"instance_id": "er:x:1"}, retry_tokens=9)
    assert request_id(other, told, **known) == request_id(ENTRY, REQUEST, **known)


@pytest.mark.parametrize(
    ("partition", "tasks", "limit"),
    [
        (Partition("nobody", "dialogue"), ["er"], None),
        (Partition("lexical-judge", "dialogue"), ["er"], None),
        (Partition("uniform", "smell"), ["er"], None),
        (Partition("uniform", "dialogue", "loud"), ["er"], None),
        (Partition("uniform", "dialogue", "imported"), ["er"], None),
        (UNIFORM, ["mood"], None),
        (UNIFORM, ["er"], 0),
    ],
)
def test_unknown_names_are_usage_errors(
    workspace: Workspace, partition: Partition, tasks: list[str], limit: int | None
) -> None:
    with pytest.raises(UsageError):
        write_plan(workspace, partition, tasks, limit)


def test_a_baselines_generation_changes_with_the_gold_and_comes_back_with_it(tmp_path: Path) -> None:
    world = World()
    original = world.write(tmp_path)
    changed = World()
    changed.instances[0]["gold"] = (
        '{"should_speak": "no"}' if "yes" in world.instances[0]["gold"] else '{"should_speak": "yes"}'
    )
    generations = [Renderer(original, UNIFORM).generation, Renderer(changed.write(tmp_path), UNIFORM).generation]
    generations.append(Renderer(world.write(tmp_path), UNIFORM).generation)
    assert generations == [1, 2, 1]
