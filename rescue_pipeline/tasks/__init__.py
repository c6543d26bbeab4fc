"""What is asked and how an answer is read: declarations, prompts, answer models, parsers, judge prompts.

Nothing here talks to a model, reads a table or computes a score.
"""
