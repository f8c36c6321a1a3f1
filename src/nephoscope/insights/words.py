"""Sentences whose every number comes from `Insight.numbers`, by construction.

A template gives each number a style: `{ratio:ratio}`. The template itself must not contain digits, so a sentence can
only print numbers that are in `numbers`. Names (of configurations, metrics, checks) may contain digits.
"""

import math
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from nephoscope.model.numbers import quantity, significant
from nephoscope.model.rows import Insight
from nephoscope.model.units import SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE

Item = TypeVar("Item")

MIN_IN_CENTS_USD = 0.095
"""Smaller amounts need more digits than whole cents."""


def count(value: float) -> str:
    """12,345."""
    return f"{value:,.0f}"


def ratio(value: float) -> str:
    """Three significant digits; near one, three decimals or as many as it takes to show which side of one it is on."""
    if not 0.9 <= value < 1.1:
        return significant(value, 3)
    decimals = next((d for d in range(3, 9) if value == 1 or float(f"{value:.{d}f}") != 1), 9)
    return f"{value:.{decimals}f}"


def percent(value: float) -> str:
    """Two significant digits, no decimals from 9.95 up: 0.34, 1.2, 12, 120. The value is already a percentage."""
    return significant(value, 2)


def coverage(value: float) -> str:
    """A coverage in percent, truncated rather than rounded, so that 94.99 never reads as 95."""
    return f"{math.floor(10 * value + 1e-9) / 10:.1f}".removesuffix(".0")


def money(value: float) -> str:
    """Dollars without the dollar sign: 1,234.50, 0.58; below ten cents two significant digits: 0.0031."""
    return f"{value:,.2f}" if value >= MIN_IN_CENTS_USD else significant(value, 2)


def exact_money(value: float) -> str:
    """Dollars without the dollar sign, four significant digits: for the ends of an interval."""
    return significant(value, 4)


def machine_time(hours: float) -> str:
    """A rough duration in the unit people would choose: '20 seconds', '12 minutes', '3.5 hours', '2.2 days'."""
    seconds = hours * SECONDS_PER_HOUR
    for limit_s, unit_s, name in _TIME_UNITS:
        if seconds < limit_s:
            text = significant(seconds / unit_s, 2).removesuffix(".0")
            return f"{text} {name}" if text == "1" else f"{text} {name}s"
    days = significant(seconds / SECONDS_PER_DAY, 2).removesuffix(".0")
    return f"{count(hours)} hours ({days} days)"


def limit(value: float) -> str:
    """A number that a person chose: 5, 1.5, 365."""
    return f"{value:,g}"


def rough(value: float) -> str:
    """An estimate: two significant digits."""
    return significant(value, 2)


