"""What a faster failover costs a month, against what shorter outages save in a year of faults."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import Field

from nephoscope.analysis.costs import costs
from nephoscope.analysis.faults import FAULTS, FaultRow
from nephoscope.analysis.lookup import grouped
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.frozen import Frozen
from nephoscope.model.price_rows import bases_in_order
from nephoscope.model.units import SECONDS_PER_HOUR

MONTHS = 12


class OutageCostRow(Frozen):
    """A configuration beside the cheapest one with the same faults. outage_costs.parquet."""

    benchmark: str
    configuration: str
    than: str = Field(description="the cheapest configuration with a price")
    basis: str = Field(description="of both prices")
    month_usd: float
    more_usd: float = Field(description="a month, than the cheapest one")
    outage_s: float = Field(description="median of the longest outage that any client saw")
    saved_s: float = Field(description="of each fault, by the two medians; negative: its outages are longer")
    saved_low_s: float = Field(description="by the ends of the two intervals that are nearest to each other")
    saved_high_s: float | None = Field(description="by those farthest from each other; none: not known")
    faults_per_year: float = Field(description="as the study says")
    saved_s_per_year: float
    outage_usd_per_hour: float | None = Field(description="what an hour of outage costs, as the study says")
    saved_usd: float | None = Field(description="a month, at that cost; none: the study states none")
    pays_from_usd_per_hour: float | None = Field(
        description="what an hour of outage must cost for it to pay; none: its outages are not surely shorter"
    )
    trials: list[str]


def outage_costs_of(
    faults: Sequence[FaultRow],
    months_usd: Mapping[str, float],
    basis: str,
    faults_per_year: float,
    outage_usd_per_hour: float | None,
) -> list[OutageCostRow]:
    """Of each benchmark, the configurations with a price and a known outage; none where there is only one.

    Args:
        faults: of the study.
        months_usd: configuration -> what a month of it costs.
        basis: of these prices.
        faults_per_year: that each server suffers.
        outage_usd_per_hour: what an hour without the database costs; None: nobody said.
    """
    found = list[OutageCostRow]()
    for rows in grouped(faults, lambda row: row.benchmark).values():
        priced = [row for row in rows if row.configuration in months_usd and row.longest_outage_s is not None]
        priced.sort(key=lambda row: (months_usd[row.configuration], row.longest_outage_s, row.configuration))
        asked = (months_usd, basis, faults_per_year, outage_usd_per_hour)
        found += [_row(row, priced[0], *asked) for row in priced[1:]]
    return found


def _row(
    row: FaultRow,
    cheapest: FaultRow,
    months_usd: Mapping[str, float],
    basis: str,
    faults_per_year: float,
    outage_usd_per_hour: float | None,
) -> OutageCostRow:
    outage_s, high_s = row.longest_outage_s or 0.0, row.longest_outage_high_s
    saved_s = (cheapest.longest_outage_s or 0.0) - outage_s
    low_s = cheapest.longest_outage_low_s - (outage_s if high_s is None else high_s)
    farthest_s = cheapest.longest_outage_high_s
    more_usd = months_usd[row.configuration] - months_usd[cheapest.configuration]
    year_hours = saved_s * faults_per_year / SECONDS_PER_HOUR
    is_shorter = high_s is not None and low_s > 0
    return OutageCostRow(
        benchmark=row.benchmark,
        configuration=row.configuration,
        than=cheapest.configuration,
        basis=basis,
        month_usd=months_usd[row.configuration],
        more_usd=more_usd,
        outage_s=outage_s,
        saved_s=saved_s,
        saved_low_s=low_s,
        saved_high_s=None if farthest_s is None else farthest_s - row.longest_outage_low_s,
        faults_per_year=faults_per_year,
        saved_s_per_year=saved_s * faults_per_year,
        outage_usd_per_hour=outage_usd_per_hour,
        saved_usd=None if outage_usd_per_hour is None else outage_usd_per_hour * year_hours / MONTHS,
        pays_from_usd_per_hour=more_usd * MONTHS / year_hours if is_shorter else None,
        trials=sorted({*row.trials, *cheapest.trials}),
    )


def _rows(of: Workings) -> Iterator[OutageCostRow]:
    faults, asked = of(FAULTS.rows), of.inputs.study.costs
    if not faults:
        return
    rows = of(costs).rows
    basis = next(iter(bases_in_order(rows, asked.bases or ())), None)
    months = {row.configuration: row.month_usd for row in rows if row.basis == basis and row.month_usd is not None}
    if basis is not None:
        yield from outage_costs_of(faults, months, basis, asked.faults_per_year, asked.outage_usd_per_hour)


OUTAGE_COSTS = Table("outage_costs", OutageCostRow, _rows, order=lambda row: (row.benchmark, row.configuration))
