"""One record of a corpus: its shape, what breaks it, what is derived when missing, and what is only flagged.

Real annotations hold oddities (three partners in a couple, overlapping times, empty targets). They are accepted; the
turn that has one says so in `flags`. Wrong types, an unknown scenario, rows that are not numbered 1..n break a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from rescue_pipeline.corpus.oddities import Oddities
from rescue_pipeline.corpus.record_shape import RECORD
from rescue_pipeline.corpus.rejects import InvalidRecord, from_validation, json_type, short_code
from rescue_pipeline.tasks.people import GROUPS, THERAPIST, distinct

SCENARIOS = ("couple", "family")
SPECIAL_NAMES = {THERAPIST, *GROUPS.values()}
FAMILY_PREFIX = "family_therapy/"


@dataclass(frozen=True)
class Record:
    """One accepted record: a row for raw.samples and its rows for raw.turns, by row_index."""

    sample: dict[str, Any]
    turns: list[dict[str, Any]]

    @property
    def sample_id(self) -> str:
        return str(self.sample["sample_id"])

    @property
    def names(self) -> set[str]:
        """Everybody who may stand before a colon in the session's transcript."""
        return {*self.sample["participants"], *(turn["primary_speaker"] for turn in self.turns), *SPECIAL_NAMES}


def parse_record(text: str, *, path_id: str | None = None, extra_flags: tuple[str, ...] = ()) -> Record:
    """Read one record. `path_id` names it when it does not name itself. Raises InvalidRecord."""
    try:
        raw: Any = RECORD.validate_json(text)
    except ValidationError as error:
        raise from_validation(error, _named(text)) from None
    sample_id = _sample_id(raw, path_id)
    try:
        turns = _in_order(raw["rows"])
        _check_times(turns)
        scenario = _scenario(raw, sample_id)
        participants, declared = _participants(raw.get("participants"), turns)
    except InvalidRecord as error:
        error.record = sample_id
        raise
    oddities = Oddities(extra_flags, may_hold_mojibake=not text.isascii() or "\\u" in text)
    for turn, in_file in zip(turns, raw["rows"], strict=True):
        turn["present_keys"], turn["flags"] = list(turn), oddities.of_turn(turn, moved=turn is not in_file)
        turn["sample_id"] = sample_id
    sample = {
        "sample_id": sample_id,
        "scenario": scenario,
        "scenario_declared": raw.get("scenario"),
        "participants": participants,
        "participants_declared": declared,
        "record_source_file": raw.get("source_file"),
        "n_rows": len(turns),
        "present_keys": list(raw),
    }
    return Record(sample, turns)


def _named(text: str) -> str | None:
    """The id of a record that failed validation, if it says one."""
    try:
        raw = from_json(text)
    except ValueError:
        return None
    name = raw.get("sample_id") if isinstance(raw, dict) else None
    return name[:200] if isinstance(name, str) else None


def _sample_id(raw: dict[str, Any], path_id: str | None) -> str:
    name = raw.get("sample_id")
    if name is None:
        name = path_id
    if name is None:
        raise InvalidRecord(
            "a record in a JSONL file must name itself", field="sample_id", expected="text", found="nothing"
        )
    if not name.strip() or name != name.strip() or len(name) > 300 or not name.isprintable():
        raise InvalidRecord(
            "this cannot be a sample id",
            field="sample_id",
            expected="1 to 300 printable characters without blanks around them",
            found="text of 0 characters" if not name else f"text of {len(name)} characters",
        )
    return str(name)


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows by row_index, which must be 1..n; times never decide the order."""
    if not rows:
        raise InvalidRecord("a session without rows", field="rows", expected="at least one row", found="an empty list")
    numbers = [row["row_index"] for row in rows]
    if sorted(numbers) != list(range(1, len(rows) + 1)):
        wrong = next(place for place, number in enumerate(sorted(numbers), start=1) if number != place)
        raise InvalidRecord(
            "the rows are not numbered 1 to n, each once",
            field="rows[].row_index",
            expected=f"1 to {len(rows)}, each once",
            found=f"{sorted(numbers)[wrong - 1]} where {wrong} should be",
        )
    return sorted(rows, key=lambda row: int(row["row_index"]))


def _check_times(turns: list[dict[str, Any]]) -> None:
    for turn in turns:
        start, end = turn.get("start_time"), turn.get("end_time")
        if start is not None and start < 0:
            raise _wrong_time(turn, "start_time", "0 seconds or later", "a negative time")
        if start is not None and end is not None and end < start:
            raise _wrong_time(turn, "end_time", "a time at or after start_time", "an earlier time")


def _wrong_time(turn: dict[str, Any], field: str, expected: str, found: str) -> InvalidRecord:
    place = f"rows with row_index {turn['row_index']}: {field}"
    return InvalidRecord("a turn's times are impossible", field=place, expected=expected, found=found)


def _scenario(raw: dict[str, Any], sample_id: str) -> str:
    declared = raw.get("scenario")
    if declared is None:
        named = any("Family" in (row["primary_speaker"], *(row.get("target") or [])) for row in raw["rows"])
        return "family" if named or sample_id.startswith(FAMILY_PREFIX) else "couple"
    if declared not in SCENARIOS:
        raise InvalidRecord(
            "unknown scenario", field="scenario", expected=" or ".join(SCENARIOS), found=short_code(declared)
        )
    return str(declared)


def _participants(declared: list[str] | None, turns: list[dict[str, Any]]) -> tuple[list[str], bool]:
    """The declared participants, else everybody named in the turns but the therapist and the groups, as they appear."""
    named = distinct(name for name in declared or () if name.strip())
    names = named or distinct(name for name in _named_in(turns) if name not in SPECIAL_NAMES and name.strip())
    if not names or (declared and not named):
        raise InvalidRecord(
            "nobody takes part",
            field="participants",
            expected="at least one name besides the therapist's",
            found="no names" if declared else json_type(declared),
        )
    return names, bool(declared)


def _named_in(turns: list[dict[str, Any]]) -> Iterator[str]:
    for turn in turns:
        yield turn["primary_speaker"]
        yield from turn.get("target") or []
        for support in turn.get("support_strategy") or []:
            yield from support.get("target") or []
