"""The model behind BERTScore: its weights are found on this machine, named, loaded when something is to be scored.

Needs the extra `bertscore` (bert-score, torch, transformers). Whatever is missing raises NotComputed, in plain words.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rescue_pipeline.metrics.bertscore import Pair

LAYERS = {"distilbert-base-uncased": 5}
"""The layer whose vectors are compared, where the field has agreed on one; elsewhere the last."""
LONGEST = 512
BATCH = 64
_LIBRARIES = ("bert_score", "torch", "transformers")
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_WANTED = ["*.json", "*.txt", "*.model", *_WEIGHTS]


class NotComputed(Exception):
    """BERTScore cannot be computed here; the message says why and what would help."""


@dataclass(frozen=True)
class Backbone:
    """A model's folder and how it is used."""

    folder: Path
    name: str
    layer: int
    max_tokens: int

    @cached_property
    def id(self) -> str:
        """All that a score depends on, the place of the folder left out."""
        libraries = f"bert-score={version('bert-score')}_transformers={version('transformers')}"
        weights = weights_sha256(self.folder)[:12]
        return f"{self.name}_L{self.layer}_no-idf_no-rescale_{libraries}_weights={weights}_max={self.max_tokens}"

    @cached_property
    def _scorer(self) -> Any:
        from bert_score import BERTScorer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        try:
            with _plain_path(self.folder) as folder:
                scorer = BERTScorer(
                    model_type=folder,
                    num_layers=self.layer,
                    batch_size=BATCH,
                    device="cpu",
                    rescale_with_baseline=False,
                )
        except (OSError, ValueError, KeyError, AssertionError) as error:
            raise NotComputed(f"{self.name} cannot be loaded ({type(error).__name__})") from error
        # many tokenizers state no length, and the library passes what they state on to code that overflows
        scorer._tokenizer.model_max_length = self.max_tokens
        return scorer

    def f1(self, pairs: Sequence[Pair]) -> list[float]:
        _, _, f1 = self._scorer.score([one for one, _ in pairs], [other for _, other in pairs], batch_size=BATCH)
        return [float(value) for value in f1]

    def is_cut(self, texts: Sequence[str]) -> list[bool]:
        tokenizer = self._scorer._tokenizer
        return [len(tokenizer(text, truncation=False, verbose=False)["input_ids"]) > self.max_tokens for text in texts]


def find_backbone(model: str, layer: int | None = None) -> Backbone:
    """The backbone named `model` (of a model hub) or in the folder `model`. Raises NotComputed.

    layer: from 1; None takes the one known for the model, else its last. Nothing is downloaded unless the environment
    says HF_HUB_OFFLINE=0.
    """
    missing = [library for library in _LIBRARIES if importlib.util.find_spec(library) is None]
    if missing:
        raise NotComputed("the extra `bertscore` is not installed (pip install 'rescue-pipeline[bertscore]')")
    folder = Path(model) if Path(model).is_dir() else _cached(model)
    name = folder.resolve().name if Path(model).is_dir() else model
    config = _config(folder, name)
    last = int(config.get("num_hidden_layers") or config.get("n_layers") or config.get("num_layers") or 0)
    chosen = layer or LAYERS.get(name) or last
    if not 1 <= chosen <= last:
        raise NotComputed(f"{name} has {last} layers, so there is no layer {chosen} (RESCUE_BERTSCORE_LAYER)")
    return Backbone(folder, name, chosen, _max_tokens(config))


@contextmanager
def _plain_path(folder: Path) -> Iterator[str]:
    """A path of the folder for the library, which takes any path with `t5` in it for a T5 model's."""
    path = str(folder.resolve())
    if "t5" not in path:
        yield path
        return
    link = Path(tempfile.gettempdir()) / f"backbone-{os.getpid()}"
    link.unlink(missing_ok=True)
    link.symlink_to(path, target_is_directory=True)
    try:
        yield str(link)
    finally:
        link.unlink()


def weights_sha256(folder: Path) -> str:
    """A hash over the files that hold the weights."""
    digest = hashlib.sha256()
    for file in _weights(folder):
        with file.open("rb") as source:
            digest.update(hashlib.file_digest(source, "sha256").digest())
    return digest.hexdigest()


def _cached(model: str) -> Path:
    # before anything of the hub is imported: it reads the variable once
    offline = os.environ.setdefault("HF_HUB_OFFLINE", "1").strip().lower() not in ("0", "false", "no", "off", "")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model, local_files_only=offline, allow_patterns=_WANTED))
    except Exception as error:  # the hub's client raises a dozen kinds; each means that the weights are not here
        raise NotComputed(
            f"the weights of {model} are not on this machine ({type(error).__name__}): name a folder that has them in "
            "RESCUE_BERTSCORE_MODEL, or set HF_HUB_OFFLINE=0 to download them"
        ) from error


def _config(folder: Path, name: str) -> dict[str, Any]:
    if not (folder / "config.json").is_file() or not _weights(folder):
        raise NotComputed(f"the folder of {name} holds no model (expected config.json and weights)")
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return config


def _weights(folder: Path) -> list[Path]:
    return sorted(file for pattern in _WEIGHTS for file in folder.glob(pattern))


def _max_tokens(config: dict[str, Any]) -> int:
    """How long a text may be, special tokens included: the model's own limit, and never more than LONGEST."""
    positions = config.get("max_position_embeddings") or config.get("n_positions") or LONGEST
    # models of this family count positions from the padding's number on
    reserved = int(config.get("pad_token_id") or 1) + 1 if "roberta" in str(config.get("model_type")) else 0
    return min(LONGEST, int(positions) - reserved)
