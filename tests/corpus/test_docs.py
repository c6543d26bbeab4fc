"""docs/corpus-format.md says what the code does."""

from __future__ import annotations

from pathlib import Path

from rescue_pipeline.corpus.oddities import FLAGS
from rescue_pipeline.corpus.record_shape import KNOWN_RECORD_KEYS, KNOWN_ROW_KEYS
from rescue_pipeline.corpus.released import N_SAMPLES, N_TURNS
from rescue_pipeline.corpus.source import CorpusDeclaration

DOC = (Path(__file__).parents[2] / "docs" / "corpus-format.md").read_text(encoding="utf-8")


def test_the_document_lists_every_flag_with_its_meaning() -> None:
    for flag, meaning in FLAGS.items():
        assert f"| `{flag}` | {meaning}" in DOC


def test_the_document_lists_every_field() -> None:
    derived = {"relation_cycle_evidence_rows", "relation_pattern_reason", "relation_pattern_evidence_rows"}
    for key in (KNOWN_RECORD_KEYS | KNOWN_ROW_KEYS) - derived:
        assert f"`{key}`" in DOC, key
    for key in CorpusDeclaration.model_fields:
        assert f"\n{key}: " in DOC, key


def test_the_document_has_the_counts_of_the_released_corpus() -> None:
    for number in (*N_SAMPLES.values(), *N_TURNS.values()):
        assert f"{number:,}" in DOC
