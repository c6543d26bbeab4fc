"""What every step of asking works on: directories, registry, the corpus's questions; and what a partition is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.registry import Registry
from rescue_pipeline.schemas import TASKS, Instances, Sessions, Turns
from rescue_pipeline.tasks.people import participants
from rescue_pipeline.tasks.renaming import Renaming, words_of

IMPORTED = "imported"
"""The protocol of answers made elsewhere."""
EPOCH = "1"
"""The first epoch, and the only one of a protocol that asks once."""

KEPT_CHARACTERS = 200_000_000
"""Of rendered prompts held in memory, so that planning, asking and every further model need not render them again."""

Row = Mapping[str, Any]
Messages = list[dict[str, str]]


@dataclass(frozen=True, order=True)
class Partition:
    """A model asked in one modality by one protocol."""

    model: str
    modality: str
    protocol: str = "clean"

    @property
    def levels(self) -> dict[str, str]:
        """The folder levels below a table, in the lake and in the journal."""
        return {"protocol": self.protocol, "model": self.model, "modality": self.modality}

    def __str__(self) -> str:
        return f"{self.model} | {self.modality} | {self.protocol}"


class Corpus:
    """The questions of one corpus version, and what their prompts are rendered from."""

    def __init__(self, lake: Lake, corpus_version: str) -> None:
        def table(name: str, schema: Any) -> pl.DataFrame:
            return lake.read(name, schema).filter(pl.col("corpus_version") == corpus_version)

        rows = table("instances", Instances).sort("sample_id", "row_index", "task").to_dicts()
        if not rows:
            raise RescueError(
                "there are no questions for this corpus version",
                where=lake.folder("instances"),
                expected=f"instances of corpus version {corpus_version}",
                found="none",
                advice="run ingest and transform first (`rescue run --corpus PATH` does so)",
            )
        self.instances: dict[str, Row] = {row["instance_id"]: row for row in rows}
        self.sessions: dict[str, Row] = {row["sample_id"]: row for row in table("sessions", Sessions).to_dicts()}
        turns = table("turns", Turns).sort("sample_id", "row_index")
        self._frames = {str(key[0]): frame for key, frame in turns.partition_by("sample_id", as_dict=True).items()}
        self._recent: dict[str, list[Row]] = {}
        self._renamings: dict[str, Renaming] = {}
        self._prompts: dict[tuple[str, ...], Messages] = {}
        self._room = KEPT_CHARACTERS

    def of_task(self, task: str) -> list[Row]:
        """The instances of a task, session by session."""
        return [row for row in self.instances.values() if row["task"] == task]

    def session_of(self, instance: Row) -> Row:
        return self.sessions[instance["sample_id"]]

    def turns_of(self, sample_id: str) -> Sequence[Row]:
        """A session's turns by row_index. A few sessions are kept as rows: all of a large corpus would not fit."""
        if sample_id not in self._recent:
            if len(self._recent) >= 64:
                self._recent.pop(next(iter(self._recent)))
            frame = self._frames.get(sample_id)
            rows: list[Row] = [] if frame is None else list(frame.to_dicts())
            self._recent[sample_id] = rows
        return self._recent[sample_id]

    def renaming_of(self, session_group: str) -> Renaming:
        """The invented names of a session group: no word of its sessions, and no participant's name anywhere."""
        if session_group not in self._renamings:
            sessions = [row for row in self.sessions.values() if row["session_group"] == session_group]
            taken = words_of([row["participants"] for row in self.sessions.values()])
            for row in sessions:
                taken |= words_of(self.turns_of(row["sample_id"]))
            names = [name for row in sessions for name in participants(row)]
            self._renamings[session_group] = Renaming.of(session_group, names, taken)
        return self._renamings[session_group]

    def rendered(self, question: tuple[str, ...], render: Callable[[], Messages]) -> Messages:
        """The messages of a request (protocol, modality, instance_ids): the same for every model, so rendered once."""
        messages = self._prompts.get(question)
        if messages is None:
            messages = render()
            if self._room > 0:
                self._room -= sum(len(message["content"]) for message in messages)
                self._prompts[question] = messages
        return messages


@dataclass(frozen=True)
class Workspace:
    """One corpus version in its data directory, with the models that may be asked about it."""

    datadir: DataDirectory
    lake: Lake
    registry: Registry
    corpus_id: str
    corpus_version: str

    @cached_property
    def corpus(self) -> Corpus:
        return Corpus(self.lake, self.corpus_version)


def known_tasks(tasks: Sequence[str]) -> list[str]:
    """`tasks` without repeats, in the benchmark's order; raises UsageError for an unknown one."""
    unknown = sorted(set(tasks) - set(TASKS))
    if unknown:
        raise UsageError("there is no such task", expected=", ".join(TASKS), found=", ".join(unknown))
    return [task for task in TASKS if task in tasks]