def signed(value: float) -> str:
    """A number around zero, such as an exponent: two decimals."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")


def probability(value: float) -> str:
    """A p-value, two significant digits."""
    return significant(value, 2)


_TIME_UNITS = (
    (90, 1, "second"),
    (90 * SECONDS_PER_MINUTE, SECONDS_PER_MINUTE, "minute"),
    (2 * SECONDS_PER_DAY, SECONDS_PER_HOUR, "hour"),
)
"""Below this many seconds, durations are given in this unit."""
STYLES: Mapping[str, Callable[[float], str]] = {
    "count": count,
    "ratio": ratio,
    "percent": percent,
    "coverage": coverage,
    "probability": probability,
    "money": money,
    "exact_money": exact_money,
    "machine_time": machine_time,
    "limit": limit,
    "rough": rough,
    "signed": signed,
}
"""Name of a style in a template -> its function. One style is not in here: `quantity:<unit>`."""


_BRACES = str.maketrans("{}", "\x01\x02")
_MARKS = str.maketrans("\x01\x02", "{}")


def quantity_style(unit: str) -> str:
    """The style of a quantity, for a template: a unit comes from outside, and its braces must not become fields."""
    return f"quantity:{unit.translate(_BRACES)}"


class _Writer(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, str):
            return value
        style, _, unit = format_spec.partition(":")
        return quantity(value, unit.translate(_MARKS)) if style == "quantity" else STYLES[style](value)


@dataclass(frozen=True)
class Draft:
    """An insight whose text is not made yet, so that what it speaks for, and what affects it, can still be added."""

    rule: str
    kind: Literal["answer", "warning", "note"]
    template: str
    numbers: Mapping[str, float]
    words: Mapping[str, str]
    trials: list[str]
    benchmark: str | None
    case: str

    @cached_property
    def text(self) -> str:
        """The template, filled in."""
        return _Writer().vformat(self.template, (), {**self.numbers, **self.words})

    def with_ending(self, template: str, numbers: Mapping[str, float] = MappingProxyType({}), **words: str) -> "Draft":
        """The same with more at the end of its template."""
        numbers, words = {**self.numbers, **numbers}, {**self.words, **words}
        return replace(self, template=self.template + template, numbers=numbers, words=words)

    def holding(self, where: str) -> "Draft":
        """The same with 'on this machine' behind the benchmark with which it begins, else in a sentence at its end."""
        if not self.template.startswith("{benchmark_name}"):
            return self.with_ending(f" This holds {where}.")
        return replace(self, words={**self.words, "benchmark_name": f"{self.benchmark} {where}"})

    def insight(self) -> Insight:
        """With its text."""
        return Insight(
            rule=self.rule,
            kind=self.kind,
            text=self.text,
            benchmark=self.benchmark,
            trials=self.trials,
            numbers=dict(self.numbers),
            case=self.case,
        )


def say(
    rule: str,
    kind: Literal["answer", "warning", "note"],
    template: str,
    *,
    numbers: Mapping[str, float],
    trials: Sequence[str],
    benchmark: str | None = None,
    case: str = "",
    **words: str,
) -> Draft:
    """Drafts an insight from a template; only the numbers that the template uses are kept.

    Args:
        rule: name of the rule.
        kind: where the report shows it.
        template: `{name:style}` for numbers, `{name}` for words; must not contain digits.
        numbers: by name, unrounded.
        trials: the evidence, in any order.
        benchmark: the benchmark it is about, if it is about one.
        case: which of the rule's cases it is, if somebody must tell them apart.
        **words: names and titles, inserted unchanged.

    Raises:
        ValueError: the template contains a digit, or a number and a word have the same name.
        KeyError: the template uses a name or a style that does not exist.
    """
    fields = list(string.Formatter().parse(template))
    if any(character.isdigit() for literal, *_ in fields for character in literal):
        raise ValueError(f"the template of {rule} contains a digit: {template!r}")
    if numbers.keys() & words.keys():
        raise ValueError(f"{rule} passes {sorted(numbers.keys() & words.keys())} both as a number and as a word")
    used = {name for _, name, *_ in fields}
    kept = {name: float(value) for name, value in sorted(numbers.items()) if name in used}
    draft = Draft(rule, kind, template, kept, words, sorted(set(trials)), benchmark, case)
    _ = draft.text
    return draft


def keyed(items: Iterable[Item]) -> Iterator[tuple[str, Item]]:
    """The items of a list in a sentence, each with a key that its numbers and words end with: `k1`, `k2` and so on."""
    return ((f"k{place}", item) for place, item in enumerate(items, start=1))


def plural(number: float, one: str, many: str = "") -> str:
    """Singular or plural, whichever goes with the number."""
    return one if number == 1 else many or f"{one}s"


def percent_range(least: str, most: str, numbers: Mapping[str, float]) -> str:
    """A template for a range of percentages; one number where both ends look the same."""
    if percent(numbers[least]) == percent(numbers[most]):
        return f"{{{most}:percent}} %"
    return f"{{{least}:percent}} to {{{most}:percent}} %"


def interval_of_one(n: int, style: str, *, sign: str = "") -> str:
    """A template for the interval of one configuration's median; a single run has no interval."""
    if n == 1:
        return "single run, no interval"
    return f"{{coverage:coverage}} % interval {sign}{{low:{style}}} to {sign}{{high:{style}}}, n = {{n:count}}"
