"""Prompts that were cut without a word: the provider counted far fewer tokens than were sent.

Tokenizers differ, so a model is measured against itself: against our own count (`counted_tokens`), and against the
ratio of the two that is usual for its other replies. Cached tokens count as seen. Where either count is missing, as for
answers made elsewhere and for our own baselines, there is nothing to compare.
"""

from __future__ import annotations

import polars as pl

LOWEST_RATIO = 0.6
"""Of provider's to our count; below it no tokenizer of a text in English explains the difference."""
LOWEST_SHARE = 0.85
"""Of the model's usual ratio."""
ALIKE = ("generation", "protocol", "modality", "rung")
"""Replies whose ratios can be compared: what a provider counts besides our text (a schema, a tool) weighs more in a
short prompt than in a long one."""
ENOUGH_REPLIES = 20
"""From which a ratio counts as usual."""


def cut_prompts(responses: pl.DataFrame) -> set[str]:
    """The request_ids whose prompt was cut, among responses of one model to one task.

    responses: prompt_tokens and counted_tokens are summed over the same calls. The result depends on these rows alone,
    not on when they came.
    """
    ratio = pl.col("prompt_tokens") / pl.col("counted_tokens")
    counted = responses.filter(pl.col("prompt_tokens") > 0, pl.col("counted_tokens") > 0).with_columns(ratio=ratio)
    usual = pl.when(pl.len().over(ALIKE) >= ENOUGH_REPLIES).then(pl.col("ratio").median().over(ALIKE))
    is_cut = (pl.col("ratio") < LOWEST_RATIO) | (pl.col("ratio") < LOWEST_SHARE * usual).fill_null(False)
    return set(counted.filter(is_cut)["request_id"])
