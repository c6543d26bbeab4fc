from __future__ import annotations

from pathlib import Path

from rescue_pipeline.metrics.catalogue import published
from rescue_pipeline.tasks.spec import load_tasks

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_every_published_metric_is_defined_in_the_docs() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [metric for metric in published()["metric"].unique() if f"`{metric}`" not in page] == []


def test_the_published_metrics_are_those_the_task_files_name() -> None:
    named = {(task, metric) for task, spec in load_tasks().items() for metric in spec.metrics}
    assert set(published().select("task", "metric").iter_rows()) == named
