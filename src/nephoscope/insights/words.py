"""Sentences whose every number comes from `Insight.numbers`, by construction.

A template gives each number a style: `{ratio:ratio}`. The template itself must not contain digits, so a sentence can
only print numbers that are in `numbers`. Names (of configurations, metrics, checks) may contain digits.

Words that go with a number are styles, too: `{rows:counted:row}` is '1 row' or '3,102 rows', `{rows:goes:is|are}` the
verb that goes with it.
"""

import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from nephoscope.insights.names import listed
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
"""Name of a style in a template -> its function. Others have a colon and more behind them: see `_Writer`."""


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
        one, _, many = rest.partition("|")
        match style:
            case "ends":
                return ends(value, _form(value, rest))
            case "quantity":
                return quantity(value, rest.translate(_MARKS))
            case "counted":
                return f"{integer(value)} {plural(value, one, many)}"
            case "goes":
                return plural(value, one, many)
            case _:
                return STYLES[style](value)


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

    def insight(self, rule: str) -> Insight:
        """With its text, as what this rule says."""
        return Insight(
            rule=rule,
            kind=self.kind,
            text=self.text,
            benchmark=self.benchmark,
            trials=self.trials,
            numbers=stored(self.numbers),
        )


def say(
    kind: Literal["answer", "warning", "note"],
    template: str,
    *,
    numbers: Mapping[str, Number],
    trials: Iterable[str],
    benchmark: str | None = None,
    **words: Sequence[str],
) -> Draft:
    """Drafts an insight from a template; only the numbers that the template uses are kept.

    Args:
        kind: where the report shows it.
        template: `{name:style}` for numbers, `{name}` for words; must not contain digits.
        numbers: by name, unrounded.
        trials: the evidence, in any order.
        benchmark: the benchmark it is about, if it is about one: the template may name it as `{benchmark_name}`.
        **words: names and titles, inserted unchanged; of several names, those beyond `MAX_NAMED` are counted.

    Raises:
        ValueError: the template contains a digit, or a number and a word have the same name.
        KeyError: the template uses a name or a style that does not exist.
    """
    fields = list(string.Formatter().parse(template))
    if any(character.isdigit() for literal, *_ in fields for character in literal):
        raise ValueError(f"the template contains a digit: {template!r}")
    if numbers.keys() & words.keys():
        raise ValueError(f"passed both as a number and as a word: {sorted(numbers.keys() & words.keys())}")
    known, texts = dict(numbers), {} if benchmark is None else {"benchmark_name": benchmark}
    for name, word in words.items():
        if isinstance(word, str):
            texts[name] = word
        else:
            template = template.replace(f"{{{name}}}", listed(name, word, known, texts))
    used = {name for _, name, *_ in string.Formatter().parse(template)}
    kept = {name: value for name, value in sorted(known.items()) if name in used}
    draft = Draft(kind, template, kept, texts, sorted(set(trials)), benchmark)
    _ = draft.text
    return draft


answer, warning, note = partial(say, "answer"), partial(say, "warning"), partial(say, "note")


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
