"""`rescue demo`, and the commands that look at what it left."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rescue_pipeline.schemas import TASKS
from tests.browser import browser, why_no_browser
from tests.cli.conftest import Rescue
from tests.cli.finished import Finished

BASELINES = ("heuristic", "lexical", "majority", "uniform")


def test_the_demo_ends_with_a_leaderboard_and_where_to_look(finished_demo: Finished) -> None:
    said = finished_demo.said("demo")
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert [line.split()[0] for line in lines[3:7]] == list(BASELINES)
    assert {heading for heading in lines[1].split() if heading in TASKS} == set(TASKS)
    assert all(f"{name}: 692 planned, 692 answered, 692 asked now, 0 reused" in lines for name in BASELINES)
    assert "report.html" in said.stdout
    assert max(len(line) for line in lines if "report.html" not in line) <= 100


def test_without_a_terminal_stderr_holds_a_plain_line_per_finished_step(finished_demo: Finished) -> None:
    said = finished_demo.said("demo")
    assert "\x1b" not in said.stderr + said.stdout
    first, *steps = said.stderr.splitlines()
    assert first.startswith("corpus demo (not published yet) in ")
    assert all(" s  " in step for step in steps)
    assert any("asking lexical (dialogue): 692" in step for step in steps)


def test_the_working_directory_stays_clean_when_the_data_lie_elsewhere(finished_demo: Finished) -> None:
    assert not (finished_demo.root / "data" / "current").exists()
    assert {path.name for path in finished_demo.root.iterdir()} == {"data", "demo.json", "done"}


def test_every_task_of_every_baseline_is_complete(rescue: Rescue, finished_demo: Finished) -> None:
    query = "select count(*) from results.leaderboard_long where not complete or value is null"
    assert rescue("sql", "-q", query, data=finished_demo.data.root).out.split()[-1] == "0"
    query = "select count(distinct (model, task)) from results.leaderboard_long"
    assert rescue("sql", "-q", query, data=finished_demo.data.root).out.split()[-1] == str(len(TASKS) * len(BASELINES))


def test_the_report_is_written_again_from_what_is_stored(
    rescue: Rescue, finished_demo: Finished, tmp_path: Path
) -> None:
    copy = finished_demo.copy(tmp_path / "copy")
    page = copy.data.reports / "report.html"
    page.unlink()
    said = rescue("report", data=copy.data.root)
    assert (said.code, said.out) == (0, f"{page}\n")
    assert page.exists()


def test_export_writes_tables_and_the_report_where_it_is_told(
    rescue: Rescue, finished_demo: Finished, tmp_path: Path
) -> None:
    said = rescue("export", "out/of/here", data=finished_demo.data.root)
    written = {Path(line).name for line in said.out.splitlines()}
    assert said.code == 0
    assert {"leaderboard.csv", "leaderboard_long.csv", "failures.csv", "rejects.csv", "report.md"} <= written
    rows = list(csv.DictReader((tmp_path / "out" / "of" / "here" / "leaderboard.csv").open()))
    assert {row["model"] for row in rows} == set(BASELINES)


def test_export_into_a_file_is_an_error(rescue: Rescue, finished_demo: Finished, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    said = rescue("export", "taken", data=finished_demo.data.root)
    assert said.code == 1
    assert "error: " in said.err
    assert (tmp_path / "taken").read_text() == "a file"


def test_doctor_finds_nothing_wrong(rescue: Rescue, finished_demo: Finished) -> None:
    said = rescue("doctor", data=finished_demo.data.root)
    assert said.code == 0, said.out
    assert "!!" not in said.out
    assert "free to open" in said.out
    assert max(map(len, said.out.splitlines())) <= 100


@pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))
def test_the_docs_page_asks_for_nothing_outside(rescue: Rescue, finished_demo: Finished, tmp_path: Path) -> None:
    copy = finished_demo.copy(tmp_path / "copy")
    said = rescue("docs", data=copy.data.root)
    assert said.code == 0, said.err
    with browser() as chromium:
        page = chromium.open(Path(said.out.strip()).as_uri())
        assert "rescue_pipeline" in str(page.evaluate("document.body.innerText"))
        assert [address for address in page.requests if not address.startswith(("file:", "data:", "blob:"))] == []
