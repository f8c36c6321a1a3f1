"""What transfer between zones and regions adds to a plan's dollars, at most: the bytes are known only later. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import fsum
from typing import Any, Protocol, runtime_checkable

from nephoscope.benchmarks.base import Benchmark
from nephoscope.model.subjects import Subject
from nephoscope.prices.book import PriceBook
from nephoscope.prices.offers import offer_of
from nephoscope.prices.transfer import Leg, Way, price_of_way, transfer_usd
from nephoscope.study.machines import two_regions, zone_count
from nephoscope.study.model import Configuration

BYTES_PER_GBIT = 1e9 / 8
NETWORK_GBIT_PER_S = 10
"""Assumed of a benchmark that fills the network: what small types of the clouds reach, between regions half of it."""
DATABASE_GBIT_PER_S = 1
"""Assumed of a database under load: 1,200 warehouses of TPC-C without waits stay far below."""


@runtime_checkable
class BoundsTraffic(Protocol):
    """A benchmark whose parameters bound what its machines send to each other."""

    def most_bytes_per_s(self, parameters: Any) -> float:
        """In both directions together."""


@dataclass(frozen=True)
class Sending:
    """One trial while its machines send each other anything."""

    configuration: Configuration
    bytes_per_s: float
    """At most; 0: its machines send each other nothing."""
    time_s: float
    """Of loading and measuring."""


@dataclass(frozen=True)
class TransferSpend:
    """One way between machines, over all trials that use it."""

    provider: str
    way: str
    """'between zones' or 'between regions'."""
    here: str
    there: str
    trials: int
    count_bytes: float
    """At most."""
    usd: float | None
    """At most, at the price of the dearer direction; None: no price is known."""
    price_usd: float | None
    """Of a `unit`, for the first of them."""
    unit: str | None
    both_ends: bool
    """The provider bills each byte where it leaves and where it arrives."""
    reason_missing: str | None


def transfers_of(rows: Sequence[Sending], book: PriceBook) -> list[TransferSpend]:
    """Each way, in the order of its first trial."""
    ways: dict[str, list[tuple[str, Way, str, str]]] = {}
    found: dict[tuple[str, Way, str, str], list[float]] = defaultdict(list)
    for row in (row for row in rows if row.bytes_per_s):
        name = row.configuration.name
        if name not in ways:
            ways[name] = list(_ways(row.configuration))
        for way in ways[name]:
            found[way].append(row.bytes_per_s * row.time_s)
    return [_spend(book, *way, sent) for way, sent in found.items()]


def most_bytes_per_s(benchmark: Benchmark, parameters: Any) -> float:
    """What a benchmark's machines send each other at most; 0: nothing."""
    if isinstance(benchmark, BoundsTraffic):
        return benchmark.most_bytes_per_s(parameters)
    subject = benchmark.subject_of(parameters)
    assumed: Mapping[Subject, float] = {Subject.NETWORK: NETWORK_GBIT_PER_S, Subject.DATABASE: DATABASE_GBIT_PER_S}
    return assumed.get(subject, 0) * BYTES_PER_GBIT


def _ways(configuration: Configuration) -> Iterator[tuple[str, Way, str, str]]:
    offer, regions = offer_of(configuration), two_regions(configuration)
    if offer is None:
        return
    if regions is not None:
        yield offer.provider, Way.BETWEEN_REGIONS, *regions
    if zone_count(configuration) > 1:
        yield offer.provider, Way.BETWEEN_ZONES, offer.region, offer.region


def _spend(book: PriceBook, provider: str, way: Way, here: str, there: str, sent: Sequence[float]) -> TransferSpend:
    """Of two directions, all bytes go the dearer one; one without a price has none."""
    ends = [(here, there)] if here == there else [(here, there), (there, here)]
    legs = [price_of_way(book, date.max, provider, way, *one) for one in ends]
    count_bytes = fsum(sent)
    priced = [(usd, leg) for leg in legs if (usd := _usd(leg, count_bytes)) is not None]
    usd, leg = max(priced, key=lambda one: one[0]) if len(priced) == len(legs) else (None, legs[0])
    reasons = [one.pick.reason_missing for one in legs if one.pick.reason_missing]
    return TransferSpend(
        provider=provider,
        way=way,
        here=here,
        there=there,
        trials=len(sent),
        count_bytes=count_bytes,
        usd=usd,
        price_usd=None if usd is None else leg.pick.price.usd,
        unit=None if usd is None else leg.pick.price.unit,
        both_ends=leg.both_ends,
        reason_missing=None if usd is not None else next(iter(reasons), "more bytes than the price list has tiers for"),
    )


def _usd(leg: Leg, count_bytes: float) -> float | None:
    return transfer_usd((2 if leg.both_ends else 1) * count_bytes, leg.pick)
