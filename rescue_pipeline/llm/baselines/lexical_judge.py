"""The lexical judge: grades the overlap of words by a fixed rule. Not comparable with a language model's judgement.

Overlap is the F1 of two sets of words. On a scale from lowest to highest the grade is
lowest + round(F1 * (highest - lowest)), half to even. For vp, gold and answer are compared between the same source and
target only; pairing is the scale's share of gold pairs that the answer has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rescue_pipeline.tasks.judging import SCALES

_WORD = re.compile(r"\w+(?:['’]\w+)*")


def grade(task: str, gold: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict as a judge writes it, from 0-1 shares of the gold found in the answer."""
    shares = (
        _emotion_shares(gold, answer) if task == "er" else _viewpoint_shares(gold["viewpoints"], answer["viewpoints"])
    )
    grades = {name: low + round(shares[name] * (high - low)) for name, (low, high) in SCALES[task].items()}
    return {"reason": "words in common", **grades}


def overlap(left: str, right: str) -> float:
    """F1 of the two texts' sets of words, 0-1."""
    one, other = _words(left), _words(right)
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _emotion_shares(gold: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, float]:
    return {"similarity": overlap(gold["emotion"], answer["emotion"])}


def _viewpoint_shares(gold: Sequence[Mapping[str, str]], answer: Sequence[Mapping[str, str]]) -> dict[str, float]:
    def pair(item: Mapping[str, str]) -> tuple[str, str]:
        return item["source"], item["target"]

    pairs, found = {pair(item) for item in gold}, {pair(item) for item in answer}
    best = [
        max(
            (overlap(item["viewpoint"], other["viewpoint"]) for other in answer if pair(other) == pair(item)),
            default=0.0,
        )
        for item in gold
    ]
    content = sum(best) / len(best)
    return {"pairing": len(pairs & found) / len(pairs), "content": content, "similarity": content}
