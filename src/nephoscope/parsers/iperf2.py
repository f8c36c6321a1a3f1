"""iperf 2, of a client or a server: intervals and wholes of each stream, and [SUM] lines of several.

TCP and UDP, plain and `--enhanced`. Each amount must agree with its rate and its time. `-y C` writes lines of numbers
without names; `parse_iperf_csv` reads those, and leaves their timestamps alone, as 2.1 prints wrong ones.
"""

import re
from collections.abc import Iterable, Sequence

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.parsers.text import DECIMAL, INTEGER, build, exactly_one, require_close, shown, whole_lines

_WHAT = "iperf log"
_HEAD = re.compile(r"Client connecting to (?P<server>[^\s,]+).*|Server listening on (?:TCP|UDP) port .*")
_LINE = re.compile(
    rf"\[ *(?P<stream>\*?[0-9-]{{1,15}}|SUM[-0-9a-z]*)\] +(?P<start>{DECIMAL}) ?- *(?P<end>{DECIMAL}) sec"
    rf" +(?P<amount>{DECIMAL}) +(?P<byte>[KMGT]?)Bytes +(?P<rate>{DECIMAL}) +(?P<bit>[KMGT]?)(?P<kind>bits|Bytes)/sec"
    rf"(?P<more>.*)"
)
_CONNECTED = re.compile(r"\[ *(\*?[0-9-]{1,15})\] local .* connected with .*")
_LOSS = re.compile(rf" +(?P<jitter>{DECIMAL}) ms +(?P<lost>-?{INTEGER})/ *(?P<datagrams>{INTEGER}) \(.*\).*")
_ENDS = re.compile(rf"{_LINE.pattern.removesuffix('(?P<more>.*)')}(?:{_LOSS.pattern.removesuffix('.*')})? *")
_CSV = re.compile(
    rf"[^,]{{0,40}},[^,]{{0,60}},{INTEGER},(?P<server>[^,]{{0,60}}),{INTEGER},(?P<stream>-?{INTEGER}),"
    rf"(?P<start>{DECIMAL})-(?P<end>{DECIMAL}),(?P<bytes>{INTEGER}),(?P<rate>{DECIMAL})"
    rf"(?:,(?P<jitter>{DECIMAL}),(?P<lost>-?{INTEGER}),(?P<datagrams>{INTEGER})(?:,.*)?|,.*)?"
)
_BYTES = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_BITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_THREE_DIGITS = 0.011
"""Amounts and rates are printed with three digits: each may be off by half a percent."""
_TENTH_S = 0.06
"""Times are printed with one decimal."""
_UNSEEN_S = 1.5
"""iperf 2 may leave out its last interval, of one second in the Cloud Reports, and end a little late."""
_MIN_ALONE_S = 2.0
"""A shorter line alone may be the first interval of a log that was cut."""


class IperfInterval(Frozen):
    """One line."""

    start_s: float = Field(ge=0)
    end_s: float = Field(gt=0)
    bits_per_s: float = Field(ge=0)
    jitter_s: float | None = Field(default=None, ge=0, description="for UDP, at the receiver")
    lost: int | None = Field(default=None, description="datagrams; iperf counts late ones as negative")
    datagrams: int | None = Field(default=None, ge=0)


class IperfStream(Frozen):
    """One stream, or the sum of several: the whole, and the intervals it is made of."""

    whole: IperfInterval
    intervals: tuple[IperfInterval, ...]


class Iperf(Frozen):
    """What a log says."""

    server: str | None = Field(description="None: this is the server's log, or the lines name none")
    whole: IperfInterval
    """Of the sum; of the only stream where there is no sum."""
    intervals: tuple[IperfInterval, ...]
    streams: tuple[IperfStream, ...] = Field(min_length=1, description="without the sum")
    received: IperfInterval | None = Field(description="of UDP: what the server reports to the client")


