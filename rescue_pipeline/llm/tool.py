"""The tool as whose arguments an answer may be given."""

TOOL_NAME = "answer"
