"""Write the golden prompts anew, and the example in docs/prompts.md: `python -m tests.tasks.golden`.

Run it after a deliberate change of wording, and read the difference before you commit it.
"""

from __future__ import annotations

import re
from pathlib import Path

from rescue_pipeline.schemas import TASKS
from rescue_pipeline.tasks.prompts import build_messages
from rescue_pipeline.tasks.spec import load_protocol, load_tasks
from tests.tasks.invented import instance, session, turns

GOLDEN = Path(__file__).parents[1] / "data" / "prompts"
DOCS = Path(__file__).parents[2] / "docs" / "prompts.md"
EXAMPLE = re.compile(r"(?<=````text\n).*?(?=````\n)", re.DOTALL)


def golden_text(task: str, modality: str) -> str:
    """The question about the invented session, both messages in one text."""
    messages = build_messages(load_tasks()[task], load_protocol("clean"), instance(task), session(), turns(), modality)
    return "".join(f"=== {message['role']}\n{message['content']}\n" for message in messages)


def write() -> None:
    for task in TASKS:
        (GOLDEN / f"{task}.txt").write_bytes(golden_text(task, "audiovisual").encode())
    example = golden_text("itp", "dialogue")
    DOCS.write_text(EXAMPLE.sub(lambda _: example, DOCS.read_text(encoding="utf-8"), count=1), encoding="utf-8")


if __name__ == "__main__":
    write()
