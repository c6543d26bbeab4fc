"""Makes small warehouses with plausible rows in every table that is published or printed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from tests.report.audited import AUDIT_TYPES, audit_tables

VERSION = "4f1c0a9be2d37a55"
SENT = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
SECRET = "I counted every evening you came home late"
"""A sentence that stands in tasks.turns and in answers; no page may print it."""

METRICS = {
    ("itp", "none"): ["precision", "recall", "f1", "accuracy"],
    ("rpp", "none"): ["accuracy", "accuracy_paper_base", "mrr", "macro_f1"],
    ("stp", "none"): ["recall_at_1", "recall_at_2", "recall_at_3", "mrr"],
    ("ssp", "none"): ["recall_at_1", "recall_at_2", "recall_at_3", "mrr"],
    ("er", "none"): ["intensity_match"],
    ("er", "judged"): ["judge", "er_score"],
    ("vp", "judged"): ["judge", "pairing", "content", "judge_total"],
}
SCALES = {"intensity_match": (1, 5), "judge": (1, 5), "er_score": (1, 5), "pairing": (0, 2), "content": (0, 4)}
SCALES["judge_total"] = (0, 6)
CHANCE = {"f1": 0.5, "precision": 0.5, "recall": 0.5, "accuracy": 0.1667, "mrr": 0.3055, "recall_at_1": 0.25}
SIZES = {"itp": (40, 18), "rpp": (52, 30), "stp": (44, 22), "ssp": (44, 22), "er": (40, 15), "vp": (38, 14)}
PATTERNS = {
    "couple": ["attack_attack", "constructive_alignment", "mixed_transition", "pursue_withdraw", "repair_softening"],
    "family": ["boundary_hierarchy_strain", "escalation_conflict", "mixed_transition", "pursue_withdraw"],
}
DECISIONS = {"couple": ["no", "yes"], "family": ["no", "yes"]}
STRATEGIES = {
    "couple": ["counterbalance", "detach", "enact", "evoke", "goal_align", "join", "reframe", "repair", "track"],
    "family": ["boundary", "counterbalance", "enact", "join", "reframe", "repair", "safeguard", "track"],
}


@dataclass(frozen=True)
class Model:
    """A model of the fixture: failed and unanswered are per scenario and task."""

    name: str
    judge: str = "lexical-judge"
    judge_kind: str = "lexical"
    same_vendor: bool = False
    modality: str = "dialogue"
    protocol: str = "clean"
    generation: int = 1
    failed: int = 0
    unanswered: int = 0
    interval: float | None = None
    repeats: int = 1
    cut: int = 0
    """Answers per scenario and task that were cut in the reasoning."""


BASELINES = tuple(Model(name) for name in ("uniform", "majority", "heuristic", "lexical"))


@contextmanager
def editing(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database at `path`, for writing, under the warehouse's name whatever the file is called."""
    with duckdb.connect() as connection:
        connection.execute(f"attach '{path}' as rescue")
        connection.execute("use rescue")
        connection.execute("set timezone = 'UTC'")
        yield connection


@dataclass
class Tables:
    """Rows by (schema, table), with the types of columns that polars could not guess."""

    rows: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    types: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        with editing(path) as connection:
            for (schema, table), rows in self.rows.items():
                types = self.types.get((schema, table))
                # an empty table has the types it was given, one with rows those it needs beside the guessed ones
                frame = (  # noqa: F841 - DuckDB reads it by name
                    pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)
                    if rows
                    else pl.DataFrame(schema=types)
                )
                connection.execute(f'create schema if not exists "{schema}"')
                connection.execute(f'create table "{schema}"."{table}" as select * from frame')
        return path


