"""A tiny corpus with annotations, and leaks planted into what renders its questions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rescue_pipeline.audit.auditing import audit
from rescue_pipeline.audit.outcomes import ConditionAudit
from rescue_pipeline.llm import rendering
from rescue_pipeline.llm.workspace import Workspace
from rescue_pipeline.schemas import Annotations, check_table
from tests.llm.world import VERSION, World

Row = Any
Plant = Callable[[Row, list[Row]], str]
"""The text that a leak adds, from the instance and the turns of its session."""


def world(root: Path) -> Workspace:
    """Five sessions of twelve turns, each turn with words, cues and annotations of its own."""
    made = World()
    for turn in made.turns:
        number = turn["dialogue"].split(" ", 1)[1]
        turn["tone_of_voice"] = f"sounding like a bell, {number}"
        turn["body_posture"] = [{"person": turn["speaker"], "description": f"leaning to the left side, {number}"}]
    workspace = made.write(root)
    frame = pl.DataFrame(annotations(made), schema=Annotations.empty().schema, strict=False)
    workspace.lake.write("annotations", check_table(frame, Annotations, "annotations"), name=VERSION)
    return workspace


def annotations(made: World) -> list[dict[str, Any]]:
    """Each turn has a reason of its own; the gold of er and vp stands where annotators write it."""
    notes = [
        {**_at(turn), "field": "relation_cycle_reason", "text": f"because of what came before, {turn['dialogue']}"}
        for turn in made.turns
    ]
    for instance in made.instances:
        gold = json.loads(instance["gold"])
        if "emotion" in gold:
            notes.append({**_at(instance), "field": "internal_emotion", "text": gold["emotion"]})
        for view in gold.get("viewpoints", []):
            notes.append({**_at(instance), "field": "viewpoint", "text": view["viewpoint"]})
    return notes


def _at(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in ("corpus_version", "sample_id", "row_index")}


def audit_of(workspace: Workspace, task: str, modality: str = "dialogue", protocol: str = "clean") -> ConditionAudit:
    [one] = audit(workspace, protocol, [modality], [task])
    return one


def counts(one: ConditionAudit) -> dict[str, int]:
    """Findings by check, where there are some."""
    return {row["check_name"]: row["n_findings"] for row in one.checks if row["n_findings"] and row["blocking"]}


def plant(monkeypatch: pytest.MonkeyPatch, victim: str, leak: Plant, *, role: str = "user") -> None:
    """Let the question of one instance say more: at the end of its last, or of its system, message."""
    honest = rendering.build_messages

    def leaky(spec: Any, protocol: Any, instance: Row, session: Row, turns: Any, *more: Any, **named: Any) -> Any:
        messages = honest(spec, protocol, instance, session, turns, *more, **named)
        if instance["instance_id"] == victim:
            at = 0 if role == "system" else -1
            messages[at] = {**messages[at], "content": f"{messages[at]['content']}\n{leak(instance, list(turns))}"}
        return messages

    monkeypatch.setattr(rendering, "build_messages", leaky)
