"""What a change is in words: for the page of two studies, its Markdown summary and the terminal."""

from nephoscope.analysis.edition_gate import Judged, named, named_group
from nephoscope.model import numbers as people
from nephoscope.model.editions import EditionCard, EditionRow
from nephoscope.model.records import Direction
from nephoscope.model.rows import ComparisonVerdict
from nephoscope.model.words import verdict_name

_RATES = ("/s", "/min", "/h")
_SPEEDS = {ComparisonVerdict.BETTER: "faster", ComparisonVerdict.WORSE: "slower"}
_LARGEST = 2.0
"""A change by a larger factor is given as a factor, not in percent."""


def word(row: EditionCard) -> str:
    """'faster', 'slower', 'tie', 'not decided'; 'better' and 'worse' if the metric is neither a rate nor a time."""
    if row.unit == "s" or row.unit.endswith(_RATES):
        return _SPEEDS.get(row.verdict) or verdict_name(row.verdict)
    return verdict_name(row.verdict)


def change(ratio: float | None) -> str:
    """A signed percentage, or a factor above two: '+4.2 %', '2.31×'."""
    if ratio is None:
        return people.MISSING
    return people.ratio(ratio) if ratio >= _LARGEST else _percent(ratio)


def interval(low: float | None, high: float | None) -> str:
    """'+1.8 % to +4.4 %', '1.80× to 2.40×'; empty: there is none."""
    if low is None or high is None:
        return ""
    said = people.ratio if high >= _LARGEST else _percent
    return f"{said(low)} to {said(high)}"


def _percent(ratio: float) -> str:
    percent = 100 * (ratio - 1)
    text = f"{percent:+.1f}" if abs(percent) >= 1 else f"{percent:+.2f}"
    return f"{text} %".replace("-", "\N{MINUS SIGN}").replace("+0.00 ", "0 ").replace("\N{MINUS SIGN}0.00 ", "0 ")


def levels(row: EditionCard) -> str:
    """'1,234/s → 1,190/s'; empty: several configurations have none in common."""
    if row.before is None or row.after is None:
        return ""
    return f"{people.quantity(row.before, row.unit)} → {people.quantity(row.after, row.unit)}"


def counts(row: EditionCard) -> str:
    """Values of the earlier study, then of the later one: '6, 8'."""
    return f"{row.n_before}, {row.n_after}"


def differs(row: EditionCard) -> str:
    """What differs between the configurations of both studies."""
    return "; ".join(row.differs) or "nothing that the studies declare"


def who(row: EditionCard) -> str:
    """'pg17', 'pg16 → pg17' after a new name, 'a, b and c', '12 configurations'."""
    if isinstance(row, EditionRow):
        renamed = row.configuration != row.configuration_before
        return f"{row.configuration_before} → {row.configuration}" if renamed else row.configuration
    return named_group(row.configurations)


def direction(row: EditionCard) -> str:
    """'lower is better' where it is; empty where more is better, as one expects."""
    return "lower is better" if row.direction is Direction.LOWER else ""


def certainty(row: EditionCard) -> str:
    """Why it is not decided, or what a verdict rests on."""
    if row.reason:
        return str(row.reason)
    if row.low is None:
        return "too few values for an interval"
    if row.verdict is ComparisonVerdict.UNRESOLVED:
        return "the interval includes no change"
    if row.verdict is ComparisonVerdict.TIE:
        return f"the whole interval is within ±{row.margin_percent:g} %"
    several = len(row.configurations) > 1 and not isinstance(row, EditionRow)
    return f"in {row.agreeing} of {len(row.configurations)} configurations" if several else ""


def result(row: EditionCard) -> str:
    """'+4.2 % (+1.8 % to +4.4 %), faster; in 3 of 3 configurations'."""
    between = interval(row.low, row.high) or "no interval"
    return f"{change(row.ratio)} ({between}), {'; '.join(filter(None, (word(row), certainty(row), direction(row))))}"


def worse(judged: Judged) -> str:
    """What is certainly worse, and by how much."""
    listed = (f"{named(row)} {change(row.ratio)} ({interval(row.low, row.high)})" for row in judged.worse)
    return f"certainly worse{judged.by('by at least')}: {'; '.join(listed)}"


def nothing_worse(judged: Judged) -> str:
    """What the gate says where nothing is."""
    return f"no headline metric is certainly worse{judged.by('by at least')}"


def sure(cards: int) -> str:
    """What the intervals of the cards promise."""
    if cards == 1:
        return "Intervals made this way contain the true change 95 times in 100."
    return f"Intervals made this way contain the true change in all {cards} headline metrics at once 95 times in 100."