def warehouse(
    path: Path,
    models: Sequence[Model] = BASELINES,
    *,
    released: bool = False,
    patterns: Mapping[str, Sequence[str]] = PATTERNS,
    rejects: int = 0,
    corpus_id: str = "demo",
    data_class: str = "demo",
) -> Path:
    """A warehouse (or a published copy, which has the same tables) with the scores of `models`, if any."""
    tables = Tables()
    corpus = {"corpus_id": corpus_id, "corpus_version": VERSION}
    _raw(tables, corpus, data_class, released, rejects)
    _sessions(tables)
    _scores(tables, corpus, models or BASELINES, patterns)
    _run(tables, corpus, models or BASELINES)
    _protocols(tables, corpus, models or BASELINES)
    _audit(tables, corpus)
    _trust(tables, corpus, models or BASELINES)
    _data(tables, corpus, released, patterns)
    tables.write(path)
    if not models:
        _forget_scores(path)
    return path


def _forget_scores(path: Path) -> None:
    with editing(path) as connection:
        for table in (
            *("leaderboard_long", "leaderboard", "failures", "confusions", "usage", "lineage"),
            *("judge_trust", "judge_agreement"),
        ):
            connection.execute(f"delete from results.{table}")
        connection.execute("delete from predictions.bertscore_runs")


def _share(*key: object) -> float:
    """A fixed fraction made from `key`: plausible, and the same on every machine."""
    return (zlib.crc32(json.dumps([str(part) for part in key]).encode()) % 1000) / 1000


def _raw(tables: Tables, corpus: dict[str, Any], data_class: str, released: bool, rejects: int) -> None:
    tables.rows["raw", "corpus"] = [
        {
            **corpus,
            "data_class": data_class,
            "path": "/home/somebody/secret-folder/corpus",
            "is_released": released,
            "annotations_sha256": "9c" * 32,
            "ingest_version": "1",
            "n_records": 12,
            "n_rejected": rejects,
            "loaded_at": SENT,
        }
    ]
    tables.rows["raw", "samples"] = [{"corpus_version": VERSION, "sample_id": "ana_and_ben/001", "scenario": "couple"}]
    tables.rows["raw", "labels"] = [{"scenario": "couple", "kind": "support_strategy", "label": "join", "position": 1}]
    tables.rows["raw", "turns"] = [{"corpus_version": VERSION, "dialogue_cleaned": SECRET}]
    names = ("source_path", "source_line", "record", "field", "expected", "found", "reason")
    example = ("broken.jsonl", 3, "cara_and_dov/002", "rows[4].start_time", "a number", "str", "wrong type")
    tables.rows["raw", "rejects"] = [
        {"corpus_version": VERSION, **dict(zip(names, example, strict=True)), "source_line": line + 1}
        for line in range(rejects)
    ]
    text = dict.fromkeys(names, pl.String)
    tables.types["raw", "rejects"] = {"corpus_version": pl.String, **text, "source_line": pl.Int64}


def _sessions(tables: Tables) -> None:
    tables.rows["tasks", "sessions"] = [
        {
            "corpus_version": VERSION,
            "sample_id": f"{scenario}/{number}",
            "scenario": scenario,
            "session_group": f"{scenario}/{number // 2}",
            "n_turns": 26,
        }
        for scenario, n in (("couple", 8), ("family", 4))
        for number in range(n)
    ]
    tables.rows["tasks", "turns"] = [{"corpus_version": VERSION, "dialogue": SECRET}]
    tables.rows["predictions", "responses"] = [{"request_id": "a1", "content": SECRET}]
    tables.rows["scores", "items"] = [{"instance_id": "er:ana_and_ben/001:4", "status": "ok"}]


def _cell(corpus: dict[str, Any], model: Model, **more: Any) -> dict[str, Any]:
    run = {"generation": model.generation, "modality": model.modality, "protocol": model.protocol}
    return {**corpus, "model": model.name, **run, **more}


