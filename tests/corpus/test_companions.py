"""Labels, session groups, the released corpus and the instances beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rescue_pipeline.corpus.expectations import check_corpus
from rescue_pipeline.corpus.released import N_SAMPLES, N_TURNS, Recognition
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.tasks.labels import load_labels
from tests.corpus.conftest import Load
from tests.corpus.making import jsonl, record, row, write

N_RECURRING = (3, 4, 5, 6, 10, 14, 15, 16, 22, 23, 24, 25)


def released(n_family_turns: int = N_TURNS["family"]) -> Iterator[dict[str, Any]]:
    """Records with the ids and counts of the released corpus, and about its shares of therapist turns."""
    families = [*N_RECURRING, *(n for n in range(30, 40))]
    for scenario, n_turns, share in (("couple", N_TURNS["couple"], 0.354), ("family", n_family_turns, 0.471)):
        n_samples, done = N_SAMPLES[scenario], 0
        for number in range(n_samples):
            size = n_turns // n_samples + (number < n_turns % n_samples)
            speaks = [int((done + i + 1) * share) > int((done + i) * share) for i in range(size)]
            rows = [row(i, primary_speaker="Therapist" if now else "Uma") for i, now in enumerate(speaks, start=1)]
            couple = f"uma_and_vik/{number:03}_s01e01_ct00_segment01"
            family = f"family_therapy/{families[number % len(families)]:03}/merged"
            yield record(couple if scenario == "couple" else family, rows, scenario=scenario)
            done += size


def test_raw_labels_are_the_label_files_in_their_order(load: Load) -> None:
    loaded = load(record())
    labels = load_labels()
    for kind in ("relation_pattern", "support_strategy"):
        for scenario in ("couple", "family"):
            query = f"select label from raw.labels where kind = '{kind}' and scenario = '{scenario}' order by position"
            assert loaded.column(query) == labels.names(kind, scenario)


def test_a_groups_file_overrides_only_the_sessions_it_names(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "corpus.yaml", "groups: groups.csv\n")
    write(tmp_path / "groups.csv", "\ufeffsample_id,session_group,note\r\na/1,the-smiths,x\r\nz/9,the-smiths,\r\n")
    loaded = load(record("a/1"), record("a/2"))
    groups = loaded.connection.execute("select sample_id, session_group from raw.session_groups").fetchall()
    assert groups == [("a/1", "the-smiths")]
    assert "1 sessions that this corpus does not have, first z/9" in loaded.report.notes[0]


def test_a_changed_groups_file_is_a_new_version(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "corpus.yaml", "groups: groups.csv\n")
    write(tmp_path / "groups.csv", "sample_id,session_group\na/1,one\n")
    first = load(record("a/1"))
    write(tmp_path / "groups.csv", "sample_id,session_group\na/1,two\n")
    assert load(record("a/1")).report.corpus_version != first.report.corpus_version


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("id,group\na/1,x\n", "line 1"),
        ("", "line 1"),
        ("sample_id,session_group\na/1,\n", "line 2"),
        ("sample_id,session_group\na/1\n", "line 2"),
        ("sample_id,session_group\na/1,x\na/1,y\n", "line 3"),
        (b"sample_id,session_group\na/1,\xff\n", "groups.csv"),
    ],
)
def test_a_wrong_groups_file_is_refused_with_its_line(
    load: Load, tmp_path: Path, text: str | bytes, where: str
) -> None:
    write(tmp_path / "corpus.yaml", "groups: groups.csv\n")
    write(tmp_path / "groups.csv", text)
    with pytest.raises(UsageError, match="session groups") as caught:
        load(record("a/1"))
    assert where in str(caught.value.where)


def test_the_released_corpus_is_recognised_and_brings_its_groups(load: Load) -> None:
    loaded = load(*released())
    assert (loaded.report.is_released, loaded.report.data_class) == (True, "public-research")
    groups = dict(loaded.connection.execute("select sample_id, session_group from raw.session_groups").fetchall())
    assert len(groups) == len(N_RECURRING)
    assert groups["family_therapy/003/merged"] == groups["family_therapy/010/merged"]
    assert len(set(groups.values())) == 3
    published = next(r for r in check_corpus(loaded.connection).results if r.name == "counts_are_the_published_ones")
    assert (published.n_checked, published.success) == (12, True)


def test_a_declared_data_class_holds_even_for_the_released_corpus(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "corpus.yaml", "data_class: private\n")
    assert load(*released()).report.data_class == "private"


def test_one_turn_less_is_not_the_released_corpus(load: Load) -> None:
    report = load(*released(N_TURNS["family"] - 1)).report
    assert (report.is_released, report.data_class) == (False, "private")


@pytest.mark.parametrize("renamed", [{3: 50}, {22: 51}])
def test_the_same_counts_with_other_families_are_not_the_released_corpus(renamed: dict[int, int]) -> None:
    recognition = Recognition()
    for made in released():
        for old, new in renamed.items():
            made["sample_id"] = made["sample_id"].replace(f"family_therapy/{old:03}", f"family_therapy/{new:03}")
        recognition.see({**made, "n_rows": len(made["rows"])})
    assert not recognition.is_released


ER = {
    "sample_id": "a/1",
    "row_index": 3,
    "scenario": "couple",
    "gold_internal_emotion": "hurt",
    "gold_intensity_score": 6,
}
VP = {
    "sample_id": "a/1",
    "row_index": 1,
    "scenario": "couple",
    "gold_viewpoints": [{"source": "Uma", "target": "Vik", "viewpoint": "is late", "attitude": "cross"}],
}


@pytest.mark.parametrize("as_folder", [True, False])
def test_released_instances_beside_the_records_are_loaded_and_not_read_as_records(
    load: Load, tmp_path: Path, as_folder: bool
) -> None:
    corpus = write(tmp_path / "data" / "benchmark_191.jsonl", jsonl([record("a/1")]))
    write(tmp_path / "data" / "er.jsonl", jsonl([ER]))
    write(tmp_path / "data" / "vp.jsonl", jsonl([VP]))
    loaded = load(corpus.parent if as_folder else corpus)
    assert loaded.report.n_rejected == 0
    rows = loaded.connection.execute(
        "select task, sample_id, row_index, scenario, gold from raw.released_instances order by 1"
    )
    er, vp = rows.fetchall()
    assert er[:4] == ("er", "a/1", 3, "couple")
    assert json.loads(er[4]) == {"emotion": "hurt", "intensity": 6}
    assert vp[:4] == ("vp", "a/1", 1, "couple")
    assert json.loads(vp[4]) == {"viewpoints": VP["gold_viewpoints"]}


def test_records_in_a_file_named_like_released_instances_are_records(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "data" / "er.jsonl", jsonl([record("a/1")]))
    assert load(tmp_path / "data").column("select sample_id from raw.samples") == ["a/1"]


def test_broken_released_instances_are_named_with_their_line(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "er.jsonl", jsonl([ER, {"row_index": 1}]))
    with pytest.raises(RescueError) as caught:
        load(record("a/1"))
    assert "er.jsonl, line 2" in str(caught.value.where)


def test_new_released_instances_are_loaded_without_a_new_version(load: Load, tmp_path: Path) -> None:
    first = load(record("a/1"))
    write(tmp_path / "er.jsonl", jsonl([ER]))
    second = load(record("a/1"))
    assert (second.report.changed, second.report.corpus_version) == (True, first.report.corpus_version)
    assert second.column("select task from raw.released_instances") == ["er"]
