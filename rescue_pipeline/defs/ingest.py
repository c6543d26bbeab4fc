"""ingest: raw transcripts and annotations into raw.*, and the gate that the corpus must pass."""

from collections.abc import Iterator

import dagster as dg

from rescue_pipeline import datadir, progress
from rescue_pipeline.corpus.expectations import EXPECTATIONS, check_corpus
from rescue_pipeline.corpus.load import INGEST_VERSION, load_corpus
from rescue_pipeline.corpus.quality_page import render_quality_page
from rescue_pipeline.corpus.raw_tables import RAW_TABLES
from rescue_pipeline.corpus.source import from_datadir
from rescue_pipeline.datadir import write_atomically
from rescue_pipeline.defs.discretion import discreet
from rescue_pipeline.defs.policies import OWNERS, WAREHOUSE_POOL
from rescue_pipeline.defs.resources import open_datadir
from rescue_pipeline.warehouse import open_duckdb


def _raw_spec(table: str, description: str) -> dg.AssetSpec:
    return dg.AssetSpec(
        ["raw", table],
        description=description,
        group_name="ingest",
        owners=OWNERS,
        kinds={"python", "duckdb"},
        code_version=INGEST_VERSION,
    )


def _report_kilobytes(what: str, done: int, total: int | None) -> None:
    progress.report(f"{what}, kB", done // 1000, None if total is None else total // 1000)


@dg.multi_asset(
    name="ingest",
    specs=[_raw_spec(table.name, table.description) for table in RAW_TABLES],
    pool=WAREHOUSE_POOL,
)
def ingest(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult]:  # type: ignore[type-arg]
    """Read the corpus into raw.*; the same corpus again changes nothing."""
    directory = open_datadir()
    source = from_datadir(directory)
    with discreet(), open_duckdb(directory.warehouse) as connection:
        report = load_corpus(source, connection, on_progress=_report_kilobytes)
        rows = {t.name: connection.execute(f'select count(*) from raw."{t.name}"').fetchall()[0][0] for t in RAW_TABLES}
    directory.record_use(report.data_class, source.consent)
    context.log.info(f"corpus version {report.corpus_version}: {'loaded' if report.changed else 'unchanged'}")
    for table in RAW_TABLES:
        yield dg.MaterializeResult(
            asset_key=["raw", table.name],
            data_version=dg.DataVersion(report.corpus_version),
            metadata={
                "dagster/row_count": rows[table.name],
                "corpus_version": report.corpus_version,
                "changed": report.changed,
                "source_files": len(report.source_sha256s),
                "path": dg.MetadataValue.path(str(directory.warehouse)),
                "seconds": round(report.seconds, 3),
            },
        )


@dg.multi_asset_check(
    name="corpus_quality",
    specs=[
        dg.AssetCheckSpec(
            expectation.name,
            asset=["raw", expectation.table],
            description=expectation.description,
            blocking=expectation.severity == "blocking",
        )
        for expectation in EXPECTATIONS
    ],
    pool=WAREHOUSE_POOL,
)
def corpus_quality() -> Iterator[dg.AssetCheckResult]:
    """Great Expectations over the raw corpus; its page lies in quality/index.html."""
    directory = datadir.current()
    with open_duckdb(directory.warehouse, read_only=True) as connection:
        report = check_corpus(connection)
    page = directory.quality / "index.html"
    write_atomically(page, render_quality_page(report))
    for result in report.results:
        yield dg.AssetCheckResult(
            check_name=result.name,
            asset_key=["raw", result.table],
            passed=result.success,
            severity=dg.AssetCheckSeverity.ERROR if result.severity == "blocking" else dg.AssetCheckSeverity.WARN,
            metadata={
                "checked": result.n_checked,
                "unexpected": result.n_unexpected,
                "observed": result.observed,
                "page": dg.MetadataValue.url(page.as_uri()),
            },
        )
