"""What is expected of a raw corpus, one rule after the other. How it is checked: expectations.py.

Each rule is about one column of one small frame (quality_frames.py); the column bears the rule's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rescue_pipeline.corpus.records import SCENARIOS

Severity = Literal["blocking", "warning"]

COVERAGE_FLOOR = 0.9
"""Share of a transcript that the annotations should cover."""


@dataclass(frozen=True)
class Expectation:
    """One rule. Blocking ones stop the pipeline; warnings are for a person to look at."""

    name: str
    table: str
    """The raw table it is about."""
    column: str
    severity: Severity
    description: str
    frame: str
    unit: str
    """What a row of the frame is, in the plural."""
    kind: Literal["in_set", "between", "unique"]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """For Great Expectations; the value set of labels and keys is added when it runs."""
    names_values: bool = False
    """Whether values outside the set may be named in the result: labels and keys may, people may not."""
    shows_range: bool = False
    """Whether the lowest and highest value are worth seeing even when all is well."""


def _rule(
    name: str, about: str, severity: Severity, description: str, frame: str, unit: str, kind: Any, **more: Any
) -> Expectation:
    table, column = about.split(".")
    shown = {key: more.pop(key, False) for key in ("names_values", "shows_range")}
    return Expectation(name, table, column, severity, description, frame, unit, kind, more, **shown)


EXPECTATIONS = (
    _rule(
        "sample_ids_are_unique",
        "samples.sample_id",
        "blocking",
        "Every session has an id of its own.",
        *("sessions", "sessions", "unique"),
    ),
    _rule(
        "scenarios_are_known",
        "samples.scenario",
        "blocking",
        "Every session is a couple's or a family's.",
        *("sessions", "sessions", "in_set"),
        value_set=list(SCENARIOS),
    ),
    _rule(
        "somebody_takes_part",
        "samples.participants",
        "blocking",
        "Every session names at least one participant.",
        *("sessions", "sessions", "between"),
        min_value=1,
    ),
    _rule(
        "rows_are_numbered",
        "turns.row_index",
        "blocking",
        "The turns of every session are numbered 1 to n, each once.",
        *("sessions", "sessions", "between"),
        min_value=0,
        max_value=0,
    ),
    _rule(
        "times_are_possible",
        "turns.start_time",
        "blocking",
        "No turn starts before 0 seconds or ends before it starts.",
        *("sessions", "sessions", "between"),
        min_value=0,
    ),
    _rule(
        "label_sets_are_loaded",
        "labels.label",
        "blocking",
        "Both scenarios have their relation patterns and support strategies.",
        *("label_sets", "label sets", "between"),
        min_value=1,
    ),
    _rule(
        "times_go_forward",
        "turns.flags",
        "warning",
        "No turn starts before the turn before it.",
        *("sessions", "sessions", "between"),
        max_value=0,
    ),
    _rule(
        "text_is_intact",
        "turns.dialogue_cleaned",
        "warning",
        "No turn holds text that was decoded wrongly before it came here.",
        *("sessions", "sessions", "between"),
        max_value=0,
    ),
    _rule(
        "speakers_are_known",
        "turns.primary_speaker",
        "warning",
        "Every speaker is a participant, the therapist or the group.",
        *("speakers", "speakers of a session", "in_set"),
        value_set=[True],
    ),
    _rule(
        "targets_are_known",
        "turns.target",
        "warning",
        "Everybody spoken to is a participant, the therapist or the group.",
        *("targets", "targets of a session", "in_set"),
        value_set=[True],
    ),
    _rule(
        "relation_patterns_are_in_the_set",
        "turns.relation_cycle_state",
        "warning",
        "Every relation pattern belongs to the scenario's label set.",
        *("relation_patterns", "labels", "in_set"),
        names_values=True,
    ),
    _rule(
        "support_strategies_are_in_the_set",
        "turns.support_strategy",
        "warning",
        "Every support strategy belongs to the scenario's label set.",
        *("support_strategies", "labels", "in_set"),
        names_values=True,
    ),
    _rule(
        "intensities_are_in_range",
        "turns.internal_emotion",
        "warning",
        "Every intensity of an emotion lies between 0 and 10.",
        *("intensities", "distinct values", "between"),
        min_value=0,
        max_value=10,
        shows_range=True,
    ),
    _rule(
        "keys_are_known",
        "turns.present_keys",
        "warning",
        "Every key of a row is one that the format knows; another one may be misspelt.",
        *("row_keys", "keys", "in_set"),
        names_values=True,
    ),
    _rule(
        "transcripts_have_a_session",
        "transcript_cues.sample_id",
        "warning",
        "Every transcript belongs to a session.",
        *("transcripts", "transcripts", "in_set"),
        value_set=[True],
    ),
    _rule(
        "cue_times_are_possible",
        "transcript_cues.start_time",
        "warning",
        "No cue ends before it starts.",
        *("transcripts", "transcripts", "between"),
        min_value=0,
    ),
    _rule(
        "annotations_cover_the_times",
        "transcript_cues.end_time",
        "warning",
        f"At least {COVERAGE_FLOOR:.0%} of a transcript's cues fall into an annotated turn.",
        *("time_coverage", "transcripts", "between"),
        min_value=COVERAGE_FLOOR,
        max_value=1,
        shows_range=True,
    ),
    _rule(
        "annotations_cover_the_words",
        "transcript_cues.text",
        "warning",
        f"At least {COVERAGE_FLOOR:.0%} of a transcript's words are in the annotations.",
        *("word_coverage", "transcripts", "between"),
        min_value=COVERAGE_FLOOR,
        max_value=1,
        shows_range=True,
    ),
    _rule(
        "counts_are_the_published_ones",
        "corpus.corpus_version",
        "warning",
        "The released corpus has the counts and shares that its paper prints.",
        *("published_counts", "statistics", "in_set"),
        value_set=[True],
    ),
)
