"""Epochs: repeats of a question, and later tries of a repeat.

A protocol with `epochs: 3` asks the repeats "1", "2" and "3". `--retry STATUS` opens the next try of each repeat in
which an answer has that status: "1.2" is the second try of repeat 1. A try plans every question of the one before it;
those with that status get a request of their own, the others keep theirs and its response. So nothing is chosen
question by question: a try is a whole set of answers, and the newest whole one is scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rescue_pipeline.errors import UsageError
from rescue_pipeline.schemas.predictions import ANSWER_STATUSES, UNANSWERED_STATUSES

RETRYABLE = [status for status in ANSWER_STATUSES if status not in ("ok", *UNANSWERED_STATUSES)]
"""A good answer is not asked for again in hope of a better one; what has no answer yet is asked by any run."""


def try_of(epoch: str) -> int:
    """1 for `2`, 3 for `2.3`."""
    return int(epoch.partition(".")[2] or 1)


def next_try(epoch: str) -> str:
    """`1.2` for `1`."""
    return f"{epoch.partition('.')[0]}.{try_of(epoch) + 1}"


def newest_try(repeat: str, epochs: Iterable[str]) -> str:
    """The epoch of a repeat's newest try among those planned; the repeat itself when there is none yet."""
    return max((epoch for epoch in epochs if epoch.partition(".")[0] == repeat), key=try_of, default=repeat)


def retryable(statuses: Sequence[str]) -> list[str]:
    """The statuses without repeats; raises UsageError for one that cannot be asked again."""
    unknown = [status for status in dict.fromkeys(statuses) if status not in RETRYABLE]
    if unknown:
        open_ones = [status for status in unknown if status in UNANSWERED_STATUSES]
        advice = f"{', '.join(open_ones)}: any run asks these again; leave --retry out" if open_ones else None
        raise UsageError(
            "these questions cannot be asked again by status",
            where="--retry",
            expected=", ".join(RETRYABLE),
            found=", ".join(unknown),
            advice=advice,
        )
    return list(dict.fromkeys(statuses))
