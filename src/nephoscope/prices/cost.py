"""The cost model: what a machine with its volumes costs a month, by an explicit formula that prints itself.

    machine month = hours x rate + size x rate + IOPS x rate + throughput x rate

`Method` says how many hours a month has and which machines count. A price that is missing makes the cost missing.
"""

import math
from collections.abc import Iterator
from datetime import date
from typing import Literal

from pydantic import Field

from nephoscope.model.errors import InputError
from nephoscope.model.frozen import Frozen
from nephoscope.model.price_rows import Part
from nephoscope.prices.book import ANY_REGION, Pick, PriceBook, agree
from nephoscope.prices.rows import Basis, Price, Unit

_BY_SIZE = (Unit.GB_MONTH, Unit.GIB_MONTH, Unit.GIB_HOUR)
_BY_IOPS = (Unit.IOPS_MONTH, Unit.IOPS_HOUR)
_BY_THROUGHPUT = (Unit.MIB_PER_S_MONTH, Unit.MB_PER_S_MONTH, Unit.MB_PER_S_HOUR)
_PER_HOUR = {Unit.HOUR, Unit.GIB_HOUR, Unit.IOPS_HOUR, Unit.MB_PER_S_HOUR, Unit.VCPU_HOUR}

Counted = Literal["one machine", "database machines", "all machines"]


class Method(Frozen):
    """How a month is counted."""

    name: str
    hours: float = Field(gt=0, description="of a month")
    counts: Counted

    def machines(self, database: int, load: int) -> int:
        """How many machines enter."""
        return {"one machine": 1, "database machines": database, "all machines": database + load}[self.counts]


METHODS = {
    method.name: method
    for method in (
        Method(name="default", hours=730, counts="database machines"),
        Method(name="cloud-report-2020", hours=720, counts="one machine"),
        Method(name="everything", hours=730, counts="all machines"),
    )
}
"""720 hours a month (24 x 30) and one machine are the only formula stated in the Cloud Reports' repository.

It does not say which machines the reports counted; $0.04 to 0.05 per transaction per minute in 2022 fits only the
database machines. `everything` is the real cost of a cluster with its load machines.
"""


class Volume(Frozen):
    """A volume as it is ordered: its size in the provider's unit, and what is provisioned above its kind's own."""

    item: str
    size: float = Field(gt=0, description="in GB or GiB, whichever the provider uses; disks of fixed size ignore it")
    iops: float = Field(default=0, ge=0, description="all provisioned IOPS, including those that the price includes")
    throughput: float = Field(
        default=0,
        ge=0,
        description="all provisioned MiB/s or MB/s, whichever the provider uses, including what the price includes",
    )
    count: int = Field(default=1, ge=1)


class MachineWithVolumes(Frozen):
    """One machine of a configuration, with its disks."""

    provider: str
    region: str
    type: str
    basis: Basis = Basis.ON_DEMAND
    terms: str | None = None
    volumes: tuple[Volume, ...] = ()


class Line(Frozen):
    """One product of the formula."""

    item: str
    """The type of the machine, or the kind of a volume."""
    part: Part | None = None
    """What of a volume is paid for."""
    amount: float
    unit: Unit
    hours: float | None
    price: Price
    elsewhere: str | None = Field(
        default=None, description="region whose price it is; None: the machine's own, or one for all regions"
    )
    discount_percent: float = Field(default=0, ge=0, lt=100)

    @property
    def what(self) -> str:
        """'m6i.2xlarge', 'gp3 size'."""
        return self.item if self.part is None else f"{self.item} {self.part}"

    @property
    def usd(self) -> float:
        """Amount x hours, where the price is by the hour, x rate."""
        return self.amount * (self.hours or 1) * self.rate_usd

    @property
    def rate_usd(self) -> float:
        """Of one unit, less the discount."""
        return self.price.usd * (1 - self.discount_percent / 100)

    def __str__(self) -> str:
        hours = f" × {self.hours:g} h" if self.hours else ""
        amount = f"{self.hours:g} h" if self.unit is Unit.HOUR else f"{self.amount:g} {_noun(self.unit)}{hours}"
        less = f" less {self.discount_percent:g} %" if self.discount_percent else ""
        place = f" (price of {self.elsewhere})" if self.elsewhere else ""
        return f"{self.what}: {amount} × ${self.price.usd:g}{place}{less} = ${self.usd:,.2f}"


