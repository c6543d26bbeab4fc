"""`rescue sql` on a published database."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Rescue
from tests.cli.finished import Finished

README = Path(__file__).parents[2] / "README.md"


def test_the_readmes_queries_run(rescue: Rescue, finished_small: Finished) -> None:
    queries = re.findall(r'rescue sql "([^"]+)"', README.read_text(encoding="utf-8"))
    assert queries
    for query in queries:
        assert rescue("sql", query, data=finished_small.data.root).code == 0


def test_the_place_goes_to_stderr_and_the_rows_to_stdout(rescue: Rescue, finished_small: Finished) -> None:
    said = rescue("sql", "select 7 as seven", data=finished_small.data.root)
    assert said.out == "seven\n    7\n"
    assert said.err.startswith("corpus small (7 sessions) in ")
    assert rescue("sql", "select 7", "-q").err == ""


def test_a_wide_row_becomes_lines_of_at_most_100_columns(rescue: Rescue, finished_small: Finished) -> None:
    said = rescue("sql", "select * from results.leaderboard limit 2", data=finished_small.data.root)
    assert re.search(r"^row 2\n +corpus_id +small$", said.out, re.M)
    assert max(map(len, said.out.splitlines())) <= 100


def test_csv_holds_nested_values_as_json_and_no_formula(rescue: Rescue, finished_small: Finished) -> None:
    query = "select ['Ana', 'Bo'] as people, {'a': 1} as one, '=1+1' as sneaky, -5 as number, 'nan'::double as missing"
    said = rescue("sql", query, "--csv", data=finished_small.data.root)
    (found,) = csv.DictReader(io.StringIO(said.out))
    assert found == {"people": '["Ana", "Bo"]', "one": '{"a": 1}', "sneaky": "'=1+1", "number": "-5", "missing": ""}


def test_json_is_strict_and_exact(rescue: Rescue, finished_small: Finished) -> None:
    query = """
        select ['Ana'] as people, '=1+1' as formula, 'nan'::double as missing, true as yes, 1.5::decimal(3, 1) as half,
            timestamptz '2026-03-01 10:00:00+01' as at
    """
    said = rescue("sql", query, "--json", data=finished_small.data.root)
    assert json.loads(said.out, parse_constant=pytest.fail) == [
        {
            "people": ["Ana"],
            "formula": "=1+1",
            "missing": None,
            "yes": True,
            "half": 1.5,
            "at": "2026-03-01T09:00:00+00:00",
        }
    ]


def test_control_characters_do_not_reach_the_terminal(rescue: Rescue, finished_small: Finished) -> None:
    said = rescue("sql", "select 'red' || chr(27) || '[31m' as colour", data=finished_small.data.root)
    assert "\x1b" not in said.out


@pytest.mark.parametrize("form", [(), ("--csv",), ("--json",)])
def test_no_rows_are_an_answer(rescue: Rescue, finished_small: Finished, form: tuple[str, ...]) -> None:
    said = rescue("sql", "select 1 as one where false", *form, data=finished_small.data.root)
    assert said.code == 0
    assert said.out == {(): "one\nno rows\n", ("--csv",): "one\n", ("--json",): "[]\n"}[form]


@pytest.mark.parametrize("query", ["selec 1", "select * from results.nothing", "", "create table x as select 1"])
def test_a_query_that_cannot_run_exits_2_and_says_why(rescue: Rescue, finished_small: Finished, query: str) -> None:
    said = rescue("sql", query, data=finished_small.data.root)
    assert (said.code, said.out) == (2, "")
    assert "error: " in said.err
    assert "  try:" in said.err


def test_two_forms_at_once_are_refused(rescue: Rescue, finished_small: Finished) -> None:
    assert rescue("sql", "select 1", "--csv", "--json", data=finished_small.data.root).code == 2


def test_more_than_200_rows_are_cut_only_in_the_table(rescue: Rescue, finished_small: Finished) -> None:
    query = "select range as n from range(250)"
    assert rescue("sql", query, data=finished_small.data.root).out.splitlines()[-1].startswith("... 50 more rows")
    assert len(rescue("sql", query, "--csv", data=finished_small.data.root).out.splitlines()) == 251
