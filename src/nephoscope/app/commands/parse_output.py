"""`nephoscope parse-output`: which tool wrote a file, and the metrics in it."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nephoscope.app.commands.options import OTHERS, AsJson, add_command
from nephoscope.app.console import print_json, print_table, say

if TYPE_CHECKING:
    from nephoscope.parsers.flat import FlatMetric

STDIN = Path("-")
MAX_ITEMS = 20
"""A table shows a longer list (one interval a second, the flags of a CPU) as one row with its length."""

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="output of a tool, such as a file in trials/*/attempts/*/raw/; - reads standard input",
    ),
]


@dataclass(frozen=True)
class Read:
    """A file that was read."""

    file: str
    tool: str
    version: str | None
    reason: str
    value: object
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Refused:
    """A file that was not read. Without a tool: no known one wrote it."""

    file: str
    tool: str | None
    error: str


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(
        app,
        parse_output,
        name="parse-output",
        under=OTHERS,
        example="parse-output iperf3.json fio.json; or: sysbench fileio run | nephoscope parse-output -",
    )


def parse_output(files: Files, as_json: AsJson = False) -> None:
    """Identify the tool that wrote a file, and print its metrics. Works on any output, not just nephoscope's.

    It knows fio, sysbench, stress-ng, CoreMark, iperf 2 and 3, netperf, sockperf, ping, lscpu, lsblk, dmidecode and
    /proc/cpuinfo, and recognises them by what they print: the names of files do not matter. It rejects output that is
    truncated or contradicts itself. Exit code 4 if a file cannot be read; the other files are still printed.
    """
    found = [_found(path) for path in files]
    if as_json:
        print_json([_as_json(one) for one in found])
    else:
        for one in found:
            if isinstance(one, Read):
                _print(one)
    _raise_for([one for one in found if isinstance(one, Refused)], of=len(found))


def _found(path: Path) -> Read | Refused:
    from nephoscope.model.errors import OutputUnreadable
    from nephoscope.parsers.identify import PARSERS, identify
    from nephoscope.parsers.remarks import remarks_on

    name = "standard input" if path == STDIN else str(path)
    text = _text_of(path)
    try:
        identified = identify(text)
    except OutputUnreadable as error:
        return Refused(name, None, error.message)
    try:
        value = PARSERS[identified.tool](text)
        remarks = remarks_on(identified.tool, text)
    except OutputUnreadable as error:
        return Refused(name, identified.tool, error.message)
    version = getattr(value, "version", None)
    return Read(name, identified.tool, version and version.removeprefix("iperf "), identified.reason, value, remarks)


def _text_of(path: Path) -> str:
    from nephoscope.model.errors import InputError
    from nephoscope.parsers.text import decoded

    try:
        content = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror}", hint="check the path; - reads standard input"
        ) from error
    return decoded(content)


def _as_json(one: Read | Refused) -> dict[str, Any]:
    if isinstance(one, Refused):
        return asdict(one)
    known = {"file": one.file, "tool": one.tool, "version": one.version, "remarks": one.remarks}
    return {**known, "metrics": [asdict(row) for row in _metrics(one, max_items=None)]}


def _metrics(one: Read, *, max_items: int | None) -> list["FlatMetric"]:
    from nephoscope.parsers.flat import flat_metrics

    return [row for row in flat_metrics(one.value, max_items=max_items) if row.metric != "version"]


def _print(one: Read) -> None:
    version = f", version {one.version}" if one.version else ""
    say(f"{one.file}: {one.tool}{version} ({one.reason})")
    for remark in one.remarks:
        say(remark)
    rows = [(row.metric, *_for_people(row)) for row in _metrics(one, max_items=MAX_ITEMS)]
    if rows:
        print_table(("metric", "value", "unit"), rows)
    else:
        say("The file has no metrics: the tool measured nothing.")


def _for_people(row: "FlatMetric") -> tuple[str, str]:
    """Value and unit: 0.00013 s is 130 µs; a list has one unit."""
    from nephoscope.model.numbers import scale_for

    values = row.value if isinstance(row.value, tuple) else (row.value,)
    if not row.unit or not all(isinstance(value, (int, float)) for value in values):
        return _text(row.value), row.unit
    scale = scale_for(row.unit, values)
    return ", ".join(scale.number(value) for value in values), scale.unit


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(_text, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}" if isinstance(value, float) else str(value)


def _raise_for(refused: list[Refused], *, of: int) -> None:
    from nephoscope.model.errors import FilesUnreadable
    from nephoscope.parsers.identify import PARSERS

    if not refused:
        return
    lines = [f"{len(refused)} of {of} files could not be read" if of > 1 else "the file could not be read"]
    for one in refused:
        looks = f"this looks like output of {one.tool}, but it cannot be read: " if one.tool else ""
        lines.append(f"  {one.file}: {looks}{one.error}")
    hints = []
    if any(one.tool for one in refused):
        hints.append("truncated or edited output is rejected: copy the file again, or run the tool again")
    if not all(one.tool for one in refused):
        hints.append(f"nephoscope reads the output of: {', '.join(PARSERS)}")
    raise FilesUnreadable(lines, hint="; ".join(hints))
