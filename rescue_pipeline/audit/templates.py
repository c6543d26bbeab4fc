"""What no template may say: an id, a gold text, a person or an option of the corpus that its questions are about."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rescue_pipeline.audit.explaining import Condition
from rescue_pipeline.audit.findings import Finding
from rescue_pipeline.audit.material import Material, has_closed_labels, words
from rescue_pipeline.llm.workspace import Row
from rescue_pipeline.tasks.labels import load_labels
from rescue_pipeline.tasks.people import GROUPS, THERAPIST

LABELS_NAMED = {"ssp": {"track": 1}}
"""How often a template may name a label outside the list of labels: ssp says which one is for want of a better."""

_SEPARATOR = re.compile(r"[\W_]+")
_CONTENT_WORDS = 2
"""A shorter phrase ("hurt") may well stand in a template that explains what an emotion is."""
_FUNCTION_WORDS = frozenset(
    words(
        "a about against all also an and any are as at be because been being but by can could did do does for from had "
        "has have he her him his how i if in into is it its me more most my no nor not of on one or other our over she "
        "should so some than that the their them then there they this to too towards under up us very was we were what "
        "when where which while who will with without would you your"
    )
)
_NOT_PERSONS = frozenset([*GROUPS.values(), THERAPIST])


def planted_findings(condition: Condition, material: Material, instances: Sequence[Row]) -> Iterator[Finding]:
    """One finding for each check and kind of text of the corpus that the templates of a condition hold."""
    said = " | ".join(sorted(condition.literals))
    flat = _flat(said)
    where = f"templates {condition.protocol.template_set}/{condition.spec.prompt}"
    for check, found, is_said in (
        ("ids", "an id or a file name of the corpus", any(_flat(text) in flat for text in ids_of(material))),
        ("gold_example", "a gold text of the corpus", any(_flat(text) in flat for text in gold_phrases(material))),
        ("gold", "an option outside the list of labels", any(_labels_named(condition, flat))),
        ("gold", "a person of the corpus", any(_persons_named(material, said))),
    ):
        if is_said:
            yield Finding(check, str(instances[0]["instance_id"]), where, found)


def ids_of(material: Material) -> set[str]:
    """The names of all sessions, their groups and files, where a name is no mere word or number."""
    texts: set[str] = set()
    for session in material.corpus.sessions.values():
        path = session["source_path"] or ""
        texts |= {session["sample_id"], session["session_group"], path, path.rpartition("/")[2]}
        texts |= {session["source_sha256"], session["record_sha256"], *re.split(r"[/:\s]", session["sample_id"])}
    return {text for text in texts if text and re.search(r"[\W\d_]", text) and re.search(r"[^\W\d_]", text)}


def gold_phrases(material: Material) -> set[str]:
    """The emotions and viewpoints of all questions, with the names of the record and with those that are shown."""
    phrases: set[str] = set()
    for task in ("er", "vp"):
        for instance in material.corpus.of_task(task):
            texts = [text for text in _phrases(json.loads(instance["gold"])) if text]
            phrases |= {*texts, *material.named(instance["sample_id"], texts)}
    return phrases


def _phrases(gold: dict[str, Any]) -> Iterator[str]:
    """Those that nobody writes by chance: an emotion of two words with a meaning, a viewpoint of two words."""
    emotion = gold.get("emotion") or ""
    if len(set(_flat(emotion).split()) - _FUNCTION_WORDS) >= _CONTENT_WORDS:
        yield emotion
    for view in gold.get("viewpoints", []):
        if len(_flat(view["viewpoint"]).split()) >= _CONTENT_WORDS:
            yield view["viewpoint"]


def _labels_named(condition: Condition, flat: str) -> Iterator[str]:
    spec = condition.spec
    if not has_closed_labels(spec):
        return
    allowed = LABELS_NAMED.get(spec.key, {})
    for label in {label for scenario in GROUPS for label in load_labels().names(str(spec.label_set), scenario)}:
        if flat.count(_flat(label)) > allowed.get(label, 0):
            yield label


def _persons_named(material: Material, said: str) -> Iterator[str]:
    """Names as they are written; one that the templates also use as a word (Will, Grace) cannot be told from it."""
    spaced = f" {_SEPARATOR.sub(' ', said)} "
    for name in set(_persons(material)):
        if f" {name} " in spaced and f" {name.casefold()} " not in spaced:
            yield name


def _persons(material: Material) -> Iterable[str]:
    for sample_id, session in material.corpus.sessions.items():
        for names in (session["participants"], material.session(sample_id)["participants"]):
            yield from (name for name in names or [] if name not in _NOT_PERSONS)


def _flat(text: str) -> str:
    """The words of a text, case and punctuation aside, with a blank at either end, so that words match whole."""
    return f" {_SEPARATOR.sub(' ', text.casefold()).strip()} "
