"""What happened in a trial that a reader should see beside its number: stalls, dips, a stop, lost connections."""

from dataclasses import dataclass, fields
from typing import Literal, Self, get_args

from nephoscope.model.numbers import duration, share
from nephoscope.model.units import MS_PER_SECOND
from nephoscope.model.words import counted
from nephoscope.model.written import Written

Kind = Literal["stall", "dips", "stop", "lost-connections"]
"""stall: nothing was completed; dips: less than half of the usual rate was; stop: the load generator itself stood
still; lost-connections: they were made again."""

_IN_MS = 0.1
"""Seconds below which a length is shown in milliseconds."""


@dataclass(frozen=True)
class Event(Written):
    """Events of one kind in one trial, taken together."""

    kind: Kind
    times: int
    first_s: float | None = None
    """From the beginning of the measurement, of a stop of the load, to the first of them; None: not known."""
    length_s: float | None = None
    """Of all of them together; None: they have no length."""
    cost: float | None = None
    """The share of its mean that the rate lost by them; None: not known."""
    metric: str | None = None
    """The rate that shows it; None: all of the trial."""

    def __str__(self) -> str:
        """'stall times=1 first_s=4.0 length_s=2.0 cost=0.25 metric=randread.iops'."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self)[1:])
        return " ".join([self.kind, *(f"{name}={value}" for name, value in values if value is not None)])

    @classmethod
    def read(cls, stored: str) -> Self:
        """See `Written`."""
        kind, *pairs = stored.split(" ")
        values = dict(pair.split("=", 1) for pair in pairs)
        if kind not in get_args(Kind) or not values.keys() <= {field.name for field in fields(cls)[1:]}:
            raise ValueError(f"{stored!r} is no event")
        numbers = {name: float(values[name]) for name in ("first_s", "length_s", "cost") if name in values}
        return cls(kind, int(values.get("times", 1)), **numbers, metric=values.get("metric"))  # type: ignore[arg-type]

    @property
    def clause(self) -> str:
        """'nothing was completed for 2 s, from 4 s on, at a cost of 25 % of the mean'."""
        first = None if self.first_s is None else duration(self.first_s)
        when = "" if first is None else f", from {first} on" if self.times == 1 else f", first after {first}"
        cost = "" if self.cost is None else f", at a cost of {share(self.cost)} of the mean"
        return f"{self._what}{when}{cost}"

    @property
    def _what(self) -> str:
        if self.kind == "lost-connections":
            return f"{counted(self.times, 'connection')} {'was' if self.times == 1 else 'were'} lost and made again"
        took = f"for {_length(self.length_s)}"
        if self.times > 1:
            took = f"{self.times:,} times, {took} together"
        return {
            "stall": f"nothing was completed {took}",
            "dips": f"less than half of the usual rate was completed {took}",
            "stop": f"the load generator stood still {took}",
        }[self.kind]


def _length(seconds: float | None) -> str:
    """'2 s', and '58 ms' of what a tenth of a second does not tell."""
    return f"{seconds * MS_PER_SECOND:.0f} ms" if seconds and seconds < _IN_MS else duration(seconds)