class Bill(Frozen):
    """A month of `machines` equal machines."""

    method: Method
    machines: int
    lines: tuple[Line, ...]
    reasons_missing: tuple[str, ...] = ()

    @property
    def machine_usd(self) -> float | None:
        """A month of one machine; missing as soon as one price is."""
        return None if self.reasons_missing else math.fsum(line.usd for line in self.lines)

    @property
    def usd(self) -> float | None:
        """A month of all included machines."""
        one = self.machine_usd
        return None if one is None else one * self.machines

    @property
    def storage_share(self) -> float | None:
        """The volumes' share of the price, from 0 to 1."""
        one = self.machine_usd
        if not one:
            return None
        return math.fsum(line.usd for line in self.lines if line.unit is not Unit.HOUR) / one

    def discounted(self, percent: float) -> "Bill":
        """The same month with the machines' rate, and no volume's, less so many percent."""
        if not 0 <= percent < 100:
            raise InputError(f"a discount must be between 0 and 100 percent, found {percent:g}")
        lines = tuple(
            line.model_copy(update={"discount_percent": percent}) if line.unit is Unit.HOUR else line
            for line in self.lines
        )
        return self.model_copy(update={"lines": lines})

    def formula(self) -> str:
        """The formula in words, with its numbers, its sources and what is missing."""
        heading = (
            "machine month = hours × rate + size × rate + IOPS × rate + throughput × rate "
            f"({self.method.hours:g} hours, {self.method.counts}: {self.machines})"
        )
        text = [
            heading,
            *(f"  {line}  [{line.price.basis}, {line.price.date}, {line.price.source}]" for line in self.lines),
        ]
        text += [f"  missing: {reason}" for reason in self.reasons_missing]
        one, total = self.machine_usd, self.usd
        if one is not None and total is not None:
            text.append(f"  {self.machines} × ${one:,.2f} = ${total:,.2f} a month")
        return "\n".join(text)


def month(
    book: PriceBook, on: date, machine: MachineWithVolumes, method: Method, *, database: int = 1, load: int = 0
) -> Bill:
    """What a month costs, at the prices of a day. Load machines are taken to be of the same kind, where they count.

    What has no price in the machine's region has that of another one, and its line says so.
    """
    lines: list[Line] = []
    missing: list[str] = []

    def add(item: str, part: Part | None, amount: float, pick: Pick) -> None:
        if pick.reason_missing:
            missing.append(pick.reason_missing)
            return
        try:
            found = tiered(item, amount, pick.prices, method.hours, part)
            lines.extend(
                line.model_copy(update={"elsewhere": _elsewhere(line.price, machine.region)}) for line in found
            )
        except InputError as error:
            missing.append(error.message)

    place = (on, machine.provider, machine.region)
    asked = (*place, machine.type, machine.basis)
    rate = book.price_at(*asked, unit=Unit.HOUR, terms=machine.terms)
    far = (
        rate if rate.prices or rate.contradicted else book.price_elsewhere(*asked, unit=Unit.HOUR, terms=machine.terms)
    )
    add(machine.type, None, 1, far if far.prices else rate)
    for volume in machine.volumes:
        parts: tuple[tuple[Part, float, tuple[Unit, ...]], ...] = (
            ("size", billed_size(machine.provider, volume.item, volume.size), _BY_SIZE),
            ("IOPS", volume.iops, _BY_IOPS),
            ("throughput", volume.throughput, _BY_THROUGHPUT),
        )
        for part, amount, units in parts:
            if amount > 0:
                pick, fixed = _of_volume(book, place, volume.item, units)
                if fixed and part != "size":
                    continue  # a disk of fixed size has its IOPS and throughput in its price
                add(volume.item, part, (1 if fixed else amount) * volume.count, _times(pick, volume.count))
    return Bill(
        method=method,
        machines=method.machines(database, load),
        lines=tuple(lines),
        reasons_missing=tuple(missing),
    )


