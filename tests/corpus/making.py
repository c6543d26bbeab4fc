"""Small invented corpora: records as dictionaries, files written from them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb


def row(number: int, /, **changes: Any) -> dict[str, Any]:
    """A turn of one second; odd ones are Uma's, even ones the therapist's."""
    is_therapist = number % 2 == 0
    return {
        "start_time": float(number),
        "end_time": number + 0.9,
        "primary_speaker": "Therapist" if is_therapist else "Uma",
        "target": ["Uma"] if is_therapist else ["Vik"],
        "dialogue_cleaned": f"the {number}th thing somebody said",
        "row_index": number,
        **changes,
    }


def record(sample_id: str | None = "uma_and_vik/001", rows: Any = None, **changes: Any) -> dict[str, Any]:
    """A couple's session of three turns; a change to None leaves the key out."""
    made = {
        "sample_id": sample_id,
        "scenario": "couple",
        "participants": ["Uma", "Vik"],
        "rows": [row(1), row(2), row(3)] if rows is None else rows,
        **changes,
    }
    return {key: value for key, value in made.items() if value is not None}


def jsonl(records: Iterable[Any]) -> str:
    """A string is taken as a line of its own, for lines that are no JSON."""
    return "".join((item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)) + "\n" for item in records)


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def everything(connection: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[Any, ...]]]:
    """All that raw.* holds."""
    tables = connection.execute("select table_name from duckdb_tables() where schema_name = 'raw'").fetchall()
    return {name: connection.execute(f"select * from raw.{name}").fetchall() for (name,) in sorted(tables)}


def column(connection: duckdb.DuckDBPyConnection, query: str) -> list[Any]:
    return [found[0] for found in connection.execute(query).fetchall()]
