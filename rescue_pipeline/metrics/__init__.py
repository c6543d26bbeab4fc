"""From item scores to published figures: every aggregate of the benchmark, each formula in one place.

Here belong formulas on arrays and the frames that feed them. Item scores (what one answer is worth) are SQL, in
dbt_project/models/scores; tables that show figures are SQL too, in dbt_project/models/results.
"""

from rescue_pipeline.metrics.compute import compute_metrics

__all__ = ["compute_metrics"]