def _of_volume(book: PriceBook, place: tuple[date, str, str], item: str, units: tuple[Unit, ...]) -> tuple[Pick, bool]:
    """The price by one of the units, or of a disk of fixed size (then the second value is true)."""
    tried = [
        look(*place, item, Basis.ON_DEMAND, unit=unit)
        for look in (book.price_at, book.price_elsewhere)
        for unit in (*units, Unit.DISK_MONTH)
    ]
    for pick in tried:
        if pick.contradicted:
            return pick, False
        if pick.prices:
            return pick, pick.prices[0].unit is Unit.DISK_MONTH
    return Pick(reason_missing=f"{tried[0].reason_missing} ({' or '.join(units)})"), False


def _elsewhere(price: Price, region: str) -> str | None:
    return None if price.region in {region, ANY_REGION} else price.region


def _times(pick: Pick, count: int) -> Pick:
    """Tiers are of one volume: for several equal ones they are as many times as wide."""
    if count == 1:
        return pick
    wider = [
        price.model_copy(update={"above": price.above * count, "up_to": price.up_to and price.up_to * count})
        for price in pick.prices
    ]
    return Pick(prices=tuple(wider), reason_missing=pick.reason_missing)


def tiered(
    item: str, amount: float, tiers: tuple[Price, ...], hours: float, part: Part | None = None
) -> Iterator[Line]:
    """A line for each tier. What lies below the first tier is included in another price.

    Raises:
        InputError: the amount reaches past the last known tier, or into a gap.
    """
    reached = tiers[0].above
    for tier in tiers:
        if tier.above > reached and amount > reached:
            break
        end = min(amount, tier.up_to if tier.up_to is not None else amount)
        if end > tier.above:
            per_hour = hours if tier.unit in _PER_HOUR else None
            yield Line(item=item, part=part, amount=end - tier.above, unit=tier.unit, hours=per_hour, price=tier)
        reached = tier.up_to if tier.up_to is not None else math.inf
    if amount > reached:
        raise InputError(
            f"{tiers[0].place}: no price known above {reached:g} {_noun(tiers[0].unit)}, requested {amount:g}"
        )


def _noun(unit: Unit) -> str:
    """'IOPS' of 'IOPS-month'."""
    return unit.removesuffix("-month").removesuffix("-hour")


def discount_to_reach(wanted_usd: float, month_usd: float, *, storage_share: float) -> float | None:
    """The discount in percent on the machines alone, no volume, that brings a month down to so many dollars.

    0 when it costs no more already; None when even free machines would not do.
    """
    storage_usd = storage_share * month_usd
    if month_usd <= wanted_usd * (1 + 1e-12):
        return 0.0
    if wanted_usd <= storage_usd:
        return None
    return 100 * (1 - (wanted_usd - storage_usd) / (month_usd - storage_usd))


def break_even_hours(on_demand: Price, committed: Price, method: Method) -> float | None:
    """From how many hours of use a month a commitment is cheaper than on demand; none: not in any month.

    A commitment is paid for all hours, used or not.

    Raises:
        InputError: the prices are not both by the hour.
    """
    if on_demand.unit is not Unit.HOUR or committed.unit is not Unit.HOUR:
        raise InputError("break-even needs two hourly prices")
    if on_demand.usd <= committed.usd or agree(on_demand.usd, 0):
        return None
    return committed.usd * method.hours / on_demand.usd


_ULTRA = ("azure", "Ultra Disk")
_ULTRA_GIB = (4, 8, 16, 32, 64, 128, 256, 512)
"""Above these, each TiB (Azure, "Managed disk types": offered sizes of Ultra Disks, and that others are rounded up)."""
_TIB_GIB = 1024


def billed_size(provider: str, item: str, size: float) -> float:
    """The size that is paid for a disk of so many GB or GiB. IOPS and throughput have no steps."""
    if (provider, item) != _ULTRA:
        return size
    return next((step for step in _ULTRA_GIB if size <= step), math.ceil(size / _TIB_GIB) * _TIB_GIB)
