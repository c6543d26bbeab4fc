"""The journal: on disk before it counts, mended after a crash, sealed into the lake, held by one process."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rescue_pipeline.errors import RescueError
from rescue_pipeline.lake import Lake
from rescue_pipeline.llm import segments
from rescue_pipeline.llm.generations import generation_for
from rescue_pipeline.llm.journal import Journal, recover
from rescue_pipeline.llm.lease import lease
from rescue_pipeline.llm.segments import Stream, read_records
from rescue_pipeline.schemas import Responses

STREAM = Stream.of("responses_er", {"protocol": "clean", "model": "made", "modality": "dialogue"})


def record(number: int, content: str | None = "{}") -> dict[str, Any]:
    return {
        "request_id": f"r{number}",
        "task": "er",
        "model": "made",
        "generation": 1,
        "modality": "dialogue",
        "protocol": "clean",
        "epoch": "1",
        "status": "ok",
        "final": True,
        "content": content,
        "finish_reason": "stop",
        "error_type": None,
        "error": None,
        "http_status": None,
        "rung": "plain",
        "parameters": "{}",
        "attempts": 1,
        "prompt_tokens": 3,
        "completion_tokens": 1,
        "reasoning_tokens": None,
        "cached_tokens": None,
        "cost_usd": None,
        "provider_model": "m",
        "system_fingerprint": None,
        "sent_at": datetime(2026, 12, 1, 9, 30, tzinfo=UTC).isoformat(),
        "seconds": 0.5,
    }


def rows(lake: Lake) -> list[str]:
    return sorted(lake.read("responses_er", Responses)["request_id"])


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def test_a_record_is_on_the_disk_when_it_is_said_to_be(tmp_path: Path, lake: Lake) -> None:
    seen: list[list[str]] = []

    def committed(_failure: RescueError | None) -> None:
        files = segments.segment_files(tmp_path, STREAM)
        seen.append([entry["request_id"] for file in files for entry in read_records(file)])

    with Journal(tmp_path, lake) as journal:
        journal.append(STREAM, record(1), committed)
        journal.flush()
    assert seen == [["r1"]]


def test_segments_are_sealed_by_size_and_at_the_end(tmp_path: Path, lake: Lake) -> None:
    with Journal(tmp_path, lake, segment_rows=3) as journal:
        for number in range(3):
            journal.append(STREAM, record(number), lambda _failure: None)
        journal.flush()
        journal.append(STREAM, record(3), lambda _failure: None)
    assert rows(lake) == ["r0", "r1", "r2", "r3"]
    assert lake.files("responses_er") == [path.stem for path in segments.segment_files(tmp_path, STREAM)]
    assert len(lake.files("responses_er")) == 2


def test_a_segment_is_sealed_by_age_while_nothing_arrives(tmp_path: Path, lake: Lake) -> None:
    with Journal(tmp_path, lake, segment_seconds=0.1) as journal:
        journal.append(STREAM, record(1), lambda _failure: None)
        waited = threading.Event()
        for _ in range(100):
            if lake.files("responses_er"):
                break
            waited.wait(0.1)
        assert rows(lake) == ["r1"]


def test_a_torn_last_line_is_set_aside_and_the_rest_counts(tmp_path: Path, lake: Lake) -> None:
    segment = segments.Segment(tmp_path, STREAM)
    segment.append([record(1), record(2)])
    segment.close()
    with segment.path.open("ab") as file:
        file.write(b'{"request_id": "r3", "conte')
    assert recover(tmp_path, lake, [STREAM]) == 1
    assert rows(lake) == ["r1", "r2"]
    assert b'"r3"' in segment.path.with_suffix(".torn").read_bytes()
    assert recover(tmp_path, lake, [STREAM]) == 0


def test_an_unreadable_line_within_a_segment_is_an_error_that_names_it(tmp_path: Path, lake: Lake) -> None:
    segment = segments.Segment(tmp_path, STREAM)
    segment.append([record(1)])
    segment.close()
    segment.path.write_bytes(b"not json at all\n" + segment.path.read_bytes())
    with pytest.raises(RescueError, match="line 1") as caught:
        recover(tmp_path, lake, [STREAM])
    assert "not json at all" not in str(caught.value)


def test_a_full_disk_stops_the_journal_and_says_so(tmp_path: Path, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int, _content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(segments, "write_durably", full)
    told: list[RescueError | None] = []
    journal = Journal(tmp_path, lake).__enter__()
    journal.append(STREAM, record(1), told.append)
    with pytest.raises(RescueError, match="No space left"):
        journal.__exit__(None, None, None)
    assert [str(error) for error in told] == [str(journal._failure)]


def test_a_segment_written_before_a_column_was_added_is_sealed_with_nulls_there(tmp_path: Path, lake: Lake) -> None:
    assert not {"counted_tokens", "truncated_in", "run_id"} & record(1).keys()
    with Journal(tmp_path, lake) as journal:
        journal.append(STREAM, record(1), lambda _failure: None)
    row = lake.read("responses_er", Responses).row(0, named=True)
    assert (row["counted_tokens"], row["truncated_in"], row["run_id"]) == (None, None, None)


def test_half_a_surrogate_pair_is_stored(tmp_path: Path, lake: Lake) -> None:
    with Journal(tmp_path, lake) as journal:
        journal.append(STREAM, record(1, content="cut \ud83d"), lambda _failure: None)
    assert rows(lake) == ["r1"]


def test_a_second_process_is_refused_and_told_who_holds_the_lease(tmp_path: Path) -> None:
    path = tmp_path / "leases" / "a.lock"
    code = (
        "import sys; from pathlib import Path; from rescue_pipeline.llm.lease import lease\n"
        "with lease(Path(sys.argv[1]), 'made'):\n    print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(RescueError, match=f"process {holder.pid}"), lease(path, "made"):
            pass
    finally:
        holder.kill()
        holder.wait()
    with lease(path, "made"):
        pass  # the system frees a dead process's lease


def test_a_revision_met_before_keeps_its_generation(tmp_path: Path) -> None:
    found = [generation_for(tmp_path, "made", revision) for revision in ("1", "2", "1", "3")]
    assert found == [1, 2, 1, 3]
    assert generation_for(tmp_path, "other", "2") == 1
    lines = (tmp_path / "generations.jsonl").read_text().splitlines()
    assert [json.loads(line)["generation"] for line in lines] == [1, 2, 3, 1]
