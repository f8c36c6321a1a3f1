"""sysbench `fileio`, 0.4 to 1.1: what `prepare` wrote, and one section for each number of threads.

Latencies are printed in hundredths of a millisecond: a page cache answers faster, and 0.00 stands there. The mean is
computed from the sum instead, where there is one; a percentile of 0.00 is not known.
"""

import re
from collections.abc import Mapping, Sequence

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.quantities import Bounded
from nephoscope.model.units import GIB, KIB, MIB
from nephoscope.model.words import counted
from nephoscope.parsers.latencies import SYSBENCH, latencies
from nephoscope.parsers.text import DECIMAL, INTEGER, build, exactly_one, one_or_none, require_close, whole_lines

_WHAT = "sysbench fileio log"
_MS = 1000.0
_UNITS = {
    "": 1, "b": 1, "B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": 1024 * GIB, "Kb": KIB, "Mb": MIB, "Gb": GIB,
    "Tb": 1024 * GIB,
}  # fmt: skip
_SIZE = rf"({DECIMAL})(b|B|KiB|MiB|GiB|TiB|Kb|Mb|Gb|Tb|)"
BEGIN = re.compile(r"(?P<name>sysbench) (?P<version>[0-9][0-9.]{0,20})(?:-\S+)?(?: \(.*\)|: +multi-threaded .*)")
_WRITTEN = re.compile(rf"({INTEGER}) bytes written in ({DECIMAL}) seconds \(({DECIMAL}) (?:MiB|MB)/sec\)\.")
_MODES = r"random read|random write|random r/w|sequential read|sequential write \(creation\)|sequential rewrite"
_KEYS = {
    "threads": rf"Number of threads: ({INTEGER})",
    "flags": r"Extra file open flags: (.+)",
    "total": rf"{_SIZE} total file size",
    "block": rf"Block size {_SIZE}",
    "mode": rf"Doing ({_MODES}) test",
    "time": rf" +(?:total time|time elapsed): +({DECIMAL})s",
    "events": rf" +total number of events: +({INTEGER})",
    "longest": rf" +max: +({DECIMAL})(?:ms)?",
    "end": rf" +execution time \(avg/stddev\): +({DECIMAL})/({DECIMAL})",
}
_NOT_IN_1_1 = {"time", "events", "end"}
_HALF_A_DIGIT_MS = 0.005
_PERCENTILE = re.compile(
    rf" +(?:approx\. +)?({INTEGER})(?:th)? percentile: +({DECIMAL})(?:ms)?| +percentile stats: +disabled"
)
_SUM = rf" +sum: +({DECIMAL})"
_SUM_OF_0_4 = rf" +total time taken by event execution: +({DECIMAL})s?"
_RATES = {
    "reads": rf" +reads/s: +({DECIMAL})",
    "writes": rf" +writes/s: +({DECIMAL})",
    "fsyncs": rf" +fsyncs/s: +({DECIMAL})",
    "read": rf" +read, MiB/s: +({DECIMAL})",
    "written": rf" +written, MiB/s: +({DECIMAL})",
}
_RATES_OF_1_1 = {
    "reads": rf" +read: +IOPS=({DECIMAL}) ({DECIMAL}) MiB/s \(({DECIMAL}) MB/s\)",
    "writes": rf" +write: +IOPS=({DECIMAL}) ({DECIMAL}) MiB/s \(({DECIMAL}) MB/s\)",
    "fsyncs": rf" +fsync: +IOPS=({DECIMAL})",
}
_MEAN = rf" +avg: +({DECIMAL})"
_COUNTS_OF_0_4 = re.compile(
    rf"Operations performed: +({INTEGER}) [Rr]eads?, +({INTEGER}) [Ww]rites?, +({INTEGER}) [Oo]ther = {INTEGER} Total"
)
_AMOUNTS_OF_0_4 = re.compile(rf"Read {_SIZE} +Written {_SIZE} +Total transferred {_SIZE} +\(.*\)")
_INTERVAL = re.compile(
    rf"\[ (?P<at>{INTEGER})s \] reads: (?P<read>{DECIMAL}) MiB/s writes: (?P<written>{DECIMAL}) MiB/s "
    rf"fsyncs: {DECIMAL}/s latency \(ms,95%\): {DECIMAL}"
)
_ENDS = re.compile(rf"{_KEYS['end'].removesuffix(')')}[0-9])|No bytes written\.|{_WRITTEN.pattern}")


