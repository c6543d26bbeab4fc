"""Explaining a text: which parts of it are none of the pieces that it may be made of?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

_ENOUGH = 12
"""Characters that must be explained in a row before a text counts as understood again."""
_STARTS = re.compile(r"\b\w|[^\w\s]")
_BLANK = re.compile(r"\s+")
_JSON_SIGNS = frozenset('{}[],:"')


class Pieces:
    """Texts that may stand in a message as a whole. bounded: never as a part of a longer word."""

    def __init__(self, texts: Iterable[str], *, bounded: bool = True) -> None:
        self.bounded = bounded
        by_first: dict[str, set[str]] = defaultdict(set)
        for text in texts:
            if stripped := text.strip():
                by_first[stripped[0]].add(stripped)
        self._by_first = {first: sorted(pieces, key=len) for first, pieces in by_first.items()}

    def ends(self, text: str, at: int) -> Iterator[int]:
        """Where the pieces that stand at this position end, the shortest first."""
        pieces = self._by_first.get(text[at])
        if pieces is None or (self.bounded and _inside_a_word(text, at)):
            return
        for piece in pieces:
            if text.startswith(piece, at):
                end = at + len(piece)
                if not self.bounded or not _inside_a_word(text, end):
                    yield end


def unexplained(text: str, layers: Sequence[Pieces]) -> list[tuple[int, int]]:
    """The parts (start, end) of `text` that are no sequence of pieces; white space and JSON's signs need no reason."""
    gaps = []
    at = 0
    while (reached := reach(text, at, layers)) < len(text):
        at = _understood_again(text, reached, layers)
        gaps.append((reached, at))
    return gaps


def reach(text: str, start: int, layers: Sequence[Pieces]) -> int:
    """How far `text` can be read as pieces from `start`."""
    seen: set[int] = set()
    waiting, furthest = [start], start
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        furthest = max(furthest, at)
        if at == len(text):
            break
        if blank := _BLANK.match(text, at):
            waiting.append(blank.end())
            continue  # no piece begins with a blank
        if text[at] in _JSON_SIGNS:
            waiting.append(at + 1)
        for pieces in layers:
            waiting.extend(pieces.ends(text, at))
    return furthest


def _understood_again(text: str, failed: int, layers: Sequence[Pieces]) -> int:
    for start in _STARTS.finditer(text, failed + 1):
        at = start.start()
        line_end = text.find("\n", at)
        enough = min(at + _ENOUGH, line_end if line_end >= 0 else len(text))
        if reach(text, at, layers) >= enough:
            return at
    return len(text)


def _inside_a_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and _is_word(text[at - 1]) and _is_word(text[at])


def _is_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
