"""What `rescue doctor` notices."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.doctoring import Finding, examine
from rescue_pipeline.llm.lease import lease, lease_file


@pytest.fixture(autouse=True)
def _in_a_place_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RESCUE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


def found(what: str) -> Finding:
    (finding,) = [finding for finding in examine() if finding.what == what]
    return finding


def add_model(**fields: object) -> None:
    lines = [f"    {name}: {value}" for name, value in fields.items()]
    Path("models.yaml").write_text("\n".join(["models:", "  - id: made", "    litellm: openai/made", *lines, ""]))


def test_an_installed_package_without_data_is_in_order() -> None:
    assert [finding for finding in examine() if not finding.ok] == []
    assert "none yet" in found("data directory").detail


def test_a_key_is_missing_or_present_but_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    add_model(enabled="true", api_key_env="MADE_KEY")
    assert not found("key of made").ok
    assert found("key of made").advice == "export MADE_KEY=..., or write it to .env"
    monkeypatch.setenv("MADE_KEY", "a-secret")
    assert found("key of made").ok
    assert not any("a-secret" in f"{finding}" for finding in examine())


def test_a_server_that_does_not_listen_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        add_model(enabled="true", local="true", api_base=f"http://127.0.0.1:{port}/v1")
        assert found("server of made").ok
    finding = found("server of made")
    assert not finding.ok
    assert f"127.0.0.1:{port}" in finding.detail


def test_a_malformed_registry_is_a_finding() -> None:
    Path("models.yaml").write_text("models: [")
    assert not found("model registry").ok
    assert "models.yaml" in found("model registry").detail


def test_a_wrong_setting_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESCUE_LOCK_TIMEOUT_SECONDS", "soon")
    assert "RESCUE_LOCK_TIMEOUT_SECONDS" in found("settings").detail
    assert not found("settings").ok


def test_a_directory_that_refuses_files_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    DataDirectory(tmp_path / "data").create()

    def refuse(**_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    assert not found("data directory").ok


def test_a_directory_without_a_corpus_and_with_a_damaged_database_has_two_findings(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data").create()
    directory.warehouse.write_bytes(b"once upon a time" * 1000)
    assert {finding.what for finding in examine() if not finding.ok} == {"corpus", "warehouse"}
    assert "move the file away" in str(found("warehouse").advice)


def test_a_partition_that_is_being_asked_is_shown(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data").create()
    levels = {"protocol": "clean", "model": "made", "modality": "dialogue"}
    with lease(lease_file(directory.journal, levels), "made"):
        assert "clean, made, dialogue: by process" in found("being asked").detail
    assert not any(finding.what == "being asked" for finding in examine())
