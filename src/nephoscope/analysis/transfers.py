"""Cost of the measured bytes between machines: for the path they took, and for other possible paths.

Of a database it is that of a month, of any other benchmark that of one run: nobody fills a network all month.

Counters cover all interfaces except loopback while the benchmark ran; they do not say to whom. Only the bytes of the
load machine go between regions: the other machines talk to each other within their region. In several zones, each
machine is taken to exchange as much with every machine that it talks to: load machines with database machines, these
also with each other.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import permutations
from statistics import median
from typing import Literal

from nephoscope.analysis.costs import day
from nephoscope.analysis.renamed import measurements, names, network
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.price_rows import TransferRow
from nephoscope.model.rows import BenchmarkRow, MeasurementRow, NetworkRow, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.prices.book import Pick, PriceBook
from nephoscope.prices.cost import METHODS, Method
from nephoscope.prices.offers import offer_of
from nephoscope.prices.rows import Price
from nephoscope.prices.transfer import Way, price_of_way, transfer_month, transfer_run, transfer_usd
from nephoscope.study.machines import database_places, load_places, two_regions, zone_count
from nephoscope.study.model import Configuration, Study

NO_WAY = "none"
LOAD = "load"
_BITS = 8
_BITS_PER_S = "bit/s"


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
    share: float
    """Of all bytes, those of the measurement itself: the others are of a search before it."""


def transfers_of(
    study: Study,
    names: Mapping[str, str],
    network: Sequence[NetworkRow],
    machines: Mapping[str, int],
    book: PriceBook,
    day: date,
    measured_bytes: Mapping[str, float] | None = None,
) -> list[TransferRow]:
    """Rows for each configuration and benchmark with counters of all its machines, in the order of their table.

    Args:
        study: what was requested.
        names: configuration as analysed -> as the study names it.
        network: counters, by configuration as analysed.
        machines: trial id -> how many machines it had.
        book: prices.
        day: at whose prices.
        measured_bytes: trial id -> what one machine sent to another while it measured, of trials that searched before;
            see `measured_bytes_of`.
    """
    asked = {one.name: one for one in study.configurations}
    cells: dict[tuple[str, str], list[_Rates]] = defaultdict(list)
    for (name, benchmark, trial), rows in _by_trial(network).items():
        if len(rows) == machines.get(trial):
            cells[name, benchmark].append(_rates(trial, rows, (measured_bytes or {}).get(trial)))
    return [
        row
        for (name, benchmark), rates in sorted(cells.items())
        if names.get(name) in asked
        for row in _rows(name, benchmark, asked[names[name]], rates, METHODS[study.costs.method], book, day)
    ]


def measured_bytes_of(benchmarks: Sequence[BenchmarkRow], measurements: Sequence[MeasurementRow]) -> dict[str, float]:
    """Trial id -> bytes of its measurement, of network benchmarks that search before they measure."""
    seconds = {
        (row.benchmark, metric.name): row.measured_s
        for row in benchmarks
        for metric in row.metrics
        if row.measured_s is not None and metric.headline and metric.unit == _BITS_PER_S
    }
    return {
        row.trial: row.value * seconds[row.benchmark, row.metric] / _BITS
        for row in measurements
        if row.at_s is None and (row.benchmark, row.metric) in seconds
    }


def months_of(transfers: Sequence[TransferRow], trials: Iterable[TrialRow]) -> dict[tuple[str, str], float]:
    """(configuration, benchmark) -> dollars a month on the ways where machines stood; only where each has a price.

    A benchmark that takes the trials of another one has its transfer, too.
    """
    legs: dict[tuple[str, str], list[float | None]] = defaultdict(list)
    for row in transfers:
        if row.stood:
            legs[row.configuration, row.benchmark].append(row.month_usd)
    months = {key: math.fsum(usd or 0 for usd in many) for key, many in legs.items() if None not in many}
    taken = ((row.configuration, row.benchmark, other) for row in trials for other in row.also)
    return months | {(name, other): months[name, own] for name, own, other in taken if (name, own) in months}


def _by_trial(network: Sequence[NetworkRow]) -> dict[tuple[str, str, str], list[NetworkRow]]:
    found: dict[tuple[str, str, str], list[NetworkRow]] = defaultdict(list)
    for row in network:
        if row.valid:
            found[row.configuration, row.benchmark, row.trial].append(row)
    return found


def _rates(trial: str, rows: Sequence[NetworkRow], measured_bytes: float | None) -> _Rates:
    most = max(row.sent_bytes for row in rows)
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
        share=1.0 if measured_bytes is None or not most else min(1.0, measured_bytes / most),
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
        run_bytes = median(billed * one.seconds * one.share for billed, one in zip(leg.billed, rates, strict=True))
        is_workload = rates[0].subject is Subject.DATABASE
        bill = (
            transfer_month(leg.way, bytes_per_s, leg.pick, method, leg.note)
            if is_workload
            else transfer_run(leg.way, run_bytes, leg.pick, leg.note)
        )
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
            month_usd=bill.usd if is_workload else None,
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
            run_usd=transfer_usd(run_bytes, leg.pick),
        )


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
    note: str = ""
    """How the bytes were counted, if that is not plain."""


def _legs(configuration: Configuration, rates: Sequence[_Rates], book: PriceBook, day: date) -> Iterator[_Leg]:
    offer = offer_of(configuration)
    sent, received = [one.sent for one in rates], [one.received for one in rates]
    if offer is None:
        why = f"{configuration.provider} machines: their transfer has no price"
        yield _Leg(NO_WAY, sent, Pick(reason_missing=why))
        return
    if max(one.machines for one in rates) == 1:
        why = "one machine: what it sent did not go to another one of the cluster"
        yield _Leg(NO_WAY, sent, Pick(reason_missing=why), here=offer.region)
        return
    shares = _shares(configuration)
    regions = two_regions(configuration)
    if regions is not None:
        there = regions[1]
        of_load: tuple[tuple[str, str, Billed, list[float]], ...] = (
            (there, offer.region, "sent by load", [one.load_sent for one in rates]),
            (offer.region, there, "received by load", [one.load_received for one in rates]),
        )
        for here, to, what, billed in of_load:
            price = price_of_way(book, day, offer.provider, Way.BETWEEN_REGIONS, here, to)
            yield _Leg(Way.BETWEEN_REGIONS, billed, price.pick, what, here=here, there=to)
        if shares is None or configuration.database_machine.count == 1:
            return
    for way in (Way.SAME_ZONE, Way.BETWEEN_ZONES):
        price = price_of_way(book, day, offer.provider, way, offer.region, offer.region)
        both: Billed = "sent and received" if price.both_ends else "sent"
        if shares is None:
            billed = [a + b for a, b in zip(sent, received, strict=True)] if price.both_ends else sent
            stood, note = way is Way.SAME_ZONE and _zones_are_known(configuration), ""
        else:
            billed = [_within(one, shares, way, both_ends=price.both_ends) for one in rates]
            stood, note = True, shares.note
        if max(billed) > 0 or shares is None:
            yield _Leg(way, billed, price.pick, both, here=offer.region, there=offer.region, stood=stood, note=note)


@dataclass(frozen=True)
class _Shares:
    """Shares of the pairs of machines in different zones of the database's region."""

    load: float | None
    """Of a load machine and a database machine; None: no load machine is in that region."""
    database: float

    @property
    def note(self) -> str:
        """What was assumed."""
        of_load = "" if self.load is None else f"{self.load:.0%} of the load's bytes, "
        return f"between zones: {of_load}{self.database:.0%} of those among database machines, by pairs of machines"


