"""What a plan's hours and dollars go into, by chapter, and what a month of the data that it leaves costs. Pure.

The parts are estimated as the plan is: this goes through its trials in their order once more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from nephoscope.benchmarks.base import Benchmark
from nephoscope.model.records import Plan, PlannedTrial
from nephoscope.plan.calendar import Calendar, calendars
from nephoscope.plan.cut import chapter_of
from nephoscope.plan.preparation import Before, HasDataSet, Setup, load_s
from nephoscope.plan.transfer import Sending, TransferSpend, most_bytes_per_s, transfers_of
from nephoscope.prices.book import PriceBook, shipped
from nephoscope.prices.kept import objects_usd, snapshots_usd
from nephoscope.prices.quote import quote
from nephoscope.study.address import Bucket, bucket_of
from nephoscope.study.managed import ProvidedOnce, provider_of_machines, study_as_provided
from nephoscope.study.model import Configuration, Study
from nephoscope.study.provisioning import CLOUDS
from nephoscope.study.snapshots import COPIES, SnapshotPlace, layout_of, place_of, stored_bytes


@dataclass(frozen=True)
class KeptData:
    """Data sets in one place, until somebody deletes them."""

    where: str
    """'aws bucket/folder', or 'snapshots of aws us-east-1'."""
    data_sets: int
    """One for each kind of machines that it fits."""
    size_bytes: float
    """At most: a backup is compressed, and holds one copy of the data; a snapshot all copies, as they are stored."""
    usd_per_month: float | None
    """By list prices in the USA; None: there is no price."""


def kept_data(used: Iterable[tuple[Configuration, int]], book: PriceBook) -> list[KeptData]:
    """By place, in the order of the plan; data sets of one size count as one, as they do for the hours of loads.

    Args:
        used: configuration and size in bytes of the data set of each trial; 0: it has none.
        book: of prices.
    """
    sizes: dict[Bucket | SnapshotPlace, dict[tuple[object, ...], float]] = {}
    for configuration, size_bytes in used:
        bucket, place = bucket_of(configuration.database.fixtures or ""), place_of(configuration)
        machines = configuration.database_machine.count
        if not size_bytes:
            continue
        if place is not None:
            fits = (size_bytes, layout_of(configuration))
            sizes.setdefault(place, {})[fits] = machines * stored_bytes(size_bytes, machines)
        elif bucket is not None:
            machines = machines if bucket.holds_stores else 1
            # stores fit clusters of as many machines only; a backup fits all
            sizes.setdefault(bucket, {})[size_bytes, machines] = size_bytes * min(COPIES, machines)
    return [
        KeptData(str(where), len(found), sum(found.values()), _month_usd(where, sum(found.values()), book))
        for where, found in sizes.items()
    ]


def _month_usd(where: Bucket | SnapshotPlace, size_bytes: float, book: PriceBook) -> float | None:
    if isinstance(where, Bucket):
        return objects_usd(where.provider, size_bytes)
    return snapshots_usd(book, where.provider, where.region, size_bytes)


FULL_BLOCKS = 3
"""Blocks that are always measured in full."""
LATER_SHARE = 0.25
"""Of the trials of later blocks: what simulated studies needed, see docs/concepts/statistics.md."""
EVERYTHING = "all"


@dataclass(frozen=True)
class Spend:
    """Time, one trial after another, and money."""

    time_s: float
    usd: float | None
    """None: a configuration has no price."""


@dataclass(frozen=True)
class BillRow:
    """Where the time and the money of one chapter go."""

    chapter: str
    """'all': the whole plan."""
    trials: int
    creating: Spend
    """Creating and deleting clusters."""
    loading: Spend
    """Loading data sets, and restoring those that were loaded before."""
    measuring: Spend
    """The benchmarks themselves, with their ramps."""

    @property
    def total(self) -> Spend:
        """All three."""
        parts = (self.creating, self.loading, self.measuring)
        prices_usd = [part.usd for part in parts if part.usd is not None]
        usd = fsum(prices_usd) if len(prices_usd) == len(parts) else None
        return Spend(time_s=fsum(part.time_s for part in parts), usd=usd)


@dataclass(frozen=True)
class Loads:
    """How often data sets are loaded from nothing. All other trials restore what was loaded before."""

    trials: int
    """That need a data set."""
    loads: int
    restoring: Spend
    """Of each trial's own copy, from a backup or from what was loaded just before."""
    saved: Spend
    """By backups and kept clusters, compared with a load in each trial."""
    avoidable: Spend
    """Loads of a data set that `database.fixtures` could have kept."""
    avoidable_at: list[str]
    """Providers where that is so."""


