"""Positive controls: leaks that the audit plants into requests, as the public scripts have them, and must then see."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from rescue_pipeline.audit.asked import AlteredCorpus, Asked
from rescue_pipeline.audit.checks import findings_of
from rescue_pipeline.audit.explaining import Subject
from rescue_pipeline.audit.findings import BLOCKING
from rescue_pipeline.audit.independence import Ask, dependence_findings
from rescue_pipeline.audit.material import CUE_FIELDS, SHORTEST, granted_cues, runs, words
from rescue_pipeline.audit.options import candidate_lists, label_lines
from rescue_pipeline.llm.exchange import Request
from rescue_pipeline.llm.workspace import Row

_SHOWN = {"dialogue", "background_dialogue", *CUE_FIELDS}
EACH = 3
"""Questions of a task that each leak is planted into."""
MOST = 8 * EACH
"""Questions that are tried, as some offer nothing to plant."""
SESSIONS = 8
"""Sessions that these questions are taken from."""


@dataclass(frozen=True)
class Control:
    """A kind of leak: under which checks it may be found beside those that block, and how it gets into a request.

    plant returns None where a question offers nothing to plant (no later turn, no annotation).
    """

    name: str
    expected: frozenset[str]
    plant: Callable[[Subject, Sequence[Asked]], Request | None]


@dataclass(frozen=True)
class ControlResult:
    """planted and seen by the control's name; missing: controls for which the corpus held no material."""

    planted: Counter[str]
    seen: Counter[str]
    missing: tuple[str, ...]

    @property
    def blind_to(self) -> list[str]:
        return [name for name in self.planted if self.seen[name] < self.planted[name]]


def run_controls(subjects: Sequence[Subject], corpus: AlteredCorpus, ask: Ask) -> ControlResult:
    """Plant every kind of leak into some of these requests, and look at them as at any other."""
    planted: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    everything = [subject.asked for subject in subjects]
    for subject in sorted(subjects, key=_place)[:MOST]:
        before = Counter(finding.check for finding in findings_of(subject))
        for control in CONTROLS:
            if planted[control.name] < EACH and (request := control.plant(subject, everything)):
                planted[control.name] += 1
                doctored = replace(subject, asked=replace(subject.asked, request=request))
                after = Counter(finding.check for finding in findings_of(doctored))
                blocking = control.expected | _undeclared(subject)
                seen[control.name] += any(after[check] > before[check] for check in blocking)
        if planted[DEPENDENT] < EACH:
            planted[DEPENDENT] += 1
            seen[DEPENDENT] += _sees_dependence(subject, corpus, ask)
    missing = [control.name for control in CONTROLS if not planted[control.name]]
    return ControlResult(planted, seen, tuple(missing))


def _undeclared(subject: Subject) -> set[str]:
    """The checks that stop a run: a leak found under another name than its own (turns quote each other) is seen too."""
    return set(BLOCKING) - set(subject.condition.protocol.leaks)


def _place(subject: Subject) -> str:
    """An order that no session determines."""
    return hashlib.sha256(subject.instance_id.encode()).hexdigest()


def control_sessions(sample_ids: Sequence[str]) -> set[str]:
    """The sessions whose requests the leaks are planted into: a few, in an order that their names do not tell."""
    return set(sorted(sample_ids, key=lambda name: hashlib.sha256(name.encode()).hexdigest())[:SESSIONS])


def _sees_dependence(subject: Subject, corpus: AlteredCorpus, ask: Ask) -> bool:
    """A second blank at the end of the question unless the gold is what it is: no reading of one request shows it."""
    golds = [row["gold"] for row in subject.asked.instances]

    def betraying(request: Request, instances: Sequence[Row]) -> Request:
        blanks = " " if [row["gold"] for row in instances] == golds else "  "
        return _with_user(request, request.messages[-1]["content"] + blanks)

    doctored = betraying(subject.asked.request, subject.asked.instances)
    findings = dependence_findings(
        replace(subject, asked=replace(subject.asked, request=doctored)),
        corpus,
        lambda instances: betraying(ask(instances), instances),
    )
    return any(finding.check == "gold" for finding in findings)


def _telling_id(subject: Subject, everything: Sequence[Asked]) -> Request:
    instance = subject.asked.instances[0]
    answer = "_".join(words(subject.material.gold_texts(instance)[0]))
    line = f"item_id: {instance['sample_id']}_{answer}_after_{instance['row_index']}"
    return _with_user(subject.asked.request, f"{line}\n{subject.question['content']}")


def _another_question(subject: Subject, everything: Sequence[Asked]) -> Request | None:
    content = subject.question["content"]
    for asked in everything:
        if asked.sample_id == subject.asked.sample_id and asked.instances != subject.asked.instances:
            shown = {row["row_index"]: row for instance in asked.instances for row in subject.window(instance)}
            if any(_telling(subject, row["dialogue"]) for at, row in shown.items() if at not in subject.granted):
                return _with_user(subject.asked.request, f"{content}\n\n{asked.request.messages[-1]['content']}")
    return None


