"""gold_example: worked examples may only come from other session groups, and only where the protocol has them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from rescue_pipeline.audit.causes import gap_findings
from rescue_pipeline.audit.covering import Pieces
from rescue_pipeline.audit.explaining import Condition, Gap, Subject, codes, message_gaps
from rescue_pipeline.audit.findings import Finding, place
from rescue_pipeline.audit.literals import label_texts
from rescue_pipeline.audit.material import Material, runs, turn_texts, words
from rescue_pipeline.llm.workspace import Row
from rescue_pipeline.tasks.examples import EXAMPLE_REASON

_SENTENCE = 5
"""Words of a text that nobody writes twice by chance."""
_MANY = 7
"""Words in a row that two texts share only when one quotes the other."""


def example_findings(subject: Subject) -> Iterator[Finding]:
    """Every message between the system message and the question is a solved question of another session group."""
    between = subject.asked.request.messages[1:-1]
    if len(between) != 2 * subject.condition.protocol.few_shot:
        found = f"{len(between)} messages of examples, the protocol has {2 * subject.condition.protocol.few_shot}"
        yield Finding("gold_example", subject.instance_id, "messages before the question", found)
    for question, answer in zip(between[::2], between[1::2], strict=False):
        yield from _one_example(subject, question["content"], answer["content"])


def _one_example(subject: Subject, question: str, answer: str) -> Iterator[Finding]:
    """Some session of another group must explain the question and its answer; several may explain the question."""
    unanswered: list[Gap] | None = None
    for sample_id in _other_sessions(subject, question):
        if not any(_question_gaps(subject, question, sample_id)):
            known = _answer_pieces(subject, sample_id)
            left = list(message_gaps("example", answer, [known]))
            if not left:
                return
            unanswered = unanswered or left
    if unanswered is None:
        where = place("example", question, 0, subject.condition.literals)
        yield Finding("gold_example", subject.instance_id, where, "an example that no other session group explains")
    else:
        yield from gap_findings(subject, iter(unanswered))


def template_findings(condition: Condition, material: Material, instances: Sequence[Row]) -> Iterator[Finding]:
    """No text of the templates may come from the corpus: such an example would answer a question that is asked."""
    for literal in sorted(condition.literals):
        said = f" {' '.join(words(literal))} "
        for sample_id in material.said_in(literal):
            if any(_is_quoted(note.text, literal, said) for note in material.hidden(sample_id)):
                asked = next((row for row in instances if row["sample_id"] == sample_id), instances[0])
                where = f"templates {condition.protocol.template_set}/{condition.spec.prompt}"
                yield Finding("gold_example", str(asked["instance_id"]), where, "an example that occurs in the corpus")
                break


def _is_quoted(text: str, literal: str, said: str) -> bool:
    """All of a text that is no mere turn of phrase, or many words of it in a row."""
    spoken = words(text)
    if len(spoken) >= _SENTENCE and f" {' '.join(spoken)} " in said:
        return True
    return bool(runs(text, _MANY) & runs(literal, _MANY))


def _other_sessions(subject: Subject, text: str) -> Iterator[str]:
    """The sessions of other groups, first those that share words with an example; it may hold hardly any."""
    material = subject.material
    own_group = material.corpus.sessions[subject.asked.sample_id]["session_group"]
    for sample_id in dict.fromkeys([*material.said_in(text), *material.corpus.sessions]):
        if material.corpus.sessions[sample_id]["session_group"] != own_group:
            yield sample_id


def _question_gaps(subject: Subject, text: str, sample_id: str) -> Iterator[Gap]:
    condition = subject.condition
    turns = [part for row in subject.material.turns(sample_id) for part in turn_texts(row, condition.modality)]
    facts = [
        part for row in _questions(subject, sample_id) for part in subject.material.facts(row, condition.spec.facts)
    ]
    session = subject.material.session(sample_id)
    labels = label_texts(condition.spec, session["scenario"])
    layers = [condition.template, Pieces([*subject.names, *labels, *facts, *turns]), codes(text)]
    yield from message_gaps("example", text, layers)


def _questions(subject: Subject, sample_id: str) -> Sequence[Row]:
    key = subject.condition.spec.key
    return [row for row in subject.material.corpus.of_task(key) if row["sample_id"] == sample_id]


def _answer_pieces(subject: Subject, sample_id: str) -> Pieces:
    """What the answer of an example may hold: the gold of its session, the options, the fields of an answer."""
    spec = subject.condition.spec
    questions = _questions(subject, sample_id)
    texts = [text for row in questions for text in subject.material.gold_texts(row)]
    texts += [option for row in questions for option in subject.material.options(row)]
    escaped = [json.dumps(text, ensure_ascii=False)[1:-1] for text in texts]
    fields = ["reason", *spec.answer_model.model_fields, "source", "target", "viewpoint"]
    return Pieces([*texts, *escaped, *fields, EXAMPLE_REASON, *map(str, range(11))])
