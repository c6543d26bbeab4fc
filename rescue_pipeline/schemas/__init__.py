"""Pandera models: one per table that crosses a Python boundary. They check types, vocabularies and keys of collected
frames; rules about the benchmark itself live in dbt (derivations) and Great Expectations (the raw corpus)."""

import pandera.polars as pa

from rescue_pipeline.schemas.checking import check_table
from rescue_pipeline.schemas.predictions import (
    Answers,
    Bertscores,
    Judgements,
    Plan,
    Responses,
)
from rescue_pipeline.schemas.scores import Gradings, Items, Metrics
from rescue_pipeline.schemas.tasks import Instances, LoadedCorpus, Sessions, Turns, UnlabelledRows

TASKS = ("er", "vp", "rpp", "itp", "stp", "ssp")
JUDGED_TASKS = ("er", "vp")

LAKE_TABLES: dict[str, type[pa.DataFrameModel]] = {
    "sessions": Sessions,
    "turns": Turns,
    "instances": Instances,
    "unlabelled_rows": UnlabelledRows,
    "plan": Plan,
    **{f"responses_{task}": Responses for task in TASKS},
    **{f"answers_{task}": Answers for task in TASKS},
    **{f"judge_responses_{task}": Responses for task in JUDGED_TASKS},
    **{f"judgements_{task}": Judgements for task in JUDGED_TASKS},
    **{f"bertscores_{task}": Bertscores for task in JUDGED_TASKS},
    "metrics": Metrics,
}

__all__ = [
    "JUDGED_TASKS",
    "LAKE_TABLES",
    "TASKS",
    "Answers",
    "Bertscores",
    "Gradings",
    "Instances",
    "Items",
    "Judgements",
    "LoadedCorpus",
    "Metrics",
    "Plan",
    "Responses",
    "Sessions",
    "Turns",
    "UnlabelledRows",
    "check_table",
]
