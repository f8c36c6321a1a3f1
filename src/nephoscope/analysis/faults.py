"""What the faults of each benchmark cost on each configuration, over all faults of its valid trials."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

from pydantic import Field

from nephoscope.analysis.renamed import measurements
from nephoscope.analysis.table import Table
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import OF_OUTAGE, WRITES_LOST
from nephoscope.model.rows import MeasurementRow
from nephoscope.stats.median import median_interval
from nephoscope.stats.proportion import proportion_interval

_ONE_SIDED = 0.90
"""Confidence of an interval whose upper end alone is used: 95 % of that end."""


class FaultRow(Frozen):
    """The faults of one kind on one configuration. Each number is the median over the faults; None: not known."""

    benchmark: str
    configuration: str
    fault: str = Field(description="kill, pause or restart")
    victim: str = Field(description="primary, replica or any")
    faults: int = Field(description="of valid trials")
    trials: list[str] = Field(description="that they are of")
    longest_outage_s: float | None = Field(description="that any client saw; none: it did not end in most of them")
    longest_outage_low_s: float = Field(description="of the interval of order statistics")
    longest_outage_high_s: float | None = Field(description="of that interval; none: it is not known")
    coverage: float = Field(description="of that interval, if faults of one trial are independent")
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
    losing_at_most_share: float | None = Field(
        description="of faults that lose a write: the upper 95 % limit where none did, about 3 / faults"
    )


def faults_of(
    values: Sequence[MeasurementRow], bounds: Sequence[MeasurementRow], kinds: Mapping[str, tuple[str, str]]
) -> list[FaultRow]:
    """A row for each configuration and benchmark with faults in valid trials.

    Args:
        values: of the study.
        bounds: what is only known to be above a value, such as outages that did not end.
        kinds: benchmark -> what its faults are, and which servers they hit.
    """
    groups: dict[tuple[str, str], list[tuple[MeasurementRow, bool]]] = defaultdict(list)
    for row, is_bound in [*((row, False) for row in values), *((row, True) for row in bounds)]:
        if row.valid and row.benchmark in kinds and (row.metric.startswith(OF_OUTAGE) or row.metric == WRITES_LOST):
            groups[row.benchmark, row.configuration].append((row, is_bound))
    return [_row(*key, kinds[key[0]], found) for key, found in groups.items()]


def _row(
    benchmark: str, configuration: str, of_faults: tuple[str, str], found: Sequence[tuple[MeasurementRow, bool]]
) -> FaultRow:
    def of(metric: str) -> list[tuple[float, bool]]:
        return [(row.value, is_bound) for row, is_bound in found if row.metric == OF_OUTAGE + metric]

    longest, lost = of("longest_outage"), [row.value for row, _ in found if row.metric == WRITES_LOST]
    interval, with_loss = median_interval([value for value, _ in longest]), sum(value > 0 for value in lost)
    medians = ("clients_hit_share", "throughput_during_share", "throughput_after_share", "response_p99_ratio")
    times = ("longest_outage", "time_at_zero", "time_slow", "time_to_usual_rate", "time_to_complete_copies")
    return FaultRow(
        benchmark=benchmark,
        configuration=configuration,
        fault=of_faults[0],
        victim=of_faults[1],
        faults=len(longest),
        trials=sorted({row.trial for row, _ in found}),
        longest_outage_low_s=interval.low,
        longest_outage_high_s=_known(interval.high, longest),
        coverage=interval.coverage,
        **{name: _median(of(name)) for name in medians},
        **{f"{name}_s": _median(of(name)) for name in times},
        trials_with_loss=with_loss,
        writes_lost=round(sum(lost)),
        losing_at_most_share=None if with_loss else proportion_interval(0, len(longest), _ONE_SIDED)[1],
    )


def _median(values: Sequence[tuple[float, bool]]) -> float | None:
    return _known(median(value for value, _ in values), values) if values else None


def _known(value: float, values: Sequence[tuple[float, bool]]) -> float | None:
    """None if it may be larger, as what is only known to be above something may be any value above it."""
    least = min((bound for bound, is_bound in values if is_bound), default=None)
    return value if least is None or value < least else None


FAULTS = Table(
    "faults",
    FaultRow,
    lambda of: faults_of(
        of(measurements),
        of.inputs.bounds,
        {
            row.benchmark: (str(row.parameters["fault"]), str(row.parameters.get("victim", "primary")))
            for row in of.inputs.benchmarks
            if "fault" in row.parameters
        },
    ),
    order=lambda row: (row.benchmark, row.configuration),
)
