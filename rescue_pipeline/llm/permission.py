"""Who may be asked: the rules about money and about private sessions, in force before the first request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.assignments import Assignment
from rescue_pipeline.llm.budget import Budget, Spending
from rescue_pipeline.llm.workspace import Workspace


def permitted(workspace: Workspace, assignments: Sequence[Assignment[Any]], spending: Spending) -> Budget:
    """The budget to ask under; raises UsageError, before anything is asked, when a model may not be asked."""
    paid = {work.entry.id: len(work.questions) for work in assignments if work.questions and work.entry.is_paid}
    if paid and spending.budget_usd is None:
        raise UsageError(
            "these models cost money; nothing was asked",
            found=", ".join(f"{model} ({n} open questions)" for model, n in paid.items()),
            advice="add --budget USD",
        )
    return Budget(spending.budget_usd)
