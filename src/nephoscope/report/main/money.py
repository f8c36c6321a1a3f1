"""Figure 1: price and performance of every configuration, or ranked bars where nothing has a price."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from nephoscope.analysis.answers import answers
from nephoscope.analysis.lookup import Lookup, unique
from nephoscope.insights.names import enumerated, names_of, title_in, type_name
from nephoscope.model import numbers as people
from nephoscope.model.price_rows import PricedQuantity, PricePerformance
from nephoscope.model.questions import BestRow
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import ConfigurationRow, MachineRow, Statistic
from nephoscope.model.words import capitalised, counted
from nephoscope.report.figures import row_charts, theme
from nephoscope.report.figures.settled import linear_ticks, log_ticks
from nephoscope.report.figures.spec import Spec
from nephoscope.report.main import charts
from nephoscope.report.main.boards import TOP, Board, main_board
from nephoscope.report.main.palette import Palette, palette_of
from nephoscope.report.parts import Book, Cell, Column, Figure, KeyEntry, Link, Table, filled, section_anchor
from nephoscope.report.wording import (
    basis_text,
    direction_text,
    lines_text,
    paid_for,
    statistic_row,
    unit_text,
)

LOG_FROM = 8.0
"""An axis is logarithmic if the largest value is this many times the smallest."""
_SHAPES = {"Intel": 0, "AMD": 1, "Arm": 2, "x86": 3}
UNKNOWN = "processor not known"
_DESK, _TELEPHONE = (860.0, 330.0), (260.0, 330.0)
"""About the size of the plot, in pixels."""
_ASIDES = ((-9.0, -9.0), (9.0, -9.0), (0.0, -13.0), (-13.0, 0.0), (13.0, 0.0), (9.0, 9.0), (-9.0, 9.0), (0.0, 13.0))
"""Where the number of a point may be, in pixels to the right and down; the first with enough room."""
_ENOUGH = 12.0
_LEAST = 2
"""Of configurations: one alone compares with nothing."""
MAX_OPEN = 6
"""Configurations that may be on the front, too, of which the note below its table has the names."""
FRONT = {"on it": "on the Pareto front", "open": "may be on it", "behind": "behind it"}


def price_and_performance(book: Book) -> Figure | None:
    """The scatter of the main benchmark's headline metric; None without a leaderboard of two, as a card says it all."""
    board = main_board(book.lookup)
    if board is None or len(board.ranked(book.lookup)) < _LEAST:
        return None
    palette = palette_of(book.lookup)
    priced = board.prices(book.lookup)
    return _scatter(book, board, priced, palette) if len(priced) >= _LEAST else _ranked(book, board, palette)


def _scatter(book: Book, board: Board, priced: Sequence[PricePerformance], palette: Palette) -> Figure:
    lookup, metric = book.lookup, board.metric
    scale = lookup.scale(board.row.benchmark, metric)
    processors = {row.configuration: processor_of(lookup, row.configuration) for row in priced}
    statistics = {one.configuration: one for one in lookup.statistics_of(board.row.benchmark, metric.name)}
    sold = lookup.sold(metric)
    types = {
        row.configuration: type_name(row.configuration, row.machine_type)
        for row in lookup[ConfigurationRow]
        if row.machine_type
    }
    rows: list[dict[str, Any]] = [
        {
            **statistic_row(statistics[row.configuration], scale),
            "configuration": palette.called[row.configuration],
            "month": row.month_usd,
            "shade": palette.of[row.configuration],
            "provider": palette.of[row.configuration] if palette.by == "provider" else "",
            "processor": processors[row.configuration],
            "machine": types.get(row.configuration) or people.MISSING,
            "price_text": f"{people.money(row.month_usd)} a month",
            "per_dollar_text": f"{people.money(sold.price(row))} a month per {sold.text}",
            "front_text": FRONT[row.front],
            "front": row.front == "on it",
        }
        for row in sorted(priced, key=lambda row: (row.month_usd, row.configuration))
        if row.configuration in statistics
    ]
    logs = (_is_wide(rows, ("month",)), _is_wide(rows, ("low", "high")))
    rows = _numbered(rows, logs)
    shapes = _shapes(processors.values())
    worth = f"{unit_text(scale)}, {direction_text(metric.direction)}"
    titles = ("$ a month" + _log(log=logs[0]), worth + _log(log=logs[1]))
    names = [row.configuration for row in priced if row.configuration in statistics]
    shown = [statistics[name] for name in names]
    front = [row["configuration"] for row in rows if row["front"]]
    return book.figure(
        f"{title_in(metric, board.row.benchmark)} and its price",
        f"{worth}, against $ a month at {basis_text(priced[0].basis)} prices",
        "By their levels, no configuration on the stepped line, the Pareto front, is beaten by one that costs the "
        "same or less; neighbours on the line may be equal: see their ranks. Numbers stand for the rows of the table "
        "below. "
        f"{lines_text(shown).capitalize()}. " + ("" if any(logs) else "Both axes start at zero."),
        [("", _spoken(rows, front), charts.scatter(rows, titles, logs, palette, shapes))],
        key=[*_colours(palette, names), *_signs(shapes)],
        table_link=Link("Every price with its formula", book.href("costs")),
        listed=_front(rows, worth),
    )


