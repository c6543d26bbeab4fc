"""gold, later_turns, fields: a request must not change when what it may not show says something else.

This sees what no reading of one request can: a mark, an order, a number or a blank that depends on the gold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from rescue_pipeline.audit.asked import OTHER_WORDS, AlteredCorpus
from rescue_pipeline.audit.causes import cause
from rescue_pipeline.audit.explaining import Gap, Subject, gaps, without_codes
from rescue_pipeline.audit.findings import Finding, place
from rescue_pipeline.audit.material import CUE_FIELDS, granted_cues
from rescue_pipeline.llm.exchange import Request
from rescue_pipeline.llm.workspace import Row

Ask = Callable[[Sequence[Row]], Request]
"""Renders the request of some questions from an altered corpus."""

HIDDEN = {
    "gold": "the gold answer",
    "later_turns": "turns that it may not show",
    "fields": "annotations that the modality does not grant",
}


def dependence_findings(subject: Subject, corpus: AlteredCorpus, ask: Ask) -> Iterator[Finding]:
    """What changes with what is hidden, line by line; one finding for each kind of hidden thing and check."""
    if _unchanged(subject, _altered(subject, corpus, ask, HIDDEN)):
        return
    for hidden in HIDDEN:
        other = _altered(subject, corpus, ask, [hidden])
        if not _unchanged(subject, other):
            yield from {finding.check: finding for finding in _findings(subject, hidden, other)}.values()


def _altered(subject: Subject, corpus: AlteredCorpus, ask: Ask, changed: Collection[str]) -> Request:
    gold = subject.asked.instances if "gold" in changed else ()
    turns = list(_other_turns(subject, corpus.base.turns_of(subject.asked.sample_id), changed))
    with corpus.with_other(gold, {subject.asked.sample_id: turns}):
        return ask([corpus.instances[row["instance_id"]] for row in subject.asked.instances])


def _unchanged(subject: Subject, other: Request) -> bool:
    mine = subject.asked.request
    return (mine.messages, mine.schema, mine.parameters) == (other.messages, other.schema, other.parameters)


def _other_turns(subject: Subject, rows: Sequence[Row], changed: Collection[str]) -> Iterator[Row]:
    """The session's turns, in which what is hidden says more: all of a turn, or the cues of another modality."""
    hidden_cues = [name for name in CUE_FIELDS if name not in granted_cues(subject.condition.modality)]
    for row in rows:
        if row["row_index"] not in subject.granted:
            yield _saying_more(row, ["dialogue", *CUE_FIELDS]) if "later_turns" in changed else row
        else:
            yield _saying_more(row, hidden_cues) if "fields" in changed else row


def _saying_more(row: Row, fields: Sequence[str]) -> Row:
    more = dict(row)
    for name in fields:
        if name in ("dialogue", "tone_of_voice"):
            more[name] = f"{row[name] or ''}{OTHER_WORDS}"
        else:
            more[name] = [{**item, "description": f"{item['description']}{OTHER_WORDS}"} for item in row[name] or []]
    return more


def _findings(subject: Subject, hidden: str, other: Request) -> Iterator[Finding]:
    """A mark in an id, or in a field that the scripts print, is `ids`; gold quoted in an example is `gold_example`."""
    found = f"the request depends on {HIDDEN[hidden]}"
    texts = 0
    for message, changed in zip(subject.asked.request.messages, other.messages, strict=False):
        for at in _differences(without_codes(message["content"]), without_codes(changed["content"])):
            texts += 1
            gap = Gap(message["role"], message["content"], at, min(at + 1, len(message["content"])))
            where = place(gap.role, gap.text, at, subject.condition.literals)
            yield Finding(_check(subject, hidden, gap), subject.instance_id, where, found)
    if not texts:
        # a schema that names ids changes with them, and the message shows that
        yield Finding(hidden, subject.instance_id, "schema or parameters", found)


def _check(subject: Subject, hidden: str, gap: Gap) -> str:
    if gap.role != "system":
        return "ids" if cause(subject, gap) == "ids" else hidden
    end = gap.text.find("\n", gap.start)
    line = range(gap.text.rfind("\n", 0, gap.start) + 1, len(gap.text) if end < 0 else end)
    quotes = any(other.role == "system" and other.start in line for other in gaps(subject))
    return "gold_example" if quotes and hidden == "gold" else hidden


def _differences(one: str, other: str) -> Iterator[int]:
    """Where each line that differs begins to differ; past the shorter text there is one difference."""
    at = 0
    for mine, changed in zip(one.split("\n"), other.split("\n"), strict=False):
        if mine != changed:
            pairs = enumerate(zip(mine, changed, strict=False))
            yield at + next((place for place, (a, b) in pairs if a != b), min(len(mine), len(changed)))
        at += len(mine) + 1
    if one.count("\n") != other.count("\n"):
        yield min(at, len(one))
