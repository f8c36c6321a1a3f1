"""netperf 2: what each form of its output says, as names and values (`netperf_forms`), and what of it we know (here).

A rate keeps the unit that is printed next to it; without one, it is that of netperf's own default for the test.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, zip_longest

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.quantities import Bounded
from nephoscope.model.words import counted
from nephoscope.parsers.latencies import NETPERF, latencies
from nephoscope.parsers.text import DECIMAL, INTEGER, build, exactly_one, one_or_none, shown, whole_lines

_BANNER = re.compile(
    r"(?:MIGRATED )?(?P<test>(?:TCP|UDP|SCTP|DCCP|OMNI|STREAM|DG|DLPI)[A-Za-z/ _-]{0,60}?) ?TEST(?: (?:from|to) .*)?"
    r"|(?P<omni>OMNI Send TEST.*)",
    re.IGNORECASE,
)
_TO = re.compile(r" to (?P<host>\S{1,255})(?: ?\(|$)")
_INTERIM = re.compile(
    rf"Interim result: +(?P<rate>{DECIMAL}) +(?P<unit>\S{{1,20}}) over (?P<length>{DECIMAL}) seconds"
    rf"(?: ending at (?P<end>{DECIMAL}))?"
)
_BUCKETS = re.compile(r"(?P<unit>[A-Z_]{4,14}) *: *(?P<counts>[0-9: ]{19,200})")
_TOTAL = re.compile(rf"HIST_TOTAL: +({INTEGER})")
_ROWS_S = {
    "UNIT_NSEC": 1e-9, "TEN_NSEC": 1e-8, "HUNDRED_NSEC": 1e-7, "UNIT_USEC": 1e-6, "TEN_USEC": 1e-5,
    "HUNDRED_USEC": 1e-4, "UNIT_MSEC": 1e-3, "TEN_MSEC": 1e-2, "HUNDRED_MSEC": 0.1, "UNIT_SEC": 1.0, "TEN_SEC": 10.0,
}  # fmt: skip
_NOT_REACHED = "Desired confidence was not achieved"
_BITS = re.compile(r"10\^(3|6|9)bits/s(?:ec)?")
_BYTES = re.compile(r"([KMG]?)Bytes/s(?:ec)?")
_POWER = {"": 0, "K": 1, "M": 2, "G": 3}
_US = 1e-6
_ENDS = re.compile(r"(?:.*[ ,=])?[0-9]+\.[0-9]{2,3} *|>100_SECS: [0-9]+|16384  87380 ?")


class NetperfInterim(Frozen):
    """One interim result (`-D`)."""

    rate: float = Field(ge=0)
    unit: str
    length_s: float = Field(gt=0)


class Netperf(Frozen):
    """One test. None: its output does not say."""

    test: str | None = Field(description="as its banner says: 'TCP REQUEST/RESPONSE'; None: no banner (-P 0)")
    host: str | None
    throughput: float = Field(gt=0)
    unit: str | None = Field(description="as printed; None: not printed")
    bits_per_s: float | None = Field(gt=0)
    transactions_per_s: float | None = Field(gt=0)
    duration_s: float | None = Field(gt=0)
    latency_minimum_s: float | None = Field(ge=0)
    latency_mean_s: float | None = Field(gt=0)
    latency_maximum_s: float | None = Field(ge=0)
    latency_deviation_s: float | None = Field(ge=0)
    latency_p50_s: Bounded | None
    latency_p90_s: Bounded | None
    latency_p99_s: Bounded | None
    local_cpu_share: float | None = Field(ge=0)
    remote_cpu_share: float | None = Field(ge=0)
    retransmissions: int | None = Field(ge=0)
    confidence_reached: bool | None = Field(description="False: it was not, according to the output; None: not printed")
    interims: tuple[NetperfInterim, ...]
    histogram: tuple[tuple[float, int], ...] = Field(description="(lower end of a bucket in seconds, count)")
    fields: dict[str, str] = Field(description="every name and value that was printed")


_NAMES = {
    "throughput": ("THROUGHPUT", "Throughput", "Transaction Rate Tran/s", "Trans. Rate per sec", "Recv Throughput"),
    "unit": ("THROUGHPUT_UNITS", "Throughput Units", "Throughput Unit"),
    "duration_s": ("ELAPSED_TIME", "Elapsed Time (sec)", "Elapsed Time (seconds)", "Elapsed Time secs."),
    "latency_minimum_s": ("MIN_LATENCY", "Minimum Latency Microseconds"),
    "latency_mean_s": ("MEAN_LATENCY", "Mean Latency Microseconds"),
    "latency_maximum_s": ("MAX_LATENCY", "Maximum Latency Microseconds"),
    "latency_deviation_s": ("STDDEV_LATENCY", "Stddev Latency Microseconds"),
    "latency_p50_s": ("P50_LATENCY", "50th Percentile Latency Microseconds"),
    "latency_p90_s": ("P90_LATENCY", "90th Percentile Latency Microseconds"),
    "latency_p99_s": ("P99_LATENCY", "99th Percentile Latency Microseconds", "99th Percentile Latency"),
    "local_cpu_share": ("LOCAL_CPU_UTIL", "Local CPU Util %"),
    "remote_cpu_share": ("REMOTE_CPU_UTIL", "Remote CPU Util %"),
    "retransmissions": ("LOCAL_TRANSPORT_RETRANS", "Local Transport Retransmissions"),
}
_SCALE = {"local_cpu_share": 0.01, "remote_cpu_share": 0.01, "duration_s": 1.0}
_TRANSACTIONS = ("TRANSACTION_RATE", "Transaction Rate Tran/s", "Trans. Rate per sec")


def parse_netperf(text: str) -> Netperf:
    """Reads one test, in any of netperf's forms: tables of one test, omni's tables, -o (CSV), -k (keywords), -P 0.

    Raises:
        OutputUnreadable: nothing, cut off, several tests, no result, or a name with a value that is no number.
    """
    lines = [line.rstrip() for line in whole_lines(text, WHAT, ends=_ENDS)]
    banner = one_or_none((_BANNER.fullmatch(line) for line in lines), f"{WHAT} with a banner")
    fields = fields_of([line for line in lines if not (_BANNER.fullmatch(line) or _INTERIM.fullmatch(line))])
    values = {name: _number(fields, name) for name in _NAMES if name != "unit"}
    for name in _TRANSACTIONS:
        values["throughput"] = values["throughput"] or _float(fields.get(name), name)
    if not values["throughput"]:
        raise OutputUnreadable(f"{WHAT}: no throughput in it, or 0")
    test = " ".join((banner["test"] or banner["omni"] or "").split()) if banner else None
    unit = next((fields[name] for name in _NAMES["unit"] if name in fields), _unit(fields, test))
    confidence = any(_NOT_REACHED in line for line in lines)
    host = _TO.search(banner[0]) if banner else None
    return build(
        Netperf,
        WHAT,
        **{**values, **_percentiles(values)},
        test=test or None,
        host=host["host"] if host else None,
        unit=unit,
        bits_per_s=bits_per_s(values["throughput"], unit),
        transactions_per_s=values["throughput"] if unit and unit.startswith("Trans") else None,
        confidence_reached=False if confidence else True if "conf." in (banner[0] if banner else "") else None,
        interims=tuple(_interim(match) for line in lines if (match := _INTERIM.fullmatch(line))),
        histogram=_histogram(lines),
        fields=fields,
    )


def _percentiles(values: Mapping[str, float | None]) -> Mapping[str, Bounded]:
    """As far as they were printed."""
    printed = {percent: s for percent in (50.0, 90.0, 99.0) if (s := values[f"latency_p{percent:g}_s"]) is not None}
    mean_s, maximum_s = values["latency_mean_s"], values["latency_maximum_s"]
    checked = latencies(WHAT, NETPERF, printed, mean_s=mean_s, maximum_s=maximum_s)
    return {f"latency_p{percent:g}_s": value for percent, value in checked.percentiles_s.items()}


def _number(fields: Mapping[str, str], name: str) -> float | None:
    found = next((fields[key] for key in _NAMES[name] if key in fields), None)
    value = _float(found, name)
    if value is None or value < 0:
        return None  # netperf writes -1 for what it did not watch
    return value * (_US if name.startswith("latency") else _SCALE.get(name, 1.0))


def _float(text: str | None, name: str) -> float | None:
    if text is None or text == "":
        return None
    if not re.fullmatch(rf"-?{DECIMAL}", text):
        raise OutputUnreadable(f"{WHAT}: {name} is {shown(text)}, not a number")
    return float(text)


def _unit(fields: Mapping[str, str], test: str | None) -> str | None:
    """Of a rate without one: transactions have one of their own."""
    if any(fields.get(name) for name in _TRANSACTIONS) or "REQUEST" in (test or "").upper():
        return "Trans/s"
    return None


def bits_per_s(rate: float | None, unit: str | None) -> float | None:
    """A rate in a unit that netperf prints (`10^6bits/s`, `MBytes/s`: 2^20 bytes); None for what is no throughput."""
    if rate is None or unit is None:
        return None
    if bits := _BITS.fullmatch(unit):
        return float(rate * 10 ** int(bits[1]))
    if found := _BYTES.fullmatch(unit):
        return float(rate * 8 * 1024 ** _POWER[found[1]])
    return None


def _interim(match: re.Match[str]) -> NetperfInterim:
    return build(NetperfInterim, WHAT, rate=float(match["rate"]), unit=match["unit"], length_s=float(match["length"]))


def _histogram(lines: list[str]) -> tuple[tuple[float, int], ...]:
    """Buckets that hold something; their counts must add up to the total below them."""
    buckets: list[tuple[float, int]] = []
    over = 0
    for line in lines:
        if match := _BUCKETS.fullmatch(line):
            counts = [int(count) for count in match["counts"].replace(":", " ").split() if len(count) < 16]
            if match["unit"] not in _ROWS_S or len(counts) != 10:
                raise OutputUnreadable(f"{WHAT}: unreadable histogram row {shown(line)}")
            buckets += [(_ROWS_S[match["unit"]] * place, count) for place, count in enumerate(counts) if count]
        elif line.startswith(">100_SECS:"):
            over = int(exactly_one([re.fullmatch(rf">100_SECS: *({INTEGER})", line)], f"{WHAT} of slow ones")[1])
    total = one_or_none((_TOTAL.fullmatch(line) for line in lines), f"{WHAT} with the histogram's total")
    if (total is None) != (not buckets) or (total and sum(count for _, count in buckets) + over != int(total[1])):
        raise OutputUnreadable(f"{WHAT}: the histogram's counts do not add up to its total")
    return tuple([*buckets, (100.0, over)] if over else buckets)


WHAT = "netperf output"
_KEYWORD = re.compile(r"(?P<name>[A-Z][A-Z0-9_]{2,60})=(?P<value>[^=]{0,200})")
_NUMBER = re.compile(rf"-?{DECIMAL}")
_BARE = re.compile(rf"(?P<rate>{DECIMAL}),(?P<unit>[^,\s]{{1,20}})")
_UNIT = re.compile(r"10\^(?:3|6|9)bits/s(?:ec)?|[KMG]?Bytes/s(?:ec)?|Trans/s", re.IGNORECASE)
_WORDY = re.compile(r".*[A-Za-z].*")
_HISTOGRAM = re.compile(r"Histogram of .*|[A-Z_]{4,14} *: *[0-9: ]{19,200}|>100_SECS: .*|HIST_TOTAL: .*")


def fields_of(lines: Sequence[str]) -> dict[str, str]:
    """Name -> value, both as printed.

    Args:
        lines: without banner and interim results.

    Raises:
        OutputUnreadable: no form of netperf's that is known.
    """
    body = [line for line in lines if line.strip() and not line.startswith("!!!") and not _HISTOGRAM.fullmatch(line)]
    forms: tuple[Callable[[Sequence[str]], dict[str, str]], ...] = (_keywords, _csv, _bare, _classic, _omni)
    for form in forms:
        if found := form(body):
            return found
    last = body[-1] if body else ""
    raise OutputUnreadable(f"{WHAT}: no result in it; its last line is {shown(last)}")


def _keywords(lines: Sequence[str]) -> dict[str, str]:
    """`-k`: one NAME=value per line."""
    found: dict[str, str] = {}
    for line in lines:
        if match := _KEYWORD.fullmatch(line.strip()):
            if match["name"] in found:
                raise OutputUnreadable(f"{WHAT}: {match['name']} appears twice")
            found[match["name"]] = match["value"].strip().strip('"')
    return found if "THROUGHPUT" in found or "TRANSACTION_RATE" in found else {}


def _csv(lines: Sequence[str]) -> dict[str, str]:
    """`-o`: a line of names, a line of values; either may have been wrapped by a mail program."""
    for at, line in enumerate(lines):
        if "," not in line or _NUMBER.fullmatch(line.split(",")[0]):
            continue
        header = ""
        for size in range(1, len(lines) - at):
            header = f"{header} {lines[at + size - 1]}".strip()
            names, values = header.split(","), lines[at + size].split(",")
            if len(values) > 1 and _NUMBER.fullmatch(values[0].strip()):
                if len(names) != len(values):
                    raise OutputUnreadable(f"{WHAT}: {counted(len(names), 'name')} and {counted(len(values), 'value')}")
                return _unique(names, values)
    return {}


def _unique(names: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for printed, value in zip(names, values, strict=True):
        name = " ".join(printed.split())
        if name in found and found[name] != value.strip():
            raise OutputUnreadable(f"{WHAT}: {name!r} appears twice")
        found[name] = value.strip()
    return found


def _bare(lines: Sequence[str]) -> dict[str, str]:
    """`-P 0 -o throughput,throughput_units`: one line without names."""
    if len(lines) == 1 and (match := _BARE.fullmatch(lines[0].strip())) and _UNIT.fullmatch(match["unit"]):
        return {"Throughput": match["rate"], "Throughput Units": match["unit"]}
    return {}


def _classic(lines: Sequence[str]) -> dict[str, str]:
    """Tables of one test: the last line of the header names units, then one row, or two (request/response, UDP)."""
    for at, line in enumerate(lines):
        words = line.split()
        rows = [row.split() for row in lines[at + 1 : at + 3]]
        numbers = [row for row in rows if row and all(map(_NUMBER.fullmatch, row))]
        if not numbers or not words or words[0] not in {"bytes", "(bytes)"}:
            continue
        header = " ".join(lines[max(0, at - 4) : at + 1])
        if "per sec" in line and len(numbers[0]) >= 6:
            return {"Elapsed Time secs.": numbers[0][4], "Trans. Rate per sec": numbers[0][5], **_cpus(numbers[0], 6)}
        if "Okay" in header and len(numbers) == 2 and len(numbers[0]) >= 6 and len(numbers[1]) >= 4:
            # The second row is what the receiver saw: the one that counts.
            return {"Elapsed Time secs.": numbers[1][1], "Throughput": numbers[1][3], **_unit_of_header(line)}
        if len(numbers[0]) >= 5 and "Throughput" in header:
            return {
                "Elapsed Time secs.": numbers[0][3],
                "Throughput": numbers[0][4],
                **_unit_of_header(line),
                **_cpus(numbers[0], 5),
            }
    return {}


def _unit_of_header(line: str) -> dict[str, str]:
    found = next((word for word in line.split() if _UNIT.fullmatch(word)), None)
    return {"Throughput Units": found} if found else {}


def _cpus(row: Sequence[str], first: int) -> dict[str, str]:
    """CPU columns of `-c -C`: local, remote; netperf writes -1 for the one it did not watch."""
    if len(row) < first + 4:
        return {}
    return {"Local CPU Util %": row[first], "Remote CPU Util %": row[first + 1]}


def _omni(lines: Sequence[str]) -> dict[str, str]:
    """omni's table: names over up to four lines, each in its column, and one row of values."""
    values = next((at for at, line in enumerate(lines) if _NUMBER.fullmatch((line.split() or [""])[0])), None)
    header = lines[max(0, values - 4) : values] if values else []
    if values is None or not header or not all(map(_WORDY.fullmatch, header)):
        return {}
    row = lines[values]
    width = max(map(len, [row, *header]))
    blank = [all(line[at : at + 1] in {"", " "} for line in [row, *header]) for at in range(width)]
    starts = [at for at in range(width) if not blank[at] and (at == 0 or blank[at - 1])]
    cells = [(start, end) for start, end in pairwise([*starts, width])]
    names = [" ".join(" ".join(line[start:end].split()) for line in header).split() for start, end in cells]
    found = [row[start:end].strip() for start, end in cells]
    if len(starts) < 2 or any(not name or not value for name, value in zip_longest(names, found)):
        return {}
    return _unique([" ".join(name) for name in names], found)