def _front(rows: Sequence[Mapping[str, Any]], worth: str) -> Table:
    """What the numbers in the chart stand for."""
    also = [row["configuration"] for row in rows if row["front_text"] == FRONT["open"]]
    note = f"Behind the line by their levels, but not with certainty: {_first_of(also)}." if also else ""
    return filled(
        "The Pareto front, cheapest first",
        [row for row in rows if row["front"]],
        (Column("#", numeric=True), lambda row: str(row["number"])),
        (Column("On the Pareto front"), lambda row: Cell(row["configuration"], tone="name")),
        (Column("$ a month", numeric=True), lambda row: people.money(row["month"])),
        (Column(capitalised(worth), numeric=True), lambda row: str(row["level_text"])),
        note=note,
    )


def _first_of(names: Sequence[str]) -> str:
    """At most `MAX_OPEN` of them, and how many others there are."""
    more = len(names) - MAX_OPEN
    return enumerated([*names[:MAX_OPEN], *([f"{more:,} more"] if more > 0 else [])], most=MAX_OPEN + 1)


def _log(*, log: bool) -> str:
    return ", logarithmic" if log else ""


def _is_wide(rows: Sequence[Mapping[str, Any]], ends: tuple[str, ...]) -> bool:
    values = [row[end] for row in rows for end in ends]
    return bool(min(values) > 0 and max(values) >= LOG_FROM * min(values))


def _numbered(rows: list[dict[str, Any]], logs: tuple[bool, bool]) -> list[dict[str, Any]]:
    """With a number for each row of the front, from the cheapest on, and where it is drawn."""
    places = {size: _beside(rows, logs, size) for size in (_DESK, _TELEPHONE)}
    numbers = count(1)
    return [
        {
            **row,
            "number": str(next(numbers)) if row["front"] else "",
            "desk_x": desk[0],
            "desk_y": desk[1],
            "narrow_x": narrow[0],
            "narrow_y": narrow[1],
        }
        for row, desk, narrow in zip(rows, places[_DESK], places[_TELEPHONE], strict=True)
    ]


def _beside(
    rows: Sequence[Mapping[str, Any]], logs: tuple[bool, bool], size: tuple[float, float]
) -> list[tuple[float, float]]:
    """For each row of the front how far its number is from its point, to the right and down, where most room is.

    No point lies to the left of the front at its height, so numbers stand there if nothing else decides.
    """
    across = _places([row["month"] for row in rows], size[0], log=logs[0])
    up = _places([row["level"] for row in rows], size[1], log=logs[1])
    points = [(x, size[1] - y) for x, y in zip(across, up, strict=True)]
    taken = list(points)
    found = []
    for row, (x, y) in zip(rows, points, strict=True):
        aside = (0.0, 0.0)
        if row["front"]:
            aside = max(
                _ASIDES, key=lambda one: min(_ENOUGH, *(math.dist((x + one[0], y + one[1]), other) for other in taken))
            )
            taken.append((x + aside[0], y + aside[1]))
        found.append(aside)
    return found


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
        f"{row['configuration']} {row['level_text']} for {row['price_text']}" for row in rows if row["front"]
    )
    return f"Scatter of {counted(len(rows), 'configuration')}. {len(front)} on the Pareto front: {named}."


