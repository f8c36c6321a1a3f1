"""What the bytes that went between the machines of a cluster cost a month: its own formula, which prints itself.

    transfer month = bytes a second x seconds of a month x rate

Providers sell transfer by its way. Which bytes of it they bill differs: on both ends, or on the sender's alone.
"""

import math
import re
from datetime import date
from enum import StrEnum

from nephoscope.model.errors import InputError
from nephoscope.model.frozen import Frozen
from nephoscope.model.units import GIB, SECONDS_PER_HOUR
from nephoscope.prices.book import Pick, PriceBook
from nephoscope.prices.cost import Line, Method, tiered
from nephoscope.prices.rows import Basis, Unit

BYTES = {Unit.GB: 1_000_000_000, Unit.GIB: GIB}


class Way(StrEnum):
    """Where the two ends stand."""

    SAME_ZONE = "same zone"
    BETWEEN_ZONES = "between zones"
    BETWEEN_REGIONS = "between regions"


_ITEMS = {
    Way.SAME_ZONE: ("same AZ, private IP",),
    Way.BETWEEN_ZONES: ("cross-AZ / intra-region, each direction", "intra-region", "inter-zone egress"),
    Way.BETWEEN_REGIONS: (
        "inter-region {here} -> {there}",
        "inter-region to {there}",
        "inter-region {here} -> other",
        "inter-region",
    ),
}
"""Names of paths in books and price lists, the closest first."""
_WITHIN_US = "inter-region within US"
_BOTH_ENDS = frozenset({"cross-AZ / intra-region, each direction", "intra-region"})
"""AWS bills each direction: a byte costs when it leaves and when it arrives."""
_US = re.compile(r"us-.+|.*us\d?")
"""Regions of the United States, as the three providers name them: us-east-1, us-east4, eastus2."""


class Leg(Frozen):
    """A price of one way, and whether both ends pay it."""

    pick: Pick
    both_ends: bool


class TransferBill(Frozen):
    """A month of one way."""

    usd: float | None
    formula: str
    reason_missing: str | None
    lines: tuple[Line, ...] = ()


def price_of_way(book: PriceBook, on: date, provider: str, way: Way, here: str, there: str) -> Leg:
    """The on-demand price of bytes that leave the region `here`, or the reason why there is none."""
    named = [(here, item.format(here=here, there=there)) for item in _ITEMS[way]]
    if way is not Way.SAME_ZONE and _US.fullmatch(here) and _US.fullmatch(there):
        named += [("us", _WITHIN_US if way is Way.BETWEEN_REGIONS else item) for item in _ITEMS[way]]
    reasons: list[str] = []
    for region, item in named:
        if not book.of_item(provider, region, item):
            continue
        pick = book.price_at(on, provider, region, item, Basis.ON_DEMAND)
        if pick.prices:
            return Leg(pick=pick, both_ends=item in _BOTH_ENDS)
        reasons.append(pick.reason_missing or "")
    what = f"{provider} {here}: transfer {way}"
    reason = f"{what}: {reasons[0]}" if reasons else f"{what}: not in the price book"
    return Leg(pick=Pick(reason_missing=reason), both_ends=False)


def transfer_lines(count_bytes: float, pick: Pick) -> tuple[Line, ...]:
    """The products of so many bytes one way, tier by tier; a GB is 10^9 bytes, a GiB 2^30.

    Raises:
        InputError: no transfer price, or more bytes than its tiers say a price for.
    """
    unit = pick.price.unit
    if unit not in BYTES:
        raise InputError(f"{pick.price.place} is billed by the {unit}, not by bytes")
    if count_bytes < 0:
        raise InputError(f"bytes must not be negative: {count_bytes:g}")
    return tuple(tiered("transfer", count_bytes / BYTES[unit], pick.prices, 1))


def transfer_usd(count_bytes: float, pick: Pick) -> float | None:
    """The price of so many bytes if nothing else was transferred that month; None: they have none."""
    try:
        return math.fsum(line.usd for line in transfer_lines(count_bytes, pick)) if pick.prices else None
    except InputError:
        return None


def transfer_month(way: str, bytes_per_s: float, pick: Pick, method: Method, note: str = "") -> TransferBill:
    """A month of bytes that are billed at so many a second, all month; `note` says how they were counted."""
    seconds = method.hours * SECONDS_PER_HOUR
    count_bytes = bytes_per_s * seconds
    text = [
        f"transfer month = bytes a second × seconds × rate ({method.hours:g} hours, the whole cluster)",
        f"  {way}: {bytes_per_s:,.0f} B/s × {seconds:,.0f} s = {count_bytes / BYTES[Unit.GB]:,.2f} GB",
    ]
    return _bill(text, note, count_bytes, pick, "a month")


def transfer_run(way: str, count_bytes: float, pick: Pick, note: str = "") -> TransferBill:
    """The bytes that one run is billed for; `note` says how they were counted."""
    text = ["transfer of a run = bytes × rate (the whole cluster)", f"  {way}: {count_bytes / BYTES[Unit.GB]:,.2f} GB"]
    return _bill(text, note, count_bytes, pick, "a run")


def _bill(text: list[str], note: str, count_bytes: float, pick: Pick, what: str) -> TransferBill:
    text = [*text, *([f"  {note}"] if note else [])]
    try:
        lines = transfer_lines(count_bytes, pick) if pick.prices else ()
        reason = pick.reason_missing
    except InputError as error:
        lines, reason = (), error.message
    if reason:
        return TransferBill(usd=None, formula="\n".join([*text, f"  missing: {reason}"]), reason_missing=reason)
    usd = math.fsum(line.usd for line in lines)
    text += [f"  {line}  [{line.price.basis}, {line.price.date}, {line.price.source}]" for line in lines]
    text.append(f"  ${usd:,.2f} {what}")
    return TransferBill(usd=usd, formula="\n".join(text), reason_missing=None, lines=lines)
