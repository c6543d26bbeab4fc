"""Asking a judge about one answer of er or vp, and reading its verdict.

The judge sees the gold, the answer, the speaker and the words of the turn: enough to know what phrases refer to, too
little to answer the task itself in place of comparing. It sees no model name, no intensity (er compares those by
arithmetic), no attitude (the answer has none), no other turn. Totals are computed from its grades, never asked for.

A grade counts when it is an integer inside its scale, or that integer as text ("4"). Anything else (4.5, 4.0, "8/10",
6 of 5, prose, a grade that is missing) makes the judgement judge_failed; nothing is clamped, and nothing has a default.

A verdict is the whole reply, or its one code fence, once reasoning blocks are dropped. An object among other text is
none, for it may be the answer's own, which the judge quotes; nor is one inside another object, a list or a string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rescue_pipeline.errors import RescueError
from rescue_pipeline.tasks.answers import REASON, JsonSchema, strict_object
from rescue_pipeline.tasks.extraction import reason_of, without_reasoning
from rescue_pipeline.tasks.labels import normalise_label
from rescue_pipeline.tasks.templates import PROMPTS, quotation_code, render, sha256_of, used_files

JUDGE_PROMPTS = PROMPTS / "judge"
SIMILARITY = {"similarity": (1, 5)}
SCALES: dict[str, dict[str, tuple[int, int]]] = {
    "er": SIMILARITY,
    "vp": {"pairing": (0, 2), "content": (0, 4), **SIMILARITY},
}
"""The grades of each judged task with their lowest and highest value: one source for prompt, schema and parser."""

DIGITS = frozenset("0123456789")
_FENCED = re.compile(r"```[ \t]*[\w+-]*[ \t]*\r?\n?(.*?)```", re.DOTALL)
_UNSEEN = re.compile(r"[\s\\]+")
"""What a quotation may add or leave out: blanks, and the marks before a quote within a quote."""
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


def parse_judgement(task: str, content: str | None, answer: Mapping[str, Any] | None = None) -> ParsedJudgement:
    """Read a verdict: all grades of the task, each an integer in its scale, or judge_failed. Never raises on text.

    answer: the judged answer (canonical). A reply that is an object out of it is an echo, and no verdict.
    """
    text = _alone(content or "")
    record = _record(text)
    if record is None or (answer is not None and _bare(text) in _bare(_quoted(task, answer))):
        return ParsedJudgement("judge_failed")
    grades = {grade: _grade(record.get(grade), *scale) for grade, scale in SCALES[task].items()}
    if None in grades.values():
        return ParsedJudgement("judge_failed", reason=reason_of(record))
    return ParsedJudgement("ok", **grades, reason=reason_of(record))


def _alone(content: str) -> str:
    """The reply without its reasoning and its code fence; "" where reasoning, not the reply, has the last word."""
    text = content.strip().lstrip("\ufeff").strip()
    if _record(text) is None:
        reply = without_reasoning(text)
        text = reply if text.endswith(reply) else ""  # cut off, or a tag that the answer brought along
    fenced = _FENCED.fullmatch(text)
    return fenced[1].strip() if fenced else text


def _record(text: str) -> dict[str, Any] | None:
    """The object that a text is, keys in normal form; None for anything else, or a key that is given twice."""
    try:
        return json.loads(text, strict=False, object_pairs_hook=_unique) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = {normalise_label(key): value for key, value in pairs}
    if len(record) < len(pairs):
        raise ValueError("a key is given twice")
    return record


def _bare(text: str) -> str:
    return _UNSEEN.sub("", text).casefold()


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
