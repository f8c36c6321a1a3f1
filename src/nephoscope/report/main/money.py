"""Figure 1: price and performance of every configuration, or ranked bars where nothing has a price."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.rows import Statistic
from nephoscope.model.words import counted
from nephoscope.report import format as people
from nephoscope.report.figures import row_charts, theme
from nephoscope.report.figures.spec import Spec
from nephoscope.report.figures.ticks import linear_ticks, log_ticks
from nephoscope.report.lookup import Lookup, unique
from nephoscope.report.main import charts
from nephoscope.report.main.boards import TOP, Board, main_board
from nephoscope.report.main.palette import Palette, palette_of
from nephoscope.report.parts import Book, Figure, KeyEntry, Link
from nephoscope.report.tables.statistics import section_anchor
from nephoscope.report.wording import direction_text, metric_title, statistic_row, unit_text

LOG_FROM = 8.0
"""An axis is logarithmic if the largest value is this many times the smallest."""
_SHAPES = {"Intel": 0, "AMD": 1, "Arm": 2, "x86": 3}
UNKNOWN = "processor not known"
_DESK, _TELEPHONE = (860.0, 330.0), (260.0, 330.0)
"""About the size of the plot, in pixels: names that would touch there are left out."""
_LABEL_HEIGHT = 14.0
_CHARACTER = 6.4
_ASIDE = 7.0
FRONT = {"on it": "on the Pareto front", "open": "may be on it", "behind": "behind it"}


def price_and_performance(book: Book) -> Figure | None:
    """The scatter of the main benchmark's headline metric; None without a leaderboard."""
    board = main_board(book.lookup)
    if board is None:
        return None
    palette = palette_of(book.lookup)
    priced = board.prices(book.lookup)
    return _scatter(book, board, priced, palette) if len(priced) > 1 else _ranked(book, board, palette)


def _scatter(book: Book, board: Board, priced: Sequence[PricePerformance], palette: Palette) -> Figure:
    lookup, metric = book.lookup, board.metric
    scale = lookup.brief_scale(board.row.benchmark, metric)
    processors = {row.configuration: processor_of(lookup, row.configuration) for row in priced}
    statistics = {one.configuration: one for one in lookup.statistics_of(board.row.benchmark, metric.name)}
    sold = lookup.sold(metric.unit)
    types = {row.configuration: row.machine_type for row in lookup.study.configurations}
    rows: list[dict[str, Any]] = [
        {
            **statistic_row(statistics[row.configuration], scale),
            "configuration": palette.called[row.configuration],
            "month": row.month_usd,
            "shade": palette.of[row.configuration],
            "provider": palette.of[row.configuration] if palette.by == "provider" else "",
            "processor": processors[row.configuration],
            "machine": types.get(row.configuration) or people.MISSING,
            "price_text": f"{people.dollars(row.month_usd)} a month",
            "per_dollar_text": f"{people.money(row.usd_per_unit * sold.size)} a month per {sold.text}",
            "front_text": FRONT[row.front],
            "front": row.front == "on it",
        }
        for row in sorted(priced, key=lambda row: (row.month_usd, row.configuration))
        if row.configuration in statistics
    ]
    logs = (_is_wide(rows, ("month",)), _is_wide(rows, ("low", "high")))
    rows = _labelled(rows, logs)
    shapes = _shapes(processors.values())
    worth = f"{unit_text(scale)}, {direction_text(metric.direction)}"
    titles = ("$ a month" + _log(log=logs[0]), worth + _log(log=logs[1]))
    names = [row.configuration for row in priced if row.configuration in statistics]
    front = [row["configuration"] for row in rows if row["front"]]
    return book.figure(
        f"{metric_title(metric)} in {board.row.benchmark} and its price",
        f"{worth}, against $ a month at {priced[0].basis} prices",
        "The dashed line is the Pareto front: nothing measured is both cheaper and better than a configuration on it. "
        "Vertical lines are the intervals of the medians. " + ("" if any(logs) else "Both axes start at zero."),
        [("", _spoken(rows, front), charts.scatter(rows, titles, logs, palette, shapes))],
        key=[*_colours(palette, names), *_signs(shapes)],
        table_link=Link("Every price with its formula", book.href("costs")),
    )


def _log(*, log: bool) -> str:
    return ", logarithmic" if log else ""


def _is_wide(rows: Sequence[Mapping[str, Any]], ends: tuple[str, ...]) -> bool:
    values = [row[end] for row in rows for end in ends]
    return bool(min(values) > 0 and max(values) >= LOG_FROM * min(values))


def _labelled(rows: list[dict[str, Any]], logs: tuple[bool, bool]) -> list[dict[str, Any]]:
    """With the side on which the name of each row stands, and where it fits: always, on a desk only, or nowhere."""
    desk, telephone = (_fitting(rows, logs, size) for size in (_DESK, _TELEPHONE))
    return [
        {**row, "align": wide or "right", "fits": "always" if wide and wide == narrow else "desk" if wide else ""}
        for row, wide, narrow in zip(rows, desk, telephone, strict=True)
    ]


def _fitting(rows: Sequence[Mapping[str, Any]], logs: tuple[bool, bool], size: tuple[float, float]) -> list[str]:
    """For each row 'left' or 'right', as its name is aligned to its point, or empty if it would cover something.

    No point lies to the left of the front at its height, so names stand there, unless the chart ends.
    """
    across = _places([row["month"] for row in rows], size[0], log=logs[0])
    up = _places([row["median"] for row in rows], size[1], log=logs[1])
    points = list(zip(across, up, strict=True))
    taken: list[_Box] = []
    found = []
    for row, (x, y) in zip(rows, points, strict=True):
        boxes = {align: _Box.beside(x, y, len(row["configuration"]), align) for align in ("right", "left")}
        free = (
            align
            for align, box in boxes.items()
            if row["front"]
            and box.left >= 0
            and box.right <= size[0]
            and not any(box.touches(other) for other in taken)
            and not any(box.covers(*point) for point in points)
        )
        align = next(free, "")
        taken += [boxes[align]] if align else []
        found.append(align)
    return found