def parse_iperf_client(text: str) -> Iperf:
    """Reads a client's log, or that of a server that had one client; `parse_iperf_server` reads one of several.

    Raises:
        OutputUnreadable: nothing, cut off, no summary, several streams without a sum, or gaps between intervals.
    """
    lines = [line.rstrip() for line in whole_lines(text, _WHAT, ends=_ENDS)]
    server = exactly_one((_HEAD.fullmatch(line) for line in lines), f"{_WHAT} that begin it")["server"]
    matches = [match for line in lines if (match := _LINE.fullmatch(line))]
    for line in lines:
        if re.search(r"(?:bits|Bytes)/sec", line) and not _LINE.fullmatch(line):
            raise OutputUnreadable(f"{_WHAT}: unreadable line {shown(line)}")
    # A client of UDP ends with what the server reports: the only line of it that tells of loss.
    reported = [match for match in matches if server and _LOSS.fullmatch(match["more"])]
    sent = [match for match in matches if match not in reported]
    if len(reported) > 1:
        raise OutputUnreadable(f"{_WHAT}: {len(reported)} reports of the server; expected one")
    received = _interval(reported[0]) if reported else None
    return _iperf(server, [(match["stream"], _interval(match)) for match in sent], received)


def parse_iperf_server(text: str) -> tuple[IperfStream, ...]:
    """Reads a server's log: every stream that a client made, in the order of connection; sums are left out.

    Raises:
        OutputUnreadable: nothing, cut off, a client's log, no stream, or one without a summary or with gaps.
    """
    lines = [line.rstrip() for line in whole_lines(text, _WHAT, ends=_ENDS)]
    if not any(line.startswith("Server listening on") for line in lines):
        raise OutputUnreadable(f"{_WHAT}: no output of a server in it")
    rows: dict[tuple[str, int], list[IperfInterval]] = {}
    connections: dict[str, int] = {}
    for line in lines:
        if connected := _CONNECTED.fullmatch(line):
            connections[connected[1]] = connections.get(connected[1], 0) + 1
        elif (match := _LINE.fullmatch(line)) and not match["stream"].startswith("SUM"):
            rows.setdefault((match["stream"], connections.get(match["stream"], 0)), []).append(_interval(match))
    if not rows:
        raise OutputUnreadable(f"{_WHAT}: no line contains a rate")
    return tuple(_stream(name, found) for (name, _), found in rows.items())


def parse_iperf_csv(text: str) -> Iperf:
    """Reads the lines of `-y C`, of a client; the last one of UDP is what the server reports, with its own address.

    Raises:
        OutputUnreadable: nothing, cut off, another line, or as `parse_iperf_client`.
    """
    lines = [line for line in whole_lines(text, _WHAT) if line.strip()]
    matches = [_CSV.fullmatch(line) for line in lines]
    for line, match in zip(lines, matches, strict=True):
        if match is None:
            raise OutputUnreadable(f"{_WHAT}: unreadable line {shown(line)}")
    found = [match for match in matches if match]
    reported = found[-1:] if len(found) > 1 and found[-1]["datagrams"] and not found[0]["datagrams"] else []
    sent = found[: len(found) - len(reported)]
    servers = {match["server"] for match in sent}
    if len(servers) > 1:
        raise OutputUnreadable(f"{_WHAT}: lines of {len(servers)} servers")
    rows = [("SUM" if match["stream"].startswith("-") else match["stream"], _csv_row(match)) for match in sent]
    received = _csv_row(reported[0]) if reported else None
    return _iperf(next(iter(servers), None), rows, received, needs_sum=False)


def _csv_row(match: re.Match[str]) -> IperfInterval:
    start_s, end_s, rate = float(match["start"]), float(match["end"]), float(match["rate"])
    if end_s <= start_s:
        raise OutputUnreadable(f"{_WHAT}: an interval from {start_s:g} to {end_s:g} s")
    relative = 0.001 + 2 * _TENTH_S / (end_s - start_s)
    require_close(rate, int(match["bytes"]) * 8 / (end_s - start_s), relative=relative, absolute=10, what=_WHAT)
    return build(
        IperfInterval,
        _WHAT,
        start_s=start_s,
        end_s=end_s,
        bits_per_s=rate,
        jitter_s=float(match["jitter"]) / 1000 if match["jitter"] else None,
        lost=int(match["lost"]) if match["lost"] else None,
        datagrams=int(match["datagrams"]) if match["datagrams"] else None,
    )


