"""How much of a metric a price is quoted for, so that people can read it: $0.58 per 1,000/s, not $0.00058 for one."""

from dataclasses import dataclass

from nephoscope.model.numbers import Between
from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.units import MIB

MIN_USD = 0.1
"""A readable price is at least this much."""
COUNTS = (1, 1_000, 1_000_000, 1_000_000_000)
_BASES = {"bit/s": (1e9, "Gbit/s"), "B/s": (float(MIB), "MiB/s")}
"""Units that people name by a multiple."""
_RATES = ("/s", "/min")
"""Nobody counts single ones of these."""


@dataclass(frozen=True)
class PricedQuantity:
    """`count` times a unit: '1,000 IO/s', 'Gbit/s', '1,000/s'."""

    count: int
    suffix: str
    """The unit as it follows the count: ' IO/s', '/s'; empty for a plain number."""
    size: float
    """The whole quantity in the metric's own unit."""

    @property
    def text(self) -> str:
        """For headings and sentences."""
        return f"{self.count:,}{self.suffix}" if self.needs_count else self.suffix.strip()

    def price(self, row: PricePerformance) -> Between:
        """What it costs a month, with its interval."""
        return Between(row.usd_per_unit * self.size, row.low * self.size, row.high * self.size)

    @property
    def needs_count(self) -> bool:
        """False where the unit says it all: 'per Gbit/s'."""
        return self.count > 1 or not self.suffix.startswith(" ")


def priced_quantity(unit: str, cheapest_usd_per_unit: float) -> PricedQuantity:
    """The smallest quantity for which the cheapest offer costs at least ten cents; of a rate at least 1,000 a second.

    Call it with the cheapest of all offers in a unit, so that a report has one quantity for each unit.
    """
    base, label = _BASES.get(unit, (1.0, unit))
    least = COUNTS[1] if base == 1 and label.endswith(_RATES) else COUNTS[0]
    fits = (count for count in COUNTS if count >= least and count * base * cheapest_usd_per_unit >= MIN_USD)
    count = next(fits, COUNTS[-1])
    plain = {"1": "", "1/s": "/s", "1/min": "/min"}
    return PricedQuantity(count, plain.get(label, f" {label}"), count * base)
