"""`rescue fetch` against a server of this test: terms first, whole files or none."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rescue_pipeline.corpus.source import resolve
from rescue_pipeline.errors import RescueError
from rescue_pipeline.fetching import FILES, TERMS, fetch
from tests.cli.conftest import Rescue

RECORD = b'{"sample_id": "ana_and_bo/001", "rows": []}\n'


class Released(ThreadingHTTPServer):
    """Serves the files of the benchmark; a test changes `files` and `shortened` to make it fail."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {f"/data/{name}": RECORD for name in FILES}
        self.shortened = False
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/data"


class _Handler(BaseHTTPRequestHandler):
    server: Released

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        body = self.server.files.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"") + 100 * self.server.shortened))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Released]:
    with Released() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("RESCUE_CORPUS_URL", server.url)
        yield server
        server.shutdown()


def test_the_files_lie_in_a_corpus_folder_and_the_acceptance_is_recorded(released: Released, tmp_path: Path) -> None:
    folder = fetch()
    assert folder == Path("data/corpora/rescue-bench")
    assert {(folder / name).read_bytes() for name in FILES} == {RECORD}
    accepted = json.loads((folder / "terms_accepted.json").read_text())
    assert (accepted["terms"], accepted["source"]) == (TERMS, released.url)
    assert accepted["accepted_at"].endswith("+00:00")
    source = resolve(folder)
    assert (source.corpus_id, source.data_class) == ("rescue-bench", "public-research")


@pytest.mark.parametrize("fault", ["missing", "shortened", "login page"])
def test_a_failed_download_leaves_the_earlier_files_and_no_part(released: Released, fault: str) -> None:
    folder = fetch()
    path = f"/data/{FILES[0]}"
    released.files[path] = {"login page": b"<html>please log in</html>"}.get(fault, b"{}\n")
    released.shortened = fault == "shortened"
    if fault == "missing":
        del released.files[path]
    with pytest.raises(RescueError, match="earlier download are unchanged") as failed:
        fetch()
    assert failed.value.where == f"{released.url}/{FILES[0]}"
    assert (folder / FILES[0]).read_bytes() == RECORD
    assert not list(folder.glob("*.part"))


def test_nobody_there_is_a_refusal_that_names_the_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RESCUE_CORPUS_URL", "http://127.0.0.1:1/data")
    with pytest.raises(RescueError, match="ConnectError"):
        fetch(tmp_path / "here")


def test_the_command_needs_the_terms_accepted(released: Released, rescue: Rescue) -> None:
    released.asked.clear()
    refused = rescue("fetch")  # nobody at a terminal
    assert refused.code == 2
    assert "research" in refused.err
    assert "rescue fetch --accept-terms" in refused.err
    assert released.asked == []


def test_the_command_says_how_to_go_on(released: Released, rescue: Rescue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESCUE_CORPUS_URL", released.url)
    said = rescue("fetch", "--accept-terms", "there")
    assert (said.code, said.out) == (0, "next: rescue run --corpus there\n")
    assert Path("there", FILES[0]).exists()
