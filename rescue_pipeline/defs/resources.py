"""What a run may vary, and what every asset opens: the workspace of the current data directory."""

from __future__ import annotations

import dagster as dg
from pydantic import Field

from rescue_pipeline import datadir
from rescue_pipeline.bundle import DEMO_CORPUS
from rescue_pipeline.corpus.source import from_datadir, resolve
from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import UsageError
from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.budget import Spending
from rescue_pipeline.llm.registry import load_registry
from rescue_pipeline.llm.workspace import Partition, Workspace
from rescue_pipeline.schemas import LAKE_TABLES, TASKS, LoadedCorpus
from rescue_pipeline.settings import Settings
from rescue_pipeline.tasks.spec import protocol_names


class RunOptions(dg.ConfigurableResource):  # type: ignore[type-arg]
    """What one run asks: shown in the launchpad, set by the command line."""

    protocol: str = Field(default="clean", description=f"how questions are asked: {', '.join(protocol_names())}")
    tasks: list[str] = Field(default=list(TASKS), description="which of the six tasks are planned, and may be asked")
    limit: int | None = Field(default=None, description="at most this many questions per task (seeded, nested)")
    judges: list[str] = Field(default=[], description="the judges of er and vp; empty: the registry's choice")
    budget_usd: float | None = Field(
        default=None,
        description="USD this run may spend, answers and judges together; empty: RESCUE_BUDGET_USD, else nothing",
    )
    run_id: str | None = Field(default=None, description="runs with one id share one budget; empty: this run's own id")
    retry: list[str] = Field(
        default=[], description="ask again, in a new epoch, the questions whose answer has one of these statuses"
    )

    def spending(self, context: dg.AssetExecutionContext) -> Spending:
        """The cap of this run."""
        budget = Settings().budget_usd if self.budget_usd is None else self.budget_usd
        return Spending(self.run_id or context.run_id, budget)


def open_datadir() -> DataDirectory:
    """The current data directory, made on first use; a new one without a corpus gets the demo corpus."""
    directory = datadir.current().create()
    if directory.owner() is None:
        source = resolve(DEMO_CORPUS)
        directory.claim(source.corpus_id, source.description())
    Lake(directory.lake).declare(LAKE_TABLES)
    return directory


def open_workspace() -> Workspace:
    """Everything that asking, parsing and judging need. The warehouse stays closed: somebody may be writing to it."""
    directory = open_datadir()
    lake = Lake(directory.lake)
    loaded = lake.read("corpus", LoadedCorpus)
    if loaded.is_empty():
        raise UsageError(
            "no corpus is loaded yet, so there is nothing to ask about",
            where=lake.folder("corpus"),
            advice="materialize the job `prepare` first",
        )
    source = from_datadir(directory)
    # as corpus.yaml reads now: a consent may have been given, or withdrawn, since the corpus was loaded
    directory.record_use(source.data_class if source.data_class_declared else directory.use()[0], source.consent)
    return Workspace(
        datadir=directory,
        lake=lake,
        registry=load_registry(Settings().models_file),
        corpus_id=source.corpus_id,
        corpus_version=loaded["corpus_version"].item(),
    )


def partitions_of(context: dg.AssetExecutionContext, options: RunOptions) -> list[Partition]:
    """The partitions of this step, under the run's protocol."""
    keys = [key.keys_by_dimension for key in context.partition_keys if isinstance(key, dg.MultiPartitionKey)]
    return [Partition(model=key["model"], modality=key["modality"], protocol=options.protocol) for key in keys]
