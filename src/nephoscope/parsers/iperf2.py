"""iperf 2, what its client prints: one stream, or the [SUM] lines of several."""

import re
from collections.abc import Sequence

from pydantic import Field

from nephoscope.errors import OutputUnreadable
from nephoscope.frozen import Frozen
from nephoscope.parsers.text import DECIMAL, INTEGER, agree, made, only, whole_lines

_WHAT = "iperf log"
_HEAD = re.compile(r"Client connecting to (?P<server>[^\s,]+).*")
_LINE = re.compile(
    rf"\[ *(?P<stream>{INTEGER}|SUM)\] +(?P<start>{DECIMAL}) ?- *(?P<end>{DECIMAL}) sec +(?P<amount>{DECIMAL})"
    rf" +(?P<byte>[KMG]?)Bytes +(?P<rate>{DECIMAL}) +(?P<bit>[KMG]?)bits/sec *"
)
_BYTES = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
_BITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
_THREE_DIGITS = 0.011
"""Amounts and rates are printed with three digits: each may be off by half a percent."""
_TENTH_S = 0.06
"""Times are printed with one decimal."""
_UNSEEN_S = 1.5
"""iperf 2 may leave out its last interval, of one second in the Cloud Reports, and end a little late."""
_LEAST_ALONE_S = 2.0
"""A shorter line alone may be the first interval of a log that was cut."""


class IperfInterval(Frozen):
    """One line."""

    start_s: float = Field(ge=0)
    end_s: float = Field(gt=0)
    bits_per_s: float = Field(ge=0)


class Iperf(Frozen):
    """What a log says: the whole, and the intervals it is made of."""

    server: str
    whole: IperfInterval
    intervals: tuple[IperfInterval, ...]


def parse_iperf_client(text: str) -> Iperf:
    """Reads a client's log.

    Raises:
        OutputUnreadable: nothing, cut off, no summary, several streams without a sum, or gaps between intervals.
    """
    lines = whole_lines(text, _WHAT)
    server = only((_HEAD.fullmatch(line) for line in lines), f"{_WHAT} that begin it")["server"]
    matches = [match for line in lines if (match := _LINE.fullmatch(line))]
    if damaged := [line for line in lines if "bits/sec" in line and not _LINE.fullmatch(line)]:
        raise OutputUnreadable(f"{_WHAT}: unreadable line {damaged[0][:60]!r}")
    sums = [match for match in matches if match["stream"] == "SUM"]
    if not sums and len({match["stream"] for match in matches}) > 1:
        raise OutputUnreadable(f"{_WHAT}: several streams and no sum of them")
    rows = [_interval(match) for match in sums or matches]
    if not rows:
        raise OutputUnreadable(f"{_WHAT}: no line holds a rate")
    *intervals, whole = rows
    if whole.start_s > 0 or (not intervals and whole.end_s < _LEAST_ALONE_S):
        raise OutputUnreadable(f"{_WHAT} is cut off: it has no summary")
    _require_chain(intervals, whole)
    return made(Iperf, _WHAT, server=server, whole=whole, intervals=tuple(intervals))


def _interval(match: re.Match[str]) -> IperfInterval:
    row = made(
        IperfInterval,
        _WHAT,
        start_s=match["start"],
        end_s=match["end"],
        bits_per_s=float(match["rate"]) * _BITS[match["bit"]],
    )
    length_s = row.end_s - row.start_s
    if length_s <= 0:
        raise OutputUnreadable(f"{_WHAT}: an interval from {row.start_s:g} to {row.end_s:g} s")
    computed = float(match["amount"]) * _BYTES[match["byte"]] * 8 / length_s
    rounding = _THREE_DIGITS + 2 * _TENTH_S / length_s
    agree(row.bits_per_s, computed, relative=rounding, absolute=10, what=_WHAT)
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
    agree(
        whole.bits_per_s,
        bits / whole.end_s,
        relative=_THREE_DIGITS,
        absolute=10 + unseen / whole.end_s,
        what=f"{_WHAT}: the mean rate",
    )
