"""A page of a report as a reader sees it: its words, its cards and its figures, without the code that made them."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from typing_extensions import override

from nephoscope.report.figures.spec import unpack, unpacked

_UNSEEN = frozenset({"script", "style", "pre", "svg", "noscript"})
"""What a reader does not read as text; `pre` is what a tool or the study file says."""
_VOID = frozenset({"meta", "link", "br", "hr", "img", "input", "col"})
_PACKED = re.compile(r'<tbody class="more" data-rows="(?P<rows>[^"]+)"></tbody>')
_LISTED = frozenset({"title", "h1", "h3", "figcaption", "caption"})


def with_rows(html: str) -> str:
    """The page with every packed row of its tables."""
    return _PACKED.sub(lambda found: f'<tbody class="more">{unpack(found["rows"])}</tbody>', html)


@dataclass
class Card:
    """An answer: its state and what it shows, by the class or the name of its elements."""

    state: str
    texts: dict[str, list[str]] = field(default_factory=dict)

    def text(self, part: str) -> str:
        """All texts of a part, such as 'h3' or 'card-number'."""
        return " ".join(self.texts.get(part, ()))

    @property
    def benchmark(self) -> str:
        """The benchmark that the question is about."""
        return self.texts["a"][-1].removeprefix("all of ")


@dataclass
class Drawing:
    """A figure: its title, the titles of its panels, and the charts that a browser draws."""

    title: str = ""
    panels: list[str] = field(default_factory=list)
    charts: list[Any] = field(default_factory=list)

    def charts_of(self, panel: str) -> list[Any]:
        """The charts of the panels whose titles begin so; all, if nothing is asked for."""
        if not panel:
            return self.charts
        titled = zip(self.panels, self.charts, strict=len(self.panels) > 0)
        return [chart for title, chart in titled if title.startswith(panel)]

    @property
    def is_empty(self) -> bool:
        """Whether it has no chart, or one without a row of data."""
        return not self.charts or not all(any(chart["datasets"].values()) for chart in self.charts)


class Reader(HTMLParser):
    """Reads a page from its beginning to its end; every folded row counts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.headings: dict[str, list[str]] = {}
        self.cards: list[Card] = []
        self.figures: list[Drawing] = []
        self.anchors: set[str] = set()
        self._open: list[tuple[str, str]] = []
        """Name and class of every element that is open."""
        self.feed(with_rows(html))
        self.close()

    @property
    def text(self) -> str:
        """All that is read, in its order."""
        return " ".join(self.words)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        if "id" in of:
            self.anchors.add(of["id"])
        kind = of.get("class", "")
        if tag == "article":
            self.cards.append(Card(kind.removeprefix("card ")))
        if tag == "figure":
            self.figures.append(Drawing())
        if tag not in _VOID:
            self._open.append((tag, "chart" if "data-for" in of else kind))

    @override
    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    @override
    def handle_data(self, data: str) -> None:
        text = re.sub(r"\s+", " ", data).strip()
        if not text or not self._open:
            return
        tag, kind = self._open[-1]
        if (tag, kind) == ("script", "chart"):
            self.figures[-1].charts.append(unpacked(data))
        if any(name in _UNSEEN for name, _ in self._open):
            return
        self.words.append(text)
        inside = {name for name, _ in self._open}
        if "article" in inside:
            self.cards[-1].texts.setdefault(kind or tag, []).append(text)
        if kind == "figure-title":
            self.figures[-1].title = text
        if kind == "panel-title":
            self.figures[-1].panels.append(text)
        if tag in _LISTED:
            self.headings.setdefault(tag, []).append(text)
