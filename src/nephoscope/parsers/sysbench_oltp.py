"""sysbench's OLTP tests, 0.4 to 1.1: the whole, and the intermediate lines of `--report-interval`."""

import re
from collections.abc import Sequence

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.quantities import Bounded
from nephoscope.parsers.latencies import SYSBENCH, latencies
from nephoscope.parsers.sysbench_fileio import BEGIN, percentile_s, sections_of
from nephoscope.parsers.text import DECIMAL, INTEGER, build, exactly_one, one_or_none, require_close

_WHAT = "sysbench OLTP log"
_MS = 1000.0
_STATISTICS = re.compile(r"(?:SQL|OLTP test) statistics:")
_COUNT = rf"({INTEGER}) +\(({DECIMAL}) per sec\.\)"
_LINES = {
    "threads": re.compile(rf"Number of threads: ({INTEGER})"),
    "reads": re.compile(rf" +read: +({INTEGER})"),
    "writes": re.compile(rf" +write: +({INTEGER})"),
    "others": re.compile(rf" +other: +({INTEGER})"),
    "total": re.compile(rf" +total: +({INTEGER})"),
    "transactions": re.compile(rf" +transactions: +{_COUNT}"),
    "time": re.compile(rf" +(?:total time|time elapsed): +({DECIMAL})s"),
    "least": re.compile(rf" +min: +({DECIMAL})(?:ms)?"),
    "mean": re.compile(rf" +avg: +({DECIMAL})(?:ms)?"),
    "longest": re.compile(rf" +max: +({DECIMAL})(?:ms)?"),
}
_PERCENTILE = re.compile(rf" +(?:approx\. +)?({INTEGER})(?:th)? percentile: +({DECIMAL})(?:ms)?")
_QUERIES = re.compile(rf" +queries: +{_COUNT}")
_ERRORS = re.compile(rf" +(?:ignored errors|deadlocks): +{_COUNT}")
_RECONNECTS = re.compile(rf" +reconnects: +{_COUNT}")
_INTERVAL = re.compile(
    rf"\[ +({INTEGER})s ?\] thds: ({INTEGER}) tps: ({DECIMAL}) qps: ({DECIMAL}) \(r/w/o: [0-9./]{{5,60}}\)"
    rf" lat \(ms, ?({INTEGER})%\): ({DECIMAL}) err/s:? ({DECIMAL}) reconn/s: ({DECIMAL})"
)
_INTERVAL_OF_0_5 = re.compile(
    rf"\[ *({INTEGER})s\] threads: ({INTEGER}), tps: ({DECIMAL}), reads(?:/s)?: {DECIMAL}, writes(?:/s)?: {DECIMAL},"
    rf" response time: ({DECIMAL})ms \(({INTEGER})%\)(?:, errors: ({DECIMAL}), reconnects: +{DECIMAL})?"
)
_ANY_INTERVAL = re.compile(r"\[ *[0-9]+s ?\] (?:thds|threads): ")
_ENDS = re.compile(rf" +execution time \(avg/stddev\): +{DECIMAL}/[0-9]+\.[0-9]{{2}}")
_ROUNDED = 0.0051


class OltpInterval(Frozen):
    """One intermediate line."""

    at_s: int = Field(gt=0, description="end of the interval")
    threads: int = Field(ge=0)
    transactions_per_s: float = Field(ge=0)
    queries_per_s: float | None = Field(ge=0, description="None: not printed (0.5)")
    latency_percent: int = Field(ge=1, le=100)
    latency_s: Bounded
    errors_per_s: float | None = Field(ge=0)


class SysbenchOltp(Frozen):
    """One test. None: this version does not print it."""

    version: str
    threads: int = Field(ge=1)
    duration_s: float = Field(gt=0)
    transactions: int = Field(gt=0)
    transactions_per_s: float = Field(gt=0)
    queries: int = Field(gt=0)
    queries_per_s: float | None = Field(gt=0)
    reads: int = Field(ge=0)
    writes: int = Field(ge=0)
    others: int = Field(ge=0)
    errors: int | None = Field(ge=0, description="that sysbench ignored; deadlocks in 0.4")
    reconnects: int | None = Field(ge=0)
    latency_minimum_s: float = Field(ge=0)
    latency_mean_s: float = Field(gt=0)
    latency_maximum_s: float = Field(gt=0)
    latency_percent: int | None = Field(ge=1, le=100)
    latency_percentile_s: Bounded | None
    intervals: tuple[OltpInterval, ...]
    left_out: tuple[str, ...] = Field(description="intermediate lines that cannot be: rates overflow in some versions")


