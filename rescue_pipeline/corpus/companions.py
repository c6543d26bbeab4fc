"""What is loaded beside the records: label sets, session groups, and the instances the released corpus ships."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rescue_pipeline.bundle import ASSETS
from rescue_pipeline.corpus.inventory import RELEASED_INSTANCE_FILES, Inventory, SourceFile, hash_file
from rescue_pipeline.errors import RescueError, UsageError
from rescue_pipeline.tasks.labels import LABEL_FILES, LABELS, load_labels

RELEASED_GROUPS = ASSETS / "session_groups.csv"
"""Columns family, session_group: the released corpus's recurring families (the first two parts of a sample id)."""


def companions_sha256(inventory: Inventory) -> str:
    """Changes when anything but the corpus itself changes that ingest loads with it."""
    shipped = [*(LABELS / name for name in LABEL_FILES.values()), RELEASED_GROUPS]
    hashes = [*(hash_file(path) for path in shipped), *(str(file.sha256) for file in inventory.instances)]
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def label_rows() -> Iterator[dict[str, Any]]:
    """Rows of raw.labels."""
    labels = load_labels(LABELS)
    for kind, name in LABEL_FILES.items():
        sha256 = hash_file(LABELS / name)
        for scenario in ("couple", "family"):
            for position, label in enumerate(labels.names(kind, scenario)):
                yield {
                    "scenario": scenario,
                    "kind": kind,
                    "label": label,
                    "position": position,
                    "source_sha256": sha256,
                }


def session_group_rows(
    groups: SourceFile | None, sample_ids: Iterable[str], *, is_released: bool
) -> list[dict[str, Any]]:
    """Rows of raw.session_groups: the shipped families if this is the released corpus, then the user's map over them.

    Raises UsageError when the user's file is wrong. A session it names that the corpus lacks has no row.
    """
    known = list(sample_ids)
    rows: dict[str, dict[str, Any]] = {}
    if is_released:
        families = read_map(RELEASED_GROUPS, "family")
        sha256 = hash_file(RELEASED_GROUPS)
        for sample_id in known:
            family = "/".join(sample_id.split("/")[:2])
            if family in families:
                rows[sample_id] = {"sample_id": sample_id, "session_group": families[family], "source_sha256": sha256}
    if groups is not None:
        declared = read_map(groups.path, "sample_id")
        for sample_id in known:
            if sample_id in declared:
                rows[sample_id] = {
                    "sample_id": sample_id,
                    "session_group": declared[sample_id],
                    "source_sha256": groups.sha256,
                }
    return list(rows.values())


def unknown_in_groups(groups: SourceFile | None, sample_ids: Iterable[str]) -> list[str]:
    """Sample ids that the user's groups file names and the corpus lacks: perhaps misspelt."""
    return sorted(set(read_map(groups.path, "sample_id")) - set(sample_ids)) if groups else []


def read_map(path: Path, key: str) -> dict[str, str]:
    """A CSV file with the columns `key` and session_group. Raises UsageError (file, line, expected, found)."""
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")))
        rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise _wrong_map(path, "a CSV file in UTF-8", type(error).__name__) from None
    columns = reader.fieldnames or []
    if not {key, "session_group"} <= set(columns):
        raise _wrong_map(
            f"{path}, line 1", f"the columns {key} and session_group", ", ".join(columns)[:100] or "nothing"
        )
    groups: dict[str, str] = {}
    for line, row in enumerate(rows, start=2):
        name, group = (row[key] or "").strip(), (row["session_group"] or "").strip()
        if not name or not group:
            raise _wrong_map(f"{path}, line {line}", f"a {key} and a session_group", "an empty cell")
        if groups.setdefault(name, group) != group:
            raise _wrong_map(f"{path}, line {line}", f"each {key} in one group", f"{name} in a second one")
    return groups


def _wrong_map(where: Path | str, expected: str, found: str) -> UsageError:
    return UsageError("the session groups cannot be used", where=str(where), expected=expected, found=found)


def released_rows(file: SourceFile) -> Iterator[dict[str, Any]]:
    """Rows of raw.released_instances; gold has the form of our own. Raises RescueError naming the line."""
    task = RELEASED_INSTANCE_FILES[file.path.name]
    gold_of = _er_gold if task == "er" else _vp_gold
    with file.path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                instance = json.loads(line.decode("utf-8-sig"))
                row = {"sample_id": str(instance["sample_id"]), "row_index": int(instance["row_index"])}
                scenario = str(instance["scenario"])
                gold = gold_of(instance)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise RescueError(
                    "the released instances beside the corpus cannot be read; nothing was changed",
                    where=f"{file.path}, line {number}",
                    expected="sample_id, row_index, scenario and the gold of the task",
                    found=f"{type(error).__name__}",
                    advice=f"restore {file.path.name}, or move it away: it only serves a comparison",
                ) from None
            yield {
                **row,
                "scenario": scenario,
                "task": task,
                "gold": json.dumps(gold, ensure_ascii=False, allow_nan=False),
                "source_path": file.name,
                "source_line": number,
                "source_sha256": file.sha256,
            }


def _er_gold(instance: dict[str, Any]) -> dict[str, Any]:
    emotion = instance["gold_internal_emotion"]
    if isinstance(emotion, list):
        emotion = emotion[0]
    if isinstance(emotion, dict):
        emotion = emotion["emotion_description"]
    return {"emotion": emotion, "intensity": instance["gold_intensity_score"]}


def _vp_gold(instance: dict[str, Any]) -> dict[str, Any]:
    fields = ("source", "target", "viewpoint", "attitude")
    return {"viewpoints": [{field: item.get(field) for field in fields} for item in instance["gold_viewpoints"]]}
