"""kill -9 in the middle, twice: the third run finishes, and nothing that was finished is asked again."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rescue_pipeline.llm import Partition
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.schemas import Responses
from tests.llm.conftest import entry
from tests.llm.server import Said, Script, Server, completion
from tests.llm.world import World, with_models

CONCURRENCY = 4
CHILD = """
import sys
from pathlib import Path
from rescue_pipeline.llm import Partition
from rescue_pipeline.llm.asking import ask_partitions
from tests.llm.world import World, with_models

root, url = Path(sys.argv[1]), sys.argv[2]
made = {"id": "made", "litellm": "openai/made-model", "api_base": url, "local": True, "limits": {"concurrency": 4}}
ask_partitions(World().write(root, with_models(made)), [Partition("made", "dialogue")], ["itp", "er", "rpp"])
"""


def test_two_kills_repeat_no_finished_request(serve: Callable[[Script], Server], tmp_path: Path) -> None:
    answer = completion(
        '{"should_speak": "yes", "emotion": "calm", "intensity": 3, "relation_top3": ["mixed_transition"]}'
    )
    child: list[subprocess.Popen[bytes]] = []

    def script(_request: object, number: int) -> Said:
        if number in (12, 26):
            child[-1].kill()
        return Said(body=answer.body, delay=0.02)

    server = serve(script)
    for kills in (1, 2):
        child.append(subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path), server.url]))
        assert child[-1].wait(timeout=120) == -9, f"run {kills} was to be killed"
    workspace = World().write(tmp_path, with_models(entry(server, limits={"concurrency": CONCURRENCY})))
    made = Partition("made", "dialogue")
    summary = ask_partitions(workspace, [made], ["itp", "er", "rpp"])[0]

    assert summary.by_status == {"ok": summary.planned}
    asked = Counter(str(request.body["messages"]) for request in server.requests)
    assert len(asked) == summary.planned
    assert len(server.requests) - summary.planned <= 2 * CONCURRENCY  # only what was in flight at a kill
    for task in ("itp", "er", "rpp"):
        stored = workspace.lake.read(f"responses_{task}", Responses)
        assert stored["request_id"].n_unique() == stored.height
        assert parse_partition(workspace, made, task).by_status == {"ok": stored.height}
