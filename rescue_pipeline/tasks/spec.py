"""The declarations of tasks and protocols: what each task is, and how a protocol asks it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from rescue_pipeline.bundle import ASSETS
from rescue_pipeline.errors import UsageError
from rescue_pipeline.tasks.answers import ANSWER_MODELS, Answer
from rescue_pipeline.tasks.declarations import Declaration, read_declaration
from rescue_pipeline.tasks.extraction import PARSER_VERSION
from rescue_pipeline.tasks.labels import LABEL_FILES, LABELS, LabelSets, load_labels
from rescue_pipeline.tasks.templates import PROMPTS, sha256_of, used_files

__all__ = [
    "DEFAULT_PROTOCOL",
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
PROTOCOL_FILES = ASSETS / "protocols"
DEFAULT_PROTOCOL = "clean"
ALL_EARLIER_TURNS = -1

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


class Context(Declaration):
    """Which turns a question shows."""

    before: int = Field(ge=ALL_EARLIER_TURNS)
    """Turns before the one the instance names: -1 all, 0 none."""
    current: bool


class Protocol(Declaration):
    """How questions are asked. Another way of asking is another file in assets/protocols/."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    description: str
    template_set: str = Field(pattern=r"^[a-z0-9_-]+$")
    context: dict[str, Context]
    order_seed: int | None
    few_shot: int = Field(ge=0)
    epochs: int = Field(ge=1)
    batching: Literal[1]
    """Questions per request. One: several would show each other's later turns."""
    temperature: float = Field(ge=0, le=2)
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None
    max_answer_tokens: int = Field(ge=1)
    retry_answer_tokens: int = Field(ge=1)

    @model_validator(mode="after")
    def _retry_has_more_room(self) -> Protocol:
        if self.retry_answer_tokens <= self.max_answer_tokens:
            raise ValueError("retry_answer_tokens above max_answer_tokens: the same budget would fail the same way")
        return self

    @property
    def templates(self) -> Path:
        return PROMPTS / self.template_set


def load_tasks(folder: Path = TASK_FILES) -> dict[str, TaskSpec]:
    """All tasks by key, in their declared order. Raises UsageError (file, field, expected, found)."""
    return dict(_tasks(folder))


@cache
def _tasks(folder: Path) -> Mapping[str, TaskSpec]:
    specs = []
    for path in sorted(folder.glob("*.yaml")):
        spec = read_declaration(path, TaskSpec)
        _require(spec.key == path.stem, path, "key", f"{path.stem} (the file's name)", spec.key)
        specs.append(spec)
    return {spec.key: spec for spec in sorted(specs, key=lambda spec: (spec.order, spec.key))}


def protocol_names(folder: Path = PROTOCOL_FILES) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.yaml"))


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
    path = folder / f"{name}.yaml"
    protocol = read_declaration(path, Protocol)
    _require(protocol.name == name, path, "name", f"{name} (the file's name)", protocol.name)
    _fit(path, protocol, load_tasks())
    return protocol


def _fit(path: Path, protocol: Protocol, tasks: Mapping[str, TaskSpec]) -> None:
    """Raise UsageError unless the protocol says for every task, and only those, what can be shown and asked."""
    _require(set(protocol.context) == set(tasks), path, "context", ", ".join(tasks), ", ".join(protocol.context))
    for key, spec in tasks.items():
        current = protocol.context[key].current
        allowed = {"always": (True,), "never": (False,), "optional": (True, False)}[spec.current_turn]
        _require(current in allowed, path, f"context.{key}.current", str(allowed[0]).lower(), str(current).lower())
        template = protocol.templates / spec.prompt
        _require(
            template.is_file(),
            path,
            "template_set",
            f"a folder of {PROMPTS} that holds {spec.prompt}",
            protocol.template_set,
        )


def _require(holds: bool, path: Path, field: str, expected: str, found: str) -> None:
    if not holds:
        raise UsageError("a declaration is wrong", where=f"{path}, field {field}", expected=expected, found=found)


def prompt_files(spec: TaskSpec, protocol: Protocol) -> list[Path]:
    """The files a task's prompts are made of: its template, what that includes, and its label definitions."""
    labels = [LABELS / LABEL_FILES[spec.label_set]] if spec.label_set in LABEL_FILES else []
    return [*used_files(protocol.templates, spec.prompt), *labels]


def question_version(task: str, protocol: str = DEFAULT_PROTOCOL) -> str:
    """A hash over what drives a task's questions: its declaration, the protocol, the prompt's files."""
    spec, asked = load_tasks()[task], load_protocol(protocol)
    files = [TASK_FILES / f"{task}.yaml", PROTOCOL_FILES / f"{protocol}.yaml", *prompt_files(spec, asked)]
    return sha256_of(files)[:16]


def asset_version(task: str, protocol: str = DEFAULT_PROTOCOL) -> str:
    """A hash over what drives a task's answers: what drives its questions, and the parser."""
    return sha256_of([], question_version(task, protocol), PARSER_VERSION)[:16]
