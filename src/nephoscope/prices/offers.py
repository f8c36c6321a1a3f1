"""What a configuration is sold as, and what a month of it costs under each basis."""

from collections.abc import Mapping, Sequence
from datetime import date

from nephoscope.model.frozen import Frozen
from nephoscope.prices.book import PriceBook
from nephoscope.prices.cost import Bill, MachineWithVolumes, Method, Volume, month
from nephoscope.prices.rows import Basis, Price
from nephoscope.study.machines import GCP_LOCAL_SSD_GIB
from nephoscope.study.managed import is_managed
from nephoscope.study.model import Configuration, Machine
from nephoscope.study.model import Volume as Ordered

MADE_HERE = frozenset({"local", "fake"})
"""Providers whose machines are not for sale."""

USUAL = (Basis.ON_DEMAND, Basis.RESERVED_1Y, Basis.RESERVED_3Y)
"""Bases that a report shows, or explains why it cannot, if its study names none."""
UNASKED = frozenset({Basis.NOT_STATED, Basis.SPOT})
"""Bases of no price unless a study asks for it: nobody knows the first, and the second changes from day to day."""

ALL_MONTH = "used all month, by Google's documented tiers"
"""Terms of sustained use where the book has no price of it: the on-demand price less the documented discount."""

_SELLS_LOCAL_SSDS = "gcp"
_LOCAL_SSD = "local SSD"
"""As the price book names it."""


class Offer(Frozen):
    """What is looked up in the price book for a configuration."""

    provider: str
    region: str
    type: str
    volumes: tuple[Volume, ...] = ()
    """Of each database machine."""
    load_volumes: tuple[Volume, ...] | None = None
    """None: nobody says."""
    database_machines: int = 1
    load_machines: int = 0
    load_type: str | None = None
    """None: there is none, or it is of the same type."""
    load_region: str | None = None
    """None: there is none, or it is in the same region."""


def offer_of(configuration: Configuration) -> Offer | None:
    """As `priced_as` says, else by provider, region and machine type; None: nobody sells it, as far as is known.

    Of a managed database it is the service alone: its load machine is an offer of its own.
    """
    database = configuration.database_machine
    load = None if is_managed(configuration) else configuration.load_machine
    counts = {"database_machines": database.count, "load_machines": load.count if load else 0}
    load_type = load.type if load else None
    said = configuration.priced_as
    if said is not None:
        return Offer(
            provider=said.provider,
            region=said.region,
            type=said.type,
            volumes=_priced(said.volumes),
            load_volumes=None,
            load_type=load_type if load_type != said.type else None,
            load_region=load.region if load and load.region != said.region else None,
            **counts,
        )
    if is_managed(configuration) or configuration.provider in MADE_HERE:
        return None
    if configuration.region is None or database.type is None:
        return None
    return Offer(
        provider=configuration.provider,
        region=configuration.region,
        type=database.type,
        volumes=_ordered(database, configuration.provider),
        load_volumes=_ordered(load, configuration.provider) if load else None,
        load_type=load_type if load_type != database.type else None,
        load_region=load.region if load and load.region != configuration.region else None,
        **counts,
    )


def _priced(volumes: Sequence[Ordered]) -> tuple[Volume, ...]:
    return tuple(
        Volume(item=one.kind, size=one.size, iops=one.iops, throughput=one.throughput, count=one.count)
        for one in volumes
    )


def _ordered(machine: Machine, provider: str) -> tuple[Volume, ...]:
    """Volumes, and local SSDs where they are no part of a machine's price."""
    local = machine.local_ssds if provider == _SELLS_LOCAL_SSDS else None
    ssds = (Volume(item=_LOCAL_SSD, size=GCP_LOCAL_SSD_GIB, count=local),) if local else ()
    return (*_priced(machine.volumes or ()), *ssds)


class BasisBill(Frozen):
    """A month under one basis, and the terms of its price."""

    basis: Basis
    terms: str
    bill: Bill


