"""What makes a request the same request: one hash over all that is known before it is sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rescue_pipeline.llm.adapter import ADAPTER_VERSION
from rescue_pipeline.llm.exchange import Request
from rescue_pipeline.llm.registry import ModelEntry

CORPUS = "corpus"
"""The one metadata field that is an address, not a part of the question."""


def canonical(value: Any) -> str:
    """One text for equal values, whatever the order of their keys."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def request_id(entry: ModelEntry, request: Request, *, generation: int, epoch: str) -> str:
    """The identity of a request. What is learnt by asking (rung, enlarged budget, usage) is not part of it.

    Our own provider answers by instance, so there the instance is part of the question.
    """
    known: dict[str, Any] = {
        "endpoint": entry.endpoint,
        "model": entry.litellm,
        "parameters": dict(request.parameters),
        "messages": request.messages,
        "schema": None if entry.structured_output == "none" else request.schema,
        "form": entry.structured_output,
        "adapter": ADAPTER_VERSION,
        "epoch": epoch,
        "generation": generation,
    }
    if entry.is_baseline and request.metadata is not None:
        known["metadata"] = {name: value for name, value in request.metadata.items() if name != CORPUS}
    return digest(known)


def parameters_of(base: Mapping[str, Any], entry: ModelEntry) -> dict[str, Any]:
    """A protocol's parameters with the entry's laid over them; null takes one away."""
    both = {**base, **entry.params}
    return {name: value for name, value in both.items() if value is not None}