def processor_of(lookup: Lookup, configuration: str) -> str:
    """Vendor of the CPU as observed, or at least its architecture."""
    known = [row.cpu_vendor for row in lookup[ConfigurationRow] if row.configuration == configuration]
    seen = [row.facts.architecture for row in lookup[MachineRow] if row.configuration == configuration]
    if known and known[0]:
        return known[0]
    architecture = next((one for one in seen if one), None)
    return {None: UNKNOWN, "x86_64": "x86", "aarch64": "Arm", "arm64": "Arm"}.get(architecture, architecture or UNKNOWN)


def _ranked(book: Book, board: Board, palette: Palette) -> Figure:
    """Bars with intervals, best first; of hosts that should be equal the worst first."""
    found, order = board.ranked(book.lookup), "best"
    if book.lookup.study.equal_hosts:
        found, order = found[::-1], "worst"
    shown, metric = found[:TOP], board.metric
    scale = book.lookup.scale(board.row.benchmark, metric)
    axis = f"{unit_text(scale)}, {direction_text(metric.direction)}"
    more = f" The {order} {TOP} of {len(found)} are drawn." if len(found) > TOP else ""
    return book.figure(
        f"{title_in(metric, board.row.benchmark)}, {order} first",
        axis,
        f"{_unpriced(board, book.lookup)}, so value for money is not shown. Set price_usd_per_hour or priced_as in the "
        f"study.toml of these results, then run “nephoscope report” again. {lines_text(shown).capitalize()}.{more}",
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


def _unpriced(board: Board, lookup: Lookup) -> str:
    priced = [row.configuration for row in board.prices(lookup)]
    return f"Of these, only {priced[0]} has a price" if priced else "No prices are known"


def bars(statistics: Sequence[Statistic], scale: people.Scale, axis: str, palette: Palette) -> Spec:
    """A bar for each statistic, in this order."""
    rows = [
        {
            **statistic_row(one, scale),
            "configuration": palette.called[one.configuration],
            "number": scale.number(one.compared),
            "shade": palette.of[one.configuration],
        }
        for one in statistics
    ]
    names = [palette.called[one.configuration] for one in statistics]
    return row_charts.bars(names, rows, axis, palette.encoding, height=charts.height(len(names)))


def ranking_text(statistics: Sequence[Statistic], scale: people.Scale, palette: Palette) -> str:
    """A ranking as a sentence."""
    named = ", ".join(f"{palette.called[one.configuration]} {scale.text(one.compared)}" for one in statistics[:6])
    return f"Bars, best first: {named}" + (f"; and {len(statistics) - 6} more." if len(statistics) > 6 else ".")


MAX_BEHIND = 0.05
"""A configuration whose level is so little behind the winner's does nearly the same."""
MAX_PRICE = 0.7
"""At this share of the winner's price it costs much less."""


def cost_lines(book: Book, benchmark: str, metric: Metric, winners: Sequence[str]) -> tuple[str, ...]:
    """Sentences without a subject that cards print; empty without prices."""
    if book.lookup.basis is None:
        return ()
    rows = {row.configuration: row for row in book.lookup.prices_of(benchmark, metric.name)}
    sold = book.lookup.sold(metric) if rows else None
    lines = []
    if len(winners) == 1:
        lines.append(_winner(book.lookup, benchmark, winners[0], rows.get(winners[0]), sold))
        lines.append(_nearly_as_good(book.lookup, benchmark, metric, winners[0]))
    least = cheapest(book.lookup, benchmark, metric)
    if least is not None and least.is_decided:
        which = enumerated(least.names, 3, last="or")
        lines.append(f"Least cost for the work: {which}, {'' if len(least.names) == 1 else 'from '}{least.price}.")
    return tuple(line for line in lines if line)


def _month_usd(lookup: Lookup, benchmark: str, name: str) -> float | None:
    """A month of what the benchmark measures of a configuration, on the page's price basis."""
    cost = lookup.cost_of(name, lookup.basis)
    return None if cost is None else cost.month_of(lookup.extents[benchmark])


def _winner(
    lookup: Lookup, benchmark: str, name: str, row: PricePerformance | None, sold: PricedQuantity | None
) -> str:
    cost, month = lookup.cost_of(name, lookup.basis), _month_usd(lookup, benchmark, name)
    if cost is None or month is None:
        return "It has no price."
    per = f", {_per(row, sold)}" if row is not None and sold is not None else ""
    if row is not None and sold is not None and (row.usd_per_unit_with_transfer or 0.0) > row.usd_per_unit:
        per += f", {people.money((row.usd_per_unit_with_transfer or 0.0) * sold.size)} with transfer between them"
    what = paid_for(cost, lookup.extents[benchmark])
    return f"Costs {people.money(month)} a month for {what}{per} ({basis_text(cost.basis)})."


def _nearly_as_good(lookup: Lookup, benchmark: str, metric: Metric, winner: str) -> str:
    """'98 % of it for 23 % of its price: m9g, $326.40 a month.'; empty if no close follower costs much less."""
    levels = {row.configuration: row.compared.value for row in lookup.statistics_of(benchmark, metric.name)}
    month, best = _month_usd(lookup, benchmark, winner), levels.get(winner)
    if not month or not best:
        return ""
    sign = 1 if metric.direction is Direction.HIGHER else -1
    behind = {name: sign * (1 - level / best) for name, level in levels.items() if name != winner}
    priced = {name: _month_usd(lookup, benchmark, name) for name, share in behind.items() if share <= MAX_BEHIND}
    cheap = {name: usd for name, usd in priced.items() if usd is not None and usd <= MAX_PRICE * month}
    if not cheap:
        return ""
    name = min(cheap, key=lambda one: (cheap[one], one))
    share = people.share(levels[name] / best)
    what = f"{share} of it" if sign > 0 else f"{people.share(max(behind[name], 0.0))} more"
    price = f"{people.share(cheap[name] / month)} of its price"
    return f"{what} for {price}: {names_of(lookup)[name]}, {people.money(cheap[name])} a month."


@dataclass(frozen=True)
class Cheapest:
    """What costs least for a unit of work, on the page's price basis."""

    names: list[str]
    """Those that may cost least, for a reader."""
    of: int
    price: str
    """Of the one that costs least by its level: '$0.58 a month per 1,000 SET/s'."""
    basis: str
    is_decided: bool
    is_repeated: bool
    trials: list[str]

    @property
    def clause(self) -> str:
        """The end of a sentence."""
        prices = f"({basis_text(self.basis)} prices)"
        if self.of == 1:
            return f"the work costs {self.price} on {self.names[0]} {prices}"
        if self.is_decided:
            which = enumerated(self.names, 3, last="or")
            of_several = "" if len(self.names) == 1 else "from "
            return f"the work costs least on {which}, {of_several}{self.price} {prices}"
        return (
            f"which of {self.of:,} configurations costs least for the work is not decided; by the "
            f"{'levels' if self.is_repeated else 'single runs'} it is "
            f"{self.names[0]}, {self.price} {prices}"
        )


def cheapest(lookup: Lookup, benchmark: str, metric: Metric) -> Cheapest | None:
    """None without prices, and for a metric of which less is better."""
    rows = {row.configuration: row for row in lookup.prices_of(benchmark, metric.name)}
    if not rows:
        return None
    best = lookup.best_of(benchmark, metric.name, view="per dollar", basis=lookup.basis)
    decided = best is not None and best.method != "none" and (best.tied or _is_answered(best))
    candidates = [name for name in best.best if name in rows] if decided and best else [*rows]
    if not candidates:
        return None
    by_price = sorted(candidates, key=lambda name: rows[name].usd_per_unit)
    least, names = rows[by_price[0]], names_of(lookup)
    sold = lookup.sold(metric)
    return Cheapest(
        names=[names[name] for name in (candidates if decided else by_price)],
        of=len(rows),
        price=_per(least, sold),
        basis=least.basis,
        is_decided=decided,
        is_repeated=any(row.n > 1 for row in rows.values()),
        trials=[trial for row in rows.values() for trial in row.trials],
    )


def _is_answered(best: BestRow) -> bool:
    return best.excluded > 0 and answers(len(best.best), best.of - len(best.open))


def _per(row: PricePerformance, sold: PricedQuantity) -> str:
    return f"{people.money(sold.price(row))} a month per {sold.text}"
