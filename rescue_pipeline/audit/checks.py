"""The blocking checks: small functions from a request to its findings. None of them looks at how it was rendered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rescue_pipeline.audit.causes import gap_findings
from rescue_pipeline.audit.examples import example_findings
from rescue_pipeline.audit.explaining import Subject, gaps
from rescue_pipeline.audit.findings import Finding, place
from rescue_pipeline.audit.options import option_findings
from rescue_pipeline.llm.workspace import Row


def findings_of(subject: Subject) -> Iterator[Finding]:
    """Everything that reading one request shows."""
    yield from gap_findings(subject, gaps(subject))
    yield from option_findings(subject)
    yield from shared_findings(subject)
    yield from example_findings(subject)


def shared_findings(subject: Subject) -> Iterator[Finding]:
    """shared_requests: a question of a request must not see the turns that another one brings along."""
    if len(subject.asked.instances) == 1:
        return
    for instance in subject.asked.instances:
        own = {row["row_index"] for row in subject.window(instance)}
        others = [row for number, row in sorted(subject.granted.items()) if number not in own]
        if others:
            yield _shared(subject, instance, others)


def _shared(subject: Subject, instance: Row, others: Sequence[Row]) -> Finding:
    content = subject.question["content"]
    last = max((row["row_index"] for row in subject.window(instance)), default=instance["row_index"] - 1)
    later = [row for row in others if row["row_index"] > last]
    offset = max(content.find((later or others)[0]["dialogue"]), 0)
    found = f"{len(others)} turns of other questions, {len(later)} of them after the decision"
    where = place("user", content, offset, subject.condition.literals)
    return Finding("shared_requests", instance["instance_id"], where, found)