def _scores(
    tables: Tables, corpus: dict[str, Any], models: Sequence[Model], patterns: Mapping[str, Sequence[str]]
) -> None:
    tables.rows["results", "leaderboard_long"] = [
        _figure(corpus, model, task, kind, scenario, metric)
        for model in models
        for (task, kind), metrics in METRICS.items()
        for scenario in ("couple", "family", "both")
        for metric in metrics
        if (metric, scenario) != ("macro_f1", "both")
    ]
    numbers = ("value", "ci_low", "ci_high", "bound_low", "bound_high", "value_without_failures", "chance")
    tables.types["results", "leaderboard_long"] = dict.fromkeys(numbers, pl.Float64)
    tables.rows["results", "leaderboard"] = [_cell(corpus, model, scenario="both", complete=True) for model in models]
    tables.rows["results", "confusions"] = [
        row
        for model in models
        for task, labels in (("itp", DECISIONS), ("rpp", patterns), ("ssp", STRATEGIES))
        for row in _confusions(corpus, model, task, labels)
    ]


def _figure(corpus: dict[str, Any], model: Model, task: str, kind: str, scenario: str, metric: str) -> dict[str, Any]:
    couple, family = SIZES[task]
    n = {"couple": couple, "family": family, "both": couple + family}[scenario]
    times = 2 if scenario == "both" else 1
    low, high = SCALES.get(metric, (0, 1))
    value = low + (high - low) * (0.2 + 0.6 * _share(model.name, task, metric, scenario))
    failed, unanswered = model.failed * times, min(n, model.unanswered * times)
    all_open = unanswered == n
    whisker = None if model.interval is None else model.interval * (high - low)
    return _cell(
        corpus,
        model,
        scorer="none" if kind == "none" else model.judge,
        scorer_kind="none" if kind == "none" else model.judge_kind,
        same_vendor=model.same_vendor and kind != "none",
        scenario=scenario,
        task=task,
        task_version="1",
        metric=metric,
        value=None if all_open else value,
        ci_low=None if whisker is None else value - whisker,
        ci_high=None if whisker is None else value + whisker,
        bound_low=value * 0.8 if unanswered and not all_open else None,
        bound_high=min(high, value * 1.15) if unanswered and not all_open else None,
        n=n + 6 if metric == "accuracy_paper_base" else n,
        n_planned=n,
        n_instances=n,
        n_repeats=model.repeats,
        n_groups=6,
        n_failed=failed,
        n_unanswered=unanswered,
        value_without_failures=min(high, value * 1.1),
        chance=CHANCE.get(metric) if kind == "none" else None,
        complete=not unanswered,
        comparable=None,
        comparable_reason=None,
    )


def _confusions(
    corpus: dict[str, Any], model: Model, task: str, labels: Mapping[str, Sequence[str]]
) -> Iterable[dict[str, Any]]:
    for scenario, names in labels.items():
        for gold in names:
            for predicted in [*names, *([None] if model.failed else [])]:
                n = int(9 * _share(model.name, task, scenario, gold, predicted) ** 2)
                if n:
                    yield _cell(
                        corpus, model, task=task, scenario=scenario, gold_label=gold, predicted_label=predicted, n=n
                    )


def _run(tables: Tables, corpus: dict[str, Any], models: Sequence[Model]) -> None:
    failures, usage, lineage = [], [], []
    for model in models:
        for place, (task, sizes) in enumerate(SIZES.items()):
            for scenario, n in zip(("couple", "family"), sizes, strict=True):
                statuses = {"refused": model.failed, "truncated": model.cut, "not_run": min(n, model.unanswered)}
                statuses["ok"] = n - sum(statuses.values())
                failures += [
                    _cell(corpus, model, task=task, scenario=scenario, status=s, n=k, n_planned=n, share=k / n)
                    | {"n_cut_in_reasoning": k if s == "truncated" else None, "n_cut_in_answer": None}
                    for s, k in statuses.items()
                    if k
                ]
            usage.append(_usage(corpus, model, task, sum(sizes)))
            lineage.append(
                _cell(
                    corpus,
                    model,
                    task=task,
                    request_id=f"{model.name}-{task}",
                    template_sha256=f"{place:02x}" * 32,
                    judges=[model.judge],
                    sent_at=SENT + timedelta(minutes=place),
                    source_path="couples/001.json",
                )
            )
    tables.rows["results", "failures"] = failures
    tables.types["results", "failures"] = dict.fromkeys(("n_cut_in_reasoning", "n_cut_in_answer"), pl.Int64)
    tables.rows["results", "usage"] = usage
    tables.rows["results", "lineage"] = lineage


