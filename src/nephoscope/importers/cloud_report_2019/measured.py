"""What was parsed -> measurements with their metric, in SI units."""

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.lower_bound import Bound, Bounded, LowerBound
from nephoscope.model.quantities import MeasuredValue
from nephoscope.model.records import Direction, Verdict
from nephoscope.model.subjects import Subject
from nephoscope.parsers.iperf2 import Iperf
from nephoscope.parsers.ping import Ping
from nephoscope.parsers.stress_ng import StressNgLog
from nephoscope.parsers.sysbench_fileio import FileioLoad, FileioSection

PREPARE = "sysbench fileio prepare"
_UP, _DOWN = Direction.HIGHER, Direction.LOWER


class ImportedMeasurement(Frozen):
    """One number of a log."""

    tool: str
    subject: Subject
    metric: str
    unit: str
    direction: Direction
    threads: int | None = None
    at_s: float | None = Field(default=None, description="end of the interval; None: the whole run")
    value: MeasuredValue
    bound: Bound | None = None
    own_verdict: Verdict | None = Field(
        default=None, description="verdict of this number only, in addition to its run's"
    )


def cpu_measurements(log: StressNgLog) -> list[ImportedMeasurement]:
    """Bogo operations, as the benchmark `stress-ng` names them, and effective CPUs."""
    return [
        ImportedMeasurement(
            tool=f"stress-ng {row.stressor}",
            subject=Subject.CPU,
            metric=metric,
            unit=unit,
            direction=_UP,
            value=value,
        )
        for row in log.rows
        for metric, unit, value in (
            ("bogo_ops_per_s", "1/s", row.per_second),
            ("bogo_ops_per_s_cpu_time", "1/s", row.per_cpu_second),
            ("cpus_effective_user", "CPUs", row.user_s / row.real_s),
        )
    ]


def ping_measurements(ping: Ping) -> list[ImportedMeasurement]:
    """Round-trip times, and the share that was lost."""
    values = {"packets_lost_share": ("share", 1 - ping.received / ping.sent)}
    if ping.times:
        values |= {
            "round_trip_minimum": ("s", ping.times.minimum_s),
            "round_trip_mean": ("s", ping.times.mean_s),
            "round_trip_maximum": ("s", ping.times.maximum_s),
        }
        if ping.times.deviation_s is not None:
            values["round_trip_deviation"] = ("s", ping.times.deviation_s)
    return [
        ImportedMeasurement(
            tool="ping", subject=Subject.NETWORK, metric=metric, unit=unit, direction=_DOWN, value=value
        )
        for metric, (unit, value) in values.items()
    ]


def throughput_measurements(iperf: Iperf) -> list[ImportedMeasurement]:
    """The rate of the whole, and of each interval."""
    rates = [(None, iperf.whole.bits_per_s), *((row.end_s, row.bits_per_s) for row in iperf.intervals)]
    return [
        ImportedMeasurement(
            tool="iperf",
            subject=Subject.NETWORK,
            metric="sent_bits_per_s",
            unit="bit/s",
            direction=_UP,
            at_s=at_s,
            value=rate,
        )
        for at_s, rate in rates
    ]


def load_measurements(load: FileioLoad) -> list[ImportedMeasurement]:
    """The rate of `prepare`; nothing when it wrote nothing."""
    if load.bytes_per_s is None:
        return []
    return [
        ImportedMeasurement(
            tool=PREPARE,
            subject=Subject.STORAGE,
            metric="written_bytes_per_s",
            unit="B/s",
            direction=_UP,
            value=load.bytes_per_s,
        )
    ]


def section_measurements(section: FileioSection, own: Verdict | None) -> list[ImportedMeasurement]:
    """Rate, operations and latency at one number of threads."""
    values: tuple[tuple[str, str, Direction, Bounded | None], ...] = (
        ("read_bytes_per_s" if section.reading else "written_bytes_per_s", "B/s", _UP, section.bytes_per_s),
        ("operations_per_s", "IO/s", _UP, section.operations_per_s),
        ("latency_mean", "s", _DOWN, section.latency_mean_s),
        ("latency_p95", "s", _DOWN, section.latency_p95_s),
        ("latency_maximum", "s", _DOWN, section.latency_maximum_s),
    )
    return [
        ImportedMeasurement(
            tool=f"sysbench fileio {section.mode}",
            subject=Subject.STORAGE,
            metric=metric,
            unit=unit,
            direction=direction,
            threads=section.threads,
            value=value.above if isinstance(value, LowerBound) else value,
            bound="lower" if isinstance(value, LowerBound) else None,
            own_verdict=own,
        )
        for metric, unit, direction, value in values
        if value is not None
    ]