class FileioLoad(Frozen):
    """What `prepare` did."""

    written_bytes: int | None = Field(gt=0, description="None: the files were there already, and nothing was written")
    bytes_per_s: float | None = Field(gt=0)


class FileioSection(Frozen):
    """One number of threads. A rate is None where the mode has none of its kind."""

    mode: str
    threads: int = Field(ge=1)
    duration_s: float | None = Field(gt=0, description="None: not printed (1.1)")
    files_bytes: int = Field(gt=0)
    block_bytes: int = Field(gt=0)
    open_flags: str
    reads_per_s: float | None = Field(gt=0)
    writes_per_s: float | None = Field(gt=0)
    fsyncs_per_s: float | None = Field(ge=0)
    read_bytes_per_s: float | None = Field(gt=0)
    written_bytes_per_s: float | None = Field(gt=0)
    latency_mean_s: float | None = Field(gt=0, description="None: below what 1.1 prints, 0.01 ms")
    latency_p95_s: Bounded | None = Field(description="None: below what is printed, 0.01 ms, or another was asked")
    latency_maximum_s: float | None = Field(gt=0)

    @property
    def reading(self) -> bool:
        """Nothing was written."""
        return self.writes_per_s is None

    @property
    def operations_per_s(self) -> float:
        """Reads and writes."""
        return (self.reads_per_s or 0.0) + (self.writes_per_s or 0.0)

    @property
    def bytes_per_s(self) -> float:
        """Of reads and writes."""
        return (self.read_bytes_per_s or 0.0) + (self.written_bytes_per_s or 0.0)


def parse_fileio_load(text: str) -> FileioLoad:
    """Reads what `sysbench fileio prepare` printed.

    Raises:
        OutputUnreadable: nothing, cut off, or another program's output.
    """
    lines = whole_lines(text, _WHAT, ends=_ENDS)
    exactly_one((BEGIN.fullmatch(line) for line in lines), f"{_WHAT} that begin it")
    if "No bytes written." in lines:
        return FileioLoad(written_bytes=None, bytes_per_s=None)
    amount, seconds, rate = exactly_one(
        (_WRITTEN.fullmatch(line) for line in lines), f"{_WHAT} with bytes written"
    ).groups()
    if float(seconds) == 0:
        raise OutputUnreadable(f"{_WHAT}: {amount} bytes in no time")
    rounding = 0.0051 / float(seconds)
    require_close(float(rate), int(amount) / MIB / float(seconds), relative=rounding * 2, absolute=0.0051, what=_WHAT)
    return build(FileioLoad, _WHAT, written_bytes=int(amount), bytes_per_s=float(rate) * MIB)


def parse_fileio_run(text: str) -> tuple[FileioSection, ...]:
    """Reads a log of one or more `sysbench fileio run`, one after the other.

    Raises:
        OutputUnreadable: nothing, cut off, a section without an end, operations that the mode does not have, or numbers
            that contradict each other.
    """
    return tuple(_section(lines) for lines in sections_of(text, _WHAT, ends=_ENDS))


class FileioInterval(Frozen):
    """One line of `--report-interval`."""

    at_s: float = Field(gt=0, description="end of the interval")
    read_bytes_per_s: float = Field(ge=0)
    written_bytes_per_s: float = Field(ge=0)


