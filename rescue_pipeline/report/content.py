"""Everything a report says, assembled once: the page and the Markdown file print the same content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rescue_pipeline.report import data_tables, run_tables
from rescue_pipeline.report.audit import audit_section
from rescue_pipeline.report.confusion import ModelConfusions, confusion_sections
from rescue_pipeline.report.leaderboard import Board, boards
from rescue_pipeline.report.protocols import protocol_section, spread_section
from rescue_pipeline.report.reading import Results
from rescue_pipeline.report.scores import Scores
from rescue_pipeline.report.task_tables import TaskSection, task_sections
from rescue_pipeline.report.trust import trust_section
from rescue_pipeline.report.verdict import Verdict, corpus_name, is_demo, verdict
from rescue_pipeline.report.view import Section, Table
from rescue_pipeline.report.wording import DEMO_GOLD, GOLD_LIMITS


@dataclass(frozen=True)
class Content:
    """The parts of a report in reading order. A part without rows is said to be missing in words."""

    title: str
    verdict: Verdict
    boards: list[Board]
    paper_stands_with_ours: bool
    tasks: list[TaskSection]
    statistics: Table
    instances: Table
    labels: list[Table]
    rejects: list[Table]
    confusions: list[ModelConfusions]
    failures: Table
    usage: Table
    sections: list[Section]
    published: Table
    corpus_facts: list[tuple[str, str]]
    versions: Table
    models: Table
    software: list[tuple[str, str]]
    commands: list[str]
    gold: list[str]
    missing: list[str]
    generated_at: str


def assemble(results: Results, provenance: Mapping[str, str], generated_at: str) -> Content:
    """Build every part from the tables; `provenance` is software and version."""
    scores = Scores(results["leaderboard_long"])
    references = results["reference_results"]
    found = boards(scores, references)
    return Content(
        title=f"RESCUE-BENCH on {corpus_name(results.corpus)}",
        verdict=verdict(results, scores, found),
        boards=found,
        paper_stands_with_ours=any(row["shown_with_ours"] for row in references),
        tasks=task_sections(scores, references),
        statistics=data_tables.statistics_table(results["dataset_statistics"]),
        instances=data_tables.instances_table(results["task_instances"]),
        labels=data_tables.label_tables(results["label_distribution"]),
        rejects=data_tables.reject_tables(results.rejects),
        confusions=confusion_sections(results["confusions"], scores),
        failures=run_tables.failures_table(results["failures"], scores),
        usage=run_tables.usage_table(results["usage"], scores),
        sections=_sections(results, scores),
        published=data_tables.published_table(references),
        corpus_facts=run_tables.corpus_facts(results),
        versions=run_tables.versions_table(results),
        models=run_tables.models_table(results),
        software=sorted(provenance.items()),
        commands=run_tables.commands(results),
        gold=[*([DEMO_GOLD] if is_demo(results.corpus) else []), *GOLD_LIMITS],
        missing=list(results.missing),
        generated_at=generated_at,
    )


def _sections(results: Results, scores: Scores) -> list[Section]:
    """What only some runs have, in reading order; both the page and the Markdown file print whatever stands here."""
    found = [
        trust_section(results),
        protocol_section(results["protocol_effects"], scores),
        spread_section(results["epoch_spread"], scores),
        audit_section(results["audit"]),
    ]
    return [section for section in found if section is not None]
