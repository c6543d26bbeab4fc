"""The written report: honest words, the same figures everywhere, no strangers' markup, no session text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rescue_pipeline.errors import RescueError
from rescue_pipeline.report.report import ReportFiles, build_report
from tests.report.conftest import MADE, SOFTWARE
from tests.report.factory import BASELINES, SECRET, Model, editing, warehouse
from tests.report.reading_html import Parsed, parsed

MakeReport = Callable[..., ReportFiles]
HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "<!-- gone",
    "$'${x}{{ 7 * 7 }}{% raw %}",
    '" onmouseover="alert(1)',
    "</style><script>alert(1)</script>",
)


def page_of(files: ReportFiles) -> Parsed:
    return parsed(files.html.read_text(encoding="utf-8"))


def words_of(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_the_verdict_says_that_no_language_model_was_asked(baseline_report: ReportFiles) -> None:
    text = words_of(page_of(baseline_report).text)
    assert "Four offline baselines on the demo corpus; no language model was asked." in text
    assert "All 1,516 questions were answered." in text
    assert "intervals: not computed" in text


def test_the_page_needs_no_network_and_no_script(baseline_report: ReportFiles) -> None:
    page = page_of(baseline_report)
    assert not page.names & {"script", "iframe", "object", "embed", "img", "base", "form"}
    addresses = [
        value for _, attributes in page.elements for name in ("src", "href") if (value := attributes.get(name))
    ]
    assert all(address.startswith(("#", "data:,")) for address in addresses)
    policies = [a["content"] or "" for name, a in page.elements if name == "meta" and "http-equiv" in a]
    assert len(policies) == 1
    assert "default-src 'none'" in policies[0]
    assert "url(" not in baseline_report.html.read_text(encoding="utf-8")


def test_every_printed_figure_of_the_page_stands_in_the_markdown_too(report: MakeReport) -> None:
    models = (*BASELINES, Model("faulty", failed=3), Model("halfway", unanswered=5))
    files = report(models=models)
    shared = files.html.read_text(encoding="utf-8").split('id="data"')[0]
    figures = {cell for cell in map(words_of, parsed(shared).cells) for cell in re.findall(r"\d+\.\d+", cell)}
    markdown = files.markdown.read_text(encoding="utf-8")
    usage = {"0.0000"} | set(re.findall(r"\d+\.\d+", shared.split("Usage")[1]))
    assert len(figures) > 300
    assert {figure for figure in figures - usage if figure not in markdown} == set()


def test_no_session_text_and_no_path_of_this_machine_is_printed(baseline_report: ReportFiles) -> None:
    for path in (baseline_report.html, baseline_report.markdown, *baseline_report.tables):
        text = path.read_text(encoding="utf-8")
        assert SECRET not in text
        assert "secret-folder" not in text


def test_the_same_results_give_the_same_bytes_in_every_time_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = warehouse(tmp_path / "results.duckdb", [*BASELINES, Model("faulty", failed=2)], rejects=2)
    contents = []
    for zone in _zones(monkeypatch, "UTC", "Asia/Tokyo", "America/St_Johns"):
        files = build_report(source, tmp_path / zone.replace("/", "-"), SOFTWARE, generated_at=MADE)
        contents.append([path.read_bytes() for path in (files.html, files.markdown, *files.tables)])
    assert contents[0] == contents[1] == contents[2]


def _zones(monkeypatch: pytest.MonkeyPatch, *names: str) -> Iterator[str]:
    for name in names:
        monkeypatch.setenv("TZ", name)
        time.tzset()
        yield name
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_and_labels_are_only_ever_text(report: MakeReport, hostile: str) -> None:
    safe = report(models=(Model("plain", failed=1),), patterns={"couple": ["a", "b"], "family": ["a"]}, rejects=1)
    names = page_of(safe).names
    patterns = {"couple": ["a", hostile], "family": [hostile]}
    files = report_beside(safe, models=(Model(hostile, judge=hostile, failed=1),), patterns=patterns, corpus_id=hostile)
    page = page_of(files)
    assert page.names == names
    assert not any(attribute.startswith("on") for _, attributes in page.elements for attribute in attributes)
    assert hostile in page.text
    # a fenced block is text already
    assert "<" not in re.sub(r"(?ms)^```.*?^```", "", files.markdown.read_text(encoding="utf-8"))


def report_beside(files: ReportFiles, **made: object) -> ReportFiles:
    folder = files.html.parent / "hostile"
    folder.mkdir()
    source = warehouse(folder / "results.duckdb", rejects=1, **made)  # type: ignore[arg-type]
    return build_report(source, folder, SOFTWARE, generated_at=MADE)


def test_a_pipe_in_a_name_does_not_break_a_markdown_table(report: MakeReport) -> None:
    files = report(models=(Model("a|b\nc"),))
    rows = [line for line in files.markdown.read_text(encoding="utf-8").splitlines() if "a\\|b c" in line]
    assert rows
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in rows if line.startswith("|") and "F1" not in line}
    assert min(widths) > 5


def test_an_incomplete_cell_shows_bounds_and_has_no_rank(report: MakeReport) -> None:
    files = report(models=(Model("whole"), Model("also-whole"), Model("halfway", unanswered=5)))
    lines = [line for line in files.markdown.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    leaderboard = lines[: next(i for i, line in enumerate(lines) if line.startswith("| halfway")) + 1]
    last = leaderboard[-1]
    assert "incomplete: 10 open" in last
    assert " to " in last
    assert "**" not in last
    assert "their cells show bounds and have no rank" in page_of(files).text


def test_a_model_without_any_answer_has_no_score(report: MakeReport) -> None:
    files = report(models=(*BASELINES, Model("wrong-key", unanswered=999)))
    lines = [line for line in files.markdown.read_text(encoding="utf-8").splitlines() if line.startswith("| wrong-key")]
    assert "no answer (none of 58 answered)" in lines[0]
    assert not re.search(r"\d\.\d", " ".join(lines[:3]))


def test_failures_are_counted_by_reason_and_shown_beside_the_score(report: MakeReport) -> None:
    files = report(models=(*BASELINES, Model("faulty", failed=3)))
    text = words_of(page_of(files).text)
    assert "36 of 1,895 questions got no valid answer and count as wrong." in text
    assert "without its failures" in text
    assert "Every planned question was answered validly by heuristic, lexical, majority and uniform." in text
    assert "| faulty | dialogue, protocol clean | Intervention time | 58 | 52 | 6 |" in files.markdown.read_text(
        "utf-8"
    )


def test_word_overlap_never_stands_in_a_judge_column(report: MakeReport) -> None:
    asked = Model("asked", judge="gpt-judge", judge_kind="llm")
    files = report(models=(Model("baseline"), asked))
    markdown = files.markdown.read_text(encoding="utf-8")
    leaderboard = markdown.split("## Leaderboard")[1].split("\n## ")[0]
    heading, *rows = [line for line in leaderboard.splitlines() if line.startswith("| ")]
    assert "Emotion (Judge, 1–5, gpt-judge)" in heading
    assert next(row for row in rows if row.startswith("| baseline")).count("not computed") == 2
    overlap = markdown.split("\n## Emotion")[1].split("word overlap, not comparable with an LLM judge")[1]
    assert "| baseline |" in overlap.split("\n## ")[0]


def test_absent_bertscores_and_judges_are_said_to_be_not_computed(baseline_report: ReportFiles) -> None:
    viewpoint = baseline_report.markdown.read_text(encoding="utf-8").split("## Viewpoint")[1]
    assert "BERTScore F1: not computed." in viewpoint.split("\n## ")[0]


def test_published_figures_on_other_data_stand_apart(baseline_report: ReportFiles) -> None:
    html = baseline_report.html.read_text(encoding="utf-8")
    ours, published = html.split('<section id="published">')
    assert "Published results on other data: not comparable" in published
    assert "GPT-4o" in published
    assert "GPT-4o" not in ours
    assert 'class="hollow"' not in html


def test_published_figures_stand_with_ours_only_where_they_are_comparable(report: MakeReport) -> None:
    files = report(models=(Model("asked", judge="j", judge_kind="llm"),), released=True)
    markdown = files.markdown.read_text(encoding="utf-8")
    heading, row = [next(x for x in markdown.splitlines() if x.startswith(s)) for s in ("| Model", "| GPT-4o")]
    assert "Accuracy, paper’s base" in heading
    assert row.split(" | ")[-1] == "not comparable |"
    assert 'class="hollow"' in files.html.read_text(encoding="utf-8")


def test_conditions_have_leaderboards_of_their_own_by_protocol_clean_first(report: MakeReport) -> None:
    others = (Model("uniform", modality="audio"), Model("uniform", protocol="as-ever"))
    files = report(models=(*BASELINES, *others))
    titles = re.findall(r"### (Couples and families together.*)", files.markdown.read_text(encoding="utf-8"))
    assert titles == [
        "Couples and families together, dialogue, protocol clean",
        "Couples and families together, audio, protocol clean",
        "Couples and families together, dialogue, protocol as-ever",
    ]


def test_one_protocol_is_compared_with_nothing(baseline_report: ReportFiles) -> None:
    page = words_of(page_of(baseline_report).text)
    assert "What the protocol changes" not in page
    assert "How far repeats differ" not in page


def test_what_a_protocol_changes_is_said_first_and_shown_per_task(report: MakeReport) -> None:
    files = report(models=(*BASELINES, Model("lexical", protocol="context-0", interval=0.03)))
    section = _section(files, "What the protocol changes")
    assert section.startswith(
        "Protocol context-0 against clean: of 4 differences 3 lie above zero with their whole interval, 0 below. The "
        "largest: +24.0 (+21.0 to +27.0) F1 of “yes” of lexical in intervention time, dialogue."
    )
    row = next(line for line in section.splitlines() if line.startswith("| lexical"))
    assert "| +24.0 (+21.0 to +27.0, n = 58) | -2.0 (-5.0 to +1.0, n = 82) |" in row
    assert "What the protocol changes" in page_of(files).text


def test_what_leaks_are_worth_is_called_that(report: MakeReport) -> None:
    section = _section(report(models=(*BASELINES, Model("lexical", protocol="official"))), "What the protocol changes")
    assert section.startswith(
        "What the leaks of the public scripts are worth, protocol official (ids that name the gold"
    )
    assert "no difference has an interval" in section
    assert "No interval: fewer than ten session groups." in section


def test_protocols_without_a_common_model_are_not_compared_in_words(report: MakeReport, tmp_path: Path) -> None:
    source = warehouse(tmp_path / "apart.duckdb", [Model("one"), Model("other", protocol="context-0")])
    with editing(source) as connection:
        connection.execute("delete from results.protocol_effects")
    files = build_report(source, tmp_path / "apart", SOFTWARE, generated_at=MADE)
    assert _section(files, "What the protocol changes").startswith("No model was asked under clean and under another")


def test_repeats_are_averaged_and_their_spread_is_shown(report: MakeReport) -> None:
    files = report(models=(Model("steady", protocol="epochs-3", repeats=3), Model("steady")))
    markdown = files.markdown.read_text(encoding="utf-8")
    assert "### Couples and families together, dialogue, protocol epochs-3, mean of 3 repeats" in markdown
    section = _section(files, "How far repeats differ")
    assert section.startswith("Some questions were asked 3 times in the same way: ")
    assert "| steady | dialogue, protocol epochs-3 | Intervention time | Accuracy | 3 | 58 |" in section


def test_answers_cut_while_reasoning_have_a_column_and_a_rate(report: MakeReport) -> None:
    section = _section(report(models=(Model("thinker", cut=3), Model("quick"))), "Failures")
    heading = next(line for line in section.splitlines() if line.startswith("| Model"))
    assert heading == "| Model | Asked | Task | planned | ok | truncated | cut in reasoning |"
    assert "| Intervention time | 58 | 52 | 6 | 6 (10.3%) |" in section


def test_failures_that_are_no_cuts_have_no_such_column(report: MakeReport) -> None:
    assert "cut in" not in _section(report(models=(Model("faulty", failed=1),)), "Failures")


def _section(files: ReportFiles, title: str) -> str:
    return files.markdown.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0].strip()


def test_generations_are_named_only_where_there_are_several(report: MakeReport) -> None:
    files = report(models=(Model("steady"), Model("moved"), Model("moved", generation=2)))
    text = page_of(files).text
    assert "moved (generation 2)" in text
    assert "steady (generation" not in text


def test_intervals_are_drawn_as_soon_as_there_are_any(report: MakeReport) -> None:
    files = report(models=(Model("sure", interval=0.05), Model("surer", interval=0.01)))
    assert 'class="whisker"' in files.html.read_text(encoding="utf-8")
    assert "not computed" not in words_of(page_of(files).text).split("Task by task")[0]


def test_an_empty_run_says_what_is_missing(report: MakeReport) -> None:
    text = words_of(page_of(report(models=())).text)
    assert "No model has been scored on the demo corpus yet." in text
    assert text.count("No model was asked this task.") == 6
    assert "Confusions: not computed." in text
    assert "Nothing was asked, so nothing failed." in text


def test_only_the_shipped_corpus_is_called_the_demo(report: MakeReport) -> None:
    text = page_of(report(corpus_id="somebody-elses", data_class="demo")).text
    assert "the corpus somebody-elses" in text
    assert "fiction written for this project" not in text


def test_a_database_without_some_tables_still_makes_a_report(tmp_path: Path) -> None:
    source = warehouse(tmp_path / "results.duckdb")
    with editing(source) as connection:
        for table in ("results.confusions", "results.usage", "results.lineage", "raw.rejects", "tasks.sessions"):
            connection.execute(f"drop table {table}")
    files = build_report(source, tmp_path / "reports", SOFTWARE, generated_at=MADE)
    assert "Not in this database: confusions, usage." in words_of(page_of(files).text)


def test_refused_records_are_listed_with_file_record_field_and_reason(report: MakeReport) -> None:
    files = report(rejects=60)
    cells = [words_of(cell).strip() for cell in page_of(files).cells]
    assert {"broken.jsonl", "cara_and_dov/002", "rows[4].start_time", "wrong type"} <= set(cells)
    assert cells.count("broken.jsonl") == 50
    assert "10 more stand in tables/rejects.csv." in page_of(files).text


def test_a_large_comparison_stays_below_three_megabytes(report: MakeReport) -> None:
    modalities = ("dialogue", "audio", "visual", "audiovisual")
    files = report(models=[Model(f"model-{n}", modality=m, failed=1) for n in range(14) for m in modalities])
    assert files.bytes == files.html.stat().st_size < 3_000_000


def test_without_results_the_error_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(RescueError, match="rescue demo"):
        build_report(tmp_path / "results.duckdb", tmp_path, SOFTWARE)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    source = warehouse(tmp_path / "results.duckdb")
    (tmp_path / "reports").write_text("a file stands where the folder should be")
    with pytest.raises(RescueError, match="the report could not be written"):
        build_report(source, tmp_path / "reports", SOFTWARE)
