"""report.html: one self-contained page, complete without JavaScript, that fetches nothing."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from rescue_pipeline.report.content import Content
from rescue_pipeline.report.leaderboard import NO_INTERVALS, WORD_OVERLAP
from rescue_pipeline.report.wording import METRIC_NOTES, RESEARCH_ONLY, TERMS


def render_page(content: Content) -> str:
    """The page as HTML. Every value goes through autoescape: model ids, labels and file names are strangers' text."""
    environment = Environment(
        loader=PackageLoader("rescue_pipeline.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        content=content,
        no_intervals=NO_INTERVALS,
        word_overlap=WORD_OVERLAP,
        research_only=RESEARCH_ONLY,
        terms=TERMS,
        metric_notes=METRIC_NOTES,
    )
