"""Small pictures of cards: a bar for each level, with its interval, from zero. Plain HTML and SVG, drawn at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.analysis.lookup import Lookup
from nephoscope.model.numbers import Scale
from nephoscope.model.rows import Statistic
from nephoscope.report.figures import theme
from nephoscope.report.main.palette import Palette
from nephoscope.report.wording import Line, line_of, lines_text

MAX_BARS = 4


@dataclass(frozen=True)
class Bar:
    """One configuration: its level and interval as percentages of the longest bar."""

    name: str
    value: str
    level: float
    low: float
    high: float
    colour: str
    glyph: str
    line: Line
    about: str
    """How many values the line rests on, and how often such lines contain the true level."""


def bars(lookup: Lookup, palette: Palette, rows: Sequence[Statistic], scale: Scale) -> tuple[Bar, ...]:
    """A bar for each of the first rows, in their order. Empty where a bar from zero would say nothing."""
    shown = rows[:MAX_BARS]
    longest = max((row.compared.high for row in shown), default=0.0)
    if longest <= 0 or any(row.compared.low < 0 for row in shown):
        return ()
    return tuple(_bar(lookup, palette, row, scale, longest) for row in shown)


def _bar(lookup: Lookup, palette: Palette, row: Statistic, scale: Scale, longest: float) -> Bar:
    count = len(lookup.configurations)
    place = lookup.configurations.index(row.configuration)
    level = row.compared
    low, middle, high = (round(100 * value / longest, 2) for value in (level.low, level.value, level.high))
    glyph = theme.glyph(place, count) if palette.by == "configuration" else ""
    colour = palette.colour(row.configuration)
    name, about = palette.called[row.configuration], f"n = {row.n}; {lines_text([row])}"
    return Bar(name, scale.text(level.value), middle, low, high, colour, glyph, line_of(row), about)
