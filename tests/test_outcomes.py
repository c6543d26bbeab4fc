"""What a run says of itself at its end: nothing that is missing goes unsaid, and the exit code agrees."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from rescue_pipeline import console
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.outcomes import ASKING, JUDGING, RunOutcome, Scope, outcome_of
from rescue_pipeline.printing import print_outcome

SCOPE = Scope(["made"], ["dialogue"], ["er"], "clean", ["grader"], "now")
PLACE = "'er' as task, 'dialogue' as modality, 'clean' as protocol"
REFUSED = "the key was refused"


def published(root: Path, answers: dict[str, int], judgements: dict[str, int]) -> DataDirectory:
    """A published database with so many answers and judgements of each status, of one task of one model."""
    directory = DataDirectory(root).create()
    with duckdb.connect(str(directory.results)) as connection:
        for schema in ("raw", "scores", "predictions"):
            connection.execute(f"create schema {schema}")
        connection.execute("create table raw.rejects (id int)")
        connection.execute("create table raw.corpus as select 'v1' as corpus_version")
        for table, counts in (("scores.items", answers), ("predictions.judgements", judgements)):
            connection.execute(
                f"create table {table} as select 'v1' as corpus_version, 'made' as model, {PLACE}, 'grader' as judge, "
                "unnest($statuses) as status",
                {"statuses": [status for status, n in counts.items() for _ in range(n)]},
            )
        connection.execute(
            f"create table predictions.responses as select 'made' as model, {PLACE}, * from (values "
            "('api_error', 404, 'NotFound', 'no such model', 'now'), ('api_error', 404, 'NotFound', 'no such model', "
            "'now'), ('api_error', null, 'Timeout', null, 'now'), ('api_error', 500, 'Old', 'old', 'before'), "
            "('api_error', 500, 'Old', 'old', 'before'), ('api_error', 500, 'Old', 'old', 'before')) "
            "as told(status, http_status, error_type, error, run_id)"
        )
    return directory


def outcome(root: Path, answers: dict[str, int], judgements: dict[str, int], stop: str | None = None) -> RunOutcome:
    reports = [
        {"step": ASKING, "model": "made", "asked": 8, "reused": 0},
        {"step": JUDGING, "model": "grader", "asked": 8, "reused": 0, **({"stops": {"grader": stop}} if stop else {})},
    ]
    return outcome_of(published(root, answers, judgements), SCOPE, reports, {})


def printed(told: RunOutcome) -> str:
    with console.out.capture() as said:
        print_outcome(told)
    return said.get()


def test_a_judge_whose_key_was_refused_is_said_and_the_run_ends_with_3(tmp_path: Path) -> None:
    told = outcome(tmp_path, {"ok": 8}, {"not_run": 8}, REFUSED)
    assert told.exit_code == 3
    said = printed(told)
    assert "grader as judge: 8 of 8 judgements missing (8 not_run)" in said
    assert f"stopped: {REFUSED}" in said


def test_a_failed_judgement_is_missing_too(tmp_path: Path) -> None:
    told = outcome(tmp_path, {"ok": 8}, {"ok": 7, "judge_failed": 1})
    assert told.exit_code == 3
    assert "grader as judge: 1 of 8 judgements missing (1 judge_failed)" in printed(told)


def test_a_judge_given_up_before_its_controls_makes_the_run_incomplete(tmp_path: Path) -> None:
    told = outcome(tmp_path, {"ok": 8}, {"ok": 8}, "the budget is used up")
    assert told.exit_code == 3
    assert "grader as judge: controls missing" in printed(told)


def test_a_whole_run_ends_with_0_and_says_nothing_of_its_judge(tmp_path: Path) -> None:
    told = outcome(tmp_path, {"ok": 8}, {"ok": 8})
    assert told.exit_code == 0
    assert "as judge" not in printed(told)


@pytest.mark.parametrize(("answers", "code"), [({"api_error": 8}, 1), ({"ok": 5, "api_error": 3}, 3)])
def test_of_a_model_that_failed_the_most_frequent_error_of_this_run_is_told(
    tmp_path: Path, answers: dict[str, int], code: int
) -> None:
    told = outcome(tmp_path, answers, {"ok": 5})
    assert told.exit_code == code
    said = printed(told)
    assert "most frequent error: HTTP 404, no such model" in said
    assert "rescue models check made" in said
    assert "old" not in said


def test_the_query_a_run_recommends_is_the_readable_one_of_the_readme(tmp_path: Path) -> None:
    [query] = [line for line in printed(outcome(tmp_path, {"ok": 8}, {"ok": 8})).splitlines() if "rescue sql" in line]
    assert "select model, itp_f1" in query
    assert query.split('"')[1] in (Path(__file__).parents[1] / "README.md").read_text()
