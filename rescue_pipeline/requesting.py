"""What a run is asked to do, and whether it may: names, money, private sessions, before anything is asked."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from rescue_pipeline.corpus.source import CorpusSource
from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.estimate import Estimate
from rescue_pipeline.llm.estimating import estimate
from rescue_pipeline.llm.judges import judging
from rescue_pipeline.llm.permission import budget_for, refuse_private, refuse_unpriced
from rescue_pipeline.llm.registry import ModelEntry, Registry
from rescue_pipeline.llm.tries import retryable
from rescue_pipeline.llm.workspace import Partition, Workspace
from rescue_pipeline.schemas import TASKS
from rescue_pipeline.schemas.predictions import MODALITIES
from rescue_pipeline.settings import Settings
from rescue_pipeline.tasks.spec import protocol_names

CHEAP_START = 10
"""Questions per task."""


class NeedsBudget(UsageError):
    """The run would ask models that cost money, and nobody said how much it may. `estimate` says how much it would."""

    def __init__(self, estimate: Estimate, limit: int | None = None) -> None:
        self.estimate = estimate
        found = ", ".join(dict.fromkeys(line.model for line in estimate.to_pay))
        advice = "permit it with --budget, as shown above"
        if limit is None or limit > CHEAP_START:
            advice += f"; a cheaper start: --limit {CHEAP_START}"
        unset = [f"{name} ({model})" for model, name in estimate.without_key.items()]
        if unset:
            advice += f"; first set the missing key: {', '.join(unset)}"
        if estimate.most_usd is None:
            advice = f"state the price of {', '.join(estimate.unpriced)} in ./models.yaml first (docs/models.md)"
        super().__init__("these models cost money; nothing was asked", found=found, advice=advice)

    def command(self, argv: Sequence[str]) -> str | None:
        """What to type: the user's own command, permitted to cost what it can at most. None without a price."""
        if self.estimate.most_usd is None:
            return None
        amount, typed = budget_for(self.estimate.most_usd), shlex.join(["rescue", *argv[1:]])
        # `rescue demo` has no options of its own
        is_demo = list(argv[1:2]) == ["demo"]
        return f"RESCUE_BUDGET_USD={amount} {typed}" if is_demo else f"{typed} --budget {amount}"


@dataclass(frozen=True)
class RunRequest:
    """What to ask of whom. Checked before anything is written."""

    source: CorpusSource
    models: Sequence[str]
    tasks: Sequence[str] = TASKS
    modalities: Sequence[str] = ("dialogue",)
    protocol: str = "clean"
    limit: int | None = None
    judges: Sequence[str] = ()
    budget_usd: float | None = None
    retry: Sequence[str] = ()

    @property
    def partitions(self) -> list[Partition]:
        return [Partition(model, modality, self.protocol) for model in self.models for modality in self.modalities]

    @property
    def budget(self) -> float | None:
        """What may be spent: as asked for, else as set for all runs."""
        return Settings().budget_usd if self.budget_usd is None else self.budget_usd

    def asked(self, registry: Registry) -> list[ModelEntry]:
        """Everybody who is asked something: the models, and the judges where a task needs one."""
        return [*registry.resolve(self.models), *self.judging(registry)]

    def judging(self, registry: Registry) -> list[ModelEntry]:
        """The judges of this run."""
        return judging(registry, self.tasks, self.judges)

    def check(self, registry: Registry) -> None:
        """Raise UsageError for an unknown task, modality, protocol, status, model, judge, or a price that is needed."""
        known = {
            "task": (self.tasks, TASKS),
            "modality": (self.modalities, MODALITIES),
            "protocol": ([self.protocol], protocol_names()),
        }
        for kind, (given, allowed) in known.items():
            for name in given:
                if name not in allowed:
                    raise UsageError(f"unknown {kind}", expected=", ".join(allowed), found=name)
        if self.limit is not None and self.limit < 1:
            raise UsageError("--limit is a number of questions per task", expected="1 or more", found=str(self.limit))
        retryable(self.retry)
        registry.resolve(self.models)
        for judge in self.judges:
            registry.judge(judge)
        if self.budget is not None:
            refuse_unpriced(self.asked(registry))

    def estimated(self, workspace: Workspace) -> Estimate:
        """What this would ask and cost now."""
        return estimate(workspace, self.partitions, self.tasks, limit=self.limit, judges=self.judges, retry=self.retry)

    def refuse_unpermitted(self, workspace: Workspace) -> None:
        """The rules about private sessions and money, once the corpus is known and before anything is planned.

        Asking applies them again, to what is really open. Raises UsageError; NeedsBudget with the estimate.
        """
        entries = self.asked(workspace.registry)
        refuse_private(workspace.datadir, entries)
        if self.budget is None and any(entry.is_paid for entry in entries):
            expected = self.estimated(workspace)
            if expected.to_pay:
                raise NeedsBudget(expected, self.limit)
