"""What hours on a configuration cost: the price that a study states, else the book's, else the reason for none."""

import math
from datetime import date
from functools import lru_cache
from typing import Literal

from nephoscope.model.frozen import Frozen
from nephoscope.prices.book import PriceBook, shipped
from nephoscope.prices.cost import METHODS, Bill, MachineWithVolumes, Volume, month
from nephoscope.prices.offers import offer_of
from nephoscope.prices.rows import DISPUTED, Price
from nephoscope.study.managed import as_provided, is_managed
from nephoscope.study.model import Configuration
from nephoscope.study.provisioning import CLOUDS

_MONTH = METHODS["everything"]
"""Volumes are sold by the month; an hour costs a fraction of that."""


MissingKind = Literal["nobody states one", "not in the price book"]


class Missing(Frozen):
    """Why there is no price."""

    kind: MissingKind
    """The second: it is looked up by what the study names, and the book lacks that."""
    what: str

    def __str__(self) -> str:
        return self.what if self.kind == "nobody states one" else f"{self.what}, and no price given"


class Elsewhere(Frozen):
    """Something without a price in its own region."""

    region: str
    what: str
    price_of: str
    """The region whose price was taken."""

    def __str__(self) -> str:
        return f"{self.region}: {self.what} as in {self.price_of}"


class Quote(Frozen):
    """A price with its basis, or the reason why there is none. Never 0 for 'not known'."""

    price_usd: float | None
    basis: str | None
    missing: Missing | None = None
    elsewhere: tuple[Elsewhere, ...] = ()
    """What has no price in its own region."""
    listed_in: tuple[str, ...] = ()
    """Regions whose list prices the price book gave for all of it; empty: the study states a part of it."""


def quote(configuration: Configuration, hours: float, *, book: PriceBook | None = None, on: date = date.max) -> Quote:
    """The price of `hours` hours of the whole cluster, in US dollars; pure.

    Without a price in the study, the on-demand prices of its machines on the day `on` (default: the newest) in the
    book (default: the one that ships), where provider, region and every machine type are known.

    Raises:
        ValueError: negative hours.
    """
    if hours < 0:
        raise ValueError(f"hours must not be negative: {hours}")
    per_hour = configuration.price_usd_per_hour
    if per_hour is None:
        found = _listed(configuration, hours, book or shipped(), on)
    else:
        basis = configuration.price_basis or "price_usd_per_hour of the study; basis not given"
        found = Quote(price_usd=per_hour * hours, basis=basis)
    return _with_load_machine(found, configuration, hours, book, on) if is_managed(configuration) else found


def _listed(configuration: Configuration, hours: float, book: PriceBook, on: date) -> Quote:
    """The price by the book."""
    what = "local machine" if configuration.provider == "local" else f"provider {configuration.provider}"
    offer = offer_of(configuration)
    if offer is None or offer.provider not in book.providers or _load_is_unknown(configuration):
        return _no_price("nobody states one", f"{what}: no price given")
    regions = (offer.region, offer.load_region or offer.region)
    machines = (
        (regions[0], offer.type, offer.volumes, offer.database_machines),
        (regions[1], offer.load_type or offer.type, offer.load_volumes or (), offer.load_machines),
    )
    bills = [
        (count, _month(offer.provider, region, kind, volumes, book, on))
        for region, kind, volumes, count in machines
        if count
    ]
    missing = [reason for _, bill in bills for reason in bill.reasons_missing]
    if missing:
        return _no_price("not in the price book", missing[0])
    sources = "; ".join(sorted({_said(one.price) for _, bill in bills for one in bill.lines}))
    elsewhere = dict.fromkeys(
        Elsewhere(region=region, what=one.what, price_of=one.elsewhere)
        for region, (_, bill) in zip(regions, bills, strict=False)
        for one in bill.lines
        if one.elsewhere
    )
    listed_in = tuple(dict.fromkeys(regions))
    where = " and ".join(listed_in)
    storage = "and volumes" if offer.volumes or offer.load_volumes else "without storage"
    return Quote(
        price_usd=math.fsum(count * (bill.machine_usd or 0) for count, bill in bills) * hours / _MONTH.hours,
        basis="; ".join([f"on-demand, {where}, machines {storage} ({sources})", *map(str, elsewhere)]),
        elsewhere=tuple(elsewhere),
        listed_in=listed_in,
    )


def _with_load_machine(
    service: Quote, configuration: Configuration, hours: float, book: PriceBook | None, on: date
) -> Quote:
    """A managed database with the machine that drives it; one that nobody sells costs nothing more."""
    load = as_provided(configuration)
    if load.provider not in CLOUDS or service.price_usd is None:
        return service
    machine = quote(load, hours, book=book, on=on)
    if machine.price_usd is None:
        return machine
    return machine.model_copy(
        update={
            "price_usd": service.price_usd + machine.price_usd,
            "listed_in": (),
            "basis": f"the database: {service.basis}; its load machine: {machine.basis}",
        }
    )


def _said(price: Price) -> str:
    disputed = f", {DISPUTED}{price.other_price}" if price.other_price else ""
    return f"{price.source}, {price.date}{disputed}"


def _no_price(kind: MissingKind, what: str) -> Quote:
    return Quote(price_usd=None, basis=None, missing=Missing(kind=kind, what=what))


@lru_cache(maxsize=4096)
def _month(provider: str, region: str, kind: str, volumes: tuple[Volume, ...], book: PriceBook, on: date) -> Bill:
    """Cached: a study as large as a Cloud Report prices the same machine many times."""
    machine = MachineWithVolumes(provider=provider, region=region, type=kind, volumes=volumes)
    return month(book, on, machine, _MONTH)


def _load_is_unknown(configuration: Configuration) -> bool:
    """A load machine without a stated type, next to a database machine with one."""
    load = configuration.load_machine
    return load is not None and load.type is None and configuration.priced_as is None