def parse_sysbench_oltp(text: str) -> SysbenchOltp:
    """Reads one test.

    Raises:
        OutputUnreadable: nothing, cut off, another of sysbench's tests, several, or numbers that contradict each other.
    """
    sections = [lines for lines in sections_of(text, _WHAT, ends=_ENDS) if any(map(_STATISTICS.fullmatch, lines))]
    if len(sections) != 1:
        raise OutputUnreadable(f"{_WHAT}: {len(sections)} sections with SQL statistics; expected one")
    (lines,) = sections
    found = {name: exactly_one(map(rule.fullmatch, lines), f"{_WHAT} for {name}") for name, rule in _LINES.items()}
    exactly_one(map(_ENDS.fullmatch, lines), f"{_WHAT} that end it")
    head = exactly_one(map(BEGIN.fullmatch, lines), f"{_WHAT} that begin it")
    queries = one_or_none(map(_QUERIES.fullmatch, lines), f"{_WHAT} for queries")
    errors = one_or_none(map(_ERRORS.fullmatch, lines), f"{_WHAT} for errors")
    reconnects = one_or_none(map(_RECONNECTS.fullmatch, lines), f"{_WHAT} for reconnects")
    percentile = one_or_none(map(_PERCENTILE.fullmatch, lines), f"{_WHAT} for a percentile")
    seconds = float(found["time"][1])
    reads, writes, others, total = (int(found[name][1]) for name in ("reads", "writes", "others", "total"))
    if seconds <= 0 or reads + writes + others != total:
        raise OutputUnreadable(f"{_WHAT}: {reads} + {writes} + {others} queries are not {total}, or no time passed")
    for match in (found["transactions"], queries):
        if match:
            rounding = _ROUNDED / seconds + 0.01
            require_close(float(match[2]), int(match[1]) / seconds, relative=rounding, absolute=_ROUNDED, what=_WHAT)
    least, mean, longest = (float(found[name][1]) / _MS for name in ("least", "mean", "longest"))
    if not least <= mean + _ROUNDED / _MS or not mean <= longest + _ROUNDED / _MS:
        raise OutputUnreadable(f"{_WHAT}: a mean latency outside its range")
    return build(
        SysbenchOltp,
        _WHAT,
        version=head["version"],
        threads=int(found["threads"][1]),
        duration_s=seconds,
        transactions=int(found["transactions"][1]),
        transactions_per_s=float(found["transactions"][2]),
        queries=total,
        queries_per_s=float(queries[2]) if queries else None,
        reads=reads,
        writes=writes,
        others=others,
        errors=int(errors[1]) if errors else None,
        reconnects=int(reconnects[1]) if reconnects else None,
        latency_minimum_s=least,
        latency_mean_s=mean,
        latency_maximum_s=longest,
        latency_percent=int(percentile[1]) if percentile else None,
        latency_percentile_s=percentile_s(_WHAT, percentile, mean, longest) if percentile else None,
        intervals=_intervals(lines),
        left_out=tuple(line for line in lines if _ANY_INTERVAL.match(line) and _interval(line) is None),
    )


def _intervals(lines: Sequence[str]) -> tuple[OltpInterval, ...]:
    rows = tuple(row for line in lines if (row := _interval(line)))
    times = [row.at_s for row in rows]
    if times != sorted(set(times)):
        raise OutputUnreadable(f"{_WHAT}: intermediate lines out of order")
    return rows


def _interval(line: str) -> OltpInterval | None:
    if match := _INTERVAL.fullmatch(line):
        at, threads, rate, queries, percent, latency, errors = match.groups()[:7]
    elif match := _INTERVAL_OF_0_5.fullmatch(line):
        (at, threads, rate, latency, percent, errors), queries = match.groups(), None
    else:
        return None
    return build(
        OltpInterval,
        _WHAT,
        at_s=int(at),
        threads=int(threads),
        transactions_per_s=float(rate),
        queries_per_s=None if queries is None else float(queries),
        latency_percent=int(percent),
        latency_s=latencies(_WHAT, SYSBENCH, {float(percent): float(latency) / _MS}).percentiles_s[float(percent)],
        errors_per_s=None if errors is None else float(errors),
    )
