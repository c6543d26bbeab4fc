"""Prompts that do not fit: known before they are sent, or cut by a server that says nothing."""

from __future__ import annotations

from rescue_pipeline.llm.statuses import Failure

_LEAST_READ = 0.75
"""Of the tokens we count: other vendors' tokenizers make at most a few per cent fewer of English talk."""
_SHORTEST_CUT = 1800
"""Tokens; no server cuts a shorter prompt, and in a short one the chat template weighs more."""


def too_long(prompt_tokens: int | None, answer_tokens: int, context_tokens: int | None) -> Failure | None:
    """Whether a question is known not to fit before it is sent."""
    if prompt_tokens is None or context_tokens is None or prompt_tokens + answer_tokens <= context_tokens:
        return None
    text = f"prompt {prompt_tokens} and answer {answer_tokens} tokens do not fit into {context_tokens}; not sent"
    return Failure("over_context", "too long", text, unread=True)


def cut_prompt(reported_tokens: int | None, counted_tokens: int) -> Failure | None:
    """Whether the server read much less than was sent: some cut a prompt that is too long and say nothing."""
    if reported_tokens is None or counted_tokens < _SHORTEST_CUT or reported_tokens >= _LEAST_READ * counted_tokens:
        return None
    text = f"the server read {reported_tokens} of about {counted_tokens} tokens: it cut the prompt"
    return Failure("over_context", "cut prompt", text)
