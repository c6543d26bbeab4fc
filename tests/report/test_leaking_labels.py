"""A board of a protocol with declared leaks says so in its title, in the report and on the console."""

from __future__ import annotations

from rescue_pipeline.report.scores import Condition
from rescue_pipeline.report.wording import protocol_label


def test_a_condition_whose_protocol_leaks_says_so_in_its_name() -> None:
    assert Condition("dialogue", "official").name == "dialogue, protocol official, leaks on purpose"
    assert Condition("dialogue", "clean").name == "dialogue, protocol clean"


def test_a_protocol_that_nobody_described_is_only_named() -> None:
    assert protocol_label("imported") == "protocol imported"
