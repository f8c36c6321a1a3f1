"""Monthly cost of the measured bytes between machines: for the path they took, and for other possible paths.

Counters cover all interfaces except loopback while the benchmark ran. Only the bytes of the load machine go between
regions: the other machines talk to each other within their region.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import median
from typing import Literal

from nephoscope.model.errors import InputError
from nephoscope.model.price_rows import TransferRow
from nephoscope.model.rows import NetworkRow
from nephoscope.model.subjects import Subject
from nephoscope.prices.book import Pick, PriceBook
from nephoscope.prices.cost import METHODS, Method
from nephoscope.prices.offers import offer_of
from nephoscope.prices.rows import Price
from nephoscope.prices.transfer import Way, price_of_way, transfer_lines, transfer_month
from nephoscope.study.model import Configuration, Study

NO_WAY = "none"
LOAD = "load"


@dataclass(frozen=True)
class _Rates:
    """Bytes a second of one trial."""

    subject: Subject
    """Of its benchmark."""

    trial: str
    sent: float
    received: float
    load_sent: float
    load_received: float
    machines: int
    seconds: float
    """How long they were counted."""


def transfers_of(
    study: Study,
    names: Mapping[str, str],
    network: Sequence[NetworkRow],
    machines: Mapping[str, int],
    book: PriceBook,
    day: date,
) -> list[TransferRow]:
    """Rows for each configuration and benchmark with counters of all its machines, in the order of their table.

    Args:
        study: what was requested.
        names: configuration as analysed -> as the study names it.
        network: counters, by configuration as analysed.
        machines: trial id -> how many machines it had.
        book: prices.
        day: at whose prices.
    """
    asked = {one.name: one for one in study.configurations}
    cells: dict[tuple[str, str], list[_Rates]] = defaultdict(list)
    for (name, benchmark, trial), rows in _by_trial(network).items():
        if len(rows) == machines.get(trial):
            cells[name, benchmark].append(_rates(trial, rows))
    return [
        row
        for (name, benchmark), rates in sorted(cells.items())
        if names.get(name) in asked
        for row in _rows(name, benchmark, asked[names[name]], rates, METHODS[study.costs.method], book, day)
    ]


def months_of(transfers: Sequence[TransferRow]) -> dict[tuple[str, str], float]:
    """(configuration, benchmark) -> dollars a month on the ways where machines stood; only where each has a price."""
    legs: dict[tuple[str, str], list[float | None]] = defaultdict(list)
    for row in transfers:
        if row.stood:
            legs[row.configuration, row.benchmark].append(row.month_usd)
    return {key: math.fsum(usd or 0 for usd in many) for key, many in legs.items() if None not in many}


def _by_trial(network: Sequence[NetworkRow]) -> dict[tuple[str, str, str], list[NetworkRow]]:
    found: dict[tuple[str, str, str], list[NetworkRow]] = defaultdict(list)
    for row in network:
        if row.valid:
            found[row.configuration, row.benchmark, row.trial].append(row)
    return found


def _rates(trial: str, rows: Sequence[NetworkRow]) -> _Rates:
    load = [row for row in rows if row.role == LOAD]
    return _Rates(
        subject=rows[0].subject,
        trial=trial,
        sent=math.fsum(row.sent_bytes / row.sampled_s for row in rows),
        received=math.fsum(row.received_bytes / row.sampled_s for row in rows),
        load_sent=math.fsum(row.sent_bytes / row.sampled_s for row in load),
        load_received=math.fsum(row.received_bytes / row.sampled_s for row in load),
        machines=len(rows),
        seconds=max(row.sampled_s for row in rows),
    )


def _rows(
    name: str,
    benchmark: str,
    configuration: Configuration,
    rates: Sequence[_Rates],
    method: Method,
    book: PriceBook,
    day: date,
) -> Iterator[TransferRow]:
    for leg in _legs(configuration, rates, book, day):
        bytes_per_s = median(leg.billed)
        run_bytes = median(billed * one.seconds for billed, one in zip(leg.billed, rates, strict=True))
        bill = transfer_month(leg.way, bytes_per_s, leg.pick, method)
        price = leg.pick.prices[0] if leg.pick.prices else None
        yield TransferRow(
            configuration=name,
            benchmark=benchmark,
            subject=rates[0].subject,
            way=leg.way,
            here=leg.here,
            there=leg.there,
            billed=leg.what,
            stood=leg.stood,
            n=len(rates),
            bytes_per_s=bytes_per_s,
            month_usd=bill.usd,
            hours=method.hours,
            unit=price.unit if price else None,
            tiers=[_tier(one) for one in leg.pick.prices],
            formula=bill.formula,
            reason_missing=bill.reason_missing,
            price_row=price.id if price else None,
            source=price.source if price else None,
            date=price.date if price else None,
            trials=sorted(one.trial for one in rates),
            run_bytes=run_bytes,
            run_usd=_run_usd(run_bytes, leg.pick),
        )


def _run_usd(run_bytes: float, pick: Pick) -> float | None:
    """The price of one trial's bytes if nothing else was transferred that month; None where a month has none."""
    try:
        return math.fsum(line.usd for line in transfer_lines(run_bytes, pick)) if pick.prices else None
    except InputError:
        return None


def _tier(price: Price) -> str:
    return f"{price.above!r} {'-' if price.up_to is None else repr(price.up_to)} {price.usd!r}"


Billed = Literal["sent", "sent and received", "sent by load", "received by load"]


@dataclass(frozen=True)
class _Leg:
    way: str
    billed: list[float]
    """Bytes a second of each trial."""
    pick: Pick
    what: Billed = "sent"
    here: str | None = None
    there: str | None = None
    stood: bool = True


def _legs(configuration: Configuration, rates: Sequence[_Rates], book: PriceBook, day: date) -> Iterator[_Leg]:
    offer, load = offer_of(configuration), configuration.load_machine
    sent, received = [one.sent for one in rates], [one.received for one in rates]
    if offer is None:
        why = f"{configuration.provider} machines: their transfer has no price"
        yield _Leg(NO_WAY, sent, Pick(reason_missing=why))
        return
    if max(one.machines for one in rates) == 1:
        why = "one machine: what it sent did not go to another one of the cluster"
        yield _Leg(NO_WAY, sent, Pick(reason_missing=why), here=offer.region)
        return
    there = load.region if load and load.region else offer.region
    if there != offer.region:
        of_load: tuple[tuple[str, str, Billed, list[float]], ...] = (
            (there, offer.region, "sent by load", [one.load_sent for one in rates]),
            (offer.region, there, "received by load", [one.load_received for one in rates]),
        )
        for here, to, what, billed in of_load:
            price = price_of_way(book, day, offer.provider, Way.BETWEEN_REGIONS, here, to)
            yield _Leg(Way.BETWEEN_REGIONS, billed, price.pick, what, here=here, there=to)
        return
    for way in (Way.SAME_ZONE, Way.BETWEEN_ZONES):
        price = price_of_way(book, day, offer.provider, way, offer.region, offer.region)
        billed = [a + b for a, b in zip(sent, received, strict=True)] if price.both_ends else sent
        stood = way is Way.SAME_ZONE and configuration.zone is not None
        both: Billed = "sent and received" if price.both_ends else "sent"
        yield _Leg(way, billed, price.pick, both, here=offer.region, there=offer.region, stood=stood)
