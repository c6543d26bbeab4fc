"""Loading: streaming, all or nothing, and the same corpus twice."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rescue_pipeline.corpus import annotations as reading
from rescue_pipeline.corpus import load as load_module
from rescue_pipeline.corpus import loading
from rescue_pipeline.corpus.load import load_corpus
from rescue_pipeline.corpus.raw_tables import RAW_TABLES
from rescue_pipeline.corpus.source import resolve
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.tasks.labels import LABEL_FILES
from tests.corpus.conftest import Load
from tests.corpus.making import everything, jsonl, record, row, write

SRT = "1\n00:00:01,000 --> 00:00:01,900\nUma: the 1th thing somebody said\n"


def test_the_same_records_from_a_jsonl_and_from_a_folder_give_the_same_sessions(load: Load, tmp_path: Path) -> None:
    records = [record("uma_and_vik/001"), record("uma_and_vik/002", [row(1)])]
    query = "select sample_id, scenario, participants, n_rows from raw.samples order by sample_id"
    from_lines = load(*records).connection.execute(query).fetchall()
    for made in records:
        write(tmp_path / "folder" / f"{made['sample_id']}.json", json.dumps(made, indent=1))
    loaded = load(tmp_path / "folder")
    assert loaded.connection.execute(query).fetchall() == from_lines
    assert loaded.column("select source_path from raw.samples order by 1") == [
        "uma_and_vik/001.json",
        "uma_and_vik/002.json",
    ]


def test_a_record_in_a_folder_that_does_not_name_itself_is_named_by_its_path(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "folder" / "uma_and_vik" / "007.json", json.dumps(record(None, participants=None)))
    assert load(tmp_path / "folder").column("select sample_id from raw.samples") == ["uma_and_vik/007"]


def test_a_folder_may_also_hold_jsonl_files(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "folder" / "some.jsonl", jsonl([record("a/1"), record("a/2")]))
    write(tmp_path / "folder" / "a" / "3.json", json.dumps(record(None)))
    assert sorted(load(tmp_path / "folder").column("select sample_id from raw.samples")) == ["a/1", "a/2", "a/3"]


def test_every_row_says_from_which_file_line_and_bytes_it_comes(load: Load, tmp_path: Path) -> None:
    loaded = load(record("a/1"), "", record("a/2"))
    found = loaded.connection.execute(
        "select sample_id, source_path, source_line, source_sha256 from raw.samples"
    ).fetchall()
    expected = hashlib.sha256((tmp_path / "corpus.jsonl").read_bytes()).hexdigest()
    assert loaded.report.source_sha256s == {"corpus.jsonl": expected}
    assert found == [("a/1", "corpus.jsonl", 1, expected), ("a/2", "corpus.jsonl", 3, expected)]
    assert set(loaded.connection.execute("select source_line, source_sha256 from raw.turns").fetchall()) == {
        (1, expected),
        (3, expected),
    }


def test_nested_annotations_arrive_unaltered(load: Load) -> None:
    annotated = row(
        1,
        background_dialogue=[{"speaker": "Vik", "target": ["Uma"], "content": "hm"}],
        body_posture=[{"person": "Uma", "description": "upright"}],
        interaction_behavior=[{"initiator": "Uma", "target": ["Vik", "Therapist"], "description": "looks over"}],
        internal_emotion=[{"person": "Vik", "emotion_description": "tense", "intensity": 7}],
        viewpoints_attitudes=[{"source": "Uma", "target": "Vik", "viewpoint": "v", "attitude": "a"}],
        support_strategy=[
            {"provider": "Therapist", "target": ["Uma"], "strategy_type": "track", "strategy_content": "c"}
        ],
        relation_pattern_evidence_rows=[0, 3],
    )
    connection = load(record(rows=[annotated])).connection
    stored = connection.sql("select * from raw.turns").pl().to_dicts()[0]
    for key, value in annotated.items():
        assert stored[key] == value, key
    assert stored["relation_cycle_state"] is None


def test_good_records_are_kept_when_others_are_refused(load: Load) -> None:
    loaded = load(record("a/1"), "hello", record("a/2", scenario="group"), record("a/3"))
    assert loaded.column("select sample_id from raw.samples order by 1") == ["a/1", "a/3"]
    assert [(reject["source_line"], reject["record"], reject["reason"]) for reject in loaded.rejects] == [
        (2, None, "not JSON"),
        (3, "a/2", "unknown scenario"),
    ]
    assert loaded.report.n_rejected == 2


def test_half_a_line_is_refused_and_the_line_before_it_kept(load: Load) -> None:
    content = jsonl([record("a/1"), record("a/2")]).encode()
    loaded = load(content[:-40])
    assert loaded.column("select sample_id from raw.samples") == ["a/1"]
    assert loaded.rejects[0]["source_line"] == 2


def test_of_two_records_with_one_id_the_later_is_refused(load: Load) -> None:
    loaded = load(record("a/1", [row(1)]), record("a/1"))
    assert loaded.column("select n_rows from raw.samples") == [1]
    assert (loaded.rejects[0]["record"], loaded.rejects[0]["field"]) == ("a/1", "sample_id")


def test_crlf_and_a_bom_change_no_session(load: Load) -> None:
    text = jsonl([record("a/1"), record("a/2")])
    loaded = load(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert loaded.report.n_rejected == 0
    assert sorted(loaded.column("select sample_id from raw.samples")) == ["a/1", "a/2"]


def test_cp1252_is_refused_with_the_byte_unless_it_is_declared(load: Load) -> None:
    content = jsonl(
        [record("a/1", [row(1, dialogue_cleaned="don’t")]), record("a/2", [row(1, dialogue_cleaned="café")])]
    )
    mixed = b"".join([content.split("\n")[0].encode("cp1252"), b"\n", content.split("\n")[1].encode(), b"\n"])
    plain = load(mixed)
    assert "byte 0x92" in plain.rejects[0]["found"]
    declared = load(mixed, encoding="cp1252")
    assert declared.column("select dialogue_cleaned from raw.turns order by sample_id") == ["don’t", "café"]
    assert declared.flags == [["declared_encoding"], []]
    assert declared.report.n_declared_encoding == 1
    assert declared.report.corpus_version != plain.report.corpus_version


def test_a_character_that_the_declared_encoding_lacks_is_refused(load: Load) -> None:
    loaded = load(jsonl([record("a/1")]).encode() + b'{"sample_id": "\x81"}\n', encoding="cp1252")
    assert loaded.rejects[0]["expected"] == "UTF-8 or cp1252"


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\xef\xbb\xbf", b"hello\n", b"[]\n", b'{"sample_id": "a/1", "rows": []}\n']
)
def test_a_corpus_without_one_good_record_is_an_error_and_changes_nothing(load: Load, content: bytes) -> None:
    first = load(record("a/1"))
    before = everything(first.connection)
    with pytest.raises(RescueError, match="not one session could be read") as caught:
        load(content)
    assert caught.value.exit_code == 1
    assert everything(first.connection) == before


def test_a_missing_corpus_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such corpus"):
        resolve(tmp_path / "nothing.jsonl")


def test_a_folder_without_sessions_says_what_it_looked_for(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "folder" / "notes.txt", "x")
    with pytest.raises(RescueError, match="holds no sessions") as caught:
        load(tmp_path / "folder")
    assert caught.value.found == "1 other files"


def _forbid(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Refuse to open a file by name, since permissions do not bind whoever runs tests as root."""
    really = Path.open

    def refuse(path: Path, *args: Any, **kwargs: Any) -> Any:
        if path.name == name:
            raise PermissionError(13, "Permission denied")
        return really(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refuse)


