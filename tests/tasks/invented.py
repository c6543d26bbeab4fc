"""An invented session as rows of the lake, for every test of prompts and parsers. Nobody in it exists."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

COUPLE_PARTICIPANTS = ["Orsolya", "Thibault"]
FAMILY_PARTICIPANTS = ["Wanjiru", "Kofi", "Sefa"]


class Guarded(Mapping[str, Any]):
    """A row that raises when a key is read that nobody may look at."""

    def __init__(self, row: Mapping[str, Any], forbidden: set[str]) -> None:
        self._row, self._forbidden = row, forbidden

    def __getitem__(self, key: str) -> Any:
        if key in self._forbidden:
            raise AssertionError(f"{key} was read")
        return self._row[key]

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all keys were read")

    def __len__(self) -> int:
        return len(self._row)


def session(scenario: str = "couple", participants: list[str] | None = None) -> dict[str, Any]:
    names = COUPLE_PARTICIPANTS if scenario == "couple" else FAMILY_PARTICIPANTS
    return {
        "corpus_version": "0" * 16,
        "sample_id": "invented_pair/001_secret_file",
        "scenario": scenario,
        "session_group": "secret_group",
        "participants": names if participants is None else participants,
        "n_turns": 6,
        "duration_seconds": 40.0,
        "source_path": "secret_path.json",
        "source_line": 1,
        "source_sha256": "f" * 64,
        "record_sha256": "e" * 64,
    }


def turn(row_index: int, speaker: str, target: list[str], dialogue: str, **cues: Any) -> dict[str, Any]:
    return {
        "corpus_version": "0" * 16,
        "sample_id": "invented_pair/001_secret_file",
        "row_index": row_index,
        "start_time": 6.5 * (row_index - 1),
        "end_time": 6.5 * (row_index - 1) + 4.25,
        "speaker": speaker,
        "target": target,
        "dialogue": dialogue,
        "background_dialogue": [],
        "tone_of_voice": None,
        "body_posture": [],
        "facial_expressions": [],
        "self_directed_behavior": [],
        "interaction_behavior": [],
        **cues,
    }


def turns() -> list[dict[str, Any]]:
    """Six turns: two of the therapist's (1, 5), words and cues that tempt a careless renderer."""
    return [
        turn(1, "Therapist", ["Couple"], "What happened after you came home on Tuesday?", tone_of_voice="calm"),
        turn(
            2,
            "Orsolya",
            ["Therapist"],
            'I asked him to sit with me. He said "in a minute" {and} {{then}} the minute was the whole evening.',
            tone_of_voice="tight, quickening",
            body_posture=[{"person": "Orsolya", "description": "upright, hands on her knees"}],
            interaction_behavior=[
                {"initiator": "Orsolya", "target": ["Thibault"], "description": "looks over at him and waits"}
            ],
        ),
        turn(
            3,
            "Thibault",
            ["Orsolya"],
            "I don't know what you want me to say (sighs).",
            tone_of_voice="flat",
            background_dialogue=[{"speaker": "Orsolya", "target": ["Thibault"], "content": "Anything."}],
            facial_expressions=[{"person": "Thibault", "description": "jaw set, eyes lowered"}],
            self_directed_behavior=[{"person": "Thibault", "description": "turns his ring"}],
        ),
        turn(
            4,
            "Orsolya",
            ["Thibault", "Therapist"],
            "You see? I talk to a wall, and then I am the one who nags.",
            tone_of_voice="raised, breaking at the end",
            facial_expressions=[{"person": "Orsolya", "description": "eyes fill"}],
        ),
        turn(5, "Therapist", ["Orsolya"], "LATER Can we stay with that wall for a moment?", tone_of_voice="LATER soft"),
        turn(6, "Orsolya", ["Therapist"], "LATER It is lonely in front of it.", tone_of_voice="LATER quiet"),
    ]


GOLD = {
    "er": {"emotion": "GOLDEN loneliness under anger", "intensity": 7},
    "vp": {
        "viewpoints": [
            {"source": "Orsolya", "target": "Thibault", "viewpoint": "GOLDEN he shuts her out", "attitude": "bitter"}
        ]
    },
    "rpp": {"relation_pattern": "pursue_withdraw"},
    "itp": {"should_speak": "yes"},
    "stp": {"target": "Orsolya"},
    "ssp": {"strategy": "evoke", "target": "Orsolya"},
}


def instance(task: str, row_index: int | None = None, **changes: Any) -> dict[str, Any]:
    """The question about turn 4 (er, vp, itp) or about the therapist's turn 5."""
    upcoming = task in ("rpp", "stp", "ssp")
    return {
        "corpus_version": "0" * 16,
        "instance_id": f"{task}:invented_pair/001_secret_file:{row_index or (5 if upcoming else 4)}",
        "task": task,
        "scenario": "couple",
        "sample_id": "invented_pair/001_secret_file",
        "session_group": "secret_group",
        "row_index": row_index or (5 if upcoming else 4),
        "position": 0.8,
        "speaker": "Therapist" if upcoming else "Orsolya",
        "gold": json.dumps(GOLD[task]),
        "candidates": [*COUPLE_PARTICIPANTS, "Couple"] if task == "stp" else None,
        "support_target": "Orsolya" if task == "ssp" else None,
        **changes,
    }
