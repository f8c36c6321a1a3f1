"""sysbench 1.0 `fileio`: what `prepare` wrote, and one section for each number of threads.

Latencies are printed in hundredths of a millisecond: a page cache answers faster, and 0.00 stands there. The mean is
computed from the sum instead; a percentile of 0.00 is not known.
"""

import re

from pydantic import Field

from nephoscope.errors import OutputUnreadable
from nephoscope.frozen import Frozen
from nephoscope.parsers.text import DECIMAL, INTEGER, agree, made, only, whole_lines
from nephoscope.units import GIB, KIB, MIB

_WHAT = "sysbench fileio log"
_MS = 1000.0
_UNITS = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": 1024 * GIB}
_BEGIN = re.compile(r"sysbench [0-9][0-9.]{0,20} \(.*\)")
_WRITTEN = re.compile(rf"({INTEGER}) bytes written in ({DECIMAL}) seconds \(({DECIMAL}) MiB/sec\)\.")
_KEYS = {
    "threads": rf"Number of threads: ({INTEGER})",
    "flags": r"Extra file open flags: (.+)",
    "total": rf"({DECIMAL})(B|KiB|MiB|GiB|TiB) total file size",
    "block": rf"Block size ({DECIMAL})(B|KiB|MiB)",
    "mode": r"Doing (random read|random write|sequential read|sequential write \(creation\)|sequential rewrite) test",
    "reads": rf" +reads/s: +({DECIMAL})",
    "writes": rf" +writes/s: +({DECIMAL})",
    "read": rf" +read, MiB/s: +({DECIMAL})",
    "written": rf" +written, MiB/s: +({DECIMAL})",
    "time": rf" +total time: +({DECIMAL})s",
    "events": rf" +total number of events: +({INTEGER})",
    "longest": rf" +max: +({DECIMAL})",
    "p95": rf" +95th percentile: +({DECIMAL})",
    "sum": rf" +sum: +({DECIMAL})",
    "end": rf" +execution time \(avg/stddev\): +({DECIMAL})/({DECIMAL})",
}


class FileioLoad(Frozen):
    """What `prepare` did."""

    written_bytes: int | None = Field(gt=0, description="None: the files were there already, and nothing was written")
    bytes_per_s: float | None = Field(gt=0)


class FileioSection(Frozen):
    """One number of threads, in one direction."""

    reading: bool
    mode: str
    threads: int = Field(ge=1)
    files_bytes: int = Field(gt=0)
    open_flags: str
    operations_per_s: float = Field(gt=0)
    bytes_per_s: float = Field(gt=0)
    latency_mean_s: float = Field(gt=0)
    latency_p95_s: float | None = Field(gt=0, description="None: below what is printed, 0.01 ms")
    latency_maximum_s: float | None = Field(gt=0)


def parse_fileio_load(text: str) -> FileioLoad:
    """Reads what `sysbench fileio prepare` printed.

    Raises:
        OutputUnreadable: nothing, cut off, or another program's output.
    """
    lines = whole_lines(text, _WHAT)
    only((_BEGIN.fullmatch(line) for line in lines), f"{_WHAT} that begin it")
    if "No bytes written." in lines:
        return FileioLoad(written_bytes=None, bytes_per_s=None)
    amount, seconds, rate = only((_WRITTEN.fullmatch(line) for line in lines), f"{_WHAT} with bytes written").groups()
    if float(seconds) == 0:
        raise OutputUnreadable(f"{_WHAT}: {amount} bytes in no time")
    rounding = 0.0051 / float(seconds)
    agree(float(rate), int(amount) / MIB / float(seconds), relative=rounding * 2, absolute=0.0051, what=_WHAT)
    return made(FileioLoad, _WHAT, written_bytes=amount, bytes_per_s=float(rate) * MIB)


def parse_fileio_run(text: str) -> tuple[FileioSection, ...]:
    """Reads a log of one or more `sysbench fileio run`, one after the other.

    Raises:
        OutputUnreadable: nothing, cut off, a section without an end, mixed reads and writes, or numbers that
            contradict each other.
    """
    sections: list[list[str]] = []
    for line in whole_lines(text, _WHAT):
        if _BEGIN.fullmatch(line):
            sections.append([])
        if sections:
            sections[-1].append(line)
    if not sections:
        raise OutputUnreadable(f"{_WHAT}: no section begins with the tool's name")
    return tuple(_section(lines) for lines in sections)


def _section(lines: list[str]) -> FileioSection:
    found = {
        key: only((re.fullmatch(pattern, line) for line in lines), f"{_WHAT} for {key!r}")
        for key, pattern in _KEYS.items()
    }
    number = {key: float(match[1]) for key, match in found.items() if key not in {"flags", "mode"}}
    reading = found["mode"][1].endswith("read")
    ours, other = ("reads", "writes") if reading else ("writes", "reads")
    rate, other_rate = ("read", "written") if reading else ("written", "read")
    if number[other] or number[other_rate]:
        raise OutputUnreadable(f"{_WHAT}: {found['mode'][1]} with {other}")
    if min(number["events"], number["time"], number["sum"], number[ours]) <= 0:
        raise OutputUnreadable(f"{_WHAT}: nothing happened in {found['mode'][1]}")
    block_bytes = number["block"] * _UNITS[found["block"][2]]
    operations = number[ours]
    agree(number[rate], operations * block_bytes / MIB, relative=0.001, absolute=0.02, what=f"{_WHAT}: MiB/s")
    if number["sum"] > number["threads"] * number["time"] * _MS * 1.05:
        raise OutputUnreadable(f"{_WHAT}: more latency than {number['threads']:g} threads have time")
    if number["end"] > number["time"] * 1.05:
        raise OutputUnreadable(f"{_WHAT}: threads that ran longer than the whole")
    return made(
        FileioSection,
        _WHAT,
        reading=reading,
        mode=found["mode"][1],
        threads=found["threads"][1],
        files_bytes=round(number["total"] * _UNITS[found["total"][2]]),
        open_flags=found["flags"][1],
        operations_per_s=operations,
        bytes_per_s=number[rate] * MIB,
        latency_mean_s=number["sum"] / number["events"] / _MS,
        latency_p95_s=number["p95"] / _MS or None,
        latency_maximum_s=number["longest"] / _MS or None,
    )