@dataclass(frozen=True)
class _Box:
    """Where a name stands, in pixels from the lower left corner of the plot."""

    left: float
    right: float
    low: float

    @classmethod
    def beside(cls, x: float, y: float, characters: int, align: str) -> "_Box":
        """The name of the point at (x, y), above it to the left or to the right, as charts draw it."""
        width = _CHARACTER * characters
        left = x + _ASIDE if align == "left" else x - _ASIDE - width
        return cls(left, left + width, y + _ASIDE / 2)

    def touches(self, other: "_Box") -> bool:
        """Whether two names would run into each other."""
        apart = abs(self.low - other.low) >= _LABEL_HEIGHT or self.left > other.right or self.right < other.left
        return not apart

    def covers(self, x: float, y: float) -> bool:
        """Whether the sign of a point would be hidden."""
        return self.left - 4 < x < self.right + 4 and self.low - 3 < y < self.low + _LABEL_HEIGHT + 3


def _places(values: Sequence[float], length: float, *, log: bool) -> list[float]:
    """Where values are on their axis, in pixels."""
    ticks = log_ticks(min(values), max(values)) if log else linear_ticks(0.0, max(values))
    low, high = (math.log(tick) if log else tick for tick in (ticks[0], ticks[-1]))
    return [length * ((math.log(value) if log else value) - low) / (high - low) for value in values]


def _shapes(processors: Iterable[str]) -> list[tuple[str, str]]:
    """Each kind of processor that is drawn, with its sign."""
    found = unique(sorted(processors, key=lambda name: (_SHAPES.get(name, len(_SHAPES)), name)))
    if len(found) == 1:
        return [(found[0], theme.SHAPES[0])]
    return [(name, theme.SHAPES[_SHAPES.get(name, len(_SHAPES))]) for name in found]


def _signs(shapes: Sequence[tuple[str, str]]) -> list[KeyEntry]:
    """One kind of processor needs no key."""
    glyph = dict(zip(theme.SHAPES, theme.GLYPHS, strict=True))
    return [KeyEntry(glyph[sign], "var(--muted)", name) for name, sign in shapes] if len(shapes) > 1 else []


def _colours(palette: Palette, names: Sequence[str]) -> list[KeyEntry]:
    if palette.by == "configuration":
        return [KeyEntry("■", palette.colour(name), palette.called[name]) for name in palette.names if name in names]
    return palette.key(names)


def _spoken(rows: Sequence[Mapping[str, Any]], front: Sequence[str]) -> str:
    named = "; ".join(
        f"{row['configuration']} {row['median_text']} for {row['price_text']}" for row in rows if row["front"]
    )
    return f"Scatter of {counted(len(rows), 'configuration')}. {len(front)} on the Pareto front: {named}."


def processor_of(lookup: Lookup, configuration: str) -> str:
    """Vendor of the CPU as observed, or at least its architecture."""
    known = [row.cpu_vendor for row in lookup.study.configurations if row.configuration == configuration]
    seen = [row.facts.architecture for row in lookup.study.machines if row.configuration == configuration]
    if known and known[0]:
        return known[0]
    architecture = next((one for one in seen if one), None)
    return {None: UNKNOWN, "x86_64": "x86", "aarch64": "Arm", "arm64": "Arm"}.get(architecture, architecture or UNKNOWN)


def _ranked(book: Book, board: Board, palette: Palette) -> Figure:
    """Bars with intervals, best first."""
    found = board.ranked(book.lookup)
    shown, metric = found[:TOP], board.metric
    scale = book.lookup.brief_scale(board.row.benchmark, metric)
    axis = f"{unit_text(scale)}, {direction_text(metric.direction)}"
    more = f" The best {TOP} of {len(found)} are drawn." if len(found) > TOP else ""
    return book.figure(
        f"{metric_title(metric)} in {board.row.benchmark}, best first",
        axis,
        f"No prices are known, so value for money is not shown. Lines: intervals of the medians.{more}",
        [
            (
                "",
                ranking_text(shown, scale, palette),
                bars(shown, scale, axis, palette),
            )
        ],
        key=palette.key([one.configuration for one in shown]),
        table_link=Link("All values", book.href(section_anchor(board.row.benchmark))),
    )


def bars(statistics: Sequence[Statistic], scale: people.Scale, axis: str, palette: Palette) -> Spec:
    """A bar for each statistic, in this order."""
    rows = [
        {
            **statistic_row(one, scale),
            "configuration": palette.called[one.configuration],
            "number": scale.number(one.median),
            "shade": palette.of[one.configuration],
        }
        for one in statistics
    ]
    names = [palette.called[one.configuration] for one in statistics]
    return row_charts.bars(names, rows, axis, palette.encoding, height=charts.height(len(names)))


def ranking_text(statistics: Sequence[Statistic], scale: people.Scale, palette: Palette) -> str:
    """A ranking as a sentence."""
    named = ", ".join(f"{palette.called[one.configuration]} {scale.text(one.median)}" for one in statistics[:6])
    return f"Bars, best first: {named}" + (f"; and {len(statistics) - 6} more." if len(statistics) > 6 else ".")
