"""Which corpus is meant: paths, corpus.yaml, and what the caller says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rescue_pipeline.bundle import DEMO_CORPUS
from rescue_pipeline.corpus.source import from_datadir, resolve
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import UsageError
from tests.corpus.making import jsonl, record, write


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write(tmp_path / "couples.jsonl", jsonl([record()]))


def test_without_a_declaration_a_corpus_is_private_and_named_by_its_path(corpus: Path) -> None:
    source = resolve(corpus)
    assert (source.corpus_id, source.data_class, source.encoding) == ("couples", "private", "utf-8")
    assert (resolve(corpus.parent).path, resolve(corpus.parent).corpus_id) == (corpus.parent, corpus.parent.name)


def test_a_declaration_beside_a_file_or_in_a_folder_is_read(corpus: Path) -> None:
    write(corpus.parent / "maps" / "groups.csv", "sample_id,session_group\n")
    (corpus.parent / "subtitles").mkdir()
    write(
        corpus.parent / "corpus.yaml",
        "name: clinic\ndata_class: public-research\ngroups: maps/groups.csv\ntranscripts: subtitles\n"
        "encoding: windows-1252\nconsent: ethics board 12/2026\n",
    )
    for path in (corpus, corpus.parent):
        source = resolve(path)
        assert (source.corpus_id, source.data_class, source.consent) == (
            "clinic",
            "public-research",
            "ethics board 12/2026",
        )
        assert (source.groups, source.transcripts) == (corpus.parent / "maps/groups.csv", corpus.parent / "subtitles")
        assert source.encoding == "cp1252"


def test_a_declaration_beside_a_folder_does_not_speak_for_it(corpus: Path) -> None:
    write(corpus.parent / "corpus.yaml", "data_class: demo\n")
    write(corpus.parent / "others" / "1.json", json.dumps(record()))
    assert resolve(corpus.parent / "others").data_class == "private"


def test_what_the_caller_says_wins_over_the_declaration(corpus: Path) -> None:
    (corpus.parent / "elsewhere").mkdir()
    write(corpus.parent / "corpus.yaml", "name: clinic\nencoding: cp1252\n")
    source = resolve(corpus, name="mine", transcripts=corpus.parent / "elsewhere", encoding="latin-1")
    assert (source.corpus_id, source.encoding) == ("mine", "iso8859-1")
    assert source.transcripts == corpus.parent / "elsewhere"


@pytest.mark.parametrize(
    ("text", "where", "found"),
    [
        ("data_class: secret\n", "field data_class", "secret"),
        ("data-class: private\n", "field data-class", "private"),
        ("consent: ''\n", "field consent", "''"),
        ("name: [a]\n", "field name", "list"),
        ("- name\n", "corpus.yaml", "list"),
        ("name: 'x\n", "corpus.yaml", "line"),
    ],
)
def test_a_wrong_declaration_is_refused_with_file_and_field(corpus: Path, text: str, where: str, found: str) -> None:
    write(corpus.parent / "corpus.yaml", text)
    with pytest.raises(UsageError) as caught:
        resolve(corpus)
    assert "corpus.yaml" in str(caught.value.where)
    assert where in str(caught.value.where)
    assert found in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", ["a b", "../x", "current", "", "x" * 81, ".hidden"])
def test_a_name_that_is_no_folder_name_is_refused(corpus: Path, name: str) -> None:
    if name:
        with pytest.raises(UsageError, match="no name for a corpus"):
            resolve(corpus, name=name)
    else:
        assert resolve(corpus, name=name).corpus_id == "couples"


def test_a_name_is_derived_from_any_path(tmp_path: Path) -> None:
    assert resolve(write(tmp_path / "Séances (2026).jsonl", "")).corpus_id == "S-ances-2026"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "no-such-codec", "rot13"])
def test_an_encoding_in_which_lines_cannot_be_found_is_refused(corpus: Path, encoding: str) -> None:
    with pytest.raises(UsageError, match="encoding"):
        resolve(corpus, encoding=encoding)


@pytest.mark.parametrize("field", ["groups", "transcripts"])
def test_a_declared_path_that_does_not_exist_is_refused(corpus: Path, field: str) -> None:
    write(corpus.parent / "corpus.yaml", f"{field}: nowhere\n")
    with pytest.raises(UsageError, match="does not exist"):
        resolve(corpus)


def test_a_data_directory_finds_its_corpus_again_and_reads_the_declaration_anew(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "subtitles").mkdir()
    source = resolve(corpus, name="mine", transcripts=tmp_path / "subtitles", encoding="cp1252")
    directory = DataDirectory(tmp_path / "data").create()
    directory.claim(source.corpus_id, source.description())
    assert from_datadir(directory) == source
    write(tmp_path / "corpus.yaml", "data_class: public-research\nname: other\n")
    again = from_datadir(directory)
    assert (again.corpus_id, again.data_class, again.encoding) == ("mine", "public-research", "cp1252")


def test_a_data_directory_without_a_corpus_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no corpus yet"):
        from_datadir(DataDirectory(tmp_path).create())


def test_a_data_directory_whose_corpus_is_gone_says_where_it_was(corpus: Path, tmp_path: Path) -> None:
    source = resolve(corpus)
    directory = DataDirectory(tmp_path / "data").create()
    directory.claim(source.corpus_id, source.description())
    corpus.unlink()
    with pytest.raises(UsageError, match="no such corpus") as caught:
        from_datadir(directory)
    assert caught.value.where == str(corpus)


def test_the_demo_corpus_declares_itself_fiction() -> None:
    source = resolve(DEMO_CORPUS)
    assert (source.corpus_id, source.data_class) == ("demo", "demo")
