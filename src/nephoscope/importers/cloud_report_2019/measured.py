"""What was parsed -> measurements with their metric, in SI units."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.quantities import Bound, Bounded, LowerBound, MeasuredValue
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


def _of(
    tool: str, subject: Subject, direction: Direction, metric: str, unit: str, value: Bounded | None, **more: Any
) -> Iterator[ImportedMeasurement]:
    """One number; none where the log has none."""
    if value is None:
        return
    if isinstance(value, LowerBound):
        value, more = value.above, {**more, "bound": "lower"}
    yield ImportedMeasurement(
        tool=tool, subject=subject, metric=metric, unit=unit, direction=direction, value=value, **more
    )


def cpu_measurements(log: StressNgLog) -> Iterator[ImportedMeasurement]:
    """Bogo operations, as the benchmark `stress-ng` names them, and effective CPUs."""
    for row in log.rows:
        tool = f"stress-ng {row.stressor}"
        yield from _of(tool, Subject.CPU, _UP, "bogo_ops_per_s", "1/s", row.per_second)
        yield from _of(tool, Subject.CPU, _UP, "bogo_ops_per_s_cpu_time", "1/s", row.per_cpu_second)
        yield from _of(tool, Subject.CPU, _UP, "cpus_effective_user", "CPUs", row.user_s / row.real_s)


def ping_measurements(ping: Ping) -> Iterator[ImportedMeasurement]:
    """Round-trip times, and the share that was lost."""
    lost = 1 - ping.received / ping.sent
    yield from _of("ping", Subject.NETWORK, _DOWN, "packets_lost_share", "share", lost)
    for which in ("minimum", "mean", "maximum", "deviation") if ping.times else ():
        time_s = getattr(ping.times, f"{which}_s")
        yield from _of("ping", Subject.NETWORK, _DOWN, f"round_trip_{which}", "s", time_s)


def throughput_measurements(iperf: Iperf) -> Iterator[ImportedMeasurement]:
    """The rate of the whole, and of each interval."""
    rates = [(None, iperf.whole.bits_per_s), *((row.end_s, row.bits_per_s) for row in iperf.intervals)]
    for at_s, rate in rates:
        yield from _of("iperf", Subject.NETWORK, _UP, "sent_bits_per_s", "bit/s", rate, at_s=at_s)


def load_measurements(load: FileioLoad) -> Iterator[ImportedMeasurement]:
    """The rate of `prepare`; nothing when it wrote nothing."""
    return _of(PREPARE, Subject.STORAGE, _UP, "written_bytes_per_s", "B/s", load.bytes_per_s)


def section_measurements(section: FileioSection, own: Verdict | None) -> Iterator[ImportedMeasurement]:
    """Rate, operations and latency at one number of threads."""
    rate = "read_bytes_per_s" if section.reading else "written_bytes_per_s"
    for metric, unit, direction, value in (
        (rate, "B/s", _UP, section.bytes_per_s),
        ("operations_per_s", "IO/s", _UP, section.operations_per_s),
        ("latency_mean", "s", _DOWN, section.latency_mean_s),
        ("latency_p95", "s", _DOWN, section.latency_p95_s),
        ("latency_maximum", "s", _DOWN, section.latency_maximum_s),
    ):
        tool, more = f"sysbench fileio {section.mode}", {"threads": section.threads, "own_verdict": own}
        yield from _of(tool, Subject.STORAGE, direction, metric, unit, value, **more)
