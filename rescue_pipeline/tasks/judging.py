"""Asking a judge about one answer of er or vp, and reading its verdict.

The judge sees the gold, the answer, the speaker and the words of the turn: enough to know what phrases refer to, too
little to answer the task itself in place of comparing. It sees no model name, no intensity (er compares those by
arithmetic), no attitude (the answer has none), no other turn. Totals are computed from its grades, never asked for.

A grade counts when it is an integer inside its scale, or that integer as text ("4"). Anything else (4.5, 4.0, "8/10",
6 of 5, prose, a grade that is missing, two verdicts that differ) makes the judgement judge_failed; nothing is clamped,
and nothing has a default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rescue_pipeline.errors import RescueError
from rescue_pipeline.tasks.answers import REASON, JsonSchema, strict_object
from rescue_pipeline.tasks.extraction import locate, reason_of, values
from rescue_pipeline.tasks.templates import PROMPTS, quotation_code, render, sha256_of, used_files

JUDGE_PROMPTS = PROMPTS / "judge"
SIMILARITY = {"similarity": (1, 5)}
SCALES: dict[str, dict[str, tuple[int, int]]] = {
    "er": SIMILARITY,
    "vp": {"pairing": (0, 2), "content": (0, 4), **SIMILARITY},
}
"""The grades of each judged task with their lowest and highest value: one source for prompt, schema and parser."""

DIGITS = frozenset("0123456789")
_VIEWPOINT = ("source", "target", "viewpoint")


@dataclass(frozen=True)
class ParsedJudgement:
    """A verdict: `status` is ok or judge_failed; grades that a task does not have are None."""

    status: str
    similarity: int | None = None
    pairing: int | None = None
    content: int | None = None
    reason: str | None = None


def build_judge_messages(
    task: str,
    instance: Mapping[str, Any],
    session: Mapping[str, Any],
    turns: Sequence[Mapping[str, Any]],
    answer: Mapping[str, Any],
) -> list[dict[str, str]]:
    """The messages that ask a judge about `answer` (canonical, status ok). Raises RescueError without its turn."""
    number = instance["row_index"]
    turn = next((row for row in turns if row["row_index"] == number), None)
    if turn is None:
        raise RescueError("the turn to be judged is missing", where=f"{task}, turn {number}")
    quoted = {
        "speaker": instance["speaker"],
        "words": turn["dialogue"],
        "gold": _quoted(task, json.loads(instance["gold"])),
        "answer": _quoted(task, answer),
    }
    shared = {"scenario": session["scenario"], "scales": SCALES[task], "code": quotation_code(*quoted.values())}
    return [
        {"role": role, "content": render(JUDGE_PROMPTS, f"{task}.md.j2", message=role, **shared, **quoted)}
        for role in ("system", "user")
    ]


def judge_schema(task: str) -> JsonSchema:
    """The strict JSON schema of a verdict, its reason first."""
    grades = {
        grade: {"type": "integer", "enum": list(range(lowest, highest + 1))}
        for grade, (lowest, highest) in SCALES[task].items()
    }
    return strict_object({REASON: {"type": "string"}, **grades})


def parse_judgement(task: str, content: str | None) -> ParsedJudgement:
    """Read a verdict: all grades of the task, each an integer in its scale, or judge_failed. Never raises on text.

    A text with two verdicts that differ is none: one of them may be the answer's own, which the judge quotes.
    """
    hits = (locate(found, tuple(SCALES[task])) for found in values(content or ""))
    verdicts = [_verdict(task, hit[0]) for hit in hits if hit is not None]
    if not verdicts or any(_grades(verdict) != _grades(verdicts[0]) for verdict in verdicts):
        return ParsedJudgement("judge_failed")
    return verdicts[0]


def _verdict(task: str, record: Mapping[str, Any]) -> ParsedJudgement:
    grades = {grade: _grade(record.get(grade), *scale) for grade, scale in SCALES[task].items()}
    if None in grades.values():
        return ParsedJudgement("judge_failed", reason=reason_of(dict(record)))
    return ParsedJudgement("ok", **grades, reason=reason_of(dict(record)))


def _grades(verdict: ParsedJudgement) -> tuple[int | None, ...]:
    return verdict.similarity, verdict.pairing, verdict.content


def judge_template_sha256(task: str) -> str:
    """A hash over the files that the task's judge prompt is made of, and its scales."""
    return sha256_of(used_files(JUDGE_PROMPTS, f"{task}.md.j2"), json.dumps(SCALES[task]))


def _quoted(task: str, answer: Mapping[str, Any]) -> str:
    if task == "er":
        return str(answer["emotion"])
    pairs = [{field: viewpoint[field] for field in _VIEWPOINT} for viewpoint in answer["viewpoints"]]
    return "\n".join(json.dumps(pair, ensure_ascii=False) for pair in pairs)


def _grade(value: Any, lowest: int, highest: int) -> int | None:
    if isinstance(value, str) and value.strip() in DIGITS:
        value = int(value)
    return value if type(value) is int and lowest <= value <= highest else None  # a boolean is no grade
