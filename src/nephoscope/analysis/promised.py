"""Delivered against promised: how each trial that was watched kept the rate that its volume was sold with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import Field

from nephoscope.analysis.costs import costs
from nephoscope.analysis.lookup import grouped
from nephoscope.analysis.renamed import measurements, trials
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.frozen import Frozen
from nephoscope.model.price_rows import CostRow, bases_in_order
from nephoscope.model.rows import BenchmarkRow, MeasurementRow
from nephoscope.model.written import Written
from nephoscope.prices.catalogue.advertised import Advertised, volume_iops
from nephoscope.stats.shortfalls import LEAST, kept


@dataclass(frozen=True)
class Span(Written):
    """Seconds since the start of a job, from the beginning of a shortfall to its end."""

    begin_s: float
    end_s: float

    def __str__(self) -> str:
        """'20.0 25.0'."""
        return f"{self.begin_s} {self.end_s}"

    @classmethod
    def read(cls, stored: str) -> Self:
        """See `Written`."""
        begin_s, end_s = map(float, stored.split(" "))
        return cls(begin_s, end_s)


class PromisedRow(Frozen):
    """One job of one finished trial, whether or not it counts. promised.parquet."""

    configuration: str
    benchmark: str
    metric: str = Field(description="the job's I/O rate")
    trial: str
    promised_iops: float
    promised_by: str = Field(description="the kind of volume, or 'study' where that states the rate")
    watched_s: int = Field(description="seconds whose rate is known")
    share_at_least: float = Field(description=f"of these seconds: with at least {LEAST:.0%} of the promised rate")
    lacking_share: float = Field(description="of the promised I/Os, second by second")
    shortfalls: list[Span] = Field(description="in order of time")
    longest_s: float = Field(description="of the shortfalls; 0: there was none")
    throttled_after_s: float | None = Field(description="when the one began that lasted to the end; None: none did")
    lacking_usd: float | None = Field(description="that share of a month of the volume; None: it has no price")
    basis: str | None = Field(description="of that price")


def sold_volume(configuration: Mapping[str, Any]) -> tuple[str, Advertised] | None:
    """Kind and I/O rate of the one volume of each database machine; None with several, or if nothing is known of it.

    Args:
        configuration: as a plan stores it.
    """
    machine: Mapping[str, Any] = configuration.get("database_machine") or {}
    limit = (machine.get("emulated") or {}).get("disk_iops")
    if limit is not None:
        return "disk", Advertised(limit, "provisioned")
    volumes: Sequence[Mapping[str, Any]] = machine.get("volumes") or ()
    if len(volumes) != 1 or volumes[0].get("count", 1) != 1:
        return None
    one = volumes[0]
    sold = volume_iops(configuration.get("provider", ""), one["kind"], one["size"], one.get("iops") or 0.0)
    return None if sold is None else (one["kind"], sold)


def _rows(of: Workings) -> Iterator[PromisedRow]:
    watched = {row.benchmark: row for row in of.inputs.benchmarks if row.parameters.get("promised_iops")}
    if not watched:
        return
    asked = {trial.intent.id: trial.intent.configuration for trial in of.inputs.plan.trials}
    basis = next(iter(bases_in_order(of(costs).rows, of.inputs.study.costs.bases or ())), None)
    months = {row.configuration: row for row in of(costs).rows if row.basis == basis}
    finished = {row.trial for row in of(trials) if row.state == "finished"}
    series = (row for row in of(measurements) if row.at_s is not None and row.benchmark in watched)
    for (trial, _), rows in grouped(series, lambda row: (row.trial, row.metric)).items():
        benchmark = watched[rows[0].benchmark]
        promise = _promise(benchmark, asked.get(trial, {}))
        if promise is not None and trial in finished:
            yield _row(sorted(rows, key=lambda row: row.at_s or 0.0), *promise, benchmark, months)


def _promise(benchmark: BenchmarkRow, configuration: Mapping[str, Any]) -> tuple[str, float] | None:
    stated = benchmark.parameters["promised_iops"]
    if stated != "provisioned":
        return "study", float(stated)
    sold = sold_volume(configuration)
    return None if sold is None else (sold[0], sold[1].value)


def _row(
    rows: Sequence[MeasurementRow],
    promised_by: str,
    promised_iops: float,
    benchmark: BenchmarkRow,
    months: Mapping[str, CostRow],
) -> PromisedRow:
    found, first = kept([row.value / promised_iops for row in rows]), rows[0]
    ends = [row.at_s or 0.0 for row in rows]  # each value is of the second before
    month = months.get(first.configuration)
    whole_usd = None if month is None or not month.storage_share else month.month_of(benchmark.extent)
    share = None if month is None else month.storage_share_of(benchmark.extent)
    return PromisedRow(
        configuration=first.configuration,
        benchmark=first.benchmark,
        metric=first.metric,
        trial=first.trial,
        promised_iops=promised_iops,
        promised_by=promised_by,
        watched_s=len(rows),
        share_at_least=found.share_at_least,
        lacking_share=found.lacking,
        shortfalls=[Span(ends[one.start] - 1, ends[one.end - 1]) for one in found.shortfalls],
        longest_s=float(found.longest_s),
        throttled_after_s=None if found.throttled_after is None else ends[found.throttled_after] - 1,
        lacking_usd=None if whole_usd is None or share is None else whole_usd * share * found.lacking,
        basis=None if month is None else month.basis,
    )


PROMISED = Table(
    "promised",
    PromisedRow,
    _rows,
    order=lambda row: (row.configuration, row.benchmark, row.metric, row.trial),
)
