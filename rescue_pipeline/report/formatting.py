"""How figures are printed: the one home of units, decimals and the names of tasks and metrics.

Fractions are stored as 0-1 and become percent only here, with one decimal; judge scales keep two decimals,
BERTScore four, so that a column always has the same number of decimals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

TASK_ORDER = ("itp", "rpp", "stp", "ssp", "er", "vp")
TASK_NAMES = {
    "itp": "Intervention time",
    "rpp": "Relation pattern",
    "stp": "Support target",
    "ssp": "Support strategy",
    "er": "Emotion",
    "vp": "Viewpoint",
}
TASK_QUESTIONS = {
    "itp": "Should the therapist speak now?",
    "rpp": "Which pattern is the couple or family in?",
    "stp": "Whom does the therapist address?",
    "ssp": "Which strategy does the therapist use, the target given?",
    "er": "What does the speaker feel, and how strongly?",
    "vp": "What does the speaker think of whom?",
}
SCENARIO_ORDER = ("both", "couple", "family")
SCENARIO_NAMES = {"both": "Couples and families together", "couple": "Couples", "family": "Families"}


@dataclass(frozen=True)
class MetricFormat:
    """How one metric is printed: `low` and `high` are the ends of its scale, in stored units."""

    name: str
    unit: str
    decimals: int
    low: float = 0.0
    high: float = 1.0
    factor: float = 1.0

    def text(self, value: float | None) -> str:
        """The printed figure, without its unit; empty where there is none."""
        return "" if value is None or not math.isfinite(value) else f"{value * self.factor:.{self.decimals}f}"

    def signed(self, value: float | None) -> str:
        """A difference of two figures, as `text` prints them, with its sign; what is printed as zero has none."""
        text = self.text(value)
        if not text or float(text) == 0:
            return text.removeprefix("-")
        return text if text.startswith("-") else f"+{text}"

    def position(self, value: float | None) -> float | None:
        """Where a value lies on the metric's scale, 0 to 100 percent; None where there is none."""
        if value is None or not math.isfinite(value):
            return None
        return round(100 * min(1.0, max(0.0, (value - self.low) / (self.high - self.low))), 2)

    @property
    def ends(self) -> tuple[str, str]:
        """The scale's ends as printed below an axis."""
        return f"{self.low * self.factor:g}", f"{self.high * self.factor:g}"

    @property
    def heading(self) -> str:
        return f"{self.name}, {self.unit}" if self.unit else self.name


def _percent(name: str) -> MetricFormat:
    return MetricFormat(name, "%", 1, factor=100.0)


def _scale(name: str, low: int, high: int) -> MetricFormat:
    return MetricFormat(name, f"{low}–{high}", 2, float(low), float(high))


METRICS = {
    "precision": _percent("Precision"),
    "recall": _percent("Recall"),
    "f1": _percent("F1 of “yes”"),
    "accuracy": _percent("Accuracy"),
    "accuracy_paper_base": _percent("Accuracy, paper’s base"),
    "macro_f1": _percent("Macro-F1"),
    "recall_at_1": _percent("Recall@1"),
    "recall_at_2": _percent("Recall@2"),
    "recall_at_3": _percent("Recall@3"),
    "mrr": _percent("MRR"),
    "judge": _scale("Judge", 1, 5),
    "intensity_match": _scale("Intensity match", 1, 5),
    "er_score": _scale("ER score", 1, 5),
    "pairing": _scale("Pairing", 0, 2),
    "content": _scale("Content", 0, 4),
    "judge_total": _scale("Pairing + content", 0, 6),
    "bertscore_f1": MetricFormat("BERTScore F1", "", 4),
}

_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve")


def metric_format(metric: str) -> MetricFormat:
    """The format of a metric; one that is not known here is printed under its own name with four decimals."""
    return METRICS.get(metric, MetricFormat(metric, "", 4))


def task_name(task: str) -> str:
    return TASK_NAMES.get(task, task)


def count(value: Any) -> str:
    """A whole number with thin groups of three digits; empty where there is none."""
    return "" if value is None else f"{int(value):,}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def number_word(number: int) -> str:
    """Up to twelve in words, capitalised, for the beginning of a sentence."""
    return _WORDS[number] if 0 <= number < len(_WORDS) else count(number)


def listed(names: list[str], last: str = "and") -> str:
    """`a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}" if names else ""
