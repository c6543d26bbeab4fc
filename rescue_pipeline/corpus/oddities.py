"""What is odd about a turn or a cue but accepted: it is stored unaltered and flagged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

LONG_TURN_CHARACTERS = 10_000

FLAGS = {
    "time_goes_back": "starts before the turn before it",
    "overlaps_previous": "starts before an earlier turn has ended",
    "ends_before_start": "ends before it starts",
    "no_time": "has no start or no end",
    "empty_target": "is addressed to nobody",
    "empty_dialogue": "has no words",
    "long_turn": f"is longer than {LONG_TURN_CHARACTERS:,} characters",
    "mojibake": "holds text that was decoded wrongly before it came here",
    "moved": "stood at another place in the file than its row_index says",
    "declared_encoding": "was not UTF-8 and was read in the declared encoding",
}

# UTF-8 read as cp1252 or latin-1, and characters already lost
_MOJIBAKE = re.compile("â[\u0080-\u009f€]|Ã[\u0080-\u00bf\u0192\u201a-\u2122]|Â[\u0080-\u00bf]|\ufffd")


class Oddities:
    """What is odd about each turn or cue of one session; to be asked in order."""

    def __init__(self, extra: tuple[str, ...] = (), *, may_hold_mojibake: bool = True) -> None:
        """extra: flags that every turn gets. may_hold_mojibake: False saves looking for it."""
        self.extra, self.may_hold_mojibake = extra, may_hold_mojibake
        self.last_start = self.last_end = 0.0

    def of_turn(self, turn: dict[str, Any], *, moved: bool) -> list[str]:
        words = turn["dialogue_cleaned"] or ""
        return self._all(
            turn,
            self._of_time(turn.get("start_time"), turn.get("end_time")),
            empty_target=not any(name.strip() for name in turn.get("target") or []),
            empty_dialogue=not words.strip(),
            long_turn=len(words) > LONG_TURN_CHARACTERS,
            moved=moved,
        )

    def of_cue(self, start: float, end: float, text: str) -> list[str]:
        return self._all(
            text, self._of_time(start, end), ends_before_start=end < start, empty_dialogue=not text.strip()
        )

    def _all(self, content: Any, of_time: list[str], **found: bool) -> list[str]:
        broken = self.may_hold_mojibake and any(map(_MOJIBAKE.search, _texts(content)))
        return [
            *of_time,
            *(flag for flag, is_so in found.items() if is_so),
            *(["mojibake"] if broken else []),
            *self.extra,
        ]

    def _of_time(self, start: float | None, end: float | None) -> list[str]:
        if start is None or end is None:
            return ["no_time"]
        goes_back, overlaps = start < self.last_start, start < self.last_end
        self.last_start, self.last_end = start, max(self.last_end, end)
        return ["time_goes_back"] if goes_back else ["overlaps_previous"] if overlaps else []


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
