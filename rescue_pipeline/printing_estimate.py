"""What `rescue estimate` prints, and a run that was refused for want of a budget."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict

from rescue_pipeline import console
from rescue_pipeline.llm.estimate import Estimate, Line
from rescue_pipeline.llm.forecast import total

_NOTE = (
    "at most: prompts that count a fifth more tokens and every answer as long as allowed. In full: as if nothing were "
    "answered yet. Answers that are cut and asked for again are in neither; a budget caps them too."
)


def print_estimate(estimate: Estimate, budget_usd: float | None = None) -> None:
    """A table of at most 100 columns: a line per model and task, and a total per model that has several; whether it
    fits a budget."""
    headings = ("model", "task", "planned", "to ask", "tokens in", "out", "USD", "at most", "in full", "time")
    table = console.plain_table(*headings)
    for column in table.columns[2:]:
        column.justify = "right"
    for model, purpose in dict.fromkeys((line.model, line.purpose) for line in estimate.lines):
        lines = [line for line in estimate.lines if (line.model, line.purpose) == (model, purpose)]
        name = f"{model} judges" if purpose == "judge" else model
        costly = model in estimate.paid or any(line.prompt_tokens for line in lines)
        for line in lines if costly and len(lines) > 1 else []:
            table.add_row(name, line.task, *_numbers([line]))
        table.add_row(name, "all" if len(lines) > 1 else lines[0].task, *_numbers(lines), style="bold")
    console.out.print(table)
    console.out.print()
    for text in (_time(estimate), *_warnings(estimate), _total(estimate), *_fit(estimate, budget_usd)):
        console.out.print(console.wrapped(text))
    console.out.print(console.wrapped(_NOTE), style="dim")


def estimate_json(estimate: Estimate) -> str:
    """The same, exactly."""
    told = {
        "lines": [asdict(line) for line in estimate.lines],
        "cost_usd": total(line.cost_usd for line in estimate.lines),
        "most_usd": total(line.most_usd for line in estimate.lines),
        "full_cost_usd": total(line.full_cost_usd for line in estimate.lines),
        "seconds": estimate.seconds,
        "needs_budget": sorted({line.model for line in estimate.to_pay}),
        "without_a_price": estimate.unpriced,
        "without_a_key": list(estimate.without_key),
    }
    return json.dumps(told, indent=1, allow_nan=False) + "\n"


def _numbers(lines: Sequence[Line]) -> list[str]:
    counts = (sum(getattr(line, name) for line in lines) for name in ("planned", "remaining"))
    tokens = (sum(getattr(line, name) for line in lines) for name in ("prompt_tokens", "completion_tokens"))
    costs = (total(getattr(line, name) for line in lines) for name in ("cost_usd", "most_usd", "full_cost_usd"))
    return [
        *(f"{count:,}" for count in counts),
        *(_thousands(count) for count in tokens),
        *("unknown" if cost is None else f"{cost:.2f}" if cost >= 10 or not cost else f"{cost:.4f}" for cost in costs),
        duration(sum(line.seconds for line in lines)),
    ]


def _thousands(count: int) -> str:
    return f"{count:,}" if count < 100_000 else f"{count / 1000:,.0f}k"


def duration(seconds: float) -> str:
    """A time to wait, as precise as it is sure: 40 s, 12 min, 3.5 h, 4 days."""
    if seconds < 100:
        return f"{math.ceil(seconds)} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 72 * 3600 else f"{seconds / 86_400:.0f} days"


def _time(estimate: Estimate) -> str:
    bases = {line.model: line.pace for line in estimate.lines if line.remaining and line.seconds}
    told = "; ".join(f"{model} {pace}" for model, pace in bases.items())
    return f"time: about {duration(estimate.seconds)}, models side by side, then judges" + (
        f" ({told})" if told else ""
    )


def _warnings(estimate: Estimate) -> list[str]:
    warnings = [f"{model}: its key is not set ({variable})" for model, variable in estimate.without_key.items()]
    if estimate.unpriced:
        names = ", ".join(estimate.unpriced)
        warnings.append(f"no price is known of {names}: state `price` in models.yaml, or such a model is not asked")
    return warnings


def _fit(estimate: Estimate, budget_usd: float | None) -> list[str]:
    if budget_usd is None or estimate.most_usd is None:
        return []
    if estimate.most_usd <= budget_usd:
        return [f"fits: at most {estimate.most_usd:.4f} of {budget_usd:.2f} USD"]
    expected = total(line.cost_usd for line in estimate.to_pay) or 0.0
    told = f"{expected:.4f} expected, at most {estimate.most_usd:.4f} of {budget_usd:.2f} USD"
    return [f"{'may not fit' if expected <= budget_usd else 'does not fit'}: {told}; the run stops at the budget"]


def _total(estimate: Estimate) -> str:
    cost = total(line.cost_usd for line in estimate.lines)
    if cost is None or estimate.most_usd is None:
        return "total: unknown"
    full = total(line.full_cost_usd for line in estimate.lines) or 0.0
    return f"total: {cost:.4f} USD expected, at most {estimate.most_usd:.4f}; {full:.4f} in full"
