"""What the report says about its graders: controls beside every judge, agreement, who is left out of the headline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rescue_pipeline.report.report import ReportFiles
from rescue_pipeline.report.trust import hints, newest
from tests.report.factory import Model, control, editing

MakeReport = Callable[..., ReportFiles]
TITLE = "How far to trust the judge"
JURY = Model("asked", judge="jury", judge_kind="llm")


def part(files: ReportFiles, title: str = TITLE) -> str:
    markdown = files.markdown.read_text(encoding="utf-8")
    return markdown.split(f"\n## {title}\n")[1].split("\n## ")[0]


def line(text: str, start: str) -> list[str]:
    return next(row for row in text.splitlines() if row.startswith(f"| {start}")).strip("| ").split(" | ")


def test_floor_ceiling_and_spread_stand_beside_each_judge(report: MakeReport) -> None:
    files = report(models=(JURY,))
    row = line(part(files), "jury | Viewpoint")
    assert row[2:6] == ["4.75", "1.50", "1.25", "2.00"]
    assert row[6:10] == ["30", "75.0", "0.15", "4"]
    assert line(part(files), "jury | Emotion")[5] == "none"  # nothing to swap there
    assert f'<section id="trust">\n  <h2>{TITLE}</h2>' in files.html.read_text(encoding="utf-8")


def test_agreement_is_shown_per_pair_and_an_undefined_kappa_is_a_word(report: MakeReport) -> None:
    files = report(models=(JURY, Model("other", judge="panel", judge_kind="llm")))
    assert line(part(files), "jury and panel | Emotion")[2:] == ["41", "80.5", "12.2", "0.27", "0.71"]
    assert line(part(files), "jury and panel | Viewpoint")[-1] == "not defined"
    assert "no. Two judges." in part(files)


def test_why_bertscore_was_not_computed_is_said(baseline_report: ReportFiles) -> None:
    assert "BERTScore of Emotion and Viewpoint: not computed: the extra is missing." in part(baseline_report)


def test_bertscore_stands_between_its_floor_and_its_ceiling_with_its_cuts(report: MakeReport, tmp_path: Path) -> None:
    report(models=(JURY,))
    from rescue_pipeline.report.report import build_report

    corpus = {"corpus_id": "demo", "corpus_version": "4f1c0a9be2d37a55"}
    rows = [
        control(corpus, "tiny_L2", "bertscore", "er", name, mean=mean)
        for name, mean in (("gold", 1.0), ("shuffled", 0.6512))
    ]
    with editing(tmp_path / "results.duckdb") as connection:
        for row in rows:
            columns = ", ".join(row)
            connection.execute(
                f"insert into results.judge_trust ({columns}) values ({', '.join('?' * len(row))})", [*row.values()]
            )
        connection.execute(
            "update predictions.bertscore_runs set scorer = 'tiny_L2', reason = null, n_cut = 3 where task = 'er'"
        )
    files = build_report(tmp_path / "results.duckdb", tmp_path / "again", {})
    assert line(part(files), "tiny_L2 | Emotion")[2:] == ["1.0000", "0.6512", "30", "3"]
    assert "BERTScore of Viewpoint: not computed" in part(files)


def test_a_judge_of_the_models_vendor_leaves_the_headline_and_stays_in_the_tasks_table(report: MakeReport) -> None:
    kin = Model("kin", judge="jury", judge_kind="llm", same_vendor=True)
    files = report(models=(kin, JURY))
    leaderboard = part(files, "Leaderboard")
    assert line(leaderboard, "kin").count("same vendor") == 2
    assert "same vendor" not in line(leaderboard, "asked")
    assert "same vendor" in part(files, "Emotion")
    # alone in its column, the other has nobody to lead
    assert "**" not in "".join(line(leaderboard, "asked")[-2:])


def test_nothing_graded_leaves_no_section(report: MakeReport) -> None:
    assert TITLE not in report(models=()).markdown.read_text(encoding="utf-8")


def test_a_control_that_fails_badly_is_a_sentence() -> None:
    corpus = {"corpus_id": "demo", "corpus_version": "v"}
    fair = [control(corpus, "j", "llm", "er", "gold", mean=4.0), control(corpus, "j", "llm", "er", "gold", mean=None)]
    fair.append(control(corpus, "j", "llm", "er", "other_session", mean=3.0))
    assert hints(fair) == []
    bad = [control(corpus, "j", "llm", "er", "gold", mean=3.9)]
    bad.append(control(corpus, "j", "llm", "vp", "other_session", mean=3.1))
    assert hints(bad) == [
        "j in emotion gives the gold itself only 3.90 of 5: its grades say little.",
        "j in viewpoint gives another session’s gold 3.10 of 5: its grades say little.",
    ]
    assert hints([{**row, "grade": "pairing"} for row in bad]) == []


def test_only_the_newest_generation_of_a_judge_counts() -> None:
    corpus = {"corpus_id": "demo", "corpus_version": "v"}
    rows = [control(corpus, "j", "llm", "er", "gold", mean=2.0 + at, generation=at) for at in (1, 2)]
    words = control(corpus, "b", "bertscore", "er", "gold", mean=1.0)
    assert newest([*rows, words]) == [rows[1], words]
