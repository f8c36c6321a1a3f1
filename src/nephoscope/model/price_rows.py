"""Rows of the tables about dollars."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.numbers import Between
from nephoscope.model.records import Metric
from nephoscope.model.rows import Comparison
from nephoscope.model.subjects import CLUSTER, Extent, Subject
from nephoscope.model.units import GIB, MIB

ON_DEMAND = "on-demand"
STATED = "stated"
"""The basis of a price that the study states itself."""
COUNTS_ONE = "one machine"
"""What a method counts that includes one machine of a configuration, whatever ran on the others."""
OLD_PRICE_DAYS = 180
"""From this age on a price is marked: clouds add families of machines and change prices about twice a year."""


class CostRow(Frozen):
    """A month of one configuration under one basis, or why it has no price. costs.parquet."""

    configuration: str
    basis: str = Field(
        description="basis of the machines' price: on-demand, reserved-1y, ..., or 'stated' by the study"
    )
    terms: str = Field(description="payment option of a commitment, as far as the source says")
    provider: str | None
    region: str | None
    machine_type: str | None
    family: str | None = Field(description="'m6i', 'n2-standard', 'Ds_v5'")
    vcpus: int | None = Field(description="taken from the name of the type")
    method: str = Field(description="how a month is counted")
    hours: float = Field(description="per month")
    counted: str = Field(description="which machines are included")
    machines: int = Field(description="number of these machines")
    usd_per_hour: float | None = Field(
        description="price of one machine without volumes; of the cluster if the study states the price"
    )
    machine_month_usd: float | None = Field(
        description="price of one machine with its volumes; of the cluster if the study states the price"
    )
    month_usd: float | None = Field(description="price of all included machines")
    storage_share: float | None = Field(description="the volumes' share of the price, from 0 to 1")
    break_even_hours: float | None = Field(
        description="hours of use per month above which the commitment is cheaper than on-demand; None: never, or no "
        "price"
    )
    formula: str = Field(description="the formula as text, with prices, sources and what is missing")
    reason_missing: str | None
    price_row: str | None = Field(description="id of the machine's row in the price book")
    source: str | None
    date: str | None
    age_days: int | None = Field(description="age of the oldest of its prices on the day of the study")
    price_region: str | None = Field(
        default=None, description="region of the machine's price, where its own region has none; None: its own"
    )
    disputed: str | None = Field(
        default=None, description="the machine's price in another source, where neither is known to be wrong"
    )
    oldest: str | None = Field(
        default=None, description="what has the oldest price: the type of the machine, or the kind of a volume"
    )
    oldest_date: str | None = None

    @property
    def is_divisible(self) -> bool:
        """Whether a benchmark of fewer machines costs less.

        It does not where the study states a price, which is that of a cluster whose parts nobody knows.
        """
        return self.basis != STATED

    def machines_of(self, extent: Extent) -> int:
        """How many machines pay for a benchmark of this extent; a method that counts one counts no more of any."""
        if not self.is_divisible or extent.machines is None or self.counted == COUNTS_ONE:
            return self.machines
        return extent.machines

    def share_left_out(self, extent: Extent) -> float:
        """The volumes' share of a machine's price, where the benchmark does not use them; else 0."""
        return 0.0 if extent.volumes or not self.is_divisible else self.storage_share or 0.0

    def month_of(self, extent: Extent) -> float | None:
        """A month of the part of the configuration that a benchmark measures; None: it has no price."""
        if self.machine_month_usd is None or extent == CLUSTER:
            return self.month_usd
        return self.machines_of(extent) * self.machine_month_usd * (1 - self.share_left_out(extent))

    def storage_share_of(self, extent: Extent) -> float:
        """The volumes' share of that month, from 0 to 1."""
        return 0.0 if self.share_left_out(extent) else self.storage_share or 0.0


def bases_in_order(costs: Sequence[CostRow], named: Sequence[str]) -> list[str]:
    """Price bases on which something has a price. The first orders everything, and is the one where only one is shown.

    That is the first which the study names; if it names none, the one with prices of most configurations, and of
    several such one that commits nobody.
    """
    priced = Counter(cost.basis for cost in costs if cost.month_usd is not None)

    def place(basis: str) -> tuple[int, int, bool, bool]:
        if basis in named:
            return named.index(basis), 0, False, False
        return len(named), -priced[basis], basis != ON_DEMAND, basis != STATED

    return sorted(priced, key=place)


Part = Literal["size", "IOPS", "throughput"]


class CostLineRow(Frozen):
    """One product of the formula: amount x hours x rate. cost_lines.parquet."""

    configuration: str
    basis: str
    what: str = Field(description="for people: 'm6i.2xlarge', 'gp3 size'")
    amount: float
    unit: str
    hours: float | None = Field(description="None: the rate is per month")
    rate_usd: float
    usd: float = Field(description="per month, for one machine")
    price_row: str
    source: str
    licence: str
    date: str
    item: str = Field(default="", description="the machine's type, or the volume's kind")
    part: Part | None = Field(default=None, description="what of a volume is paid for; None: it is the machine")


