"""report.md: the same content for text tools, with the same printed figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rescue_pipeline.report.content import Content
from rescue_pipeline.report.leaderboard import NO_INTERVALS
from rescue_pipeline.report.view import Cell, Column, Table
from rescue_pipeline.report.wording import METRIC_NOTES, RESEARCH_ONLY, TERMS

_SPECIAL = re.compile(r"([\\`*\[\]|#~])|(?<!\w)(_)|(_)(?!\w)")


def render_markdown(content: Content) -> str:
    """The report as Markdown (GitHub's tables); nothing in it is taken for markup unless it is ours."""
    lines = [f"# {escape(content.title)}", "", escape(content.verdict.text), "", RESEARCH_ONLY, ""]
    lines += [f"- {term}: {escape(fact)}" for term, fact in content.verdict.facts]
    lines += _section("Leaderboard", _leaderboards(content))
    for task in content.tasks:
        body = _tables(task.tables) if task.tables else ["", "No model was asked this task."]
        lines += _section(task.title, ["", task.question, *body, *_notes(task.missing)])
    failures = [content.failures] if not content.failures.empty else []
    lines += _section("Failures", [*_tables(failures), *_notes(content.failures.notes)])
    for section in content.sections:
        notes = [note for table in section.tables for note in table.notes]
        lines += _section(section.title, [*_notes(section.sentences), *_tables(section.tables), *_notes(notes)])
    lines += _section("How it was made", _made(content))
    lines += _section("How to read the scores", _bullets(METRIC_NOTES))
    lines += _section("Where the gold comes from", _bullets(content.gold))
    lines += _section("Terms", _bullets(TERMS))
    return "\n".join([*lines, "", f"Generated {content.generated_at}.", ""])


def escape(text: str) -> str:
    """Text that Markdown prints as it is: no markup, no HTML, no line break."""
    flat = re.sub(r"\s+", " ", text).strip()
    plain = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(lambda found: "\\" + found.group(0), plain)


def _section(title: str, body: Sequence[str]) -> list[str]:
    return ["", f"## {escape(title)}", *body]


def _leaderboards(content: Content) -> list[str]:
    if not content.boards:
        return ["", "No model has been scored yet."]
    intervals = [] if any(board.has_intervals for board in content.boards) else ["", f"{NO_INTERVALS.capitalize()}."]
    return [*intervals, *_tables([board.table for board in content.boards])]


def _made(content: Content) -> list[str]:
    lines = ["", *(f"- {term}: {escape(fact)}" for term, fact in [*content.corpus_facts, *content.software])]
    lines += _tables([table for table in (content.versions, content.models) if not table.empty])
    # a fence longer than any run of backticks in what it holds
    longest = max((len(run) for command in content.commands for run in re.findall("`+", command)), default=0)
    fence = "`" * max(3, longest + 1)
    return [
        *lines,
        "",
        "Made again by:",
        "",
        fence,
        *(" ".join(command.split()) for command in content.commands),
        fence,
    ]


def _bullets(sentences: Iterable[str]) -> list[str]:
    return ["", *(f"- {escape(sentence)}" for sentence in sentences)]


def _notes(notes: Sequence[str]) -> list[str]:
    return [line for note in notes for line in ("", escape(note))]


def _tables(tables: Iterable[Table]) -> list[str]:
    return [line for table in tables for line in _table(table)]


def _table(table: Table) -> list[str]:
    lines = ["", f"### {escape(table.title)}"]
    for group in table.groups:
        lines += ["", *([f"**{escape(group.title)}**", ""] if group.title else [])]
        lines += [_line(map(_heading, table.columns)), _line("---:" if c.numeric else "---" for c in table.columns)]
        lines += [_line(map(_cell, row.cells)) for row in group.rows]
    return lines


def _heading(column: Column) -> str:
    parts = [column.label, *([f"({column.note})"] if column.note else []), column.detail]
    return escape(" ".join(part for part in parts if part))


def _cell(cell: Cell) -> str:
    text = f"{cell.text} ({cell.note})" if cell.note else cell.text
    return f"**{escape(text)}**" if cell.strong else escape(text)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
