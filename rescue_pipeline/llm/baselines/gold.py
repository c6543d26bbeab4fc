"""What the baselines know: the counted gold of OTHER session groups of the same scenario, never of the own group."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rescue_pipeline.llm.baselines.situations import Situation, situation_of
from rescue_pipeline.llm.workspace import Corpus, Row

Facet = str
Key = tuple[str, str, Facet]


@dataclass(frozen=True)
class Question:
    """An instance as a baseline may see it: without its gold."""

    instance: Row
    session: Row
    situation: Situation

    @property
    def task(self) -> str:
        return str(self.instance["task"])

    @property
    def scenario(self) -> str:
        return str(self.instance["scenario"])

    @property
    def group(self) -> str:
        return str(self.instance["session_group"])


class GoldTable:
    """The questions of a corpus and the counted gold of everyone else."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.questions = {key: _question(corpus, row) for key, row in corpus.instances.items()}
        self._gold: dict[str, Any] = {key: json.loads(row["gold"]) for key, row in corpus.instances.items()}
        self._all: dict[Key, Counter[Any]] = defaultdict(Counter)
        self._by_group: dict[tuple[Key, str], Counter[Any]] = defaultdict(Counter)
        self._others: dict[tuple[Key, str], Counter[Any]] = {}
        for question in self.questions.values():
            for facet, value in _facets(question, self._gold[question.instance["instance_id"]]):
                key = (question.task, question.scenario, facet)
                self._all[key][value] += 1
                self._by_group[key, question.group][value] += 1

    def others(self, question: Question, facet: Facet) -> Counter[Any]:
        """How often each value occurs in the gold of other groups (same task and scenario); empty without one."""
        key = (question.task, question.scenario, facet)
        if (key, question.group) not in self._others:
            self._others[key, question.group] = self._all[key] - self._by_group[key, question.group]
        return self._others[key, question.group]

    def gold_of_other(self, question: Question, other: Question) -> Any:
        """The gold of another group's instance; raises ValueError for one of the own group."""
        if question.group == other.group:
            raise ValueError("a baseline asked for gold of the group it answers for")
        return self._gold[other.instance["instance_id"]]

    def gold_for_grading(self, instance_id: str) -> Any:
        """The gold of an instance, for the lexical judge alone: a judge is shown the gold."""
        return self._gold[instance_id]


def _question(corpus: Corpus, row: Row) -> Question:
    visible = {name: value for name, value in row.items() if name != "gold"}
    return Question(visible, corpus.session_of(row), situation_of(corpus, row))


def _facets(question: Question, gold: Any) -> Iterator[tuple[Facet, Any]]:
    """The countable parts of a gold answer; people by their role."""
    role = question.situation.role
    match question.task:
        case "itp":
            yield "label", gold["should_speak"]
        case "rpp":
            yield "label", gold["relation_pattern"]
        case "ssp":
            yield "label", gold["strategy"]
        case "stp":
            yield "label", role(gold["target"])
        case "er":
            yield "intensity", round(gold["intensity"])
            yield "phrase", gold["emotion"]
        case "vp":
            for item in gold["viewpoints"]:
                pair = (role(item["source"]), role(item["target"]))
                yield "pair", pair
                yield "text", (pair, item["viewpoint"])