def _shares(configuration: Configuration) -> _Shares | None:
    """None: all machines of the database's region are in one zone, or the study does not say where."""
    if zone_count(configuration) < 2:
        return None
    database = [one.zone for one in database_places(configuration)]
    load = [one.zone for one in load_places(configuration)] if two_regions(configuration) is None else []
    between = [a != b for a in load for b in database]
    among = [a != b for a, b in permutations(database, 2)]
    return _Shares(
        load=sum(between) / len(between) if between else None,
        database=sum(among) / len(among) if among else 0.0,
    )


def _within(one: _Rates, shares: _Shares, way: Way, *, both_ends: bool) -> float:
    """Bytes a second within the database's region that took this way; counted twice where both ends pay."""
    of_load = one.load_sent + one.load_received
    ends = [one.sent, one.received] if both_ends else [one.sent]
    total = 0.0
    for counted in ends:
        among = max(0.0, counted - of_load)  # what a load machine sends or gets, a database machine gets or sends
        pairs = [(among, shares.database), *([(of_load, shares.load)] if shares.load is not None else [])]
        total += sum(count * (share if way is Way.BETWEEN_ZONES else 1 - share) for count, share in pairs)
    return total


def _zones_are_known(configuration: Configuration) -> bool:
    return all(one.zone is not None for one in (*database_places(configuration), *load_places(configuration)))


def transfers(of: Workings) -> list[TransferRow]:
    """What the bytes between machines cost, by configuration, benchmark and way."""
    return transfers_of(
        of.inputs.study,
        of(names),
        of(network),
        Counter(seen.trial for seen in of.inputs.machines),
        of.inputs.book,
        of(day),
        measured_bytes_of(of.inputs.benchmarks, of(measurements)),
    )


TRANSFERS = Table(
    "transfers",
    TransferRow,
    transfers,
    order=lambda row: (row.configuration, row.benchmark, row.way, row.here or "", row.there or ""),
)
