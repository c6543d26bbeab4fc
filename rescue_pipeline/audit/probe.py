"""The structure probe: can the gold be predicted from everything but the words?

A linear discriminant over lengths, counts, positions and changes of speaker is trained on some session groups and tried
on the others. Its balanced accuracy is compared with the same on labels that are shuffled within each group, so that
what groups have in common (a couple that is always asked the same) is no cue. All shuffles are solved at once: only
the classes' means depend on the labels, which is why this is no logistic regression.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rescue_pipeline.audit.explaining import Subject
from rescue_pipeline.audit.material import CUE_FIELDS, granted_cues, words
from rescue_pipeline.llm.workspace import Row
from rescue_pipeline.tasks.people import GROUPS, THERAPIST

SEED = 20260911
SHUFFLES = 200
FOLDS = 5
SIGNIFICANT = 0.01
"""Below this p the probe warns: with 24 conditions a corpus without any cue warns about once in four audits."""
FEWEST = 20
"""Questions, of at least two groups and two classes, below which nothing is tried."""
_RIDGE = 0.1
_LAST = 3

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ProbeResult:
    """score and chance: balanced accuracy (0-1), None when there is too little to try; chance: mean of the shuffles."""

    n: int
    score: float | None = None
    chance: float | None = None
    p_value: float | None = None

    @property
    def warns(self) -> bool:
        return self.p_value is not None and self.p_value < SIGNIFICANT


@dataclass(frozen=True)
class Trait:
    """What the probe keeps of a question: numbers without a word, its gold, its session group."""

    features: tuple[float, ...]
    gold: str | float
    group: str


def trait(subject: Subject, instance: Row) -> Trait:
    return Trait(tuple(features_of(subject, instance)), _gold(subject, instance), str(instance["session_group"]))


def probe(traits: Sequence[Trait], *, seed: int = SEED) -> ProbeResult:
    """Try to predict each question's gold from the structure of its request."""
    golds = [trait.gold for trait in traits]
    numbers = [gold for gold in golds if isinstance(gold, float)]
    middle = float(np.median(numbers)) if numbers else 0.0
    labels = [("above" if gold > middle else "not above") if isinstance(gold, float) else gold for gold in golds]
    groups = np.array([trait.group for trait in traits], dtype=str)
    return score(
        np.array([trait.features for trait in traits], dtype=float), np.array(labels, dtype=str), groups, seed=seed
    )


def score(features: Array, labels: Array, groups: Array, *, seed: int = SEED) -> ProbeResult:
    """features: (n, d) numbers; labels and groups: (n,). The same input gives the same result."""
    kept = _frequent(labels)
    features, labels, groups = features[kept], labels[kept], groups[kept]
    if len(labels) < FEWEST or len(set(labels)) < 2 or len(set(groups)) < 2:
        return ProbeResult(len(labels))
    _, codes = np.unique(labels, return_inverse=True)
    shuffled = _shuffled(codes, groups, np.random.default_rng(seed))
    accuracies = _balanced_accuracies(features, np.column_stack([codes, shuffled]), groups)
    real, others = accuracies[0], accuracies[1:]
    p = (1 + int(np.sum(others >= real - 1e-12))) / (1 + len(others))
    return ProbeResult(len(labels), float(real), float(others.mean()), p)


def features_of(subject: Subject, instance: Row) -> list[float]:
    """Numbers that hold no word: of the request, of the shown turns, of who follows whom."""
    rows = subject.window(instance)
    lengths = [float(len(words(row["dialogue"]))) for row in rows]
    last = [0.0] * (_LAST - len(lengths[-_LAST:])) + lengths[-_LAST:]
    cues = [float(bool(row[name])) for row in rows[-1:] for name in granted_cues(subject.condition.modality)]
    cues += [0.0] * (len(CUE_FIELDS) - len(cues))
    prompt = float(sum(len(message["content"]) for message in subject.asked.request.messages))
    number = float(instance["row_index"])
    return [
        prompt,
        float(len(rows)),
        float(np.mean(lengths)) if lengths else 0.0,
        *last,
        *cues,
        *_turn_taking(rows, instance),
        *_times(rows),
        number,
        *(float(number % step == 0) for step in (2, 3, 4)),
        float(len(subject.session["participants"] or [])),
        float(subject.session["scenario"] == "family"),
    ]


