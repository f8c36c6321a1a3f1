"""A configuration that is certainly behind most others, and how far."""

from dataclasses import dataclass
from typing import Self

from nephoscope.model.written import Written


@dataclass(frozen=True, order=True)
class Behind(Written):
    """One of few that are excluded where most may be the best."""

    configuration: str
    change_percent: float
    """Its level against the median of the levels of those that may be the best: -12.5 is an eighth lower."""

    def __str__(self) -> str:
        """'rack1-07: -12.5 %'."""
        return f"{self.configuration}: {self.change_percent:+.3g} %"

    @classmethod
    def read(cls, stored: str) -> Self:
        """See `Written`."""
        configuration, found, change = stored.rpartition(": ")
        if not found or not change.endswith(" %"):
            raise ValueError(f"{stored!r} names no configuration that is behind")
        return cls(configuration, float(change.removesuffix(" %")))
