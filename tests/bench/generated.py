"""A corpus of any size with the demo corpus's shape: its sessions again and again, under new names and numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from rescue_pipeline.bundle import DEMO_CORPUS

RELEASED_SESSIONS = 191
TURNS_PER_SESSION = 37
"""The released corpus has 7,079 turns in 191 sessions."""


def _demo_sessions() -> list[dict[str, Any]]:
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(DEMO_CORPUS.rglob("*.json"))]


def _lengthened(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    shift = rows[-1]["end_time"]
    longer = islice(
        (
            {**row, "start_time": row["start_time"] + lap * shift, "end_time": row["end_time"] + lap * shift}
            for lap in range(3)
            for row in rows
        ),
        TURNS_PER_SESSION,
    )
    return [{**row, "row_index": index} for index, row in enumerate(longer, start=1)]


def sessions(n: int) -> Iterator[dict[str, Any]]:
    """n session records; every record its own session group but for every third, which recurs."""
    for number, session in enumerate(islice(cycle(_demo_sessions()), n)):
        group = number - number % 3 % 2
        names = session["sample_id"].split("/")[0]
        sample_id = (
            f"family_therapy/{group + 1000}/part{number}"
            if session["scenario"] == "family"
            else f"{names}_and_n{group}/{number:06d}_s01e01_ct01_segment01"
        )
        yield {**session, "sample_id": sample_id, "rows": _lengthened(session["rows"])}


def write_corpus(file: Path, n_sessions: int) -> int:
    """Write a JSONL corpus; returns its number of turns."""
    turns = 0
    with file.open("w", encoding="utf-8") as out:
        for session in sessions(n_sessions):
            turns += len(session["rows"])
            out.write(json.dumps(session, ensure_ascii=False) + "\n")
    return turns
