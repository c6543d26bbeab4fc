"""Running `rescue` in processes of its own, and the data directories that the tests share."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rescue_pipeline.datadir import DataDirectory
from tests.llm.server import Received, Said, Server, completion

RESCUE = str(Path(sys.executable).with_name("rescue"))
ORACLE_SMALL = Path(__file__).parents[1] / "data" / "oracle_small"
LONGEST_SECONDS = 600
"""Per command; a machine that does much else at once may need long."""

ANSWER = {
    "itp": '{"should_speak": "yes"}',
    "rpp": '{"relation_top3": ["mixed_transition"]}',
    "er": '{"emotion": "tense and unheard", "intensity": 5}',
}
SMALL_RUN = ("--models", "majority,made", "--tasks", "itp,rpp,er", "--limit", "12")
"""What `small` asks; the same again in another directory must come to the same tables."""


@dataclass(frozen=True)
class Finished:
    """A data directory after its runs, and what each of them said."""

    root: Path

    @property
    def data(self) -> DataDirectory:
        return DataDirectory(self.root / "data")

    def said(self, run: str) -> subprocess.CompletedProcess[str]:
        told = json.loads((self.root / f"{run}.json").read_text())
        return subprocess.CompletedProcess(**told)

    def copy(self, target: Path) -> Finished:
        shutil.copytree(self.root, target)
        return Finished(target)


def rescue(
    *arguments: str, cwd: Path, data: Path | None = None, check: bool = False, **environment: str
) -> subprocess.CompletedProcess[str]:
    """One command, in an environment without settings of its own; `data` becomes RESCUE_DATA_DIR."""
    return subprocess.run(
        [RESCUE, *arguments],
        cwd=cwd,
        env=environment_for(data, **environment),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=LONGEST_SECONDS,
        check=check,
    )


def environment_for(data: Path | None = None, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RESCUE_", "DAGSTER_", "DBT_"))}
    return {**kept, **({"RESCUE_DATA_DIR": str(data)} if data else {}), **more}


def once(folder: Path, make: Callable[[Path], None]) -> Finished:
    """Make `folder` in the first worker that asks for it; the others wait."""
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "done"
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # half made by a worker that failed
            folder.mkdir()
            make(folder)
            done.touch()
    return Finished(folder)


def demo(folder: Path) -> None:
    _run(folder, "demo", "demo")


def small(folder: Path) -> None:
    write_corpus(folder)
    with Server(answered) as server:
        write_models(folder, server)
        _run(folder, "run", "run", "--corpus", "small.jsonl", *SMALL_RUN)
    predictions = str(ORACLE_SMALL / "predictions.jsonl")
    _run(folder, "import", "import-predictions", predictions, "--model", "oracle", "-q")


def _run(folder: Path, name: str, *arguments: str) -> None:
    done = rescue(*arguments, cwd=folder, data=folder / "data")
    (folder / f"{name}.json").write_text(json.dumps(vars(done)))


def write_corpus(folder: Path) -> Path:
    """oracle_small with a record between the good ones that has no rows."""
    first, *others = (ORACLE_SMALL / "corpus.jsonl").read_text().splitlines()
    broken = json.dumps({"sample_id": "broken_and_bent/001", "scenario": "couple"})
    corpus = folder / "small.jsonl"
    corpus.write_text("\n".join([first, broken, *others, ""]))
    return corpus


def write_models(folder: Path, server: Server, **fields: Any) -> None:
    entry = {"id": "made", "litellm": "openai/made-model", "api_base": server.url, "local": True, **fields}
    (folder / "models.yaml").write_text(yaml.safe_dump({"models": [entry]}))


def answered(request: Received, _number: int) -> Said:
    """An answer to whichever of the three tasks is asked: the prompt names the fields it wants."""
    return completion(answer_to(request))


def answer_to(request: Received) -> str:
    prompt = json.dumps(request.body["messages"])
    return next(answer for answer in ANSWER.values() if answer.split('"')[1] in prompt)
