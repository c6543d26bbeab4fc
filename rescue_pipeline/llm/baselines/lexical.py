"""The lexical baseline: the gold of the most similar question of another session group, by TF-IDF over what is shown.

Neighbours of a task, scenario and modality are found all at once, as sparse matrix products, when first needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from rescue_pipeline.llm.baselines.gold import GoldTable, Question
from rescue_pipeline.llm.baselines.rules import (
    RANKING_FIELDS,
    Answer,
    NothingToLearnFrom,
    options_of,
    targets_by_role,
    viewpoint_answer,
)
from rescue_pipeline.llm.workspace import Row
from rescue_pipeline.tasks.answers import wanted_ranks
from rescue_pipeline.tasks.prompts import CUES, visible_turns
from rescue_pipeline.tasks.spec import DEFAULT_PROTOCOL, load_protocol

NEIGHBOURS = 10


class Lexical:
    """Nearest neighbours of a corpus's questions."""

    def __init__(self, gold: GoldTable) -> None:
        self._gold = gold
        self._neighbours: dict[tuple[str, str, str], dict[str, list[Question]]] = {}

    def answer(self, question: Question, modality: str) -> Answer:
        """What the nearest question's gold says; further neighbours fill the lower ranks."""
        neighbours = self._nearest(question, modality)
        golds = [self._gold.gold_of_other(question, other) for other in neighbours]
        match question.task:
            case "itp":
                return {"should_speak": golds[0]["should_speak"]}
            case "er":
                return {"emotion": golds[0]["emotion"], "intensity": round(golds[0]["intensity"])}
            case "stp":
                roles = [other.situation.role(gold["target"]) for other, gold in zip(neighbours, golds, strict=True)]
                return {"target_top3": targets_by_role(question, list(dict.fromkeys(roles)))}
            case "vp":
                return _viewpoints(question, neighbours[0], golds[0])
            case task:
                field = "relation_pattern" if task == "rpp" else "strategy"
                options = options_of(question)
                labels = dict.fromkeys([gold[field] for gold in golds] + options)
                return {RANKING_FIELDS[task]: [label for label in labels if label in options][: wanted_ranks(options)]}

    def _nearest(self, question: Question, modality: str) -> list[Question]:
        key = (question.task, question.scenario, modality)
        if key not in self._neighbours:
            alike = [other for other in self._gold.questions.values() if (other.task, other.scenario) == key[:2]]
            self._neighbours[key] = _neighbours(alike, [self._text(other, modality) for other in alike])
        found = self._neighbours[key][question.instance["instance_id"]]
        if not found:
            raise NothingToLearnFrom
        return found

    def _text(self, question: Question, modality: str) -> str:
        """The words a model would be shown, without the prompt around them."""
        instance = question.instance
        context = load_protocol(DEFAULT_PROTOCOL).context[question.task]
        turns = visible_turns(context, instance["row_index"], self._gold.corpus.turns_of(instance["sample_id"]))
        return " ".join(word for turn in turns for word in _words(turn, modality))


def _words(turn: Row, modality: str) -> Iterable[str]:
    yield turn["dialogue"] or ""
    yield from (item["content"] or "" for item in turn["background_dialogue"] or [])
    for cue in CUES[modality]:
        notes = turn[cue] or []
        yield from [notes] if isinstance(notes, str) else (note["description"] or "" for note in notes)


def _viewpoints(question: Question, other: Question, gold: Any) -> Answer:
    """The neighbour's viewpoints, held by whoever has the same roles here."""
    role, viewpoints = other.situation.role, []
    for item in gold["viewpoints"]:
        pair = (role(item["source"]), role(item["target"]))
        viewpoints += viewpoint_answer(question, pair, [item["viewpoint"]])["viewpoints"]
    return {"viewpoints": viewpoints}


def _neighbours(questions: list[Question], texts: list[str]) -> dict[str, list[Question]]:
    """For each question the nearest ones of other groups, nearest first."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    groups: dict[str, list[int]] = defaultdict(list)
    for index, question in enumerate(questions):
        groups[question.group].append(index)
    # every token counts and none is left out, so that a corpus of a few words still has a vocabulary
    vectors = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", sublinear_tf=True).fit_transform([*texts, "word"])[:-1]
    result = {}
    for members in groups.values():
        similarity = np.asarray((vectors[members] @ vectors.T).todense())
        similarity[:, members] = -1.0  # the own group is never looked at
        nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :NEIGHBOURS]
        available = len(questions) - len(members)
        for member, row in zip(members, nearest, strict=True):
            result[questions[member].instance["instance_id"]] = [questions[index] for index in row[:available]]
    return result
