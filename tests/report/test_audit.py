"""The leak audit's section: leaks, declared leaks and what the structure betrays are told apart."""

from __future__ import annotations

from typing import Any

from rescue_pipeline.report.audit import audit_section
from tests.report.audited import audit_rows

CORPUS: dict[str, Any] = {"corpus_id": "demo", "corpus_version": "0" * 16}


def sentences(*rows: dict[str, Any]) -> str:
    section = audit_section(list(rows))
    assert section is not None
    return " ".join(section.sentences)


def test_a_corpus_that_was_never_audited_has_no_section() -> None:
    assert audit_section([]) is None


def test_requests_without_leaks_are_said_to_have_none() -> None:
    assert "240 requests were taken apart: no leak" in sentences(*audit_rows(CORPUS))


def test_leaks_are_counted_and_declared_ones_are_said_to_be_meant() -> None:
    assert "6 leaks that no protocol declares" in sentences(*audit_rows(CORPUS, ids=1))
    meant = sentences(*audit_rows(CORPUS, "official", ids=3))
    assert "no leak" in meant
    assert "Protocol official leaks on purpose: ids." in meant


def test_a_structure_that_predicts_the_gold_is_a_warning_and_no_leak() -> None:
    said = sentences(*audit_rows(CORPUS, structure=1))
    assert "no leak" in said
    assert "Warning: structure alone predicts the gold" in said


def test_every_condition_has_one_line_with_a_cell_for_every_check() -> None:
    section = audit_section(audit_rows(CORPUS) + audit_rows(CORPUS, "official", ids=2))
    assert section is not None
    [table] = section.tables
    assert [group.title for group in table.groups] == ["Protocol clean", "Protocol official"]
    assert {len(row.cells) for group in table.groups for row in group.rows} == {len(table.columns)}
    assert any(cell.note == "declared" for row in table.groups[1].rows for cell in row.cells)
