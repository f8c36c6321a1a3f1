"""Monthly costs of configurations from `prices`, with evidence for every item."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from nephoscope.analysis.renamed import names, started_unix_ms
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.price_rows import STATED, CostLineRow, CostRow
from nephoscope.model.subjects import CLUSTER, Extent
from nephoscope.prices.book import PriceBook
from nephoscope.prices.cost import METHODS, Bill, Line, Method, break_even_hours
from nephoscope.prices.offers import UNASKED, BasisBill, Offer, bills_of, offer_of
from nephoscope.prices.rows import Basis, Price, Unit
from nephoscope.study.machine_names import machine_name
from nephoscope.study.managed import is_managed
from nephoscope.study.model import Configuration, Study

COMMITMENTS = frozenset({Basis.RESERVED_1Y, Basis.RESERVED_3Y, Basis.SAVINGS_PLAN_1Y, Basis.SAVINGS_PLAN_3Y})


@dataclass(frozen=True)
class Costs:
    """The rows of both tables; `day` is the one at whose prices they are."""

    rows: list[CostRow]
    lines: list[CostLineRow]
    day: date


def day_of(study: Study, started_unix_ms: int | None) -> date:
    """The day whose prices apply: that in the study, or of its first trial, or of the newest prices."""
    if study.costs.date is not None:
        return date.fromisoformat(study.costs.date)
    return datetime.fromtimestamp(started_unix_ms / 1000, UTC).date() if started_unix_ms else date.max


def costs_of(study: Study, names: Mapping[str, str], book: PriceBook, day: date, claimed: Sequence[str] = ()) -> Costs:
    """A row for each configuration and basis, and for one without a price the reason.

    Args:
        study: configurations and method.
        names: configuration as analysed (a split one has its own name) -> as the study names it.
        book: prices.
        day: at whose prices.
        claimed: bases that claims are about, in addition to those of the study.
    """
    method = METHODS[study.costs.method]
    configurations = {one.name: one for one in study.configurations}
    asked = _bases_of(study, claimed)
    rows: list[CostRow] = []
    lines: list[CostLineRow] = []
    for name, original in sorted(names.items()):
        configuration = configurations.get(original)
        if configuration is None:
            continue
        offer = offer_of(configuration)
        if configuration.price_usd_per_hour is not None:
            rows.append(_stated(name, configuration, configuration.price_usd_per_hour, method, offer))
        bills = bills_of(offer, book, day, method, asked) if offer else []
        on_demand = bills_of(offer, book, day, method, [Basis.ON_DEMAND])[0] if offer else None
        rows += [_row(name, offer, found, on_demand, method, day) for found in bills if offer and on_demand]
        lines += [line for found in bills for line in _lines(name, found)]
        if not bills and configuration.price_usd_per_hour is None:
            what = "managed database" if is_managed(configuration) else f"{configuration.provider} machines"
            rows.append(_unpriced(name, method, f"{what}: no price given"))
    return Costs(rows, lines, day)


def _bases_of(study: Study, claimed: Sequence[str]) -> list[Basis] | None:
    """Those that somebody asks for; None: the usual ones."""
    if study.costs.bases is None and Basis.SPOT not in claimed:
        return None
    named: Sequence[str] = study.costs.bases or [basis for basis in Basis if basis not in UNASKED]
    return [Basis(name) for name in dict.fromkeys((*named, *claimed)) if name in {*Basis}]


def _row(name: str, offer: Offer, found: BasisBill, standard: BasisBill, method: Method, day: date) -> CostRow:
    """`standard`: the same on demand."""
    bill, line = found.bill, _machine_line(found.bill)
    machine = line.price if line else None
    on_demand = _machine_price(standard.bill)
    committed = found.basis in COMMITMENTS and machine is not None and on_demand is not None
    oldest = min(bill.lines, key=lambda line: line.price.since, default=None)
    said = machine_name(offer.provider, offer.type)
    return CostRow(
        configuration=name,
        basis=found.basis,
        terms=found.terms,
        provider=offer.provider,
        region=offer.region,
        machine_type=offer.type,
        family=said.family,
        vcpus=said.vcpus,
        method=method.name,
        hours=method.hours,
        counted=method.counts,
        machines=bill.machines,
        usd_per_hour=line.rate_usd if line else None,
        machine_month_usd=bill.machine_usd,
        month_usd=bill.usd,
        storage_share=bill.storage_share,
        break_even_hours=break_even_hours(on_demand, machine, method) if committed and on_demand and machine else None,
        formula=bill.formula(),
        reason_missing="; ".join(bill.reasons_missing) or None,
        price_row=machine.id if machine else None,
        source=machine.source if machine else None,
        date=machine.date if machine else None,
        age_days=(day - oldest.price.since).days if oldest and day != date.max else None,
        price_region=line.elsewhere if line else None,
        disputed=machine.other_price if machine else None,
        oldest=oldest.item if oldest else None,
        oldest_date=oldest.price.date if oldest else None,
    )


def _machine_line(bill: Bill) -> Line | None:
    return next((line for line in bill.lines if line.unit is Unit.HOUR), None)


def _machine_price(bill: Bill) -> Price | None:
    line = _machine_line(bill)
    return line.price if line else None


def _lines(name: str, found: BasisBill) -> Iterator[CostLineRow]:
    for line in found.bill.lines:
        yield CostLineRow(
            configuration=name,
            basis=found.basis,
            what=line.what,
            amount=line.amount,
            unit=line.unit,
            hours=line.hours,
            rate_usd=line.rate_usd,
            usd=line.usd,
            price_row=line.price.id,
            source=line.price.source,
            licence=line.price.licence,
            date=line.price.date,
            item=line.item,
            part=line.part,
        )


def _stated(
    name: str, configuration: Configuration, usd_per_hour: float, method: Method, offer: Offer | None
) -> CostRow:
    """A price stated in the study is for the whole cluster, or for a managed database, whatever the method includes."""
    month_usd = usd_per_hour * method.hours
    said = machine_name(offer.provider, offer.type) if offer else None
    what = configuration.price_basis or "basis not given"
    sold = "managed database" if is_managed(configuration) else "cluster"
    formula = (
        f"{sold} month = hours × rate ({method.hours:g} hours, the {sold} as the study prices it)\n"
        f"  {method.hours:g} h × ${usd_per_hour:g} = ${month_usd:,.2f} a month  [{what}]"
    )
    return CostRow(
        configuration=name,
        basis=STATED,
        terms=configuration.price_basis or "",
        provider=offer.provider if offer else configuration.provider,
        region=offer.region if offer else configuration.region,
        machine_type=offer.type if offer else configuration.database_machine.type,
        family=said.family if said else None,
        vcpus=said.vcpus if said else None,
        method=method.name,
        hours=method.hours,
        counted=f"the {sold}",
        machines=1,
        usd_per_hour=usd_per_hour,
        machine_month_usd=month_usd,
        month_usd=month_usd,
        storage_share=None,
        break_even_hours=None,
        formula=formula,
        reason_missing=None,
        price_row=None,
        source=f"the study file: {what}",
        date=None,
        age_days=None,
    )


def _unpriced(name: str, method: Method, reason: str) -> CostRow:
    nothing = dict.fromkeys(
        (
            *("provider", "region", "machine_type", "family", "vcpus", "usd_per_hour", "machine_month_usd"),
            *("month_usd", "storage_share", "break_even_hours", "price_row", "source", "date", "age_days"),
        )
    )
    return CostRow(
        configuration=name,
        basis=Basis.ON_DEMAND,
        terms="",
        method=method.name,
        hours=method.hours,
        counted=method.counts,
        machines=0,
        formula="",
        reason_missing=reason,
        **nothing,
    )


def months_by_basis(rows: Sequence[CostRow], extent: Extent = CLUSTER) -> dict[str, dict[str, float]]:
    """Basis of prices -> configuration -> dollars of a month; only those that have a price, and are not free.

    Args:
        rows: of whole configurations.
        extent: the part of them that is paid for.
    """
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        month_usd = row.month_of(extent)
        if month_usd:
            found[row.basis][row.configuration] = month_usd
    return dict(found)


def day(of: Workings) -> date:
    """The day whose prices apply."""
    return day_of(of.inputs.study, of(started_unix_ms))


def costs(of: Workings) -> Costs:
    """What each configuration costs, on the bases that the study or a claim asks for."""
    claimed = [claim.basis for claim in (of.inputs.claims.claims if of.inputs.claims else ()) if claim.per == "dollar"]
    return costs_of(of.inputs.study, of(names), of.inputs.book, of(day), claimed)


COSTS = Table("costs", CostRow, lambda of: of(costs).rows, order=lambda row: (row.configuration, row.basis))
COST_LINES = Table(
    "cost_lines",
    CostLineRow,
    lambda of: of(costs).lines,
    order=lambda row: (row.configuration, row.basis, row.what, row.price_row),
)
