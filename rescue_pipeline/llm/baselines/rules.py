"""The three baselines that look at no words: chance, the majority of other groups, and a rule of thumb."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rescue_pipeline.llm.baselines.gold import GoldTable, Question
from rescue_pipeline.llm.baselines.situations import GROUP, LAST, OTHER, SELF
from rescue_pipeline.tasks.answers import INTENSITIES, choices, wanted_ranks
from rescue_pipeline.tasks.spec import load_tasks

Answer = dict[str, Any]
RANKING_FIELDS = {"rpp": "relation_top3", "stp": "target_top3", "ssp": "strategy_top3"}
TIMING = ("yes", "no")

# guesses that need no corpus; chosen before any gold was looked at
_EMOTIONS = ("anger", "sadness", "fear", "shame", "hurt", "hope", "relief", "weariness")
_VIEWPOINTS = ("wants to be heard", "feels left alone", "thinks the other does not try", "is willing to change")


class NothingToLearnFrom(Exception):
    """There is no other session group of the same scenario with gold for this task."""


def uniform(question: Question, seed: int) -> Answer:
    """Seeded chance: every possible answer as likely as any other; no gold is used."""
    draw = random.Random(f"{seed}:{question.instance['instance_id']}")
    options = options_of(question)
    match question.task:
        case "itp":
            return {"should_speak": draw.choice(TIMING)}
        case "er":
            return {"emotion": draw.choice(_EMOTIONS), "intensity": draw.choice(INTENSITIES)}
        case "vp":
            source, target = draw.sample(options, 2)
            return {"viewpoints": [{"source": source, "target": target, "viewpoint": draw.choice(_VIEWPOINTS)}]}
        case task:
            return {RANKING_FIELDS[task]: draw.sample(options, wanted_ranks(options))}


def majority(question: Question, gold: GoldTable) -> Answer:
    """The most frequent gold of other groups; ties go to what the benchmark lists first, texts to the alphabet."""
    match question.task:
        case "itp":
            return {"should_speak": _frequent(gold, question, "label", TIMING)[0]}
        case "stp":
            roles = _frequent(gold, question, "label", (LAST, OTHER, SELF, GROUP))
            return {"target_top3": targets_by_role(question, roles)}
        case "er":
            intensities = sorted(_learned(gold, question, "intensity").elements())
            phrases = _learned(gold, question, "phrase")
            return {"emotion": _modal(phrases), "intensity": _median(intensities)}
        case "vp":
            pair = _modal(_learned(gold, question, "pair"))
            texts = {text: n for (of, text), n in _learned(gold, question, "text").items() if of == pair}
            return viewpoint_answer(question, pair, [_modal(Counter(texts))])
        case task:
            options = options_of(question)
            return {RANKING_FIELDS[task]: _frequent(gold, question, "label", options)[: wanted_ranks(options)]}


def heuristic(question: Question, gold: GoldTable) -> Answer:
    """itp: always yes. stp: who spoke last, then the others, then all together. The rest as the majority."""
    if question.task == "itp":
        return {"should_speak": "yes"}
    if question.task == "stp":
        return {"target_top3": targets_by_role(question, (LAST, OTHER, SELF, GROUP))}
    return majority(question, gold)


def options_of(question: Question) -> list[str]:
    """The closed set the answer is drawn from."""
    return choices(load_tasks()[question.task], question.instance, question.session)


def targets_by_role(question: Question, roles: Sequence[str]) -> list[str]:
    """Candidates in the order of their roles, filled up with those no role names."""
    options = options_of(question)
    named = [name for role in roles for name in question.situation.names(role) if name in options]
    return list(dict.fromkeys([*named, *options]))[: wanted_ranks(options)]


def viewpoint_answer(question: Question, pair: tuple[str, str], texts: Sequence[str]) -> Answer:
    """Viewpoints between the people who have these roles here; where nobody has one, any other person."""
    options, situation = options_of(question), question.situation
    source = next(iter(situation.names(pair[0])), situation.speaker)
    held = [*situation.names(pair[1]), *situation.names(LAST), *options]
    # a pair of one role may well be of the same person (of oneself); otherwise somebody else is meant
    target = next(name for name in held if name != source or pair[0] == pair[1])
    return {"viewpoints": [{"source": source, "target": target, "viewpoint": text} for text in texts]}


def _learned(gold: GoldTable, question: Question, facet: str) -> Counter[Any]:
    counts = gold.others(question, facet)
    if not counts:
        raise NothingToLearnFrom
    return counts


def _frequent(gold: GoldTable, question: Question, facet: str, order: Sequence[str]) -> list[str]:
    """`order` sorted by frequency elsewhere."""
    counts = _learned(gold, question, facet)
    return sorted(order, key=lambda value: (-counts[value], order.index(value)))


def _modal(counts: Counter[Any]) -> Any:
    return min(counts, key=lambda value: (-counts[value], value))


def _median(values: Sequence[int]) -> int:
    """The middle value, half to even."""
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else round((values[middle - 1] + values[middle]) / 2)
