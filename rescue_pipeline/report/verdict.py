"""The first sentences of a report, made from the data: who was asked on what, who leads, how sure, what failed.

They claim nothing that the tables do not show, and a lead without an interval is called what it is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from rescue_pipeline.report.formatting import count, counted, listed, number_word
from rescue_pipeline.report.leaderboard import NO_INTERVALS, Board
from rescue_pipeline.report.reading import Results
from rescue_pipeline.report.scores import Scores
from rescue_pipeline.schemas.predictions import UNANSWERED_STATUSES

BASELINES = ("uniform", "majority", "heuristic", "lexical")
"""The shipped offline baselines by id (assets/models.yaml): they are no language models."""


@dataclass(frozen=True)
class Verdict:
    """The answer in sentences, and the same facts by question."""

    sentences: list[str]
    facts: list[tuple[str, str]]

    @property
    def text(self) -> str:
        return " ".join(self.sentences)


def verdict(results: Results, scores: Scores, boards: list[Board]) -> Verdict:
    """What the first screen says."""
    first = boards[0] if boards else None
    sentences = [_who(results, scores), *_leads(scores, first), *_failures(results)]
    facts = [
        ("Which models", _models(scores)),
        ("How sure", _certainty(first)),
        ("On what data", _data(results)),
        ("What failed", _failed(results)),
    ]
    return Verdict(sentences, facts)


def corpus_name(corpus: dict[str, Any]) -> str:
    if not corpus:
        return "an unnamed corpus"
    return "the demo corpus" if is_demo(corpus) else f"the corpus {corpus['corpus_id']}"


def is_demo(corpus: dict[str, Any]) -> bool:
    """Whether it is the shipped fiction; a corpus of others may be declared a demo too, but is not ours to describe."""
    return corpus.get("corpus_id") == "demo" and corpus.get("data_class") == "demo"


def _who(results: Results, scores: Scores) -> str:
    where = corpus_name(results.corpus)
    models = sorted({entry.model for entry in scores.models})
    baselines = [model for model in models if model in BASELINES]
    others = len(models) - len(baselines)
    if not models:
        return f"No model has been scored on {where} yet."
    offline = counted_words(len(baselines), "offline baseline")
    if not others:
        return f"{offline} on {where}; no language model was asked."
    beside = f" and {offline[0].lower()}{offline[1:]}" if baselines else ""
    return f"{counted_words(others, 'model')}{beside} on {where}."


def counted_words(number: int, noun: str) -> str:
    return f"{number_word(number)} {noun}{'' if number == 1 else 's'}"


def _leads(scores: Scores, board: Board | None) -> list[str]:
    """How many columns each model leads; no overall winner is named, because no overall score exists."""
    if board is None:
        return []
    contested = [leaders for leaders in board.leaders if leaders]
    if not contested:
        return ["There is nothing to compare yet."]
    alone = Counter(scores.name(leaders[0]) for leaders in contested if len(leaders) == 1)
    parts = [f"{name} in {count(n)}" for name, n in sorted(alone.items(), key=lambda item: (-item[1], item[0]))]
    tied = sum(len(leaders) > 1 for leaders in contested)
    parts += [f"{count(tied)} tied"] if tied else []
    several = len(scores.conditions) > 1
    asked = f" under {board.condition.protocol} in {board.condition.modality}" if several else ""
    lead = f"Highest values{asked}, by column: {listed(parts)}"
    doubt = "" if board.has_intervals else "; without intervals a small lead may be chance"
    overlap = ["Emotion and viewpoint are scored by word overlap, not by a judge."] if board.by_word_overlap else []
    return [f"{lead}{doubt}.", *overlap]


def _tally(results: Results) -> tuple[int, int, int]:
    """(planned, wrong for want of a valid answer, still unanswered) over all models."""
    planned: dict[tuple[Any, ...], int] = {}
    wrong = unanswered = 0
    for row in results["failures"]:
        key = tuple(row[name] for name in ("model", "generation", "modality", "protocol", "task", "scenario"))
        planned[key] = row["n_planned"]
        if row["status"] in UNANSWERED_STATUSES:
            unanswered += row["n"]
        elif row["status"] != "ok":
            wrong += row["n"]
    return sum(planned.values()), wrong, unanswered


def _failures(results: Results) -> list[str]:
    planned, wrong, unanswered = _tally(results)
    if not planned:
        return []
    if not wrong and not unanswered:
        return [f"All {count(planned)} questions were answered."]
    sentences = []
    if wrong:
        sentences.append(f"{count(wrong)} of {count(planned)} questions got no valid answer and count as wrong.")
    if unanswered:
        of = "" if wrong else f" of {count(planned)}"
        sentences.append(f"{count(unanswered)}{of} are still unanswered: their cells show bounds and have no rank.")
    return sentences


def _models(scores: Scores) -> str:
    models = sorted({entry.model for entry in scores.models})
    if not models:
        return "none yet"
    return listed(models) if len(models) <= 6 else f"{count(len(models))}: {', '.join(models[:5])} and others"


def _certainty(board: Board | None) -> str:
    if board is None:
        return "no scores"
    return "95% intervals, by session group" if board.has_intervals else NO_INTERVALS


def _data(results: Results) -> str:
    if not results.corpus:
        return "no corpus is loaded"
    parts = [results.corpus["corpus_id"]]
    if results.sessions:
        sessions = sum(row["n_sessions"] for row in results.sessions)
        groups = sum(row["n_groups"] for row in results.sessions)
        parts.append(f"{counted(sessions, 'session')} of {counted(groups, 'couple or family', 'couples and families')}")
    questions = sum(row["n_instances"] for row in results["task_instances"])
    parts += [counted(questions, "question")] if questions else []
    return ", ".join(parts)


def _failed(results: Results) -> str:
    planned, wrong, unanswered = _tally(results)
    parts = [f"{count(wrong)} wrong for want of a valid answer"] if wrong else []
    parts += [f"{count(unanswered)} unanswered"] if unanswered else []
    answers = (
        listed(parts) + f" of {count(planned)}"
        if parts
        else f"none of {counted(planned, 'answer')}"
        if planned
        else "no answers"
    )
    refused = len({(row["source_path"], row["source_line"]) for row in results.rejects})
    return f"{answers}; {counted(refused, 'record')} refused" if refused else answers