def _gold_example(subject: Subject, everything: Sequence[Asked]) -> Request | None:
    """The scripts' example of an answer is the gold of a question that is asked."""
    others = [asked for asked in everything if asked.sample_id != subject.asked.sample_id] or list(everything)
    for asked in others:
        instance = asked.instances[0]
        said = " ".join(row["dialogue"] for row in subject.material.turns(asked.sample_id)[:3])
        if _telling(subject, said):
            gold = "; ".join(subject.material.gold_texts(instance))
            return _with_system(subject.asked.request, f"For example:\n{said}\n{gold}")
    return None


def _later_turn(subject: Subject, everything: Sequence[Asked]) -> Request | None:
    last = max(instance["row_index"] for instance in subject.asked.instances)
    for row in subject.turns:
        hidden = row["row_index"] not in subject.granted and row["row_index"] >= last
        if hidden and _telling(subject, row["dialogue"]):
            return _with_user(subject.asked.request, f"{subject.question['content']}\n{row['dialogue']}")
    return None


def _annotation(subject: Subject, everything: Sequence[Asked]) -> Request | None:
    return _noted(subject, {note.field for note in subject.material.hidden(subject.asked.sample_id)} - _SHOWN)


def _other_cue(subject: Subject, everything: Sequence[Asked]) -> Request | None:
    return _noted(subject, set(CUE_FIELDS) - set(granted_cues(subject.condition.modality)))


def _noted(subject: Subject, fields: Collection[str]) -> Request | None:
    """What an annotator wrote in one of these fields about a turn that is shown."""
    content = subject.question["content"]
    for note in subject.material.hidden(subject.asked.sample_id):
        if note.field in fields and note.row_index in subject.granted and _is_new(subject, note.text):
            return _with_user(subject.asked.request, f"{content}\n{note.text}")
    return None


def _gold_itself(subject: Subject, everything: Sequence[Asked]) -> Request | None:
    """Labels and names may stand in the question anyway; marking one of them is another control."""
    content = subject.question["content"]
    for text in subject.material.gold_texts(subject.asked.instances[0]):
        open_answer = subject.condition.spec.key in ("er", "vp", "itp")
        if (open_answer or text not in content) and _is_new(subject, text):
            return _with_user(subject.asked.request, f"{content}\n{text}")
    return None


def _marked_option(subject: Subject, everything: Sequence[Asked]) -> Request | None:
    """The gold among the options, between asterisks."""
    options, messages = subject.material.options(subject.asked.instances[0]), subject.asked.request.messages
    gold = subject.material.gold_texts(subject.asked.instances[0])[-1]
    if subject.condition.spec.key not in ("rpp", "ssp", "stp"):
        return None
    for at, message in enumerate(messages):
        text = message["content"]
        starts = [line.start for line in label_lines(text, options) if line.option == gold]
        if subject.condition.spec.key == "stp":
            starts = [text.find(gold, found.start()) for found in candidate_lists(text, options)]
        if starts and at in (0, len(messages) - 1):
            marked = f"{text[: starts[0]]}*{gold}*{text[starts[0] + len(gold) :]}"
            changed = [{**message, "content": marked} if place == at else other for place, other in enumerate(messages)]
            return replace(subject.asked.request, messages=changed)
    return None


def _telling(subject: Subject, text: str) -> bool:
    """Whether a text has a run of words that the question's own turns do not have."""
    return bool(runs(text) - subject.granted_runs)


def _is_new(subject: Subject, text: str) -> bool:
    """The same, or a text too short for a run that none of the question's own turns consists of."""
    return _telling(subject, text) if len(words(text)) >= SHORTEST else text not in subject.granted_texts


def _with_user(request: Request, content: str) -> Request:
    return replace(request, messages=[*request.messages[:-1], {**request.messages[-1], "content": content}])


def _with_system(request: Request, more: str) -> Request:
    first = request.messages[0]
    return replace(request, messages=[{**first, "content": f"{first['content']}\n\n{more}"}, *request.messages[1:]])


DEPENDENT = "blanks that the gold determines"
CONTROLS = (
    Control("an id that holds the answer", frozenset(["ids"]), _telling_id),
    Control(
        "another question of the session in the request",
        frozenset(["shared_requests", "later_turns"]),
        _another_question,
    ),
    Control("an example from the gold of a question", frozenset(["gold_example"]), _gold_example),
    Control("a turn after the decision", frozenset(["later_turns"]), _later_turn),
    Control("an annotation of a shown turn", frozenset(["fields", "gold", "later_turns"]), _annotation),
    Control("a cue that the modality does not grant", frozenset(["fields", "later_turns"]), _other_cue),
    Control("the gold in the question", frozenset(["gold"]), _gold_itself),
    Control("the gold marked among the options", frozenset(["gold"]), _marked_option),
)


def described(result: ControlResult) -> str:
    """The outcome in a sentence."""
    if result.blind_to:
        return f"the audit is blind to: {'; '.join(result.blind_to)}"
    seen = f"{sum(result.seen.values())} of {sum(result.planted.values())} planted leaks seen"
    return seen + (f"; nothing to plant: {'; '.join(result.missing)}" if result.missing else "")
