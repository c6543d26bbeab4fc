"""What a browser would make of a page's bytes: its elements, attributes and text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Parsed(HTMLParser):
    """elements: (name, attributes) in order; text: what stands between them, styles apart; cells: those of tables."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""
    cells: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")
        elif self.cells:
            self.cells[-1] += " "  # what stands in elements of its own is printed apart

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            return
        self.text += data
        if self.cells and {"td", "th"} & set(self._open):
            self.cells[-1] += data

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.elements}


def parsed(html: str) -> Parsed:
    page = Parsed()
    page.feed(html)
    page.close()
    return page
