"""The people of a session as questions and answers name them, and how a name in an answer is recognised.

A name counts when it is the same text after Unicode composition (NFC) and trimming. A difference of case alone is
forgiven where exactly one person fits. Nothing else is: two participants may differ by a single letter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

THERAPIST = "Therapist"
GROUPS = {"couple": "Couple", "family": "Family"}


def distinct(names: Iterable[str]) -> list[str]:
    """The names without repeats, in order of first appearance."""
    return list(dict.fromkeys(names))


def participants(session: Mapping[str, Any]) -> list[str]:
    return distinct(session["participants"] or [])


def targets(session: Mapping[str, Any]) -> list[str]:
    """Whom support can go to: each participant, then all of them together."""
    return distinct([*participants(session), GROUPS[session["scenario"]]])


def everyone(session: Mapping[str, Any]) -> list[str]:
    """Who can hold a viewpoint or be its object: participants, the group, the therapist."""
    return distinct([*targets(session), THERAPIST])


def match_name(text: str, names: Iterable[str]) -> str | None:
    """The name that `text` is, or None; never a name that is merely similar."""
    wanted = _composed(text)
    known = list(names)
    exact = [name for name in known if _composed(name) == wanted]
    if exact:
        return exact[0]
    same_letters = [name for name in known if _composed(name).casefold() == wanted.casefold()]
    return same_letters[0] if len(same_letters) == 1 else None


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()
