"""A tiny corpus in a lake of its own: sessions, turns and questions of all six tasks, made by rule, all invented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.registry import ModelEntry, Registry, load_registry
from rescue_pipeline.llm.workspace import Workspace
from rescue_pipeline.schemas import LAKE_TABLES, Instances, Sessions, Turns, check_table
from rescue_pipeline.tasks.labels import load_labels

VERSION = "0123456789abcdef"
COUPLES = ("ana_and_bo", "cem_and_dee", "eva_and_fin")
FAMILIES = ("family_therapy/901", "family_therapy/902")
N_TURNS = 12
WORDS = ("kettle", "garden", "ladder", "violin", "harbour", "pepper", "lantern", "meadow")


class World:
    """Rows of the three tables; edit them, then `write`."""

    def __init__(self, groups: tuple[str, ...] = COUPLES + FAMILIES, sessions_per_group: int = 1) -> None:
        self.sessions: list[dict[str, Any]] = []
        self.turns: list[dict[str, Any]] = []
        self.instances: list[dict[str, Any]] = []
        for number, group in enumerate(groups):
            for part in range(sessions_per_group):
                self._session(group, f"{group}/{part:03}", number * 10 + part)

    def _session(self, group: str, sample_id: str, number: int) -> None:
        scenario = "family" if group.startswith("family") else "couple"
        people = ["Mia", "Noa", "Pau"] if scenario == "family" else [name.title() for name in group.split("_and_")]
        self.sessions.append(
            {
                "corpus_version": VERSION,
                "sample_id": sample_id,
                "scenario": scenario,
                "session_group": group,
                "participants": people,
                "n_turns": N_TURNS,
                "duration_seconds": 60.0,
                "source_path": "made.jsonl",
                "source_line": number + 1,
                "source_sha256": "0" * 64,
                "record_sha256": "1" * 64,
            }
        )
        for row in range(1, N_TURNS + 1):
            speaker = "Therapist" if row % 3 == 0 else people[(row + number) % len(people)]
            self.turns.append(
                _turn(sample_id, row, speaker, f"{WORDS[(row * 3 + number) % 8]} number {row} of {number}")
            )
        for row in range(3, N_TURNS, 3):
            self._questions(sample_id, scenario, group, people, row, number)

    def _questions(self, sample_id: str, scenario: str, group: str, people: list[str], row: int, number: int) -> None:
        labels, client = load_labels(), people[(row - 1 + number) % len(people)]
        patterns, strategies = labels.names("relation_pattern", scenario), labels.names("support_strategy", scenario)
        everyone = [*people, scenario.title()]
        other = next(name for name in people if name != client)
        felt = {"emotion": f"{WORDS[row % 8]} and {WORDS[number % 8]}", "intensity": row % 11}
        view = {"source": client, "target": other, "viewpoint": f"about {WORDS[row % 8]}", "attitude": "so"}
        gold: dict[str, tuple[int, str, dict[str, Any], list[str] | None, str | None]] = {
            "itp": (row - 1, client, {"should_speak": "yes" if row % 2 else "no"}, None, None),
            "rpp": (row, "Therapist", {"relation_pattern": patterns[(row + number) % len(patterns)]}, patterns, None),
            "stp": (row, "Therapist", {"target": everyone[(row // 3) % len(everyone)]}, everyone, None),
            "ssp": (row, "Therapist", {"strategy": strategies[number % 3], "target": client}, strategies, client),
            "er": (row - 1, client, felt, None, None),
            "vp": (row - 1, client, {"viewpoints": [view]}, None, None),
        }
        for task, (at, speaker, answer, candidates, target) in gold.items():
            self.instances.append(
                {
                    "corpus_version": VERSION,
                    "instance_id": f"{task}:{sample_id}:{at}",
                    "task": task,
                    "scenario": scenario,
                    "sample_id": sample_id,
                    "session_group": group,
                    "row_index": at,
                    "position": (at - 1) / (N_TURNS - 1),
                    "speaker": speaker,
                    "gold": json.dumps(answer),
                    "candidates": candidates,
                    "support_target": target,
                }
            )

    def write(self, root: Path, registry: Registry | None = None) -> Workspace:
        datadir = DataDirectory(root).create()
        datadir.claim("made", {"path": "made.jsonl", "data_class": "demo"})
        lake = Lake(str(root / "lake"))
        lake.declare(LAKE_TABLES)
        for name, rows, schema in (
            ("sessions", self.sessions, Sessions),
            ("turns", self.turns, Turns),
            ("instances", self.instances, Instances),
        ):
            frame = pl.DataFrame(rows, schema=schema.empty().schema, strict=False)
            lake.write(name, check_table(frame, schema, name), name=VERSION)
        return Workspace(datadir, lake, registry or load_registry(), "made", VERSION)


def _turn(sample_id: str, row: int, speaker: str, words: str) -> dict[str, Any]:
    return {
        "corpus_version": VERSION,
        "sample_id": sample_id,
        "row_index": row,
        "start_time": 5.0 * row,
        "end_time": 5.0 * row + 4,
        "speaker": speaker,
        "target": ["Therapist"],
        "dialogue": words,
        "background_dialogue": [],
        "tone_of_voice": f"tone {WORDS[row % 8]}",
        "body_posture": [],
        "facial_expressions": [],
        "self_directed_behavior": [],
        "interaction_behavior": [],
    }


def with_models(*entries: dict[str, Any]) -> Registry:
    """The shipped registry and these entries."""
    models = dict(load_registry().models)
    models.update({str(entry["id"]): ModelEntry.model_validate(entry) for entry in entries})
    return Registry(models)
