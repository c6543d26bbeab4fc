"""report: what people read. The published database and the pages made from it."""

import dagster as dg

from rescue_pipeline import datadir
from rescue_pipeline.defs.policies import FOLLOW_ANSWERS, OWNERS, WAREHOUSE_POOL
from rescue_pipeline.report.provenance import provenance
from rescue_pipeline.report.publish import publish_results
from rescue_pipeline.report.reading import RESULT_TABLES
from rescue_pipeline.report.report import build_report


@dg.asset(
    key=["report", "results_database"],
    deps=[["results", table] for table in RESULT_TABLES],
    description="One file per publication: the tables people query (tasks, predictions, scores, results), "
    "replaced atomically.",
    group_name="report",
    owners=OWNERS,
    automation_condition=FOLLOW_ANSWERS,
    kinds={"duckdb"},
    pool=WAREHOUSE_POOL,
)
def results_database() -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Copy the warehouse's published tables into results.duckdb."""
    directory = datadir.current()
    published = publish_results(directory.warehouse, directory.results)
    return dg.MaterializeResult(
        metadata={
            "path": dg.MetadataValue.path(str(directory.results)),
            "tables": published.tables,
            "megabytes": round(published.bytes / 1e6, 2),
        }
    )


@dg.asset(
    key=["report", "pages"],
    deps=[["report", "results_database"]],
    description="One page for people (report.html), one for text tools (report.md), and the tables as CSV.",
    group_name="report",
    owners=OWNERS,
    automation_condition=FOLLOW_ANSWERS,
    kinds={"python", "html"},
)
def pages() -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Write the report from results.duckdb alone."""
    directory = datadir.current()
    files = build_report(directory.results, directory.reports, provenance())
    return dg.MaterializeResult(
        metadata={
            "page": dg.MetadataValue.path(str(files.html)),
            "open": dg.MetadataValue.url(files.html.as_uri()),
            "megabytes": round(files.bytes / 1e6, 2),
            "seconds": round(files.seconds, 2),
        }
    )
