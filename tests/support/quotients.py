"""Ratios on a page against the two numbers that are printed beside them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.support.reader import Card

_NUMBER = re.compile(r"(-?[\d,]+(?:\.\d+)?)(?: (ms|µs|ns)\b)?")
_SECONDS = {"ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
_LESS = re.compile(r" less(?: [^,]+?)? than (.+)$")
_TIMES = re.compile(r"^the .+? of (.+)$")
_RANK = re.compile(r", number 2 of [\d,]+$")


@dataclass(frozen=True)
class Printed:
    """A number as a page has it, with half a unit of its last digit."""

    value: float
    half_unit: float

    @classmethod
    def of(cls, text: str) -> "Printed":
        """The first number of a text."""
        found = _NUMBER.search(text)
        assert found is not None, f"no number in {text!r}"
        digits, unit = found[1].replace(",", ""), _SECONDS.get(found[2], 1.0)
        decimals = len(digits.partition(".")[2])
        return cls(unit * float(digits), unit * 0.5 * 10.0**-decimals)

    @property
    def relative(self) -> float:
        """How far the number itself may be away, as a share of it."""
        return self.half_unit / abs(self.value)

    def is_quotient(self, left: "Printed", right: "Printed") -> bool:
        """Whether this is left / right as far as rounding lets one tell."""
        room = 1.001 * (self.half_unit + abs(left.value / right.value) * (left.relative + right.relative))
        return abs(left.value / right.value - self.value) <= room


def not_quotients(cards: Iterable[Card]) -> list[str]:
    """Each ratio of a card that is not the quotient of the two values beside it; see `checked`."""
    return [text for text, right in checked(cards) if not right]


def checked(cards: Iterable[Card]) -> Iterator[tuple[str, bool]]:
    """Each ratio of a card that stands beside both of its values, in words, and whether it is their quotient."""
    for card in cards:
        bars = dict(zip(card.texts.get("bar-name", []), card.texts.get("bar-value", []), strict=True))
        found = _sides(card, [*bars])
        if found is None or not {found[0], found[1]} <= bars.keys():
            continue
        first, second, said = found
        left, right = Printed.of(bars[first]), Printed.of(bars[second])
        yield (
            f"{card.text('card-question')}: {first} {left}, {second} {right}, ratio {said}",
            said.is_quotient(left, right),
        )


def _sides(card: Card, names: list[str]) -> tuple[str, str, Printed] | None:
    """The names of both sides and the ratio; None: the card has none."""
    number, (before, about) = card.text("strong"), _around(card)
    if before:
        first, _, rest = before.partition(" \N{DIVISION SIGN} ")
        return first, rest.removesuffix(" ="), Printed.of(number)
    about = _RANK.sub("", about)
    if number.endswith("\N{MULTIPLICATION SIGN}") and (found := _TIMES.match(about)):
        return names[0], found[1], Printed.of(number)
    if number.endswith("%") and (found := _LESS.search(f" {about}")):
        less = Printed.of(number)
        return names[0], found[1], Printed(1 - less.value / 100, less.half_unit / 100)
    return None


def _around(card: Card) -> tuple[str, str]:
    """What stands before the number, and after it."""
    texts = card.texts.get("card-number", [])
    before = texts[0] if texts and texts[0].endswith("=") else ""
    return before, " ".join(texts[1:] if before else texts)