def parse_fileio_intervals(text: str) -> tuple[FileioInterval, ...]:
    """Reads the intermediate lines of one `sysbench fileio run`, in their order; empty without any.

    Raises:
        OutputUnreadable: nothing, cut off, or more than one run.
    """
    sections = sections_of(text, _WHAT, ends=_ENDS)
    if len(sections) != 1:
        raise OutputUnreadable(f"{_WHAT}: {len(sections)} runs; intervals can be read from only one")
    return tuple(
        build(
            FileioInterval,
            _WHAT,
            at_s=float(found["at"]),
            read_bytes_per_s=float(found["read"]) * MIB,
            written_bytes_per_s=float(found["written"]) * MIB,
        )
        for line in sections[0]
        if (found := _INTERVAL.fullmatch(line))
    )


def sections_of(text: str, what: str, *, ends: re.Pattern[str]) -> list[list[str]]:
    """Lines of each output of sysbench in a text; those above the first are another program's.

    Raises:
        OutputUnreadable: as `whole_lines`, or there is none.
    """
    sections: list[list[str]] = []
    for line in whole_lines(text, what, ends=ends):
        if BEGIN.fullmatch(line):
            sections.append([])
        if sections:
            sections[-1].append(line)
    if not sections:
        raise OutputUnreadable(f"{what}: no section begins with the tool's name")
    return sections


def _section(lines: Sequence[str]) -> FileioSection:
    of_1_1 = any(re.fullmatch(_RATES_OF_1_1["writes"], line) for line in lines)
    found = {
        key: exactly_one((re.fullmatch(pattern, line) for line in lines), f"{_WHAT} for {key!r}")
        for key, pattern in _KEYS.items()
        if not of_1_1 or key not in _NOT_IN_1_1
    }
    number = {key: float(match[1]) for key, match in found.items() if key not in {"flags", "mode"}}
    mode, block_bytes = found["mode"][1], round(number["block"] * _UNITS[found["block"][2]])
    if block_bytes <= 0:
        raise OutputUnreadable(f"{_WHAT}: blocks of no bytes")
    rates = _rates(lines, number.get("time"))
    _require_mode(mode, rates)
    for operations, amount in (("reads", "read"), ("writes", "written")):
        share = rates[operations] * block_bytes / MIB
        require_close(rates[amount], share, relative=0.002, absolute=0.02, what=f"{_WHAT}: MiB/s")
    mean_s = _printed_mean_s(lines, rates, number["threads"]) if of_1_1 else _mean_s(lines, number, mode)
    return build(
        FileioSection,
        _WHAT,
        mode=mode,
        threads=int(found["threads"][1]),
        duration_s=number.get("time"),
        files_bytes=round(number["total"] * _UNITS[found["total"][2]]),
        block_bytes=block_bytes,
        open_flags=found["flags"][1],
        reads_per_s=rates["reads"] or None,
        writes_per_s=rates["writes"] or None,
        fsyncs_per_s=rates["fsyncs"],
        read_bytes_per_s=rates["read"] * MIB or None,
        written_bytes_per_s=rates["written"] * MIB or None,
        latency_mean_s=mean_s,
        latency_p95_s=_p95_s(lines, mean_s, number["longest"] / _MS),
        latency_maximum_s=number["longest"] / _MS or None,
    )


def _mean_s(lines: Sequence[str], number: Mapping[str, float], mode: str) -> float:
    latency_s = _all_latency_s(lines)
    if min(number["events"], number["time"], latency_s) <= 0:
        raise OutputUnreadable(f"{_WHAT}: nothing happened in {mode}")
    if latency_s > number["threads"] * number["time"] * 1.05:
        have = f"{counted(number['threads'], 'thread')} {'has' if number['threads'] == 1 else 'have'}"
        raise OutputUnreadable(f"{_WHAT}: latencies add up to more time than {have}")
    if number["end"] > number["time"] * 1.05 + 0.06:
        raise OutputUnreadable(f"{_WHAT}: threads that ran longer than the whole")
    return latency_s / number["events"]


def _printed_mean_s(lines: Sequence[str], rates: Mapping[str, float], threads: float) -> float | None:
    """Of 1.1, which prints neither the time nor the number of events; the sum of all marks the end of its numbers."""
    _all_latency_s(lines)
    ms = float(exactly_one((re.fullmatch(_MEAN, line) for line in lines), f"{_WHAT} for 'avg'")[1])
    busy = (rates["reads"] + rates["writes"] + rates["fsyncs"]) * max(ms - _HALF_A_DIGIT_MS, 0.0) / _MS
    if busy > threads * 1.05:
        raise OutputUnreadable(f"{_WHAT}: a mean latency of {ms:g} ms, but {busy:.3g} operations at once")
    return ms / _MS or None


