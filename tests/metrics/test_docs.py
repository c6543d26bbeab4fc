from __future__ import annotations

from pathlib import Path

from rescue_pipeline.metrics.catalogue import published

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_every_published_metric_is_defined_in_the_docs() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [metric for metric in published()["metric"].unique() if f"`{metric}`" not in page] == []
