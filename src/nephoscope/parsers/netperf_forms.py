"""The forms of netperf's output, each as names and values: keywords, CSV, omni's tables, tables of one test.

Built after netperf 2.7's documented formats and public samples; the tool itself is not free to install everywhere.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise, zip_longest

from nephoscope.errors import OutputUnreadable
from nephoscope.parsers.text import DECIMAL, shown

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
    """`-k`: NAME=value, one a line."""
    found: dict[str, str] = {}
    for line in lines:
        if match := _KEYWORD.fullmatch(line.strip()):
            if match["name"] in found:
                raise OutputUnreadable(f"{WHAT}: {match['name']} stands twice")
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
                    raise OutputUnreadable(f"{WHAT}: {len(names)} names and {len(values)} values")
                return _unique(names, values)
    return {}


def _unique(names: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for printed, value in zip(names, values, strict=True):
        name = " ".join(printed.split())
        if name in found and found[name] != value.strip():
            raise OutputUnreadable(f"{WHAT}: {name!r} stands twice")
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
            return {"Elapsed Time secs.": numbers[1][1], "Throughput": numbers[1][3], **_unit(line)}
        if len(numbers[0]) >= 5 and "Throughput" in header:
            return {
                "Elapsed Time secs.": numbers[0][3],
                "Throughput": numbers[0][4],
                **_unit(line),
                **_cpus(numbers[0], 5),
            }
    return {}


def _unit(line: str) -> dict[str, str]:
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