@dataclass(frozen=True)
class Decided:
    """What `stop = "decided"` is expected to measure."""

    trials: int
    expected: Spend
    saved: Spend
    """Compared with every trial of the plan."""


@dataclass(frozen=True)
class Bill:
    """The whole bill."""

    chapters: list[BillRow]
    """In the order of the study."""
    benchmarks: list[BillRow]
    """The same for each benchmark, whose name takes the chapter's place."""
    total: BillRow
    """Its time is that of clusters."""
    machine_time_s: float
    """That of all their machines, which is what clouds bill."""
    loads: Loads | None
    """None: no machines are created, or nothing loads data."""
    decided: Decided | None
    """None: fewer than four blocks, so that `stop = "decided"` saves nothing."""
    calendar: list[Calendar]
    """From start to end with several clusters at once; empty: not all machines are those of clouds."""
    basis: list[str]
    """Of the dollars: prices and their sources, each once."""
    listed_in: list[str]
    """Regions whose list prices are among them."""
    stated: list[str]
    """Those of `basis` that the study states."""
    transfers: list[TransferSpend]
    """Between zones and regions, which the dollars above do not include."""
    kept: list[KeptData]
    """Data sets that stay in object storage or snapshots, which the dollars above do not include either."""


@dataclass(frozen=True)
class _Priced:
    """One trial, taken apart."""

    planned: PlannedTrial
    benchmark: str
    chapter: str
    fixture_bytes: int
    before: Setup
    sending: Sending
    usd_per_s: float | None


def bill_of(study: Study, plan: Plan, benchmarks: Mapping[str, Benchmark], shared: Mapping[str, str | None]) -> Bill:
    """The bill of a study's plan, or of the plan of a part of it; `shared` is what `clusters_of` finds for it."""
    rows = _priced(plan, benchmarks, shared)
    chapters, names = dict.fromkeys(row.chapter for row in rows), dict.fromkeys(row.benchmark for row in rows)
    used = {row.planned.intent.configuration_name for row in rows}
    quotes = [quote(one, 1) for one in study.configurations if one.name in used]
    providers = {one.provider for one in study_as_provided(study).configurations if one.name in used}
    return Bill(
        chapters=[_row(name, [row for row in rows if row.chapter == name]) for name in chapters],
        benchmarks=[_row(name, [row for row in rows if row.benchmark == name]) for name in sorted(names)],
        total=_row(EVERYTHING, rows),
        machine_time_s=fsum(_machines(row.sending.configuration) * row.planned.expected_duration_s for row in rows),
        loads=_loads(rows),
        decided=_decided(rows),
        calendar=calendars(plan, shared) if providers <= CLOUDS else [],
        basis=list(dict.fromkeys(one.basis for one in quotes if one.basis)),
        listed_in=list(dict.fromkeys(region for one in quotes for region in one.listed_in)),
        stated=list(dict.fromkeys(one.basis for one in quotes if one.basis and not one.listed_in)),
        transfers=transfers_of([row.sending for row in rows], shipped()),
        kept=kept_data(((row.sending.configuration, row.fixture_bytes) for row in rows), shipped()),
    )