def _iperf(
    server: str | None,
    rows: Iterable[tuple[str, IperfInterval]],
    received: IperfInterval | None,
    *,
    needs_sum: bool = True,
) -> Iperf:
    by_stream: dict[str, list[IperfInterval]] = {}
    for name, row in rows:
        by_stream.setdefault("SUM" if name.startswith("SUM") else name, []).append(row)
    if not by_stream:
        raise OutputUnreadable(f"{_WHAT}: no line contains a rate")
    intervals: tuple[IperfInterval, ...] = ()
    total = by_stream.pop("SUM", None)
    streams = tuple(_stream(name, found) for name, found in by_stream.items())
    if total is None and len(streams) > 1:
        if needs_sum:
            raise OutputUnreadable(f"{_WHAT}: several streams and no sum of them")
        whole = _added([one.whole for one in streams])
    elif total is None:
        whole, intervals = streams[0].whole, streams[0].intervals
    else:
        summed = _stream("SUM", total)
        whole, intervals = summed.whole, summed.intervals
        streams = streams or (summed,)
    return build(Iperf, _WHAT, server=server, whole=whole, intervals=intervals, streams=streams, received=received)


def _added(wholes: Sequence[IperfInterval]) -> IperfInterval:
    """All streams at once; they begin and end together."""
    end_s = max(one.end_s for one in wholes)
    if end_s - min(one.end_s for one in wholes) > _UNSEEN_S:
        raise OutputUnreadable(f"{_WHAT}: streams that end at different times have no sum")
    return build(IperfInterval, _WHAT, start_s=0.0, end_s=end_s, bits_per_s=sum(one.bits_per_s for one in wholes))


def _stream(name: str, rows: Sequence[IperfInterval]) -> IperfStream:
    *intervals, whole = rows
    if whole.start_s > 0 or (not intervals and name != "SUM" and whole.end_s < _MIN_ALONE_S):
        raise OutputUnreadable(f"{_WHAT} is cut off: stream {name} has no summary")
    if not intervals and whole.end_s < _MIN_ALONE_S:
        raise OutputUnreadable(f"{_WHAT} is cut off: it has no summary")
    _require_chain(intervals, whole)
    return build(IperfStream, _WHAT, whole=whole, intervals=tuple(intervals))


def _interval(match: re.Match[str]) -> IperfInterval:
    rate = float(match["rate"]) * (_BYTES[match["bit"]] * 8 if match["kind"] == "Bytes" else _BITS[match["bit"]])
    loss = _LOSS.fullmatch(match["more"])
    row = build(
        IperfInterval,
        _WHAT,
        start_s=float(match["start"]),
        end_s=float(match["end"]),
        bits_per_s=rate,
        jitter_s=float(loss["jitter"]) / 1000 if loss else None,
        lost=int(loss["lost"]) if loss else None,
        datagrams=int(loss["datagrams"]) if loss else None,
    )
    length_s = row.end_s - row.start_s
    if length_s <= 0:
        raise OutputUnreadable(f"{_WHAT}: an interval from {row.start_s:g} to {row.end_s:g} s")
    computed = float(match["amount"]) * _BYTES[match["byte"]] * 8 / length_s
    rounding = _THREE_DIGITS + 2 * _TENTH_S / length_s
    require_close(row.bits_per_s, computed, relative=rounding, absolute=10, what=_WHAT)
    return row


def _require_chain(intervals: Sequence[IperfInterval], whole: IperfInterval) -> None:
    """Intervals follow each other from 0 to the end of the whole, whose rate is their mean."""
    if not intervals:
        return
    at_s = 0.0
    for row in intervals:
        if abs(row.start_s - at_s) > _TENTH_S:
            raise OutputUnreadable(f"{_WHAT}: the interval at {at_s:g} s is missing")
        at_s = row.end_s
    if abs(whole.end_s - at_s) > _UNSEEN_S:
        raise OutputUnreadable(f"{_WHAT}: intervals end at {at_s:g} s, the summary at {whole.end_s:g} s")
    bits = sum(row.bits_per_s * (row.end_s - row.start_s) for row in intervals)
    # What an interval that was left out carried is not known, only that links do not double their rate.
    unseen = 2 * max(row.bits_per_s for row in intervals) * abs(whole.end_s - at_s)
    require_close(
        whole.bits_per_s,
        bits / whole.end_s,
        relative=_THREE_DIGITS,
        absolute=10 + unseen / whole.end_s,
        what=f"{_WHAT}: the mean rate",
    )
