"""What a page is made of, before it is HTML or Markdown: both print the same cells, so they agree to the digit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Strip:
    """One dot-and-whisker drawing; every mark is a position on the column's scale in percent, None where absent.

    dot: the value; low and high: its interval; bounds: what an incomplete cell can still become;
    chance: the floor; hollow: a figure published elsewhere.
    """

    dot: float | None = None
    low: float | None = None
    high: float | None = None
    bounds: tuple[float, float] | None = None
    chance: float | None = None
    hollow: float | None = None


@dataclass(frozen=True)
class Cell:
    """A printed cell: `note` is a second, smaller line; `shade` (0-1) tints a heat table."""

    text: str
    note: str = ""
    quiet: bool = False
    strong: bool = False
    strip: Strip | None = None
    shade: float | None = None


@dataclass(frozen=True)
class Column:
    """A column's heading, its unit (`note`), what holds for all its cells (`detail`), its scale's ends where drawn."""

    label: str
    note: str = ""
    detail: str = ""
    numeric: bool = True
    ends: tuple[str, str] | None = None


@dataclass(frozen=True)
class Row:
    """One line; the first cell names it. A sub-row belongs to the row above it."""

    cells: Sequence[Cell]
    sub: bool = False


@dataclass(frozen=True)
class Group:
    """Rows under a common line; an empty title prints none."""

    rows: Sequence[Row]
    title: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a title that says what it shows; look: `heat` tints cells by their shade, `bars` draws it."""

    title: str
    columns: Sequence[Column]
    groups: Sequence[Group]
    notes: Sequence[str] = field(default=())
    look: str = ""

    @property
    def empty(self) -> bool:
        return not any(group.rows for group in self.groups)


@dataclass(frozen=True)
class Section:
    """A part of the report that stands between failures and data where there is something to say: sentences first."""

    anchor: str
    title: str
    sentences: Sequence[str] = field(default=())
    tables: Sequence[Table] = field(default=())

    def saying(self, *sentences: str) -> Section:
        return replace(self, sentences=sentences)

    def with_tables(self, *tables: Table) -> Section:
        return replace(self, tables=tables)


def text_cells(values: Sequence[str], *, quiet: bool = False) -> list[Cell]:
    return [Cell(value, quiet=quiet) for value in values]


def words(text: str, note: str = "") -> Cell:
    """A cell that says in words, in grey, why there is no figure."""
    return Cell(text, note=note, quiet=True)
