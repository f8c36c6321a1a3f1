"""ping of iputils: replies and the statistics below them, which must agree."""

import re

from pydantic import Field

from nephoscope.errors import OutputUnreadable
from nephoscope.frozen import Frozen
from nephoscope.parsers.text import DECIMAL, INTEGER, agree, made, only, whole_lines

_WHAT = "ping log"
_MS = 1000.0
_HEAD = re.compile(r"PING (?P<host>\S+) .*bytes of data\.")
_REPLY = re.compile(
    rf"{INTEGER} bytes from .+: icmp_seq=({INTEGER}) ttl={INTEGER} time=({DECIMAL}) ms(?P<again> .DUP!.)?"
)
_COUNTS = re.compile(
    rf"(?P<sent>{INTEGER}) packets transmitted, (?P<received>{INTEGER}) received,"
    rf"(?: \+{INTEGER} (?:errors|duplicates|corrupted),)* (?P<loss>{DECIMAL})% packet loss, time {INTEGER}ms"
)
_TIMES = re.compile(rf"rtt min/avg/max/mdev = ({DECIMAL})/({DECIMAL})/({DECIMAL})/({DECIMAL}) ms(?:, .*)?")
_DIGIT = 0.0011
"""Summaries have three decimals of a millisecond; ping rounds down and up in different versions."""
_REPLY_SHARE = 0.011
"""A reply is printed with three significant digits, the others cut away: 1.239 ms is a reply of 1.23 ms."""


class PingTimes(Frozen):
    """Round-trip times."""

    minimum_s: float = Field(ge=0)
    mean_s: float = Field(ge=0)
    maximum_s: float = Field(ge=0)
    deviation_s: float = Field(ge=0)


class Ping(Frozen):
    """What a log says."""

    host: str
    sent: int = Field(ge=1)
    received: int = Field(ge=0)
    times: PingTimes | None = Field(description="None: nothing came back")


def parse_ping(text: str) -> Ping:
    """Reads a log.

    Raises:
        OutputUnreadable: nothing, cut off, other lines between the replies, or statistics that do not follow from them.
    """
    lines = whole_lines(text, _WHAT)
    host = only((_HEAD.fullmatch(line) for line in lines), f"{_WHAT} that begin it")["host"]
    counts = only((_COUNTS.fullmatch(line) for line in lines), f"{_WHAT} with counts")
    sent, received = int(counts["sent"]), int(counts["received"])
    if received > sent or sent == 0:
        raise OutputUnreadable(f"{_WHAT}: {received} received of {sent}")
    agree(float(counts["loss"]), 100 * (sent - received) / sent, relative=0.01, absolute=1, what=_WHAT)
    replies = [match for line in lines if (match := _REPLY.fullmatch(line)) and not match["again"]]
    damaged = [line for line in lines if "icmp_seq=" in line and "time=" in line and not _REPLY.fullmatch(line)]
    if damaged or (replies and len(replies) != received):
        raise OutputUnreadable(f"{_WHAT}: {len(replies)} whole replies of {received} received")
    if received == 0:
        return made(Ping, _WHAT, host=host, sent=sent, received=0, times=None)
    low, mean, high, deviation = (
        float(number) for number in only((_TIMES.fullmatch(line) for line in lines), f"{_WHAT} with times").groups()
    )
    if not low <= mean <= high:
        raise OutputUnreadable(f"{_WHAT}: its mean is outside its extremes")
    times = [float(match[2]) for match in replies]
    if times:
        agree(low, min(times), relative=_REPLY_SHARE, absolute=_DIGIT, what=f"{_WHAT}: the least time")
        agree(high, max(times), relative=_REPLY_SHARE, absolute=_DIGIT, what=f"{_WHAT}: the longest time")
        agree(mean, sum(times) / len(times), relative=_REPLY_SHARE, absolute=_DIGIT, what=f"{_WHAT}: the mean time")
    rtt = made(
        PingTimes,
        _WHAT,
        minimum_s=low / _MS,
        mean_s=mean / _MS,
        maximum_s=high / _MS,
        deviation_s=deviation / _MS,
    )
    return made(Ping, _WHAT, host=host, sent=sent, received=received, times=rtt)
