"""The quality gate: every rule fails on a bad row, none quotes a session, and the page stands alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rescue_pipeline.bundle import DEMO_CORPUS
from rescue_pipeline.corpus.expectations import EXPECTATIONS, QualityReport, check_corpus
from rescue_pipeline.corpus.quality_page import render_quality_page
from rescue_pipeline.corpus.raw_tables import RAW_TABLES
from rescue_pipeline.corpus.source import resolve
from rescue_pipeline.corpus.validate import validate
from rescue_pipeline.errors import RescueError
from tests.browser import browser, why_no_browser
from tests.corpus.conftest import Load
from tests.corpus.making import jsonl, record, row, write

SECRET = "what only the therapist may hear"


def failed(report: QualityReport) -> set[str]:
    return {result.name for result in report.results if not result.success}


def with_transcript(tmp_path: Path, sample_id: str = "a/1", text: str = "Uma: the 1th thing somebody said") -> None:
    write(tmp_path / f"{sample_id}.srt", f"1\n00:00:01,000 --> 00:00:01,900\n{text}\n")


def test_a_good_corpus_passes_every_rule(load: Load, tmp_path: Path) -> None:
    with_transcript(tmp_path)
    report = check_corpus(load(record("a/1")).connection)
    assert failed(report) == set()
    assert report.passed
    assert [result.name for result in report.results] == [rule.name for rule in EXPECTATIONS]


def test_the_demo_corpus_passes_every_rule() -> None:
    report = validate(resolve(DEMO_CORPUS))
    assert (failed(report.quality), report.exit_code) == (set(), 0)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("insert into raw.samples select * from raw.samples", "sample_ids_are_unique"),
        ("update raw.samples set scenario = 'group'", "scenarios_are_known"),
        ("update raw.samples set participants = []", "somebody_takes_part"),
        ("update raw.turns set row_index = 7 where row_index = 3", "rows_are_numbered"),
        ("update raw.turns set row_index = 2 where row_index = 3", "rows_are_numbered"),
        ("delete from raw.turns", "rows_are_numbered"),
        ("insert into raw.turns select * from raw.turns limit 1", "rows_are_numbered"),
        ("update raw.turns set start_time = -1", "times_are_possible"),
        ("update raw.turns set end_time = 0 where row_index = 2", "times_are_possible"),
        ("delete from raw.labels where scenario = 'family' and kind = 'support_strategy'", "label_sets_are_loaded"),
    ],
)
def test_every_blocking_rule_stops_on_a_bad_row(load: Load, change: str, rule: str) -> None:
    connection = load(record("a/1")).connection
    connection.execute(change)
    report = check_corpus(connection)
    assert rule in {result.name for result in report.failed("blocking")}
    assert not report.passed


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"start_time": 0.5}, "times_go_forward"),
        ({"dialogue_cleaned": "donâ€™t"}, "text_is_intact"),
        ({"primary_speaker": "Zoe"}, "speakers_are_known"),
        ({"target": ["Zoe"]}, "targets_are_known"),
        ({"relation_cycle_state": "enmeshment"}, "relation_patterns_are_in_the_set"),
        ({"relation_pattern": "boundary_hierarchy_strain"}, "relation_patterns_are_in_the_set"),
        ({"support_strategy": [{"strategy_type": "boundary"}]}, "support_strategies_are_in_the_set"),
        ({"internal_emotion": [{"person": "Uma", "intensity": 11}]}, "intensities_are_in_range"),
        ({"relation_cycle_sate": "x"}, "keys_are_known"),
    ],
)
def test_every_warning_is_given_on_an_odd_row_and_stops_nothing(load: Load, changes: dict[str, Any], rule: str) -> None:
    report = check_corpus(load(record("a/1", [row(1), row(2, **changes), row(3)])).connection)
    assert failed(report) == {rule}
    assert report.passed


@pytest.mark.parametrize(
    ("transcript", "rule"),
    [
        ("1\n00:00:30,000 --> 00:00:31,000\nthe 1th thing somebody said\n", "annotations_cover_the_times"),
        ("1\n00:00:01,000 --> 00:00:02,000\nwords that nobody annotated\n", "annotations_cover_the_words"),
        ("1\n00:00:01,000 --> 00:00:00,900\nthe 1th thing\n", "cue_times_are_possible"),
    ],
)
def test_a_transcript_that_the_annotations_do_not_cover_is_a_warning(
    load: Load, tmp_path: Path, transcript: str, rule: str
) -> None:
    write(tmp_path / "a" / "1.srt", transcript)
    report = check_corpus(load(record("a/1")).connection)
    assert failed(report) == {rule}


def test_a_transcript_without_a_session_is_a_warning(load: Load, tmp_path: Path) -> None:
    write(tmp_path / "folder" / "a" / "1.json", json.dumps(record("a/1")))
    with_transcript(tmp_path / "folder", "a/2")
    assert failed(check_corpus(load(tmp_path / "folder").connection)) == {"transcripts_have_a_session"}


def test_words_are_covered_by_background_dialogue_too(load: Load, tmp_path: Path) -> None:
    with_transcript(tmp_path, text="thing whispered aside")
    rows = [row(1, background_dialogue=[{"speaker": "Vik", "target": ["Uma"], "content": "whispered aside"}])]
    assert failed(check_corpus(load(record("a/1", rows)).connection)) == set()


def test_the_gate_only_reads(load: Load, tmp_path: Path) -> None:
    load(record("a/1")).connection.close()
    with duckdb.connect(str(tmp_path / "rescue.duckdb"), read_only=True) as connection:
        assert check_corpus(connection).passed


def test_rules_have_names_of_their_own_and_name_real_tables() -> None:
    assert len({rule.name for rule in EXPECTATIONS}) == len(EXPECTATIONS)
    assert {rule.table for rule in EXPECTATIONS} <= {table.name for table in RAW_TABLES}


def test_neither_results_nor_page_hold_text_of_a_session(load: Load) -> None:
    rows = [
        row(
            1,
            dialogue_cleaned=SECRET,
            relation_cycle_state=SECRET,
            support_strategy=[{"strategy_type": SECRET, "strategy_content": SECRET, "target": [SECRET]}],
            internal_emotion=[{"person": "Uma", "emotion_description": SECRET, "intensity": 12}],
            primary_speaker=SECRET,
            start_time=0.0,
        ),
        row(2, start_time=0.0, tone_of_voice=SECRET, **{SECRET: 1}),
    ]
    report = check_corpus(load(record("a/1", rows), record("a/2", scenario=SECRET), SECRET).connection)
    assert len(failed(report)) >= 4
    assert SECRET not in repr(report)
    assert SECRET not in render_quality_page(report)


def test_the_page_stands_alone_and_escapes_what_strangers_wrote(load: Load) -> None:
    evil = "</style><script>alert(1)</script>"
    loaded = load(record("a/1"), record(evil, rows=[]), record("a/3", [row(1, target="x")]))
    page = render_quality_page(check_corpus(loaded.connection))
    assert "<script" not in page
    assert not re.search(r"""(?:src|href)=(?!"(?:#|data:))""", page)
    assert "url(" not in page
    assert "@import" not in page
    assert "&lt;script&gt;" in page
    assert "rows[0].target" in page
    assert all(rule.description.replace("'", "&#39;") in page for rule in EXPECTATIONS)


