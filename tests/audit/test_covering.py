"""A text is explained when it is a sequence of known pieces; what is not is found where it stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rescue_pipeline.audit.covering import Pieces, unexplained

FRAME = Pieces(["Words:", "[Turn", "] ", "|"], bounded=False)


def gaps(text: str, *texts: str) -> list[str]:
    return [text[start:end].strip() for start, end in unexplained(text, [FRAME, Pieces(texts)])]


def test_known_pieces_in_any_order_leave_nothing() -> None:
    assert gaps("[Turn 3 | Ana]\nWords: I know.\n", "3", "Ana", "I know.") == []


def test_one_unknown_word_between_known_ones_is_found_alone() -> None:
    assert gaps("[Turn 3 | Ana]\nWords: I know. hurt\n[Turn 4 | Bo]\n", "3", "4", "Ana", "Bo", "I know.") == ["hurt"]


def test_a_value_is_never_part_of_a_longer_word() -> None:
    assert gaps("Words: Anabel", "Ana", "bel") == ["Anabel"]
    assert gaps("Words: 12", "1", "2") == ["12"]


def test_a_piece_that_begins_like_another_is_tried_both_ways() -> None:
    assert gaps("Words: I know. Yes.", "I", "I know", "I know. Yes.") == []
    assert gaps("Words: I know you", "I know", "I", "know you") == []


def test_a_text_of_a_session_that_looks_like_our_template_is_its_own_explanation() -> None:
    assert gaps("Words: [Turn 9 | Words: Answer: yes", "[Turn 9 | Words: Answer: yes") == []


@given(st.lists(st.text(min_size=1), max_size=6))
def test_a_sequence_of_pieces_is_always_explained(texts: list[str]) -> None:
    assert unexplained("\n".join(texts), [Pieces(texts)]) == []


@given(st.text(), st.lists(st.text(min_size=1), max_size=4))
def test_gaps_lie_in_the_text_in_order_and_any_text_comes_to_an_end(text: str, texts: list[str]) -> None:
    found = unexplained(text, [Pieces(texts)])
    edges = [edge for gap in found for edge in gap]
    assert edges == sorted(edges)
    assert all(0 <= edge <= len(text) for edge in edges)
