"""What the audit reports: its checks, and findings, which name instance and place and quote only our own templates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

BLOCKING = {
    "gold": "the gold answer is written, marked or betrayed by the order of the options",
    "ids": "ids, file names, hashes, or names and fields made of them",
    "fields": "annotations that the modality does not grant",
    "later_turns": "turns after the decision, or the very turn to be predicted",
    "shared_requests": "turns that belong to other questions or other sessions",
    "gold_example": "worked examples from where the answer comes from",
    "unexplained": "text that is neither template, label, fact nor granted part of a turn",
    "controls": "leaks planted by the audit itself that it must see",
}
WARNING = {"structure": "lengths, counts, positions and order that predict the gold"}
CHECKS = {**BLOCKING, **WARNING}

_QUOTED_WORDS = 5


@dataclass(frozen=True)
class Finding:
    """One leak: which check saw it, in which question, where in the request, and what it is in our own words."""

    check: str
    instance_id: str
    place: str
    found: str


def place(role: str, text: str, offset: int, literals: Iterable[str]) -> str:
    """Where `offset` lies in a message: its line, and the last words of our template before it."""
    line = text.count("\n", 0, offset) + 1
    before = _last_literal(text[:offset], literals)
    return f"{role} message, line {line}" + (f', after "{before}"' if before else "")


def _last_literal(before: str, literals: Iterable[str]) -> str:
    best, end = "", -1
    for literal in literals:
        words = literal.strip()
        if re.search(r"[^\W\d_]{3}", words) and (at := before.rfind(words)) >= 0 and at + len(words) > end:
            best, end = words, at + len(words)
    return " ".join(best.split()[-_QUOTED_WORDS:])
