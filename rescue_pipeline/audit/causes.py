"""Naming what an unexplained part of a request is: gold, a later turn, a field, an id, or none of these."""

from __future__ import annotations

from collections.abc import Iterator

from rescue_pipeline.audit.explaining import Gap, Subject
from rescue_pipeline.audit.findings import Finding, place
from rescue_pipeline.audit.material import Hidden, Runs, granted_cues, runs, words

FOUND = {
    "gold": "words of the gold answer",
    "ids": "an id, a file name, a hash, or a field that holds one",
    "fields": "words of an annotation that the question may not show",
    "later_turns": "words of a turn after the decision",
    "shared_requests": "words of a turn that belongs to another question",
    "gold_example": "words of the corpus where the task is explained",
    "unexplained": "text that nothing explains",
}
_TELLING_FIELDS = ("sample_id", "row_index", "instance_id", "item_id", "source_file", "actual_therapist_entry")
"""Names of fields that the benchmark's public scripts print beside a question."""
_BESIDE = 40
"""Characters on either side of a gap that help to recognise it."""
_ORDER = ("gold", "later_turns", "shared_requests", "fields")
"""Of what fits a gap equally well, the first."""
_LONG = 8
"""Characters of an id that is no word of anything else."""


def gap_findings(subject: Subject, gaps: Iterator[Gap]) -> Iterator[Finding]:
    """A finding for each unexplained part, under the check that its content belongs to."""
    for gap in gaps:
        check = cause(subject, gap)
        where = place(gap.role, gap.text, gap.start, subject.condition.literals)
        yield Finding(check, subject.instance_id, where, FOUND[check])


def cause(subject: Subject, gap: Gap) -> str:
    """The check that a gap belongs to. What explains the task and quotes the corpus is an example, whatever it says."""
    explains = gap.role in ("system", "example")
    if not explains and _is_id(subject, gap):
        return "ids"  # it may hold the gold too
    said = _closest(subject, gap) or ("shared_requests" if _is_foreign(subject, gap) else None)
    if said and explains:
        return "gold_example"
    return said or ("ids" if _is_id(subject, gap) else "unexplained")


def _closest(subject: Subject, gap: Gap) -> str | None:
    """The check of the hidden text that a gap holds most of: annotators quote turns, and turns each other."""
    near = runs(_beside(gap)) - subject.granted_runs
    golds = [text for row in subject.asked.instances for text in subject.material.gold_texts(row)]
    shares = [("gold", _share(gap, text, runs(text), near)) for text in golds]
    for note, own in subject.material.hidden_runs(subject.asked.sample_id):
        if (not own or own & near) and (kind := _kind(subject, note)):
            shares.append((kind, _share(gap, note.text, own, near)))
    kind, share = max(shares, key=lambda one: (one[1], -_ORDER.index(one[0])), default=("gold", 0.0))
    return kind if share > 0 else None


def _share(gap: Gap, text: str, own: Runs, near: Runs) -> float:
    """How much of a text stands at a gap, 0-1: of its runs of words; of a text too short for a run, all or nothing."""
    if own:
        return len(own & near) / len(own)
    phrase, said = _phrase(text), _phrase(_shown(gap))
    return float(bool(words(said)) and said in phrase and phrase in _phrase(_beside(gap)))


def _is_telling_field(subject: Subject, gap: Gap) -> bool:
    return any(name in _beside(gap) for name in _TELLING_FIELDS)


def _is_id(subject: Subject, gap: Gap) -> bool:
    """A long id counts when it stands near, as what follows it may be more of it; a short one only by itself."""
    if gap.role == "metadata" or _is_telling_field(subject, gap):
        return True
    said, near = _phrase(_shown(gap)), f"{_beside(gap)}\n{_whole_token(gap)}".casefold()
    ids = [text for row in subject.asked.instances for text in subject.material.ids(row)]
    return any(text.casefold() in near if len(text) >= _LONG else _phrase(text) in said for text in ids)


def _kind(subject: Subject, note: Hidden) -> str | None:
    """Why a question may not show a text of its own session; None when it may."""
    spoken = note.field in ("dialogue", "background_dialogue")
    granted = spoken or note.field in granted_cues(subject.condition.modality)
    if note.row_index is None:
        return None  # a file name, which is an id
    if note.row_index in subject.granted:
        return None if granted else "fields"
    if note.row_index >= max(row["row_index"] for row in subject.asked.instances):
        return "later_turns"
    return "shared_requests" if spoken else "fields"


def _is_foreign(subject: Subject, gap: Gap) -> bool:
    near = runs(_beside(gap)) - subject.granted_runs
    return any(hash(run) in subject.material.sessions_by_run for run in near)


def _shown(gap: Gap) -> str:
    return gap.text[gap.start : gap.end]


def _beside(gap: Gap) -> str:
    """The gap with what stands near it in its line: its first words may have been read as something else."""
    left = max(gap.text.rfind("\n", 0, gap.start) + 1, gap.start - _BESIDE)
    line_end = gap.text.find("\n", gap.end)
    return gap.text[left : min(len(gap.text) if line_end < 0 else line_end, gap.end + _BESIDE)]


def _whole_token(gap: Gap) -> str:
    """The gap and what is written together with it."""
    start, end = gap.start, gap.end
    while start > 0 and not gap.text[start - 1].isspace():
        start -= 1
    while end < len(gap.text) and not gap.text[end].isspace():
        end += 1
    return gap.text[start:end]


def _phrase(text: str) -> str:
    """The words of a text between blanks, so that a phrase is found as whole words only."""
    return f" {' '.join(words(text))} "
