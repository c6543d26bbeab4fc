"""Sentences that every report carries, whatever its figures: the terms, the limits of the gold, how to read a score."""

from __future__ import annotations

from rescue_pipeline.tasks.spec import load_protocol, protocol_names

RESEARCH_ONLY = "Research only: not for clinical use, and no statement about any person."
TERMS = (
    "These figures compare programs. They must not guide the care of anybody.",
    "Whoever uses the sessions may not try to identify the people in them, build profiles of them, pass the data on "
    "or use it commercially.",
)
GOLD_LIMITS = (
    "In the released corpus the gold was first written by a Gemini model that had video and subtitles, then corrected "
    "by three annotators. How far the annotators agree has not been published. Models of the Gemini family may be "
    "favoured.",
    "There, tone, posture, face and behaviour were annotated by the same hand as the gold. A gain from these fields "
    "may show that the annotation is consistent, not that a model perceives.",
    "The gold of intervention time, support target and support strategy is what one therapist did. Another good "
    "therapist may have done otherwise.",
    "The rows that were noted as evidence for a relation pattern may come later than the turn that is asked about.",
)
DEMO_GOLD = "The demo corpus is fiction written for this project; its gold was written together with it."
METRIC_NOTES = (
    "An answer that is empty, refused, filtered, cut off or cannot be read counts as wrong: it stays in the "
    "denominator. “Without its failures” shows what the score would be if such answers were left out.",
    "A cell with unanswered questions shows the lowest and highest value it can still reach. It has no rank.",
    "Relation patterns are counted over two bases. “Accuracy” is over the labelled turns. “Accuracy, paper’s base” "
    "also counts the therapist’s turns that were annotated as showing no clear pattern, as wrong, because the "
    "published figures are possible only over that larger base (inferred, not stated by the authors).",
    "Macro-F1 is the mean over all labels of a scenario, absent ones counted as 0. It exists per scenario only.",
    "Intensity match is 5 minus the distance to the annotated intensity, at least 1. The ER score is the mean of "
    "judge score and intensity match.",
    "The viewpoint total is pairing (0–2) plus content (0–4), added by this program and not by the judge.",
    "A judge of the judged model’s own vendor leaves the headline: “same vendor” stands there, its grades stand in the "
    "task’s table.",
    "Word overlap stands in for a judge where no language model judged. It counts shared words and is not comparable "
    "with an LLM judge.",
    "Chance is the expected score of answers drawn at random among those allowed.",
)


def protocol_label(protocol: str) -> str:
    """`protocol official, leaks on purpose`: a figure that leaks were part of must never pass for a clean one."""
    leaks = load_protocol(protocol).leaks if protocol in protocol_names() else ()
    return f"protocol {protocol}, leaks on purpose" if leaks else f"protocol {protocol}"