@pytest.mark.skipif(why_no_browser() is not None, reason=why_no_browser() or "")
def test_the_page_renders_in_a_browser_and_asks_for_nothing(load: Load, tmp_path: Path) -> None:
    report = check_corpus(load(record("a/1"), record("a/2", [row(1, target="x")]), "hello").connection)
    path = write(tmp_path / "quality" / "index.html", render_quality_page(report))
    with browser() as chromium:
        for width, dark in ((1280, False), (360, True)):
            page = chromium.open(path.as_uri(), width=width, dark=dark)
            assert page.problems == []
            assert page.requests == [path.as_uri()]


def test_the_page_says_that_the_pipeline_stops(load: Load) -> None:
    connection = load(record("a/1")).connection
    connection.execute("update raw.samples set participants = []")
    assert "1 blocking check failed: the pipeline stops here." in render_quality_page(check_corpus(connection))


def test_validate_leaves_no_trace_and_tells_refused_records_by_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    good = validate(resolve(write(tmp_path / "good.jsonl", jsonl([record("a/1")]))))
    partly = validate(resolve(write(tmp_path / "partly.jsonl", jsonl([record("a/1"), "hello"]))))
    assert (good.exit_code, partly.exit_code) == (0, 3)
    assert partly.quality.facts.rejects[0]["reason"] == "not JSON"
    assert list((tmp_path / "here").iterdir()) == list((tmp_path / "temporary").iterdir()) == []


def test_validating_a_corpus_without_a_good_record_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RescueError, match="not one session"):
        validate(resolve(write(tmp_path / "bad.jsonl", "hello\n")))
