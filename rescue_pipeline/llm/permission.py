"""Who may be asked: the rules about money, keys and private sessions, in force before the first request."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

from rescue_pipeline.datadir import DataDirectory
from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.adapter import provider_of
from rescue_pipeline.llm.assignments import Assignment
from rescue_pipeline.llm.budget import Budget, Spending
from rescue_pipeline.llm.experience import Experience
from rescue_pipeline.llm.forecast import Forecast, forecasts, record, total
from rescue_pipeline.llm.prices import price_of
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.spent import spent_in_run
from rescue_pipeline.llm.workspace import Workspace

_PROXY = ("USE_LITELLM_PROXY", "LITELLM_PROXY_API_BASE")
"""Send every request, of whatever provider, to a proxy."""
_ADDRESS_ENDINGS = ("_API_BASE", "_BASE_URL", "_API_URL", "_API_BASE_URL", "_ENDPOINT", "_API_ENDPOINT")
_OTHER_NAMES = {"HUGGINGFACE": ["HF"], "TEXT_COMPLETION_OPENAI": ["OPENAI"], "VOLCENGINE": ["ARK"]}


def permitted(workspace: Workspace, assignments: Sequence[Assignment[Any]], spending: Spending) -> Budget:
    """The budget to ask under, with what is expected to be spent already on record.

    Raises UsageError, before anything is asked, when one of the models may not be asked.
    """
    works = [work for work in assignments if work.questions]
    entries = list({work.entry.id: work.entry for work in works}.values())
    refuse_private(workspace.datadir, entries)
    refuse_redirected(entries)
    expected = forecasts(works, Experience(workspace.lake))
    paid = {entry.id: entry for entry in entries if entry.is_paid}
    if paid:
        refuse_unpriced(paid.values())
        if spending.budget_usd is None:
            raise _without_budget([row for row in expected if row.model in paid])
    record(workspace.lake, spending.run_id, expected)
    return Budget(spending.budget_usd, spent_in_run(workspace, spending.run_id) if paid else 0.0)


def refuse_private(directory: DataDirectory, entries: Iterable[ModelEntry]) -> None:
    """Private sessions go to local models only, unless it is recorded that they may go elsewhere."""
    data_class, consent = directory.use()
    elsewhere = [entry.id for entry in entries if not (entry.local or entry.is_baseline)]
    if data_class == "private" and not consent and elsewhere:
        raise UsageError(
            "these sessions are private and would leave your machines; nothing was asked",
            where="corpus.yaml beside the corpus",
            expected="models marked local: true, or `consent:` with the consent or ethics reference that permits it",
            found=", ".join(elsewhere),
            advice="write `consent: <reference>`, or `data_class: public-research` if that is what they are, "
            "into corpus.yaml; or ask local models",
        )


def refuse_redirected(entries: Iterable[ModelEntry]) -> None:
    """A key goes to the address in the registry: variables that would send it elsewhere unseen are refused."""
    for entry in entries:
        if entry.is_baseline:
            continue
        for name in [*_PROXY, *([] if entry.api_base else _address_variables(entry.litellm))]:
            if os.environ.get(name):
                raise UsageError(
                    f"the environment sends {entry.id} to another address than the registry; nothing was asked",
                    where=f"environment variable {name}",
                    expected="an address in models.yaml, beside the key that is meant for it",
                    advice=f"unset {name}, or give {entry.id} an api_base and an api_key_env in ./models.yaml",
                )


def _address_variables(model: str) -> list[str]:
    """The variables from which LiteLLM takes the address of a model's provider."""
    provider = provider_of(model).upper().replace("-", "_")
    names = [provider, provider.replace("_", ""), provider.split("_")[0], *_OTHER_NAMES.get(provider, [])]
    return [f"{name}{ending}" for name in dict.fromkeys(names) for ending in _ADDRESS_ENDINGS]


def refuse_unpriced(entries: Iterable[ModelEntry]) -> None:
    """Without a price nothing can be capped."""
    unknown = [entry.id for entry in entries if entry.is_paid and price_of(entry) is None]
    if unknown:
        raise UsageError(
            "the price of a model is unknown, so no budget can hold; nothing was asked",
            where=f"models.yaml, entry {unknown[0]}, field price",
            expected="price: {input: USD, output: USD} per million tokens, or local: true",
            found="no price for " + ", ".join(unknown),
            advice="state the price in ./models.yaml (docs/models.md)",
        )


def budget_for(most_usd: float) -> str:
    """The budget to type: rounded up to cents, so that it covers `most_usd`."""
    return f"{max(0.01, math.ceil(round(most_usd * 100, 6)) / 100):.2f}"


def _without_budget(expected: Sequence[Forecast]) -> UsageError:
    per_model = {row.model: [other for other in expected if other.model == row.model] for row in expected}
    told = [
        f"{model} ({sum(row.requests for row in rows)} open questions, "
        f"{total(row.cost_usd for row in rows):.2f} USD expected)"
        for model, rows in per_model.items()
    ]
    amount = budget_for(total(row.most_usd for row in expected) or 0.0)
    return UsageError(
        "these models cost money; nothing was asked",
        found=", ".join(told),
        advice=f"permit it with --budget {amount} (in the launchpad: budget_usd; in the environment: "
        "RESCUE_BUDGET_USD)",
    )