def _audit(tables: Tables, corpus: dict[str, Any]) -> None:
    for name, rows in audit_tables(corpus).items():
        tables.rows["results", name], tables.types["results", name] = rows, AUDIT_TYPES[name]


def _protocols(tables: Tables, corpus: dict[str, Any], models: Sequence[Model]) -> None:
    """What each protocol other than clean changes, with intervals where the model has some; how far repeats differ."""
    main = {"itp": "f1", "rpp": "accuracy", "stp": "recall_at_1", "ssp": "recall_at_1"}
    tables.rows["results", "protocol_effects"] = [
        _effect(corpus, model, task, metric)
        for model in models
        for task, metric in main.items()
        if model.protocol != "clean"
    ]
    tables.rows["results", "epoch_spread"] = [
        _cell(corpus, model, task=task, scenario="both", scorer="none", metric=metric, mean_deviation=0.21)
        | {"share_differing": _share(model.name, task) / 2, "n": sum(SIZES[task]), "n_repeats": model.repeats}
        for model in models
        for task, metric in {**main, "itp": "accuracy"}.items()
        if model.repeats > 1
    ]
    numbers = dict.fromkeys(("value", "value_clean", "difference", "ci_low", "ci_high"), pl.Float64)
    tables.types["results", "protocol_effects"] = {"corpus_version": pl.String, "no_interval": pl.String, **numbers}
    tables.types["results", "epoch_spread"] = {"corpus_version": pl.String}


CEILINGS = {"gold": 4.75, "other_session": 1.5, "verbose_wrong": 1.25}


def _trust(tables: Tables, corpus: dict[str, Any], models: Sequence[Model]) -> None:
    """Controls, repeats and agreement of every judge; nobody computed BERTScore."""
    judges = sorted({(model.judge, model.judge_kind) for model in models})
    tables.rows["results", "judge_trust"] = [
        control(corpus, judge, kind, task, name, mean=mean)
        for judge, kind in judges
        for task in ("er", "vp")
        for name, mean in {**CEILINGS, **({"swapped": 2.0} if task == "vp" else {}), "repeat": None}.items()
    ]
    tables.rows["results", "judge_agreement"] = [
        {**corpus, "task": task, "grade": "similarity", "judge": one, "other_judge": other, "n": 41}
        | {"share_exact": 0.805, "share_off_by_one": 0.122, "mean_absolute_difference": 0.27}
        | {"quadratic_kappa": 0.71 if task == "er" else None, "comparable": "no", "comparable_reason": "two judges"}
        for (one, _), (other, _) in combinations(judges, 2)
        for task in ("er", "vp")
    ]
    tables.rows["predictions", "bertscore_runs"] = [
        {"corpus_version": VERSION, "task": task, "scorer": None, "reason": "the extra is missing"}
        | {"n_answers": 40, "n_cut": 0}
        for task in ("er", "vp")
    ]
    texts = dict.fromkeys(("corpus_version", "task", "grade", "judge", "other_judge", "comparable_reason"), pl.String)
    tables.types["results", "judge_agreement"] = texts
    tables.types["results", "judge_trust"] = {"generation": pl.Int64}
    tables.types["predictions", "bertscore_runs"] = {"scorer": pl.String}


def control(
    corpus: Mapping[str, Any], scorer: str, kind: str, task: str, name: str, *, mean: float | None, generation: int = 1
) -> dict[str, Any]:
    """A row of results.judge_trust."""
    is_repeat = name == "repeat"
    return {
        **corpus,
        "scorer": scorer,
        "scorer_kind": kind,
        "generation": generation,
        "task": task,
        "control": name,
        "grade": "f1" if kind == "bertscore" else "similarity",
        "n": 4 if is_repeat else 30,
        "n_ungraded": 0,
        "mean": mean,
        "sd": None if is_repeat else 0.5,
        "share_at_extreme": None if is_repeat else 0.8,
        "mean_within_sd": 0.15 if is_repeat else None,
        "share_identical": 0.75 if is_repeat else None,
    }


