"""The declarations of tasks and protocols: what each task is, and how a protocol asks it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from rescue_pipeline.bundle import ASSETS
from rescue_pipeline.errors import UsageError
from rescue_pipeline.tasks.answers import ANSWER_MODELS, Answer
from rescue_pipeline.tasks.declarations import Declaration, read_declaration, require
from rescue_pipeline.tasks.extraction import PARSER_VERSION
from rescue_pipeline.tasks.labels import LABEL_FILES, LABELS, LabelSets, load_labels
from rescue_pipeline.tasks.protocol import (
    ALL_EARLIER_TURNS,
    PROTOCOL_FILES,
    Context,
    Protocol,
    protocol_files,
    protocol_names,
    read_protocol,
)
from rescue_pipeline.tasks.renaming import NAME_FILE
from rescue_pipeline.tasks.templates import sha256_of, used_files

__all__ = [
    "ALL_EARLIER_TURNS",
    "DEFAULT_PROTOCOL",
    "PROTOCOL_FILES",
    "Context",
    "LabelSets",
    "Protocol",
    "TaskSpec",
    "asset_version",
    "load_labels",
    "load_protocol",
    "load_tasks",
    "prompt_files",
    "protocol_names",
    "question_version",
]

TASK_FILES = ASSETS / "tasks"
DEFAULT_PROTOCOL = "clean"

Modality = Literal["dialogue", "audio", "visual", "audiovisual"]
Fact = Literal["participants", "speaker", "support_target", "candidates"]
Metric = Literal[
    "precision", "recall", "f1", "accuracy", "accuracy_paper_base", "recall_at_1", "recall_at_2", "recall_at_3",
    "mrr", "macro_f1", "judge", "intensity_match", "er_score", "pairing", "content", "judge_total", "bertscore_f1",
]  # fmt: skip


class TaskSpec(Declaration):
    """One task of the benchmark, as its file in assets/tasks/ declares it."""

    key: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    order: int = Field(ge=1)
    name: str
    group: Literal["understanding", "support"]
    version: str
    modalities: tuple[Modality, ...] = Field(min_length=1)
    answer: str
    label_set: Literal["relation_pattern", "support_strategy", "target"] | None
    facts: tuple[Fact, ...]
    """What a prompt may say besides the turns; anything else is not even handed to the template."""
    current_turn: Literal["always", "optional", "never"]
    """Whether the turn that the instance names may be shown: `never` where it is the therapist's, still to come."""
    metrics: tuple[Metric, ...] = Field(min_length=1)
    prompt: str = Field(pattern=r"^[a-z0-9_]+\.md\.j2$")
    judged: bool
    sampling: str

    @field_validator("answer")
    @classmethod
    def _is_known(cls, answer: str) -> str:
        if answer not in ANSWER_MODELS:
            raise ValueError(f"one of {', '.join(ANSWER_MODELS)}")
        return answer

    @property
    def answer_model(self) -> type[Answer]:
        return ANSWER_MODELS[self.answer]


def load_tasks(folder: Path = TASK_FILES) -> dict[str, TaskSpec]:
    """All tasks by key, in their declared order. Raises UsageError (file, field, expected, found)."""
    return dict(_tasks(folder))


@cache
def _tasks(folder: Path) -> Mapping[str, TaskSpec]:
    specs = []
    for path in sorted(folder.glob("*.yaml")):
        spec = read_declaration(path, TaskSpec)
        require(spec.key == path.stem, path, "key", f"{path.stem} (the file's name)", spec.key)
        specs.append(spec)
    return {spec.key: spec for spec in sorted(specs, key=lambda spec: (spec.order, spec.key))}


@cache
def load_protocol(name: str, folder: Path = PROTOCOL_FILES) -> Protocol:
    """A protocol by name. Raises UsageError when there is none, or it does not fit the tasks."""
    if name not in protocol_names(folder):
        raise UsageError(
            "there is no such protocol",
            where=str(folder),
            expected=", ".join(protocol_names(folder)),
            found=name,
            advice="name one of these, or add a file beside them",
        )
    protocol = read_protocol(name, folder)
    _fit(folder / f"{name}.yaml", protocol, load_tasks())
    return protocol


def _fit(path: Path, protocol: Protocol, tasks: Mapping[str, TaskSpec]) -> None:
    """Raise UsageError unless the protocol says for every task, and only those, what can be shown and asked."""
    for field, by_task in (("context", protocol.context), ("batching", protocol.batching)):
        require(set(by_task) == set(tasks), path, field, ", ".join(tasks), ", ".join(by_task))
    for key, spec in tasks.items():
        current = protocol.context[key].current
        allowed = {"always": (True,), "never": (False,), "optional": (True, False)}[spec.current_turn]
        require(current in allowed, path, f"context.{key}.current", str(allowed[0]).lower(), str(current).lower())
        template = protocol.templates / spec.prompt
        expected = f"a folder of {template.parents[1]} that holds {spec.prompt}"
        require(template.is_file(), path, "template_set", expected, protocol.template_set)


def prompt_files(spec: TaskSpec, protocol: Protocol) -> list[Path]:
    """The files a task's prompts are made of: its template, what that includes, its label definitions, its names."""
    labels = [LABELS / LABEL_FILES[spec.label_set]] if spec.label_set in LABEL_FILES else []
    return [*used_files(protocol.templates, spec.prompt), *labels, *([NAME_FILE] if protocol.renamed else [])]


def question_version(task: str, protocol: str | None = None) -> str:
    """A hash over what drives a task's questions: its declaration, the protocol's files, the prompt's files.

    Without a protocol's name, over all of them: an asset holds the questions of every protocol.
    """
    spec, names = load_tasks()[task], protocol_names() if protocol is None else [protocol]
    asked = [path for name in names for path in (*protocol_files(name), *prompt_files(spec, load_protocol(name)))]
    return sha256_of([TASK_FILES / f"{task}.yaml", *asked])[:16]


def asset_version(task: str, protocol: str | None = None) -> str:
    """A hash over what drives a task's answers: what drives its questions, and the parser."""
    return sha256_of([], question_version(task, protocol), PARSER_VERSION)[:16]
