"""What the faults of each benchmark cost on each configuration, over all faults of its valid trials."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from pydantic import Field

from nephoscope.analysis.lookup import grouped
from nephoscope.analysis.renamed import measurements, trials
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import OF_OUTAGE, WRITES_ACKNOWLEDGED, WRITES_LOST
from nephoscope.model.rows import MeasurementRow
from nephoscope.stats.median import least_n, median_interval
from nephoscope.stats.proportion import proportion_interval

_ONE_SIDED = 0.90
"""Confidence of an interval whose upper end alone is used: 95 % of that end."""
Level = Literal["outages", "runs", "machines"]


class FaultRow(Frozen):
    """The faults of one kind on one configuration. Each number is a median, as in `fault_quantities`; None: not known.

    faults.parquet.
    """

    benchmark: str
    configuration: str
    fault: str = Field(description="its kind, as kill or pause")
    victim: str = Field(description="primary, replica or any")
    faults: int = Field(description="of valid trials")
    trials: list[str] = Field(description="that they are of")
    lasted_s: float | None = Field(default=None, description="from just before it was applied until it was undone")
    longest_outage_s: float | None = Field(description="that any client saw; none: it did not end in most of them")
    longest_outage_low_s: float = Field(description="of the interval of order statistics")
    longest_outage_high_s: float | None = Field(description="of that interval; none: it is not known")
    coverage: float = Field(description="of that interval")
    interval_of: Level = Field(
        default="outages",
        description="what that interval takes for independent: medians of machines or of runs, where there are at "
        "least six, else single outages, so that it holds for these runs alone",
    )
    clients_hit_share: float | None = Field(description="clients that saw an outage")
    time_at_zero_s: float | None = Field(description="in which nothing was completed")
    time_slow_s: float | None = Field(description="below 80 % of the usual rate")
    time_to_usual_rate_s: float | None = Field(description="until a second with 95 % of it")
    time_to_complete_copies_s: float | None = Field(
        description="until all servers were up and all copies complete; none: not known"
    )
    throughput_during_share: float | None = Field(description="of the usual rate, while the fault lasted")
    throughput_after_share: float | None = Field(description="of the usual rate, after it")
    response_p99_ratio: float | None = Field(description="to the baseline's")
    trials_with_loss: int = Field(description="trials in which acknowledged writes were lost")
    writes_lost: int = Field(description="in all of them")
    writes_acknowledged: int = Field(default=0, description="in all trials")
    losing_at_most_share: float | None = Field(
        description="of faults that lose a write: the upper 95 % limit where none did, about 3 / faults"
    )


class FaultQuantityRow(Frozen):
    """What the faults of one kind cost in one quantity, with the interval of its median. fault_quantities.parquet."""

    benchmark: str
    configuration: str
    metric: str
    unit: str
    faults: int
    runs: int
    machines: int | None = Field(description="sets of machines; none: not known which runs shared theirs")
    median: float | None = Field(description="of what `interval_of` names; none: it is only known to be larger")
    low: float = Field(description="of the interval of order statistics")
    high: float | None = Field(description="of that interval; none: it is not known")
    coverage: float = Field(description="of that interval")
    interval_of: Level = Field(description="see `faults`")
    trials: list[str]


@dataclass(frozen=True)
class Nested:
    """Values of one quantity, in runs on machines; some are only known to be above what they say."""

    values: Sequence[MeasurementRow]
    bounds: Sequence[MeasurementRow] = ()
    machines: Mapping[str, str | None] = field(default_factory=dict)
    """Trial -> the machines that it ran on; None: not known."""

    @property
    def all(self) -> list[MeasurementRow]:
        """Both."""
        return [*self.values, *self.bounds]

    @property
    def sets(self) -> set[str | None]:
        """Of machines."""
        return {self.machines.get(row.trial) for row in self.all}

    def units(self) -> tuple[Level, list[tuple[float, bool]]]:
        """What counts as independent: the outermost level with enough members for an interval, each by its median."""
        least = least_n()
        bounds = {id(row) for row in self.bounds}
        single = [(row.value, id(row) in bounds) for row in self.all]
        levels: list[tuple[Level, Mapping[str | None, list[tuple[float, bool]]]]] = [
            ("machines", self._by([self.machines.get(row.trial) for row in self.all], single)),
            ("runs", self._by([row.trial for row in self.all], single)),
        ]
        for level, groups in levels:
            if None not in groups and len(groups) >= least:
                return level, [_middle(many) for many in groups.values()]
        return "outages", single

    @staticmethod
    def _by(
        keys: Sequence[str | None], values: Sequence[tuple[float, bool]]
    ) -> Mapping[str | None, list[tuple[float, bool]]]:
        found: dict[str | None, list[tuple[float, bool]]] = defaultdict(list)
        for key, value in zip(keys, values, strict=True):
            found[key].append(value)
        return found


def _middle(values: Sequence[tuple[float, bool]]) -> tuple[float, bool]:
    """Their median; a bound if it may be larger."""
    middle = median(value for value, _ in values)
    return middle, _known(middle, values) is None


def _known(value: float, values: Sequence[tuple[float, bool]]) -> float | None:
    """None if it may be larger, as what is only known to be above something may be any value above it."""
    least = min((bound for bound, is_bound in values if is_bound), default=None)
    return value if least is None or value < least else None


def quantity_of(nested: Nested) -> FaultQuantityRow:
    """The row of a quantity with values."""
    level, units = nested.units()
    interval, first = median_interval([value for value, _ in units]), nested.all[0]
    return FaultQuantityRow(
        benchmark=first.benchmark,
        configuration=first.configuration,
        metric=first.metric.removeprefix(OF_OUTAGE),
        unit=first.unit,
        faults=len(nested.all),
        runs=len({row.trial for row in nested.all}),
        machines=None if None in nested.sets else len(nested.sets),
        median=_known(interval.median, units),
        low=interval.low,
        high=_known(interval.high, units),
        coverage=interval.coverage,
        interval_of=level,
        trials=sorted({row.trial for row in nested.all}),
    )


def quantities_of(
    values: Sequence[MeasurementRow],
    bounds: Sequence[MeasurementRow] = (),
    machines: Mapping[str, str | None] | None = None,
) -> list[FaultQuantityRow]:
    """A row for each quantity of faults in valid trials, of each benchmark and configuration.

    Args:
        values: of the study.
        bounds: what is only known to be above a value, such as outages that did not end.
        machines: trial -> the machines that it ran on; None: not known.
    """

    def of_faults(rows: Sequence[MeasurementRow]) -> Mapping[tuple[str, str, str], list[MeasurementRow]]:
        found = [row for row in rows if row.valid and row.metric.startswith(OF_OUTAGE)]
        return grouped(found, lambda row: (row.benchmark, row.configuration, row.metric))

    known, above = of_faults(values), of_faults(bounds)
    keys = dict.fromkeys((*known, *above))
    return [quantity_of(Nested(known.get(key, ()), above.get(key, ()), machines or {})) for key in keys]


def faults_of(
    values: Sequence[MeasurementRow],
    quantities: Sequence[FaultQuantityRow],
    kinds: Mapping[str, tuple[str, str]],
) -> list[FaultRow]:
    """A row for each configuration and benchmark with faults in valid trials.

    Args:
        values: of the study.
        quantities: see `quantities_of`.
        kinds: benchmark -> what its faults are, and which servers they hit.
    """
    of_faults = [row for row in quantities if row.benchmark in kinds]
    groups = grouped(of_faults, lambda row: (row.benchmark, row.configuration))
    ledger = [row for row in values if row.valid and row.metric in {WRITES_LOST, WRITES_ACKNOWLEDGED}]
    ledgers = grouped(ledger, lambda row: (row.benchmark, row.configuration))
    made = (_row(kinds[key[0]], rows, ledgers.get(key, ())) for key, rows in groups.items())
    return [row for row in made if row is not None]


_OTHERS = ("clients_hit_share", "throughput_during_share", "throughput_after_share", "response_p99_ratio")
_TIMES = ("lasted", "time_at_zero", "time_slow", "time_to_usual_rate", "time_to_complete_copies")


def _row(
    of_faults: tuple[str, str], found: Sequence[FaultQuantityRow], ledger: Sequence[MeasurementRow]
) -> FaultRow | None:
    """None: of no fault is known how long an outage was."""
    medians = {row.metric: row.median for row in found}
    longest = next((row for row in found if row.metric == "longest_outage"), None)
    if longest is None:
        return None
    lost = [row.value for row in ledger if row.metric == WRITES_LOST]
    with_loss = sum(value > 0 for value in lost)
    return FaultRow(
        benchmark=longest.benchmark,
        configuration=longest.configuration,
        fault=of_faults[0],
        victim=of_faults[1],
        faults=longest.faults,
        trials=longest.trials,
        longest_outage_s=longest.median,
        longest_outage_low_s=longest.low,
        longest_outage_high_s=longest.high,
        coverage=longest.coverage,
        interval_of=longest.interval_of,
        **{name: medians.get(name) for name in _OTHERS},
        **{f"{name}_s": medians.get(name) for name in _TIMES},
        trials_with_loss=with_loss,
        writes_lost=round(sum(lost)),
        writes_acknowledged=round(sum(row.value for row in ledger if row.metric == WRITES_ACKNOWLEDGED)),
        losing_at_most_share=None if with_loss or not lost else proportion_interval(0, longest.faults, _ONE_SIDED)[1],
    )


def fault_quantities(of: Workings) -> list[FaultQuantityRow]:
    """Of the study."""
    if not (kinds := fault_kinds(of)):
        return []
    machines = {row.trial: row.machine for row in of(trials)}
    values, bounds = ([row for row in rows if row.benchmark in kinds] for rows in (of(measurements), of.inputs.bounds))
    return quantities_of(values, bounds, machines)


def fault_kinds(of: Workings) -> dict[str, tuple[str, str]]:
    """Benchmark with faults -> what they are, and which servers they hit."""
    return {
        row.benchmark: (str(row.parameters["fault"]), str(row.parameters.get("victim", "primary")))
        for row in of.inputs.benchmarks
        if "fault" in row.parameters
    }


FAULT_QUANTITIES = Table(
    "fault_quantities",
    FaultQuantityRow,
    lambda of: of(fault_quantities),
    order=lambda row: (row.benchmark, row.configuration, row.metric),
)
FAULTS = Table(
    "faults",
    FaultRow,
    lambda of: faults_of(of(measurements), of(fault_quantities), fault_kinds(of)),
    order=lambda row: (row.benchmark, row.configuration),
)
