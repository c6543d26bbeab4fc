"""The known versions of a model, counted: `journal/generations.jsonl` remembers which revision was which generation."""

from __future__ import annotations

from pathlib import Path

from rescue_pipeline.llm.identity import digest
from rescue_pipeline.llm.registry import LEXICAL_JUDGE, ModelEntry
from rescue_pipeline.llm.remembered import facts, kept_for_one, remember
from rescue_pipeline.llm.workspace import Workspace

FILE = "generations.jsonl"


def generation_of(workspace: Workspace, entry: ModelEntry) -> int:
    """The generation of the model's present revision, recorded when it is new.

    A revision met before keeps its number, so that going back to it finds its answers again.
    """
    return generation_for(workspace.datadir.journal, entry.id, revision_of(workspace, entry))


def revision_of(workspace: Workspace, entry: ModelEntry) -> str:
    """The registry's revision; for a baseline a hash of all it answers from: the gold table and its parameters."""
    if not entry.is_baseline or entry.id == LEXICAL_JUDGE:
        return entry.revision
    gold = [
        (row["instance_id"], row["session_group"], row["gold"], row["candidates"], row["support_target"])
        for row in workspace.corpus.instances.values()
    ]
    return f"{entry.revision}-{digest([gold, entry.params])[:16]}"


def generation_for(journal: Path, model: str, revision: str) -> int:
    """The number of a model's revision: known, or the next one, which is then recorded."""
    with kept_for_one(journal / FILE):
        known = known_revisions(journal, model)
        if revision in known:
            return known[revision]
        generation = max(known.values(), default=0) + 1
        remember(journal / FILE, {"model": model, "revision": revision, "generation": generation})
        return generation


def known_revisions(journal: Path, model: str) -> dict[str, int]:
    """The generation of each known revision of a model, oldest first."""
    return {fact["revision"]: fact["generation"] for fact in facts(journal / FILE) if fact["model"] == model}