def _p95_s(lines: Sequence[str], mean_s: float | None, longest_s: float) -> Bounded | None:
    match = exactly_one((_PERCENTILE.fullmatch(line) for line in lines), f"{_WHAT} for the percentile")
    return percentile_s(_WHAT, match, mean_s, longest_s) if match[1] == "95" else None


def percentile_s(what: str, match: re.Match[str], mean_s: float | None, longest_s: float) -> Bounded | None:
    """Of a line with percent and milliseconds. None: of 0.00 it is not known.

    Raises:
        OutputUnreadable: it is above the longest latency.
    """
    percent, value_s = float(match[1]), float(match[2]) / _MS
    if value_s == 0:
        return None
    return latencies(what, SYSBENCH, {percent: value_s}, mean_s=mean_s, maximum_s=longest_s or None).percentiles_s[
        percent
    ]


def _all_latency_s(lines: Sequence[str]) -> float:
    """Of all events together."""
    ms = one_or_none((re.fullmatch(_SUM, line) for line in lines), f"{_WHAT} for 'sum'")
    if ms:
        return float(ms[1]) / _MS
    return float(exactly_one((re.fullmatch(_SUM_OF_0_4, line) for line in lines), f"{_WHAT} for 'sum'")[1])


def _rates(lines: Sequence[str], seconds: float | None) -> Mapping[str, float]:
    """Operations a second, and MiB a second, as the version prints them."""
    counts = one_or_none((_COUNTS_OF_0_4.fullmatch(line) for line in lines), f"{_WHAT} with operations")
    if counts and seconds:
        amounts = exactly_one((_AMOUNTS_OF_0_4.fullmatch(line) for line in lines), f"{_WHAT} with amounts")
        reads, writes, others = (int(counts[place]) / seconds for place in (1, 2, 3))
        read, written = (float(amounts[place]) * _UNITS[amounts[place + 1]] / MIB / seconds for place in (1, 3))
        return {"reads": reads, "writes": writes, "fsyncs": others, "read": read, "written": written}
    newer = {
        key: one_or_none((re.fullmatch(pattern, line) for line in lines), f"{_WHAT} for {key!r}")
        for key, pattern in _RATES_OF_1_1.items()
    }
    if newer["reads"] and newer["writes"]:
        fsyncs = newer["fsyncs"]
        for match in (newer["reads"], newer["writes"]):
            mega = float(match[2]) * MIB / 1e6
            require_close(float(match[3]), mega, relative=0.0, absolute=0.0105, what=f"{_WHAT}: MB/s")
        return {
            "reads": float(newer["reads"][1]),
            "writes": float(newer["writes"][1]),
            "fsyncs": float(fsyncs[1]) if fsyncs else 0.0,
            "read": float(newer["reads"][2]),
            "written": float(newer["writes"][2]),
        }
    return {
        key: float(exactly_one((re.fullmatch(pattern, line) for line in lines), f"{_WHAT} for {key!r}")[1])
        for key, pattern in _RATES.items()
    }


def _require_mode(mode: str, rates: Mapping[str, float]) -> None:
    reads, writes = mode.endswith(("read", "r/w")), not mode.endswith("read")
    for name, wanted, amount in (("reads", reads, "read"), ("writes", writes, "written")):
        if not wanted and (rates[name] or rates[amount]):
            raise OutputUnreadable(f"{_WHAT}: {mode} with {name}")
        if wanted and rates[name] <= 0 and mode != "random r/w":
            raise OutputUnreadable(f"{_WHAT}: nothing happened in {mode}")
    if rates["reads"] + rates["writes"] <= 0:
        raise OutputUnreadable(f"{_WHAT}: nothing happened in {mode}")
