"""What both forms of Spare Cores' data share: names, metrics, and what nobody knows of the numbers."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from nephoscope.importers.imported import ImportedTrial
from nephoscope.model.records import Direction, ImportedBenchmark, Measurement, Metric
from nephoscope.model.subjects import DatabaseLoad, Subject

FORMAT = "spare-cores"
LICENCE = "CC BY-SA 4.0, Spare Cores"
PRICED_IN = {"aws": "us-east-1", "azure": "eastus", "gcp": "us-east4"}
"""The data do not name a region. These are the regions of the 2022 report, so that prices can be looked up."""
UNKNOWN = [
    "each benchmark ran once on one machine of a type: nothing shows how much another run or machine would differ",
    "region and zone; prices are those of us-east-1 (AWS), eastus (Azure) and us-east4 (Google)",
    "argv of the tools: not stored with the output; Spare Cores publishes the stress-ng series as its method div16",
    "kernel, memory, clock source, steal, and what else ran on the machine",
    "lscpu ran on a different instance of the type than the benchmarks, whose CPU may differ",
    "Redis: servers and clients share the machine (a pair of them on every vCPU, according to Spare Cores)",
    "time zone of times that state none: taken as UTC",
]
CORES, REDIS = "stress-ng-cores", "redis-set"
_UP = Direction.HIGHER

CORES_BENCHMARK = ImportedBenchmark(
    name=CORES,
    title="stress-ng by number of workers (integer divisions, according to Spare Cores)",
    subject=Subject.CPU,
    metrics=[
        Metric(
            name="bogo_ops_per_s",
            unit="1/s",
            direction=_UP,
            title="Bogo operations, a worker on every CPU",
            headline=True,
            per_cpu=True,
        ),
        Metric(
            name="bogo_ops_per_s_one_worker",
            unit="1/s",
            direction=_UP,
            title="Bogo operations, one worker",
            headline=True,
        ),
        Metric(name="scaling_share", unit="share", direction=_UP, title="Rate on all CPUs, of CPUs times one worker"),
    ],
)


def redis_benchmark(trials: Sequence[ImportedTrial]) -> ImportedBenchmark:
    """A metric for each depth of the pipeline; it is ranked by the least one, which is nearest to a plain client."""
    names = {one.metric for trial in trials if trial.benchmark == REDIS for one in trial.measurements}
    depths = {int(name.rpartition("_")[2]) for name in names}
    return ImportedBenchmark(
        name=REDIS,
        subject=Subject.DATABASE,
        database_load=DatabaseLoad.KEY_VALUE,
        title="Redis SET by depth of the pipeline",
        metrics=[
            Metric(
                name=f"sets_per_s_pipeline_{depth}",
                unit="1/s",
                direction=_UP,
                title=f"SET, pipeline of {depth}",
                headline=depth == min(depths),
                per_cpu=True,
            )
            for depth in sorted(depths)
        ],
    )


def cores_measurements(series: Mapping[int, float]) -> list[Measurement]:
    """Workers -> rate, from one worker to one on every CPU."""
    most = max(series)
    return [
        _rate("bogo_ops_per_s", series[most]),
        _rate("bogo_ops_per_s_one_worker", series[1]),
        Measurement(metric="scaling_share", unit="share", value=series[most] / (most * series[1])),
    ]


def redis_measurements(by_depth: Mapping[int, float]) -> list[Measurement]:
    """Depth of the pipeline -> rate."""
    return [_rate(f"sets_per_s_pipeline_{depth}", rate) for depth, rate in sorted(by_depth.items())]


def _rate(metric: str, value: float) -> Measurement:
    return Measurement(metric=metric, unit="1/s", value=value, role="database")


def moment(text: str) -> datetime:
    """A time as both forms write it, which is in UTC unless it has an offset.

    Raises:
        ValueError: it is no time.
    """
    said = datetime.fromisoformat(text)
    return said if said.tzinfo else said.replace(tzinfo=UTC)
