"""BERTScore of free-text answers: which texts are compared, and what their F1s make of an answer. No model in here.

er: the emotion phrase against the gold phrase. vp: each gold viewpoint against the best predicted viewpoint with the
same source and target, 0 if there is none, mean over the gold viewpoints (our protocol; the paper's is not published).
F1s are not rescaled: unrelated texts score far above 0, which is why a floor is measured beside them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

Pair = tuple[str, str]
"""A predicted text and the gold text it is compared with."""
Content = Mapping[str, Any]


class Scorer(Protocol):
    """Computes F1s. id names all that they depend on; scores of two ids are never compared."""

    @property
    def id(self) -> str: ...
    @property
    def max_tokens(self) -> int: ...
    def f1(self, pairs: Sequence[Pair]) -> list[float]:
        """One F1 per pair of texts that are not empty."""
        ...

    def is_cut(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text is longer than the scorer reads."""
        ...


def pairs_of(task: str, gold: Content, answer: Content) -> list[Pair]:
    """The texts that are compared to score an answer (canonical, status ok)."""
    if task == "er":
        return [(answer["emotion"], gold["emotion"])]
    return [pair for view in gold["viewpoints"] for pair in _candidates(view, answer)]


def answer_f1(task: str, gold: Content, answer: Content, f1: Mapping[Pair, float]) -> float:
    """An answer's score from the F1 of each of its pairs."""
    if task == "er":
        return f1[answer["emotion"], gold["emotion"]]
    views = gold["viewpoints"]
    return sum(max((f1[pair] for pair in _candidates(view, answer)), default=0.0) for view in views) / len(views)


def score_pairs(scorer: Scorer, pairs: Iterable[Pair]) -> dict[Pair, float]:
    """The F1 of each distinct pair, in one batch; an empty text crashes the library, so it never gets one.

    Nothing against something is 0, nothing against nothing 1. Rounded to 6 decimals: the last ones depend on which
    texts share a batch.
    """
    distinct = list(dict.fromkeys(pairs))
    scored = [pair for pair in distinct if all(text.strip() for text in pair)]
    values = dict(zip(scored, scorer.f1(scored) if scored else [], strict=True))
    for one, other in distinct:
        if (one, other) not in values:
            values[one, other] = float(not one.strip() and not other.strip())
    return {pair: round(value, 6) for pair, value in values.items()}


def cut_texts(scorer: Scorer, pairs: Iterable[Pair]) -> set[str]:
    """The texts of `pairs` that the scorer reads only the beginning of."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair if text.strip()))
    return {text for text, cut in zip(texts, scorer.is_cut(texts) if texts else [], strict=True) if cut}


def pair_sha256(task: str, gold: Content, answer: Content) -> str:
    """Identifies what is compared: the same gold and answer are never scored twice by one scorer."""
    compared = json.dumps([task, _compared(task, gold), _compared(task, answer)], ensure_ascii=False)
    return hashlib.sha256(compared.encode("utf-8", "surrogatepass")).hexdigest()


def _candidates(view: Content, answer: Content) -> list[Pair]:
    wanted = view["source"], view["target"]
    views = answer["viewpoints"]
    return [(other["viewpoint"], view["viewpoint"]) for other in views if (other["source"], other["target"]) == wanted]


def _compared(task: str, content: Content) -> Any:
    if task == "er":
        return content["emotion"]
    return [[view["source"], view["target"], view["viewpoint"]] for view in content["viewpoints"]]
