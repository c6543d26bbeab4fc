"""Answers without a language model: chance, majority, a rule of thumb, the nearest neighbour; and a judge of words.

What they are for: a floor under every score. None of them sees the gold of the session group it answers for.
"""

from rescue_pipeline.llm.baselines.provider import ITEMS, RENAMED, corpus_key, register_baselines

__all__ = ["ITEMS", "RENAMED", "corpus_key", "register_baselines"]
