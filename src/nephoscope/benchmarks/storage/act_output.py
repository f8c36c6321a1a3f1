"""What fio reports of one load of `act`, hour by hour. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.units import KIB
from nephoscope.parsers.fio import FioReport, FioSide, parse_fio_reports

READS_PER_S = 2000
RECORDS_WRITTEN_PER_S = 1000
RECORD_BYTES = 1536
LARGE_KIB = 128
_DEFRAGMENTATION = 2
"""Blocks half full are packed into new ones: each record is written twice, and what is packed is read."""
LARGE_PER_S = _DEFRAGMENTATION * RECORDS_WRITTEN_PER_S / (LARGE_KIB * KIB // RECORD_BYTES)
"""Reads of large blocks, and as many writes: 85 whole records fit into one."""
READS, LARGE_READS, LARGE_WRITES = "reads", "large-reads", "large-writes"
RATES: Mapping[str, float] = {READS: READS_PER_S, LARGE_READS: LARGE_PER_S, LARGE_WRITES: LARGE_PER_S}
"""Name of a job -> I/Os per second at one time the standard load."""
THRESHOLDS_MS = (1, 2, 4, 8, 16, 32, 64)
PASSES_BELOW: Mapping[int, float] = {1: 0.05, 8: 0.01, 64: 0.001}
"""Milliseconds -> share of reads that take longer."""
_NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Hour:
    """The small reads of one hour, and how far the device was behind at its end."""

    at_s: float
    """Its end, since the load began."""
    over: Mapping[int, float]
    """Milliseconds -> share of reads that took longer."""
    lag_s: float
    """How long ago the last I/O should have been done, of the job that is furthest behind."""

    @property
    def is_fast(self) -> bool:
        """By the shares alone."""
        return all(self.over[ms] < share for ms, share in PASSES_BELOW.items())


def hours_of(output: bytes, times: float, hours: int) -> tuple[Hour, ...]:
    """Each hour of one load; what follows the last, to the end of fio, is left out.

    Args:
        output: of fio with a report each hour.
        times: the load, as a multiple of the standard one.
        hours: as asked.

    Raises:
        OutputUnreadable: it is not fio's, not of these jobs, or it ends early.
    """
    reports = parse_fio_reports(output.decode(errors="replace"))
    if len(reports) <= hours:
        raise OutputUnreadable(f"act: fio reported {len(reports) - 1} of {hours} hours")
    starts = [None, *reports[:hours]]
    return tuple(_hour(earlier, later, times) for earlier, later in pairwise(starts) if later is not None)


def small_reads(output: bytes) -> tuple[FioSide, int]:
    """Of a whole load, and the bytes of the file or device that were read.

    Raises:
        OutputUnreadable: nothing was read, or the output does not say of how much.
    """
    report = parse_fio_reports(output.decode(errors="replace"))[-1]
    side, size = _side(report, READS), report.jobs[0].options.get("size", "")
    if side is None or not size.isdecimal():
        raise OutputUnreadable("act: nothing was read, or the output does not give the size of the file")
    return side, int(size)


def _hour(earlier: FioReport | None, later: FioReport, times: float) -> Hour:
    before, after = None if earlier is None else _side(earlier, READS), _side(later, READS)
    ios, elapsed_s = _ios(after) - _ios(before), _elapsed_s(later)
    over = {ms: (_longer(after, ms) - _longer(before, ms)) / ios if ios else 1.0 for ms in THRESHOLDS_MS}
    lags = (elapsed_s - _ios(_side(later, job)) / (per_s * times) for job, per_s in RATES.items())
    return Hour(at_s=elapsed_s, over=over, lag_s=max(lags))


def _elapsed_s(report: FioReport) -> float:
    """Since the load began: of the job that has run for longest."""
    sides: Sequence[FioSide] = [side for job in RATES if (side := _side(report, job))]
    return max((side.duration_s for side in sides), default=0.0)


def _side(report: FioReport, job: str) -> FioSide | None:
    """None: nothing was done yet."""
    found = next((one for one in report.jobs if one.name == job), None)
    if found is None:
        raise OutputUnreadable(f"act: fio reported no job {job!r}")
    return found.write if job == LARGE_WRITES else found.read


def _ios(side: FioSide | None) -> int:
    return 0 if side is None else side.ios or 0


def _longer(side: FioSide | None, ms: int) -> int:
    if side is None:
        return 0
    if side.total is None or not side.total.counts:
        raise OutputUnreadable("act: fio wrote no histogram of its latencies")
    return side.total.longer_than(ms * _NS_PER_MS)