def _effect(corpus: dict[str, Any], model: Model, task: str, metric: str) -> dict[str, Any]:
    difference = {"itp": 0.24, "rpp": -0.02}.get(task, 0.04)
    whisker = model.interval
    return _cell(
        corpus,
        model,
        scorer="none",
        scorer_kind="none",
        scenario="both",
        task=task,
        metric=metric,
        value=0.5 + difference,
        value_clean=0.5,
        difference=difference,
        ci_low=None if whisker is None else difference - whisker,
        ci_high=None if whisker is None else difference + whisker,
        no_interval="fewer than ten session groups" if whisker is None else None,
        n=sum(SIZES[task]),
        n_groups=6 if whisker is None else 12,
        n_better=5,
        n_worse=2,
        n_open=0,
        n_one_sided=0,
    )


def _usage(corpus: dict[str, Any], model: Model, task: str, n: int) -> dict[str, Any]:
    offline = model.judge_kind == "lexical"
    return _cell(
        corpus,
        model,
        task=task,
        purpose="answer",
        requests=n,
        finals=n,
        attempts=n + model.failed,
        prompt_tokens=0 if offline else 811 * n,
        completion_tokens=0 if offline else 24 * n,
        reasoning_tokens=0,
        cached_tokens=0,
        cost_usd=0.0 if offline else 0.00041 * n,
        seconds_total=0.002 * n,
        first_sent_at=SENT,
        last_sent_at=SENT + timedelta(minutes=5),
    )


def _data(tables: Tables, corpus: dict[str, Any], released: bool, patterns: Mapping[str, Sequence[str]]) -> None:
    beside = {
        "comparable": "yes" if released else "no",
        "comparable_reason": None if released else "other data: the published figures describe the released corpus",
    }
    statistics = {"samples": (12.0, 191.0), "turns": (312.0, 7079.0), "mean_turns": (26.0, 37.06)}
    tables.rows["results", "dataset_statistics"] = [
        {**corpus, "statistic": name, "scenario": scenario, "value": ours, "paper_value": paper, **beside}
        for name, (ours, paper) in statistics.items()
        for scenario in ("couple", "family", "both")
    ]
    tables.rows["results", "task_instances"] = [
        {
            **corpus,
            "task": task,
            "scenario": scenario,
            "n_instances": n,
            "n_samples": 8,
            "paper_instances": 1234,
            "paper_samples": 170,
            **beside,
        }
        for task, sizes in SIZES.items()
        for scenario, n in zip(("couple", "family"), sizes, strict=True)
    ]
    tables.rows["results", "label_distribution"] = [
        {**corpus, "task": task, "scenario": scenario, "label": label, "n": n, "share": n / 40}
        for task, sets in (("rpp", patterns), ("ssp", STRATEGIES), ("itp", DECISIONS))
        for scenario, labels in sets.items()
        for label in labels
        for n in [int(15 * _share(task, scenario, label))]
    ]
    figures = {"itp": ["f1"], "rpp": ["accuracy_paper_base"], "stp": ["recall_at_1", "mrr"], "ssp": ["recall_at_1"]}
    judged = {"er": ["judge", "bertscore_f1"], "vp": ["judge", "bertscore_f1"]}
    tables.rows["results", "reference_results"] = [
        {
            **corpus,
            "model": model,
            "scenario": scenario,
            "task": task,
            "metric": metric,
            "value": 3.6 if metric == "judge" else 0.3 + 0.5 * _share(model, task, metric, scenario),
            "source": "arXiv 2609.09657",
            "comparable": "no" if task == "vp" else "assumed",
            "comparable_reason": "the rubric is unpublished" if task == "vp" else "the context is not stated",
            "shown_with_ours": released,
        }
        for model in ("Qwen-Plus", "GPT-4o")
        for scenario in ("couple", "family", "both")
        for task, metrics in {**figures, **judged}.items()
        for metric in metrics
    ]
