from __future__ import annotations

import pytest

from rescue_pipeline.tasks.labels import LABEL_FILES, load_labels, match_label, normalise_label

EXPECTED = {
    ("relation_pattern", "couple"): "pursue_withdraw attack_attack withdraw_withdraw repair_softening "
    "constructive_alignment mixed_transition",
    ("relation_pattern", "family"): "escalation_conflict pursue_withdraw mutual_disengagement "
    "cross_generational_coalition boundary_hierarchy_strain repair_softening cooperative_family_alliance "
    "mixed_transition",
    ("support_strategy", "couple"): "track reframe evoke enact join detach repair counterbalance safeguard goal_align",
    ("support_strategy", "family"): "join track counterbalance enact boundary reframe repair safeguard",
}


@pytest.mark.parametrize(("kind", "scenario"), EXPECTED)
def test_label_sets_are_the_benchmarks_in_its_order(kind: str, scenario: str) -> None:
    assert load_labels().names(kind, scenario) == EXPECTED[kind, scenario].split()


@pytest.mark.parametrize(("kind", "scenario"), EXPECTED)
def test_every_gold_label_is_a_fixed_point_of_the_normaliser(kind: str, scenario: str) -> None:
    for label in load_labels().names(kind, scenario):
        assert normalise_label(label) == label
        assert match_label(label, load_labels().names(kind, scenario)) == label


@pytest.mark.parametrize(("kind", "scenario"), EXPECTED)
def test_every_definition_draws_a_boundary_to_another_label_or_to_no_label(kind: str, scenario: str) -> None:
    names = load_labels().names(kind, scenario)
    for label in load_labels().definitions(kind, scenario):
        assert label.theory
        neighbours = [name for name in names if name != label.label and name in label.definition]
        assert neighbours or "never the label" in label.definition or "does not count" in label.definition.lower(), (
            label
        )


def test_track_says_that_it_is_the_broadest_strategy() -> None:
    for scenario in ("couple", "family"):
        track = next(x for x in load_labels().definitions("support_strategy", scenario) if x.label == "track")
        assert "broadest" in track.definition


@pytest.mark.parametrize(
    "spelling",
    [
        "pursue_withdraw",
        "Pursue-Withdraw",
        " pursue withdraw. ",
        "PURSUE_WITHDRAW",
        "pursue\u00a0withdraw",
        "pursue\u2013withdraw",
        "pursue\u2014withdraw",
        "pursue\u2011withdraw",
        "pursue - withdraw",
        "Pursue  Withdraw",
        "pursue\u2212withdraw.",
        "\tPursue_Withdraw\n",
        "_pursue__withdraw_",
    ],
)
def test_spellings_of_one_label_are_one_label(spelling: str) -> None:
    assert normalise_label(spelling) == "pursue_withdraw"


@pytest.mark.parametrize(
    "text", ["not pursue_withdraw", "uncooperative_family_alliance", "pursue", "pursue_withdraw_attack", "", "..."]
)
def test_a_text_that_contains_a_label_is_not_that_label(text: str) -> None:
    everything = [name for kind in LABEL_FILES for name in load_labels().names(kind, "family")]
    assert match_label(text, everything) is None
