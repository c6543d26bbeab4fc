"""Pandera models: one per table that crosses a Python boundary. They check types, vocabularies and keys of collected
frames; rules about the benchmark itself live in dbt (derivations) and Great Expectations (the raw corpus)."""

import pandera.polars as pa

from rescue_pipeline.schemas.audit import Annotations, Audit, AuditFindings
from rescue_pipeline.schemas.checking import check_table
from rescue_pipeline.schemas.money import Estimates
from rescue_pipeline.schemas.predictions import (
    Answers,
    BertscoreControls,
    BertscoreRuns,
    Bertscores,
    JudgeControls,
    Judgements,
    Plan,
    Responses,
)
from rescue_pipeline.schemas.scores import Gradings, Items, Metrics, ProtocolEffects
from rescue_pipeline.schemas.tasks import Instances, LoadedCorpus, Sessions, Turns, UnlabelledRows

TASKS = ("er", "vp", "rpp", "itp", "stp", "ssp")
JUDGED_TASKS = ("er", "vp")

LAKE_TABLES: dict[str, type[pa.DataFrameModel]] = {
    "sessions": Sessions,
    "turns": Turns,
    "instances": Instances,
    "unlabelled_rows": UnlabelledRows,
    "annotations": Annotations,
    "audit": Audit,
    "audit_findings": AuditFindings,
    "plan": Plan,
    "estimates": Estimates,
    **{f"responses_{task}": Responses for task in TASKS},
    **{f"answers_{task}": Answers for task in TASKS},
    **{f"judge_responses_{task}": Responses for task in JUDGED_TASKS},
    **{f"judgements_{task}": Judgements for task in JUDGED_TASKS},
    **{f"judge_controls_{task}": JudgeControls for task in JUDGED_TASKS},
    **{f"bertscores_{task}": Bertscores for task in JUDGED_TASKS},
    **{f"bertscore_controls_{task}": BertscoreControls for task in JUDGED_TASKS},
    **{f"bertscore_runs_{task}": BertscoreRuns for task in JUDGED_TASKS},
    "metrics": Metrics,
    "protocol_effects": ProtocolEffects,
}

__all__ = [
    "JUDGED_TASKS",
    "LAKE_TABLES",
    "TASKS",
    "Annotations",
    "Answers",
    "Audit",
    "AuditFindings",
    "BertscoreControls",
    "BertscoreRuns",
    "Bertscores",
    "Estimates",
    "Gradings",
    "Instances",
    "Items",
    "JudgeControls",
    "Judgements",
    "LoadedCorpus",
    "Metrics",
    "Plan",
    "ProtocolEffects",
    "Responses",
    "Sessions",
    "Turns",
    "UnlabelledRows",
    "check_table",
]
