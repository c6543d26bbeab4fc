"""The table at the end of a run: it fits, and says for each line under which protocol and modality it came about."""

from __future__ import annotations

from typing import Any

import pytest

from rescue_pipeline.console_leaderboard import print_rows

WIDEST = 100


def row(model: str = "made", **fields: Any) -> dict[str, Any]:
    figures = dict.fromkeys(("itp_f1", "rpp_accuracy", "stp_recall_at_1", "ssp_recall_at_1"), 1.0)
    grades = dict.fromkeys(("er_intensity_match", "er_judge", "vp_judge", "er_lexical_judge", "vp_lexical_judge"))
    counts = {"n_failed": 3, "n_unanswered": 0, "n_planned": 692, "complete": True}
    return {
        "model": model,
        "generation": 1,
        "modality": "dialogue",
        "protocol": "clean",
        **figures,
        **grades,
        **counts,
        **fields,
    }


def shown(capsys: pytest.CaptureFixture[str], *rows: dict[str, Any]) -> list[str]:
    print_rows(rows)
    return capsys.readouterr().out.splitlines()


def test_the_widest_table_fits_100_columns(capsys: pytest.CaptureFixture[str]) -> None:
    everything = {
        "er_intensity_match": 3.0,
        "er_judge": 3.25,
        "vp_judge": 5.0,
        "er_lexical_judge": 1.5,
        "vp_lexical_judge": 1.25,
        "n_failed": 99_999,
        "n_planned": 100_000,
        "complete": False,
    }
    lines = shown(
        capsys,
        row("a" * 80, **everything),
        row("b", **everything, generation=1),
        row("b", **everything, generation=2),
        row("b", **everything, protocol="imported", modality="audiovisual"),
    )
    assert max(map(len, lines)) <= WIDEST
    assert any(line.startswith("b (generation 2)") for line in lines)
    assert "a" * 80 in "".join(line.split(" ")[0] for line in lines)


def test_protocol_and_modality_stand_above_their_models_when_they_differ(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, row(), row(modality="audio"), row("oracle", protocol="imported"))
    parts = [line for line in lines if line.startswith("protocol ")]
    assert parts == ["protocol clean, dialogue", "protocol clean, audio", "protocol imported, dialogue"]
    assert lines[lines.index(parts[2]) + 1].startswith("oracle ")


def test_one_protocol_and_modality_are_named_in_the_title(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, row())[0].endswith(": protocol clean, dialogue")


def test_figures_have_the_reports_units(capsys: pytest.CaptureFixture[str]) -> None:
    line = shown(capsys, row(itp_f1=0.66667, er_intensity_match=3.98, ssp_recall_at_1=None))[-2]
    assert line.split() == ["made", "66.7", "100.0", "100.0", "3.98", "3", "692"]


def test_an_incomplete_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, row(), row("open", complete=False, n_unanswered=4))
    assert next(line for line in lines if line.startswith("open")).split()[-3:] == ["7", "692", "incomplete"]
    assert not next(line for line in lines if line.startswith("made")).endswith("incomplete")
    assert any("have no rank" in line for line in lines)


def test_words_are_never_called_a_judge(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, row(er_lexical_judge=1.5))
    assert "judge" not in " ".join(lines[:3])
    assert any("no language model's judgement" in line for line in lines)


def test_no_answers_are_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys) == ["No answers yet."]


def test_a_judge_of_the_models_own_vendor_is_a_word_not_a_figure(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(
        capsys,
        row("kin", same_vendor=True, er_lexical_judge=2.0),
        row("other", same_vendor=False, er_judge=3.25, vp_judge=4.0, er_lexical_judge=2.0),
    )
    assert next(line for line in lines if line.startswith("kin")).count("same vendor") == 2
    assert "same vendor" not in next(line for line in lines if line.startswith("other"))
    assert any(line.startswith("same vendor: the only judge") for line in lines)
    assert max(map(len, lines)) <= WIDEST


def test_without_any_other_judge_the_word_stands_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, row("kin", same_vendor=True))
    assert "same vendor" in next(line for line in lines if line.startswith("kin"))


def test_a_board_of_a_protocol_that_leaks_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "protocol official, leaks on purpose, dialogue" in shown(capsys, row(protocol="official"))[0]
    assert "leaks" not in "\n".join(shown(capsys, row()))
