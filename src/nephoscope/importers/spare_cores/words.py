"""What both forms of Spare Cores' data share: names, metrics, and what nobody knows of the numbers."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from nephoscope.importers.identity import BenchmarkIdentity
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Direction, Measurement, Metric, Verdict
from nephoscope.model.subjects import DatabaseLoad, Subject

FORMAT = "spare-cores"
LICENCE = "CC BY-SA 4.0, Spare Cores"
TITLE = "Machine types measured by Spare Cores"
DESCRIPTION = (
    "CPU and Redis rates of cloud machine types, one run each, measured and published by Spare Cores and "
    "imported here. nephoscope measured none of it."
)
PRICED_IN = {"aws": "us-east-1", "azure": "eastus", "gcp": "us-east4"}
"""The data do not name a region. These are the regions of the 2022 report, so that prices can be looked up."""
PRICED_IN_2026 = PRICED_IN | {"gcp": "us-central1"}
"""Where the catalogue has a price of nearly every type that was measured with PostgreSQL."""
UNKNOWN = [
    "each benchmark ran once on one machine of a type: nothing shows how much another run or machine would differ",
    "region and zone; prices are of us-east-1 (AWS), eastus (Azure), us-east4 (GCP; us-central1 with PostgreSQL)",
    "argv of the tools: not stored with the output; Spare Cores publishes the stress-ng series as its method div16",
    "kernel, memory, clock source, steal, and what else ran on the machine",
    "lscpu ran on a different instance of the type than the benchmarks, whose CPU may differ",
    "Redis: servers and clients share the machine (a pair of them on every vCPU, according to Spare Cores)",
    "time zone of times that state none: taken as UTC",
]


class Output(Frozen):
    """What the output of one task says."""

    identity: BenchmarkIdentity
    subject: Subject
    title: str
    database_load: DatabaseLoad | None = None
    metrics: list[Metric]
    measurements: list[Measurement]
    verdicts: list[Verdict] = []
    cpus: int | None = None
    memory_bytes: int | None = None
    settings: dict[str, str] = {}
    tool_versions: dict[str, str] = {}
    falls_by: float = 0.0
    """Share by which a ladder falls from a rung to the next one, at most."""


UNKNOWN_OF_POSTGRES = [
    "short transactions, writes and disks: each transaction of PostgreSQL here reads from memory for 0.25 s or more",
    "PostgreSQL: the type of the load machine, which had 1 to 48 vCPUs, more for larger servers",
    "prices are of the database's machine alone: without its disk (pd-ssd or Hyperdisk) and the load machine",
]
_UP = Direction.HIGHER
_VERSION = re.compile(r"(?<![0-9])[0-9]++(?:\.[0-9]++)++")
"""Of a task; for Redis, a name stands before it, and build and allocator behind it."""
_CORES_METRICS = [
    Metric.higher(
        "bogo_ops_per_s",
        "1/s",
        "Bogo operations, a worker on every CPU",
        headline=True,
        per_cpu=True,
        counted="bogo ops/s",
    ),
    Metric.higher(
        "bogo_ops_per_s_one_worker", "1/s", "Bogo operations, one worker", headline=True, counted="bogo ops/s"
    ),
    Metric.higher("scaling_share", "share", "Rate on all CPUs, of CPUs times one worker"),
]


def of_cores(version: str = "") -> dict[str, Any]:
    """What describes the benchmark of a trial: stress-ng by number of workers."""
    return {
        "identity": BenchmarkIdentity(tool="stress-ng", workload="cores", version=_short(version)),
        "subject": Subject.CPU,
        "title": "stress-ng by number of workers (integer divisions, according to Spare Cores)",
        "metrics": _CORES_METRICS,
    }


def of_redis(by_depth: Mapping[int, float], version: str = "") -> dict[str, Any]:
    """The same of Redis: a metric for each depth of the pipeline.

    It is ranked by the least depth, which is nearest to a plain client.
    """
    return {
        "identity": BenchmarkIdentity(tool="redis", workload="set", version=_short(version)),
        "subject": Subject.DATABASE,
        "database_load": DatabaseLoad.KEY_VALUE,
        "title": "Redis SET by depth of the pipeline",
        "metrics": [
            Metric.higher(
                f"sets_per_s_pipeline_{depth}",
                "1/s",
                f"SET, pipeline of {depth}",
                headline=depth == min(by_depth),
                per_cpu=True,
                counted="sets/s",
            )
            for depth in sorted(by_depth)
        ],
    }


def _short(version: str) -> str:
    found = _VERSION.search(version)
    return found[0] if found else version


def cores_measurements(series: Mapping[int, float]) -> list[Measurement]:
    """Workers -> rate, from one worker to one on every CPU."""
    most = max(series)
    return [
        _rate("bogo_ops_per_s", series[most]),
        _rate("bogo_ops_per_s_one_worker", series[1]),
        Measurement.of("scaling_share", "share", series[most] / (most * series[1]), role=None),
    ]


def redis_measurements(by_depth: Mapping[int, float]) -> list[Measurement]:
    """Depth of the pipeline -> rate."""
    return [_rate(f"sets_per_s_pipeline_{depth}", rate) for depth, rate in sorted(by_depth.items())]


def _rate(metric: str, value: float) -> Measurement:
    return Measurement.of(metric, "1/s", value)


def moment(text: str) -> datetime:
    """A time as both forms write it, which is in UTC unless it has an offset.

    Raises:
        ValueError: it is no time.
    """
    said = datetime.fromisoformat(text)
    return said if said.tzinfo else said.replace(tzinfo=UTC)


def positive(text: str | None) -> float | None:
    """A plain decimal number above 0."""
    clean = text or ""
    plain = clean.isascii() and clean.replace(".", "", 1).isdigit() and len(clean) <= 20
    return value if plain and (value := float(clean)) > 0 else None