def _turn_taking(rows: Sequence[Row], instance: Row) -> list[float]:
    speakers = [row["speaker"] for row in rows]
    targets = [set(row["target"] or []) for row in rows]
    changes = sum(one != other for one, other in pairwise(speakers))
    return [
        float(len(set(speakers))),
        float(changes),
        float(speakers.count(THERAPIST)),
        float(bool(speakers) and speakers[-1] == THERAPIST),
        float(len(speakers) > 1 and speakers[-2] == THERAPIST),
        float(len(speakers) > 2 and speakers[-1] == speakers[-3]),
        float(bool(targets) and THERAPIST in targets[-1]),
        float(len(targets[-1]) if targets else 0),
        float(len(rows[-1]["background_dialogue"] or []) if rows else 0),
        float(instance["speaker"] == THERAPIST and instance["task"] == "rpp"),
    ]


def _times(rows: Sequence[Row]) -> list[float]:
    """Seconds: how long the last turn takes, and the pause before it; 0 where no time is noted."""
    ends = [(row["start_time"], row["end_time"]) for row in rows[-2:]]
    if not ends or any(time is None or not np.isfinite(time) for span in ends for time in span):
        return [0.0, 0.0]
    return [ends[-1][1] - ends[-1][0], ends[-1][0] - ends[0][1] if len(ends) > 1 else 0.0]


def _gold(subject: Subject, instance: Row) -> str | float:
    """What is predicted: the label, the target's role, the intensity (as above the median), how many viewpoints."""
    gold = json.loads(instance["gold"])
    if "intensity" in gold:
        return float(gold["intensity"])
    if "viewpoints" in gold:
        return "one" if len(gold["viewpoints"]) == 1 else "several"
    if instance["task"] == "stp":
        return _role(subject, instance, str(gold["target"]))
    return str(next(gold[key] for key in ("should_speak", "relation_pattern", "strategy") if key in gold))


def _role(subject: Subject, instance: Row, target: str) -> str:
    if target in GROUPS.values():
        return "group"
    shown = [row["speaker"] for row in subject.window(instance) if row["speaker"] not in (THERAPIST, *GROUPS.values())]
    named = subject.material.named(subject.asked.sample_id, target)
    return "last speaker" if shown and shown[-1] == named else "another"


def _frequent(labels: Array) -> Array:
    """Which questions have a label that occurs often enough to be learnt."""
    names, counts = np.unique(labels, return_counts=True)
    return np.isin(labels, names[counts >= FOLDS])


def _shuffled(codes: Array, groups: Array, generator: np.random.Generator) -> Array:
    """(n, SHUFFLES): the labels, shuffled within each session group."""
    shuffled = np.repeat(codes[:, None], SHUFFLES, axis=1)
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        shuffled[members] = generator.permuted(shuffled[members], axis=0)
    return shuffled


def _balanced_accuracies(features: Array, labels: Array, groups: Array) -> Array:
    """The balanced accuracy of each column of `labels`, each question predicted from other groups."""
    predicted = np.zeros(labels.shape, dtype=int)
    fold_of = _folds(groups)
    for fold in np.unique(fold_of):
        test, train = fold_of == fold, fold_of != fold
        predicted[test] = _predicted(features[train], labels[train], features[test], int(labels.max()) + 1)
    recalls = [
        np.sum((predicted == code) & (labels == code), axis=0) / np.maximum(np.sum(labels == code, axis=0), 1)
        for code in range(int(labels.max()) + 1)
    ]
    accuracies: Array = np.mean(recalls, axis=0)
    return accuracies


def _folds(groups: Array) -> Array:
    """(n,): a fold for each question, whole groups together, the largest groups spread first."""
    names, sizes = np.unique(groups, return_counts=True)
    filled, fold_of = [0] * min(FOLDS, len(names)), {}
    for place in np.argsort(-sizes, kind="stable"):
        fold = filled.index(min(filled))
        filled[fold] += int(sizes[place])
        fold_of[names[place]] = fold
    return np.array([fold_of[group] for group in groups])


def _predicted(train: Array, labels: Array, test: Array, n_classes: int) -> Array:
    """Linear discriminant analysis with equal priors and a ridge, for every column of labels (m, r) at once."""
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread[spread == 0] = 1.0
    train, test = (train - mean) / spread, (test - mean) / spread
    covariance = train.T @ train / len(train) + _RIDGE * np.eye(train.shape[1])
    best = np.full((len(test), labels.shape[1]), -np.inf)
    predicted = np.zeros(best.shape, dtype=int)
    for code in range(n_classes):
        is_class = (labels == code).astype(float)
        counts = is_class.sum(axis=0)
        means = train.T @ is_class / np.maximum(counts, 1)
        weights = np.linalg.solve(covariance, means)
        scores = test @ weights - 0.5 * np.sum(means * weights, axis=0)
        scores[:, counts == 0] = -np.inf
        better = scores > best
        best, predicted = np.where(better, scores, best), np.where(better, code, predicted)
    return predicted
