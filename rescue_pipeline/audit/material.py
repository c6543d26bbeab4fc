"""What the audit knows of a corpus without asking the renderer: what a question may show, and what it must not."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from rescue_pipeline.llm.workspace import Corpus, Row
from rescue_pipeline.tasks.labels import LABEL_FILES, load_labels
from rescue_pipeline.tasks.people import GROUPS, THERAPIST
from rescue_pipeline.tasks.spec import ALL_EARLIER_TURNS, Context, TaskSpec

CUE_FIELDS = {
    "tone_of_voice": ("audio", "audiovisual"),
    "body_posture": ("visual", "audiovisual"),
    "facial_expressions": ("visual", "audiovisual"),
    "self_directed_behavior": ("visual", "audiovisual"),
    "interaction_behavior": ("visual", "audiovisual"),
}
"""The annotated fields that a question may show, and in which modalities."""
SHORTEST = 4
"""Words of a text that is looked for anywhere: shorter ones ("Yes.") stand in many turns."""

_WORD = re.compile(r"\w+")
_NOT_CLIENTS = frozenset([THERAPIST, *GROUPS.values()])


class Hidden(NamedTuple):
    """A text of a session: of which turn (None: of the whole record), of which field."""

    row_index: int | None
    field: str
    text: str


def words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


Runs = set[tuple[str, ...]]


def runs(text: str, length: int = SHORTEST) -> Runs:
    """Every run of so many words."""
    found = words(text)
    return {tuple(found[at : at + length]) for at in range(len(found) - length + 1)}


def window(context: Context, row_index: int, turns: Sequence[Row]) -> list[Row]:
    """The turns that a protocol grants to a question about a turn."""
    earlier = [row for row in turns if row["row_index"] < row_index]
    if context.before != ALL_EARLIER_TURNS:
        earlier = [row for row in earlier if row["row_index"] >= row_index - context.before]
    return [*earlier, *(row for row in turns if context.current and row["row_index"] == row_index)]


def granted_cues(modality: str) -> list[str]:
    return [name for name, modalities in CUE_FIELDS.items() if modality in modalities]


def turn_texts(row: Row, modality: str) -> list[str]:
    """Every text of a turn that the modality grants, each as a value on its own."""
    times = [row["start_time"], row["end_time"]]
    parts = [str(row["row_index"]), *_times(times), row["speaker"], *_people(row["target"]), row["dialogue"]]
    for item in row["background_dialogue"] or []:
        parts += [item["speaker"], *_people(item["target"]), item["content"]]
    for name in granted_cues(modality):
        parts += [*_described(row[name]), *_who(row[name])]
    return [form for part in parts if part for form in _forms(part)]


def _times(times: Sequence[float | None]) -> list[str]:
    seconds = ["?" if time is None or not math.isfinite(time) else f"{time:.2f}" for time in times]
    return ["-".join(seconds) + " s", *seconds, *(str(time) for time in times if time is not None)]


def _people(names: Sequence[str] | None) -> list[str]:
    return [*(names or []), ", ".join(dict.fromkeys(names or []))]


def _described(cue: Any) -> list[str]:
    if cue is None or isinstance(cue, str):
        return [cue] if cue else []
    return [item["description"] for item in cue if item["description"]]


def _who(cue: Any) -> list[str]:
    if cue is None or isinstance(cue, str):
        return []
    actors = [str(item[key]) for item in cue for key in ("person", "initiator") if item.get(key)]
    return [*actors, *(name for item in cue for name in _people(item.get("target")))]


def _forms(text: str) -> set[str]:
    """As it is, and as it stands inside a JSON string."""
    return {text, json.dumps(text, ensure_ascii=False)[1:-1]}


@dataclass(frozen=True)
class Material:
    """A corpus version, its turns and its annotations, with the names that questions use.

    annotations: by sample_id, what no question may show. renaming: of a session group, what a value becomes.
    """

    corpus: Corpus
    annotations: Mapping[str, Sequence[Hidden]]
    renaming: Callable[[str, Any], Any] = field(default=lambda group, value: value)
    _named_turns: dict[str, Sequence[Row]] = field(default_factory=dict)
    _hidden_runs: dict[str, list[tuple[Hidden, Runs]]] = field(default_factory=dict)
    """Both of the session met last: questions come session by session."""

    def named(self, sample_id: str, value: Any) -> Any:
        return self.renaming(self.corpus.sessions[sample_id]["session_group"], value)

    def session(self, sample_id: str) -> Row:
        session = self.corpus.sessions[sample_id]
        return {**session, "participants": self.named(sample_id, session["participants"])}

    def turns(self, sample_id: str) -> Sequence[Row]:
        if sample_id not in self._named_turns:
            self._named_turns.clear()
            self._named_turns[sample_id] = self.named(sample_id, list(self.corpus.turns_of(sample_id)))
        return self._named_turns[sample_id]

    def facts(self, instance: Row, granted: Sequence[str]) -> list[str]:
        """The texts of the facts that a task grants to its questions."""
        people = list(dict.fromkeys(self.session(instance["sample_id"])["participants"] or []))
        texts: dict[str, list[str | None]] = {
            "participants": [*people, ", ".join(people)],
            "candidates": [*self.options(instance)],
            "speaker": [instance["speaker"]],
            "support_target": [instance["support_target"]],
        }
        known = [text for name in granted for text in texts[name] if text]
        named: list[str] = self.named(instance["sample_id"], known)
        return [*named, str(instance["row_index"])]

    def options(self, instance: Row) -> list[str]:
        """What an answer may name, in the order that a question must keep; empty for free answers without people."""
        session, task = self.session(instance["sample_id"]), instance["task"]
        clients = [name for name in dict.fromkeys(session["participants"] or []) if name not in _NOT_CLIENTS]
        group = GROUPS[session["scenario"]]
        if task == "stp":
            return [*clients, group]
        if task == "vp":
            return list(dict.fromkeys([*(session["participants"] or []), group, THERAPIST]))
        kinds = {"rpp": "relation_pattern", "ssp": "support_strategy"}
        return load_labels().names(kinds[task], session["scenario"]) if task in kinds else []

    def hidden(self, sample_id: str) -> Iterator[Hidden]:
        """Every text of a session, granted to some question or not, turn by turn."""
        for row in self.turns(sample_id):
            at = row["row_index"]
            yield Hidden(at, "dialogue", row["dialogue"])
            for item in row["background_dialogue"] or []:
                yield Hidden(at, "background_dialogue", item["content"])
            for name in CUE_FIELDS:
                for text in _described(row[name]):
                    yield Hidden(at, name, text)
        for note in self.annotations.get(sample_id, ()):
            yield note._replace(text=self.named(sample_id, note.text))

    def hidden_runs(self, sample_id: str) -> list[tuple[Hidden, Runs]]:
        """The same, each with its runs of words."""
        if sample_id not in self._hidden_runs:
            self._hidden_runs.clear()
            self._hidden_runs[sample_id] = [(note, runs(note.text)) for note in self.hidden(sample_id)]
        return self._hidden_runs[sample_id]

    def gold_texts(self, instance: Row) -> list[str]:
        """The words of the gold answer: the phrase, the viewpoints with their attitudes, the label or the name."""
        gold = json.loads(instance["gold"])
        views = [view.get(key) for view in gold.get("viewpoints", []) for key in ("viewpoint", "attitude")]
        plain = [gold.get(key) for key in ("emotion", "should_speak", "relation_pattern", "target", "strategy")]
        granted = instance["support_target"]  # ssp: the target is part of the question
        texts = [text for text in [*views, *plain] if text and text != granted]
        named: list[str] = self.named(instance["sample_id"], texts)
        return named

    def ids(self, instance: Row) -> list[str]:
        """What names the question, its session and its files; a participant's name is no id."""
        session = self.corpus.session_of(instance)
        names = {name.casefold() for name in session["participants"] or []}
        whole = [instance["sample_id"], instance["instance_id"], session["session_group"]]
        whole += [session[name] for name in ("source_path", "source_sha256", "record_sha256")]
        whole += [note.text for note in self.annotations.get(instance["sample_id"], ()) if note.row_index is None]
        parts = [part for text in whole[:2] for part in re.split(r"[/:_\-\s]", text)]
        numbered = [part for part in parts if len(part) >= 3 and any(map(str.isdigit, part))]
        return [text for text in dict.fromkeys([*whole, *numbered]) if text and text.casefold() not in names]

    @cached_property
    def sessions_by_run(self) -> Mapping[int, tuple[str, ...]]:
        """Which sessions hold a run of words (its hash) in a turn or a note."""
        index: dict[int, tuple[str, ...]] = {}
        for sample_id in self.corpus.sessions:
            for run in {hash(run) for note in self.hidden(sample_id) for run in runs(note.text)}:
                index[run] = (*index.get(run, ()), sample_id)
        return index

    def said_in(self, text: str) -> list[str]:
        """The sessions that share runs of words with a text, the closest first."""
        counts: dict[str, int] = {}
        for run in runs(text):
            for sample_id in self.sessions_by_run.get(hash(run), ()):
                counts[sample_id] = counts.get(sample_id, 0) + 1
        return sorted(counts, key=lambda sample_id: -counts[sample_id])


def has_closed_labels(spec: TaskSpec) -> bool:
    return spec.label_set in LABEL_FILES
