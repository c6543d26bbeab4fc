"""Write the golden prompts anew, their hashes, and the example in docs/prompts.md: `python -m tests.tasks.golden`.

Run it after a deliberate change of wording, and read the difference before you commit it.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from rescue_pipeline.schemas import TASKS
from rescue_pipeline.schemas.predictions import MODALITIES
from rescue_pipeline.schemas.tasks import SCENARIOS
from rescue_pipeline.tasks.examples import example_answer
from rescue_pipeline.tasks.lists import build_list_messages
from rescue_pipeline.tasks.prompts import Example, build_messages
from rescue_pipeline.tasks.spec import load_protocol, load_tasks, protocol_names
from tests.tasks.invented import instance, session, turns

GOLDEN = Path(__file__).parents[1] / "data" / "prompts"
HASHES = GOLDEN / "hashes.json"
DOCS = Path(__file__).parents[2] / "docs" / "prompts.md"
EXAMPLE = re.compile(r"(?<=````text\n).*?(?=````\n)", re.DOTALL)


def golden_text(task: str, modality: str) -> str:
    """The question about the invented session, both messages in one text."""
    messages = build_messages(load_tasks()[task], load_protocol("clean"), instance(task), session(), turns(), modality)
    return "".join(f"=== {message['role']}\n{message['content']}\n" for message in messages)


def protocol_messages(name: str, task: str, modality: str, scenario: str) -> list[dict[str, str]]:
    """A protocol's question, or list of two questions, about the invented session; worked examples are of it too."""
    spec, protocol, held = load_tasks()[task], load_protocol(name), session(scenario)
    asked = [
        instance(task, row, scenario=scenario, candidates=None) for row in ((3, 4) if protocol.asks_lists else (4,))
    ]
    if protocol.asks_lists:
        example = instance("vp") if task == "vp" else None
        return build_list_messages(spec, protocol, asked, held, turns(), modality, example=example)
    other = instance(task, 2, scenario=scenario, candidates=None)
    example_: Any = Example(other, held, turns(), example_answer(spec, other, held))
    examples = [example_] * protocol.few_shot
    return build_messages(spec, protocol, asked[0], held, turns(), modality, examples=examples)


def hashes() -> dict[str, dict[str, str]]:
    """By protocol and question the SHA-256 of all its messages."""
    return {
        name: {
            f"{task} {modality} {scenario}": _hash(protocol_messages(name, task, modality, scenario))
            for task in TASKS
            for modality in MODALITIES
            for scenario in SCENARIOS
        }
        for name in protocol_names()
    }


def _hash(messages: list[dict[str, str]]) -> str:
    return hashlib.sha256(json.dumps(messages, ensure_ascii=False).encode()).hexdigest()


def write() -> None:
    HASHES.write_text(json.dumps(hashes(), indent=1) + "\n", encoding="utf-8")
    for task in TASKS:
        (GOLDEN / f"{task}.txt").write_bytes(golden_text(task, "audiovisual").encode())
    example = golden_text("itp", "dialogue")
    DOCS.write_text(EXAMPLE.sub(lambda _: example, DOCS.read_text(encoding="utf-8"), count=1), encoding="utf-8")


if __name__ == "__main__":
    write()