def _priced(plan: Plan, benchmarks: Mapping[str, Benchmark], shared: Mapping[str, str | None]) -> list[_Priced]:
    configurations = ProvidedOnce()
    said: dict[str, tuple[str, int, float]] = {}
    before = Before()
    rows = []
    for use in {planned.intent.benchmark.name: planned.intent.benchmark for planned in plan.trials}.values():
        benchmark = benchmarks[use.uses]
        parameters = benchmark.parameters.model_validate(use.parameters)
        size_bytes = benchmark.fixture_bytes(parameters) if isinstance(benchmark, HasDataSet) else 0
        said[use.name] = chapter_of(benchmark, parameters), size_bytes, most_bytes_per_s(benchmark, parameters)
    largest: dict[str | None, int] = {}
    for intent in (planned.intent for planned in plan.trials):
        largest[shared[intent.id]] = max(largest.get(shared[intent.id], 0), said[intent.benchmark.name][1])
    for planned in plan.trials:
        cluster = shared[planned.intent.id]
        chapter, size_bytes, bytes_per_s = said[planned.intent.benchmark.name]
        configuration = configurations.of(planned.intent.configuration)
        carried = size_bytes if cluster is None else largest[cluster]
        setup = before.of(configuration, size_bytes, cluster, carried_bytes=carried)
        whole_s, usd = planned.expected_duration_s, planned.price_usd
        per_s = None if usd is None else usd / whole_s if whole_s else 0.0
        sending = Sending(configuration, bytes_per_s, whole_s - setup.make_s)
        rows.append(_Priced(planned, planned.intent.benchmark.name, chapter, size_bytes, setup, sending, per_s))
    return rows


def _machines(configuration: Configuration) -> int:
    load = configuration.load_machine
    return configuration.database_machine.count + (load.count if load is not None else 0)


def _row(name: str, rows: Sequence[_Priced]) -> BillRow:
    return BillRow(
        chapter=name,
        trials=len(rows),
        creating=_sum((row.before.make_s, row.usd_per_s) for row in rows),
        loading=_sum((row.before.load_s + row.before.restore_s, row.usd_per_s) for row in rows),
        measuring=_sum((row.planned.expected_duration_s - row.before.total_s, row.usd_per_s) for row in rows),
    )


def _sum(parts: Iterable[tuple[float, float | None]]) -> Spend:
    """Of seconds, and of seconds times dollars a second."""
    found = list(parts)
    known = [time_s * per_s for time_s, per_s in found if per_s is not None]
    return Spend(time_s=fsum(time_s for time_s, _ in found), usd=fsum(known) if len(known) == len(found) else None)


def _loads(rows: Sequence[_Priced]) -> Loads | None:
    with_data = [row for row in rows if row.before.load_s or row.before.restore_s]
    if not with_data:
        return None
    avoidable = [row for row in with_data if row.before.reload_s]
    return Loads(
        trials=len(with_data),
        loads=sum(row.before.load_s > 0 for row in with_data),
        restoring=_sum((row.before.restore_s, row.usd_per_s) for row in with_data),
        saved=_sum(
            (load_s(row.sending.configuration, row.fixture_bytes), row.usd_per_s)
            for row in with_data
            if not row.before.load_s
        ),
        avoidable=_sum((row.before.reload_s, row.usd_per_s) for row in avoidable),
        avoidable_at=sorted({provider_of_machines(row.planned.intent.configuration) for row in avoidable}),
    )


def _decided(rows: Sequence[_Priced]) -> Decided | None:
    """Three blocks in full and a share of the others."""
    measured = [(row, LATER_SHARE if row.planned.intent.block > FULL_BLOCKS else 1.0) for row in rows]
    rest = [(row, share) for row, share in measured if share < 1]
    if not rest:
        return None
    return Decided(
        trials=round(sum(share for _, share in measured)),
        expected=_sum((share * row.planned.expected_duration_s, row.usd_per_s) for row, share in measured),
        saved=_sum(((1 - share) * row.planned.expected_duration_s, row.usd_per_s) for row, share in rest),
    )