def test_a_corpus_file_that_may_not_be_read_is_named(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "secret.jsonl", jsonl([record()]))
    _forbid(monkeypatch, "secret.jsonl")
    with pytest.raises(RescueError) as caught:
        load(path)
    assert (caught.value.where, caught.value.found) == (str(path), "Permission denied")


def test_one_file_that_may_not_be_read_is_refused_and_the_others_are_kept(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        write(tmp_path / "folder" / f"{number}.json", json.dumps(record(f"a/{number}")))
    _forbid(monkeypatch, "2.json")
    monkeypatch.setattr(Path, "read_bytes", lambda path: path.open("rb").read())
    loaded = load(tmp_path / "folder")
    assert loaded.column("select sample_id from raw.samples") == ["a/1"]
    assert (loaded.rejects[0]["source_path"], loaded.rejects[0]["found"]) == ("2.json", "Permission denied")


@pytest.mark.parametrize("start", ["[\n", "{\n", "[{\n"])
def test_one_json_document_over_many_lines_is_named_as_such(load: Load, start: str) -> None:
    with pytest.raises(RescueError, match="one JSON document over many lines"):
        load((start + '"a": 1\n' * 50).encode())


def test_a_json_file_that_is_a_list_of_records_is_refused_by_type(load: Load, tmp_path: Path) -> None:
    path = write(tmp_path / "all.json", json.dumps([record("a/1"), record("a/2")]))
    with pytest.raises(RescueError, match="expected an object, found a list"):
        load(path)


@pytest.mark.parametrize("name", ["one.json", "one.jsonl"])
def test_a_file_too_large_for_one_record_is_refused_without_being_read(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(reading, "MAX_RECORD_BYTES", 4096)
    large = json.dumps(record("a/1", [row(1, dialogue_cleaned="x" * 10_000)]))
    write(tmp_path / "folder" / name, large + ("\n" + json.dumps(record("a/3")) if name == "one.jsonl" else ""))
    write(tmp_path / "folder" / "two.jsonl", jsonl([record("a/2")]))
    loaded = load(tmp_path / "folder")
    assert loaded.rejects[0]["reason"].startswith("too large for one session")
    assert loaded.column("select sample_id from raw.samples order by 1") == (
        ["a/2"] if name == "one.json" else ["a/2", "a/3"]
    )


def test_a_file_without_any_record_is_given_up_early(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "HOPELESS_LINES", 5)
    write(tmp_path / "folder" / "a.jsonl", "words\n" * 1000)
    write(tmp_path / "folder" / "b.jsonl", jsonl([record()]))
    loaded = load(tmp_path / "folder")
    assert len(loaded.rejects) == 6
    assert "rest of the file was not read" in loaded.rejects[-1]["reason"]


def test_the_same_corpus_again_changes_nothing(load: Load) -> None:
    first = load(record("a/1"), "hello")
    before = everything(first.connection)
    again = load(record("a/1"), "hello")
    assert (first.report.changed, again.report.changed) == (True, False)
    assert everything(again.connection) == before
    assert (again.report.n_samples, again.report.n_turns, again.report.n_rejected) == (1, 3, 1)
    assert again.report.corpus_version == first.report.corpus_version


def test_changed_content_replaces_everything_as_a_new_version(load: Load) -> None:
    first = load(record("a/1"), record("a/2"), "hello")
    second = load(record("a/3"))
    assert second.report.changed
    assert second.report.corpus_version != first.report.corpus_version
    assert second.column("select sample_id from raw.samples") == ["a/3"]
    assert second.rejects == []
    for table in ("samples", "turns", "corpus"):
        assert set(second.column(f"select corpus_version from raw.{table}")) == {second.report.corpus_version}


def test_a_renamed_corpus_file_is_the_same_version(load: Load, tmp_path: Path) -> None:
    first = load(record())
    renamed = load((tmp_path / "corpus.jsonl").rename(tmp_path / "other.jsonl"))
    assert (renamed.report.changed, renamed.report.corpus_version) == (False, first.report.corpus_version)
    assert renamed.column("select corpus_id from raw.corpus") == ["other"]


def test_a_new_declaration_is_recorded_without_a_new_version(load: Load, tmp_path: Path) -> None:
    first = load(record())
    write(tmp_path / "corpus.yaml", "data_class: public-research\n")
    second = load(record())
    assert (first.report.data_class, second.report.data_class) == ("private", "public-research")
    assert (second.report.changed, second.report.corpus_version) == (False, first.report.corpus_version)


def test_a_changed_label_file_is_loaded_again(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rescue_pipeline.corpus import companions

    before = load(record())
    folder = tmp_path / "labels"
    for name in LABEL_FILES.values():
        text = "".join(f"{s}:\n  - {{label: one, definition: d, theory: t}}\n" for s in ("couple", "family"))
        write(folder / name, text)
    monkeypatch.setattr(companions, "LABELS", folder)
    after = load(record())
    assert (after.report.changed, after.report.corpus_version) == (True, before.report.corpus_version)
    assert after.column("select distinct label from raw.labels") == ["one"]


def test_a_failure_in_the_middle_leaves_the_old_content(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(record("a/1"))
    before = everything(first.connection)
    monkeypatch.setattr(loading.Loading, "load_companions", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        load(record("a/2"))
    assert everything(first.connection) == before


def test_a_corpus_that_changes_while_it_is_read_is_not_stored(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = loading.Loading.load_companions

    def and_touch(self: loading.Loading) -> None:
        really(self)
        write(tmp_path / "corpus.jsonl", jsonl([record("a/9")] * 3))

    monkeypatch.setattr(loading.Loading, "load_companions", and_touch)
    with pytest.raises(RescueError, match="changed while it was read"):
        load(record("a/2"))


def test_a_full_disk_leaves_the_old_content_and_says_so(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(record("a/1"))
    before = everything(first.connection)

    def full(*_: Any) -> None:
        raise duckdb.IOException("Could not write all bytes to file: No space left on device")

    monkeypatch.setattr(loading.Loading, "load_companions", full)
    with pytest.raises(RescueError, match="as it was before") as caught:
        load(record("a/2"))
    assert "No space left" in (caught.value.found or "")
    assert everything(first.connection) == before


def test_an_error_of_the_database_that_might_quote_text_is_not_passed_on(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quoting(*_: Any) -> None:
        raise duckdb.ConversionException("Could not convert 'what Uma said'")

    monkeypatch.setattr(loading.Loading, "load_companions", quoting)
    with pytest.raises(RescueError) as caught:
        load(record())
    assert "Uma" not in str(caught.value)
    assert caught.value.found == "ConversionException"


_KILLED = """
import sys
from pathlib import Path
from rescue_pipeline.corpus import loading
from rescue_pipeline.corpus.load import load_corpus
from rescue_pipeline.corpus.source import resolve
from rescue_pipeline.warehouse import open_duckdb

def stop(self):
    print("in the middle", flush=True)
    sys.stdin.read()

loading.Loading.load_companions = stop
with open_duckdb(Path(sys.argv[2])) as connection:
    load_corpus(resolve(sys.argv[1]), connection)
"""


def test_a_kill_in_the_middle_leaves_the_old_content(tmp_path: Path) -> None:
    database, corpus = tmp_path / "rescue.duckdb", tmp_path / "corpus.jsonl"
    write(corpus, jsonl([record("a/1")]))
    with duckdb.connect(str(database)) as connection:
        load_corpus(resolve(corpus), connection)
        before = everything(connection)
    write(corpus, jsonl(record(f"a/{number}") for number in range(50)))
    command = [sys.executable, "-c", _KILLED, str(corpus), str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in the middle\n"
        os.kill(process.pid, signal.SIGKILL)
    with duckdb.connect(str(database)) as connection:
        assert everything(connection) == before
        assert load_corpus(resolve(corpus), connection).n_samples == 50


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    measure = (
        "import resource, sys, duckdb; from rescue_pipeline.corpus import load;"
        "from rescue_pipeline.corpus.source import resolve;"
        "load.LOAD_MEMORY = '64MB';"
        "load.load_corpus(resolve(sys.argv[1]), duckdb.connect(sys.argv[1] + '.duckdb'));"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for n_sessions in (200, 1600):
        path = tmp_path / f"{n_sessions}.jsonl"
        with path.open("w") as file:
            for number in range(n_sessions):
                words = f"{number} " + "and so on " * 400
                rows = [row(i, dialogue_cleaned=words) for i in range(1, 21)]
                file.write(jsonl([record(f"a/{number}", rows)]))
        done = subprocess.run([sys.executable, "-c", measure, str(path)], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout) * (1 if sys.platform == "linux" else 1 / 1024))
    grown_by = (tmp_path / "1600.jsonl").stat().st_size - (tmp_path / "200.jsonl").stat().st_size
    assert (peaks[1] - peaks[0]) * 1024 < grown_by / 2


def test_progress_counts_bytes_up_to_all_of_them(
    load: Load, tmp_path: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    path = write(
        tmp_path / "corpus.jsonl",
        jsonl(record(f"a/{number}", [row(1, dialogue_cleaned="x" * 400_000)]) for number in range(8)),
    )
    told: list[tuple[str, int, int | None]] = []
    load_corpus(resolve(path), connection, on_progress=lambda *step: told.append(step))
    assert len(told) >= 3
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1] == ("reading the corpus", path.stat().st_size, path.stat().st_size)


def test_a_load_leaves_the_connections_settings_as_they_were(load: Load, connection: duckdb.DuckDBPyConnection) -> None:
    setting = "select current_setting('memory_limit')"
    usual = connection.execute(setting).fetchall()
    assert load(record()).connection.execute(setting).fetchall() == usual


def test_every_raw_table_exists_and_says_its_grain(load: Load) -> None:
    tables = everything(load(record()).connection)
    assert sorted(tables) == sorted(table.name for table in RAW_TABLES)
    assert all(table.description.startswith("One row") for table in RAW_TABLES)
    assert len(tables["corpus"]) == 1


def test_transcripts_of_a_folder_are_found_by_the_sample_id(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "folder" / "a" / "1.json", json.dumps(record("a/1")))
    write(tmp_path / "folder" / "a" / "1.srt", SRT)
    loaded = load(tmp_path / "folder")
    cue = loaded.connection.sql("select * from raw.transcript_cues").pl().to_dicts()[0]
    assert (cue["sample_id"], cue["cue_index"], cue["start_time"], cue["end_time"]) == ("a/1", 1, 1.0, 1.9)
    assert (cue["speaker"], cue["text"]) == ("Uma", "the 1th thing somebody said")
    assert (cue["source_path"], cue["source_line"]) == ("a/1.srt", 2)
    assert loaded.report.source_sha256s.keys() == {"a/1.json", "a/1.srt"}


def test_transcripts_may_lie_in_a_folder_of_their_own(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "subtitles" / "a" / "1.vtt", "WEBVTT\n\n00:01.000 --> 00:01.900\n<v Uma>hello\n")
    loaded = load(write(tmp_path / "c" / "corpus.jsonl", jsonl([record("a/1")])), transcripts=tmp_path / "subtitles")
    assert loaded.column("select source_path from raw.transcript_cues") == ["../subtitles/a/1.vtt"]


def test_beside_a_corpus_file_only_transcripts_of_its_own_sessions_are_read(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.srt", SRT)
    write(tmp_path / "films" / "other.srt", SRT)
    write(tmp_path.parent / "outside.srt", SRT)
    loaded = load(record("a/1"), record("../outside"))
    assert loaded.column("select distinct sample_id from raw.transcript_cues") == ["a/1"]


def test_a_changed_transcript_is_a_new_version(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.srt", SRT)
    first = load(record("a/1"))
    write(tmp_path / "a" / "1.srt", SRT.replace("said", "meant"))
    assert load(record("a/1")).report.corpus_version != first.report.corpus_version


def test_a_broken_transcript_is_refused_with_file_and_line_and_the_session_kept(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.srt", SRT + "\n2\n00:00:xx,000 --> 00:00:02,000\nlost\n")
    loaded = load(record("a/1"))
    assert loaded.report.n_samples == 1
    assert loaded.report.n_cues == 0
    reject = loaded.rejects[0]
    assert (reject["source_path"], reject["source_line"], reject["record"]) == ("a/1.srt", 6, "a/1")


def test_two_transcripts_of_one_session_are_not_mixed(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.srt", SRT)
    write(tmp_path / "a" / "1.vtt", "WEBVTT\n\n00:01.000 --> 00:01.900\nhello\n")
    loaded = load(record("a/1"))
    assert loaded.column("select distinct source_path from raw.transcript_cues") == ["a/1.srt"]
    assert loaded.rejects[0]["source_path"] == "a/1.vtt"


def test_odd_cues_are_kept_and_flagged(load: Load, tmp_path: Path) -> None:
    times = [(1, 5), (2, 3), (1, 2), (7, 6)]
    write(
        tmp_path / "a" / "1.srt",
        "\n".join(f"{i}\n00:00:0{s},000 --> 00:00:0{e},000\nx\n" for i, (s, e) in enumerate(times)),
    )
    loaded = load(record("a/1"))
    assert loaded.column("select flags from raw.transcript_cues order by cue_index") == [
        [],
        ["overlaps_previous"],
        ["time_goes_back"],
        ["ends_before_start"],
    ]


def test_a_data_directory_below_the_corpus_folder_is_not_read_as_part_of_it(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "folder" / "a.jsonl", jsonl([record()]))
    data = tmp_path / "folder" / "data" / "folder"
    write(data / "corpus.json", "{}")
    write(data / "journal" / "segment.jsonl", '{"request_id": "x"}\n')
    assert load(tmp_path / "folder").report.n_rejected == 0


def test_an_unchanged_corpus_is_not_read_again(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    load(*(record(f"a/{number}") for number in range(100)))
    monkeypatch.setattr(loading.Loading, "load_records", lambda _: 1 / 0)
    assert not load(*(record(f"a/{number}") for number in range(100))).report.changed


def test_the_ingest_version_is_part_of_the_corpus_version(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(record())
    monkeypatch.setattr(load_module, "INGEST_VERSION", "another")
    second = load(record())
    assert second.report.changed
    assert second.report.corpus_version != first.report.corpus_version