def bills_of(
    offer: Offer, book: PriceBook, on: date, method: Method, bases: Sequence[Basis] | None = None
) -> list[BasisBill]:
    """A bill for each of the bases, in their order.

    Of several terms those of the newest price are taken. A bill without a price says what is missing. Sustained use is
    in the book, or is computed from the on-demand price where Google documents a discount; never guessed.

    Args:
        offer: what is looked up.
        book: prices.
        on: at the prices of which day.
        method: how a month is counted.
        bases: that a study asks for; None: the usual ones, and all others of which the book has a price but spot.
    """
    newest: dict[Basis, Price] = {}
    for row in book.of_item(offer.provider, offer.region, offer.type):
        if row.disputed or row.unexplained_zero or row.ended(on):
            continue
        newest[row.basis] = max(
            newest.get(row.basis, row), row, key=lambda one: (one.since <= on, one.since, one.terms)
        )

    def bill(basis: Basis) -> BasisBill:
        terms = newest[basis].terms if basis in newest else ""
        return BasisBill(basis=basis, terms=terms, bill=_bill(offer, book, on, method, basis, terms))

    if bases is None:
        bases = [basis for basis in Basis if basis in {*USUAL, *newest} - UNASKED]
        percent = sustained_use_percent(offer.provider, offer.type)
        bases += [] if percent is None or Basis.SUSTAINED_USE in newest else [Basis.SUSTAINED_USE]
    found = [
        _sustained(bill(Basis.ON_DEMAND), offer)
        if basis is Basis.SUSTAINED_USE and basis not in newest
        else bill(basis)
        for basis in bases
    ]
    return [one for one in found if one is not None]


def _sustained(on_demand: BasisBill, offer: Offer) -> BasisBill | None:
    """None: Google documents no discount, or there is no price to take it from."""
    percent = sustained_use_percent(offer.provider, offer.type)
    if percent is None or on_demand.bill.usd is None:
        return None
    return BasisBill(basis=Basis.SUSTAINED_USE, terms=ALL_MONTH, bill=on_demand.bill.discounted(percent))


def _bill(offer: Offer, book: PriceBook, on: date, method: Method, basis: Basis, terms: str) -> Bill:
    machine = MachineWithVolumes(
        provider=offer.provider,
        region=offer.region,
        type=offer.type,
        basis=basis,
        terms=terms,
        volumes=offer.volumes,
    )
    bill = month(book, on, machine, method, database=offer.database_machines, load=offer.load_machines)
    unlike = _unlike(offer) if method.counts == "all machines" else None
    return bill if unlike is None else bill.model_copy(update={"reasons_missing": (*bill.reasons_missing, unlike)})


def _unlike(offer: Offer) -> str | None:
    """Why a formula for machines of one kind cannot count the load machine; None: it can."""
    if offer.load_type is not None:
        return f"the load machine {offer.load_type} has another type, but the formula supports only one"
    if offer.load_region is not None:
        return f"the load machine is in {offer.load_region}, but the formula supports only one region"
    if offer.load_volumes not in {None, offer.volumes}:
        return "the load machine's disks differ from the database machines', but the formula supports only one kind"
    return None


UP_TO_30_PERCENT = (1.0, 0.8, 0.6, 0.4)
UP_TO_20_PERCENT = (1.0, 0.8678, 0.733, 0.6)
"""Share of the on-demand rate in each quarter of a month."""
SERIES: Mapping[str, tuple[float, ...]] = {
    **dict.fromkeys(("n1", "m1", "m2", "f1", "g1"), UP_TO_30_PERCENT),
    **dict.fromkeys(("n2", "n2d", "c2"), UP_TO_20_PERCENT),
}
"""Machine series with a discount; all others have none."""
PROVIDER = "gcp"


def sustained_use_percent(provider: str, machine_type: str) -> float | None:
    """The discount on a machine that is used all month, in percent of its on-demand price; None: none is documented."""
    tiers = SERIES.get(machine_type.partition("-")[0]) if provider == PROVIDER else None
    return None if tiers is None else 100 * (1 - sum(tiers) / len(tiers))