class TransferRow(Frozen):
    """One month of the measured bytes between the machines of a cluster, in one direction. transfers.parquet."""

    configuration: str
    benchmark: str
    way: str = Field(description="'same zone', 'between zones', 'between regions', or 'none'")
    here: str | None = Field(description="region that the bytes leave")
    there: str | None
    stood: bool = Field(description="the machines were placed like this; False: what it would cost if they were")
    billed: Literal["sent", "sent and received", "sent by load", "received by load"] = Field(
        description="of all machines, or of the load machine alone"
    )
    n: int = Field(description="valid trials with counters of every machine")
    bytes_per_s: float = Field(title="Bytes per second", description="billed bytes: median of the trials")
    month_usd: float | None = Field(
        description="if it continues all month; None: no price, or no workload that anybody would run all month"
    )
    hours: float = Field(description="per month")
    unit: str | None = Field(description="'GB' of 10^9 bytes, or 'GiB' of 2^30")
    tiers: list[str] = Field(description="'above up_to dollars' for each tier, in its unit; '-': no upper end is known")
    formula: str
    reason_missing: str | None
    price_row: str | None
    source: str | None
    date: str | None
    trials: list[str]
    subject: Subject
    run_bytes: float | None = Field(
        default=None,
        description="billed bytes of one trial while it measured, without a search before: median of the trials",
    )
    run_usd: float | None = Field(default=None, description="price of these bytes, from the first tier up; None: none")


class PricePerformance(Frozen):
    """What one unit of a headline metric costs a month. price_performance.parquet.

    The cost is a constant, so the interval's ends are those of the level, divided by it.
    """

    configuration: str
    benchmark: str
    metric: str
    basis: str
    unit: str = Field(description="unit of the metric; dollars per month are for one of these")
    n: int
    month_usd: float = Field(description="of the machines that the benchmark measures")
    machines: int = Field(default=0, description="how many these are; 0: written before 0.2, all of the cost's")
    without_volumes: bool = Field(
        default=False, description="the month leaves out the machines' volumes, because the benchmark does not use them"
    )
    median: float = Field(description="of the metric, in its unit")
    usd_per_unit: float = Field(description="month_usd / level: $/tpmC where the metric is tpmC")
    low: float
    high: float
    coverage: float
    usd_per_unit_with_transfer: float | None = Field(
        description="(month_usd + transfer between the machines as placed) / level; None: that transfer has no price"
    )
    usd_per_million: float | None = Field(
        description="operations of machines that are busy all month; None: the metric counts no operations"
    )
    front: Literal["on it", "open", "behind"] = Field(
        description="position in cost against the level: no configuration is cheaper and better; open: one may be, "
        "but not for certain"
    )
    discount_to_lead_percent: float | None = Field(
        description="discount on its machines alone that would make it cost as little as the leader; 0: it leads; "
        "None: no discount does"
    )
    price_row: str | None
    source: str | None
    date: str | None
    trials: list[str]
    subject: Subject


class PriceComparison(Comparison):
    """Two configurations by performance per dollar, under one basis. price_comparisons.parquet."""

    basis: str


MIN_USD = 0.1
"""A readable price is at least this much."""
COUNTS = (1, 1_000, 1_000_000, 1_000_000_000)
_NAMED = {"bit/s": {"Gbit/s": 1e9}, "B/s": {"MiB/s": float(MIB), "GiB/s": float(GIB)}}
"""Units that people name by multiples, the smallest first."""
_RATES = ("/s", "/min")
"""Nobody counts single ones of these."""


def least_quantity(metric: Metric) -> int:
    """The least that a price is quoted for: of a rate 1,000 a second or minute."""
    return COUNTS[1] if metric.unit.endswith(_RATES) and metric.unit not in _NAMED else COUNTS[0]


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

    def of(self, metric: Metric) -> Self:
        """The same, saying what a rate counts."""
        return replace(self, suffix=f" {metric.counted}") if self.suffix in _RATES and metric.counted else self

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
    named = _NAMED.get(unit, {unit: 1.0})
    label, base = next(
        (one for one in named.items() if one[1] * cheapest_usd_per_unit >= MIN_USD), [*named.items()][-1]
    )
    least = COUNTS[1] if base == 1 and label.endswith(_RATES) else COUNTS[0]
    fits = (count for count in COUNTS if count >= least and count * base * cheapest_usd_per_unit >= MIN_USD)
    count = next(fits, COUNTS[-1])
    plain = {"1": "", "1/s": "/s", "1/min": "/min"}
    return PricedQuantity(count, plain.get(label, f" {label}"), count * base)
