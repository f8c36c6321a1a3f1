"""Sentences whose every number comes from `Insight.numbers`, by construction.

A template gives each number a style: `{ratio:ratio}`. The template itself must not contain digits, so a sentence can
only print numbers that are in `numbers`. Names (of configurations, metrics, checks) may contain digits.
"""

import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from nephoscope.model.numbers import (
    Form,
    Number,
    coverage,
    duration,
    ends,
    integer,
    limit,
    money,
    money_form,
    percent,
    percent_form,
    probability,
    quantity,
    quantity_form,
    ratio,
    ratio_form,
    signed,
    significant,
)
from nephoscope.model.rows import Insight
from nephoscope.model.units import SECONDS_PER_HOUR

Item = TypeVar("Item")

_FORMS: Mapping[str, Callable[[Number], Form]] = {"ratio": ratio_form, "percent": percent_form, "money": money_form}
"""Styles that round by an interval where the number has one; `ends:` before one of them writes the interval."""
STYLES: Mapping[str, Callable[[Any], str]] = {
    "count": integer,
    "ratio": ratio,
    "percent": percent,
    "coverage": lambda percentage: coverage(percentage / 100),
    "probability": probability,
    "money": money,
    "hours": lambda hours: duration(hours * SECONDS_PER_HOUR),
    "limit": limit,
    "signed": signed,
    "statistic": lambda value: significant(value, 3),
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
        style, _, rest = format_spec.partition(":")
        if style == "ends":
            return ends(value, _form(value, rest))
        return quantity(value, rest.translate(_MARKS)) if style == "quantity" else STYLES[style](value)


def _form(value: Number, style: str) -> Form:
    name, _, unit = style.partition(":")
    return quantity_form(value, unit.translate(_MARKS)) if name == "quantity" else _FORMS[name](value)


def stored(numbers: Mapping[str, Number]) -> dict[str, float]:
    """By name; of a number with an interval its ends, too, as `ratio_low` and `ratio_high`."""
    plain: dict[str, float] = {}
    for name, value in numbers.items():
        if isinstance(value, float | int):
            plain[name] = float(value)
        else:
            plain |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
    return plain


@dataclass(frozen=True)
class Draft:
    """An insight whose text is not made yet, so that what it speaks for, and what affects it, can still be added."""

    rule: str
    kind: Literal["answer", "warning", "note"]
    template: str
    numbers: Mapping[str, Number]
    words: Mapping[str, str]
    trials: list[str]
    benchmark: str | None
    says_where: bool = False
    """Whether its text says for which machines it holds."""

    @cached_property
    def text(self) -> str:
        """The template, filled in."""
        return _Writer().vformat(self.template, (), {**self.numbers, **self.words})

    def with_ending(self, template: str, numbers: Mapping[str, Number] = MappingProxyType({}), **words: str) -> "Draft":
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
            numbers=stored(self.numbers),
        )


def say(
    rule: str,
    kind: Literal["answer", "warning", "note"],
    template: str,
    *,
    numbers: Mapping[str, Number],
    trials: Sequence[str],
    benchmark: str | None = None,
    **words: str,
) -> Draft:
    """Drafts an insight from a template; only the numbers that the template uses are kept.

    Args:
        rule: name of the rule.
        kind: where the report shows it.
        template: `{name:style}` for numbers, `{name}` for words; must not contain digits.
        numbers: by name, unrounded.
        trials: the evidence, in any order.
        benchmark: the benchmark it is about, if it is about one: the template may name it as `{benchmark_name}`.
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
    if benchmark is not None:
        words["benchmark_name"] = benchmark
    used = {name for _, name, *_ in fields}
    kept = {name: value for name, value in sorted(numbers.items()) if name in used}
    draft = Draft(rule, kind, template, kept, words, sorted(set(trials)), benchmark)
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
        return f"{{{most}:percent}}"
    return f"{{{least}:percent}} to {{{most}:percent}}"


def interval_of_one(n: int, name: str, style: str) -> str:
    """A template for the interval of one configuration's number; a single run has no interval."""
    if n == 1:
        return "single run, no interval"
    return f"{{coverage:coverage}} interval {{{name}:ends:{style}}}, n = {{n:count}}"
