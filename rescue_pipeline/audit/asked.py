"""The requests exactly as asking would send them, and the same requests made from an altered corpus."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.llm.exchange import Request
from rescue_pipeline.llm.registry import ModelEntry, Registry
from rescue_pipeline.llm.rendering import Renderer
from rescue_pipeline.llm.workspace import Corpus, Partition, Row, Workspace

NOBODY = ModelEntry(id="audit", litellm="audit/nobody", structured_output="json_schema")
"""A model that is no baseline, so that a request holds what any model would get; it is never asked."""
OTHER_WORDS = " and something else entirely"


@dataclass(frozen=True)
class Asked:
    """A request and the questions that it carries, all of one session."""

    request: Request
    instances: tuple[Row, ...]

    @property
    def sample_id(self) -> str:
        return str(self.instances[0]["sample_id"])


class AlteredCorpus(Corpus):
    """A corpus of which some rows say something else. Nothing of it is kept: it is altered anew for each request."""

    def __init__(self, base: Corpus) -> None:
        # all that the base knows, without reading its tables again
        self.__dict__.update(base.__dict__)
        self.base = base
        self.instances = dict(base.instances)
        self.turns: Mapping[str, list[Row]] = {}

    def turns_of(self, sample_id: str) -> Any:
        return self.turns.get(sample_id) or self.base.turns_of(sample_id)

    def rendered(self, question: Any, render: Any) -> Any:
        return render()

    @contextmanager
    def with_other(self, gold: Sequence[Row], turns: Mapping[str, list[Row]]) -> Iterator[None]:
        """Another gold for these instances, and these turns, while the context lasts."""
        before = {row["instance_id"]: row for row in gold}
        for key, row in before.items():
            self.instances[key] = {**row, "gold": other_gold(row)}
        self.turns = turns
        try:
            yield
        finally:
            self.instances.update(before)
            self.turns = {}


@contextmanager
def renderer(workspace: Workspace, modality: str, protocol: str, corpus: Corpus) -> Iterator[Renderer]:
    """What renders a partition's requests, for nobody: no journal learns of the model that is not asked."""
    registry = Registry({**workspace.registry.models, NOBODY.id: NOBODY})
    with tempfile.TemporaryDirectory(prefix="rescue-audit-") as folder:
        nowhere = replace(workspace, datadir=DataDirectory(Path(folder)), registry=registry)
        nowhere.__dict__["corpus"] = corpus
        yield Renderer(nowhere, Partition(NOBODY.id, modality, protocol))


def other_gold(instance: Row) -> str:
    """Another valid gold answer to the same question."""
    gold = json.loads(instance["gold"])
    changed = {field: _other_value(field, value, instance) for field, value in gold.items()}
    return json.dumps(changed, ensure_ascii=False)


def _other_value(field: str, value: Any, instance: Row) -> Any:
    if field == "should_speak":
        return "no" if value == "yes" else "yes"
    if field == "intensity":
        return (int(value) + 5) % 11
    if field == "viewpoints":
        return [{**view, "viewpoint": view["viewpoint"] + OTHER_WORDS, "attitude": OTHER_WORDS} for view in value]
    if field == "emotion":
        return value + OTHER_WORDS
    if field == "target" and instance["task"] == "ssp":
        return value  # the target is given to the model
    options = [option for option in instance["candidates"] or [] if option != value]
    return options[0] if options else value
