"""ping: iputils (IPv4 and IPv6, quiet, with timestamps), busybox, BSD and macOS.

The statistics at the end must agree with the replies above them, where those are printed. Replies that came twice
count in the statistics of the times, as in the tools; they are neither in `received` nor in `replies_s`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.words import counted
from nephoscope.parsers.text import DECIMAL, INTEGER, build, exactly_one, one_or_none, require_close, whole_lines

_WHAT = "ping log"
_MS = 1000.0
_POINT = DECIMAL.replace(r"\.", "[.,]")
"""inetutils writes the decimal point of the language."""
_HEAD = re.compile(
    rf"PING6?\({INTEGER}=[0-9+]+ bytes\) \S+ --> (?P<to>\S{{1,255}})"
    r"|PING6? (?P<host>[^\s(]{1,255}?)(?: ?\(.{1,300}\))?(?: from .{1,200}|:)? .{0,100}bytes.{0,100}"
)
"""Host and address behind it; macOS and FreeBSD write only addresses for IPv6."""
_REPLY = re.compile(
    rf"(?:\[[0-9.]+\] )?{INTEGER} bytes from .+?[:,] (?:icmp_[rs]eq|seq)=(?P<sequence>{INTEGER})"
    rf"(?: ident={INTEGER})?(?: (?:ttl|hlim)=-?{INTEGER})?"
    rf"(?: time=(?P<time>{_POINT}) ms)?(?P<more>(?!.*time=).*)"
)
_ANY_REPLY = re.compile(rf"(?:\[[0-9.]+\] )?{INTEGER} bytes from .*")
_COUNTS = re.compile(
    rf"(?P<sent>{INTEGER}) packets transmitted, (?P<received>{INTEGER}) (?:packets )?received,"
    rf"(?P<more>(?: \+?{INTEGER} (?:errors|duplicates|corrupted),)*)"
    rf" (?P<loss>{INTEGER}(?:[.,][0-9]{{1,6}})?)% packet loss(?:, time {INTEGER}ms)?"
)
_MORE = re.compile(rf"({INTEGER}) (errors|duplicates|corrupted)")
_TIMES = re.compile(
    rf"(?:rtt|round-trip) min/avg/max(?:/(?:mdev|stddev|std-dev))? = "
    rf"(?P<low>{_POINT})/(?P<mean>{_POINT})/(?P<high>{_POINT})(?:/(?P<deviation>{_POINT}))? ms(?:, .*)?"
)
_DIGIT = 0.0011
"""Summaries have three decimals of a millisecond; ping rounds down and up in different versions."""
_REPLY_SHARE = 0.011
"""A reply is printed with three significant digits, the others cut away: 1.239 ms is a reply of 1.23 ms."""

_SEQUENCE_NUMBERS = 2**16
_LATE = 1024


class PingTimes(Frozen):
    """Round-trip times."""

    minimum_s: float = Field(ge=0)
    mean_s: float = Field(ge=0)
    maximum_s: float = Field(ge=0)
    deviation_s: float | None = Field(ge=0, description="None: not printed (busybox)")


class Ping(Frozen):
    """What a log says."""

    host: str
    sent: int = Field(ge=1)
    received: int = Field(ge=0)
    duplicates: int = Field(ge=0)
    errors: int = Field(ge=0, description="messages of routers on the way")
    times: PingTimes | None = Field(description="None: nothing came back, or packets too small to carry a time")
    replies_s: tuple[float, ...] = Field(description="round trips in the order of arrival; empty: not printed")
    sequence: tuple[int, ...] = Field(description="number of the request that each of `replies_s` answers")


def parse_ping(text: str) -> Ping:
    """Reads a log.

    Raises:
        OutputUnreadable: nothing, cut off, other lines between the replies, or statistics that do not follow from them.
    """
    lines = [line.removeprefix("^C").rstrip() for line in whole_lines(text, _WHAT, ends=_TIMES)]
    head = exactly_one((_HEAD.fullmatch(line) for line in lines), f"{_WHAT} that begin it")
    counts = exactly_one((_COUNTS.fullmatch(line) for line in lines), f"{_WHAT} with counts")
    sent, received = int(counts["sent"]), int(counts["received"])
    more = {name: int(count) for count, name in _MORE.findall(counts["more"])}
    if received > sent or sent == 0:
        raise OutputUnreadable(f"{_WHAT}: {received} received of {sent}")
    lost_percent = _number(counts["loss"])
    require_close(lost_percent, 100 * (sent - received) / sent, relative=0.01, absolute=1, what=_WHAT)
    replies = [match for line in lines if (match := _REPLY.fullmatch(line))]
    first = [match for match in replies if "DUP" not in match["more"]]
    damaged = sum(bool(_ANY_REPLY.match(line)) for line in lines) - len(replies)
    if damaged or (replies and len(first) != received):
        raise OutputUnreadable(f"{_WHAT}: {_complete(first)} of {received} received")
    timed = [_number(match["time"]) / _MS for match in replies if match["time"]]
    if timed and len(timed) != len(replies):
        raise OutputUnreadable(f"{_WHAT}: {_complete(timed)} of {len(replies)}")
    timed_first = first if timed else []
    times = _times(lines, timed, expected=received > 0 and len(timed) == len(replies))
    return build(
        Ping,
        _WHAT,
        host=head["host"] or head["to"],
        sent=sent,
        received=received,
        duplicates=more.get("duplicates", 0),
        errors=more.get("errors", 0),
        times=times,
        replies_s=tuple(_number(match["time"]) / _MS for match in timed_first),
        sequence=tuple(_unwrapped(int(match["sequence"]) for match in timed_first)),
    )


def _unwrapped(numbers: Iterable[int]) -> Iterator[int]:
    """Numbers of 16 bits, as ICMP has them, that go on after 65,535; a reply may be late by up to `_LATE` requests."""
    before = 0
    for number in numbers:
        before += (number - before + _LATE) % _SEQUENCE_NUMBERS - _LATE
        yield before


def _complete(replies: list[Any]) -> str:
    return counted(len(replies), "complete reply", "complete replies")


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _times(lines: list[str], timed: list[float], *, expected: bool) -> PingTimes | None:
    found = one_or_none((_TIMES.fullmatch(line) for line in lines), f"{_WHAT} with times")
    if found is None and expected:
        raise OutputUnreadable(f"no lines of {_WHAT} with times")
    if found is None:
        return None
    low, mean, high = (_number(found[name]) for name in ("low", "mean", "high"))
    if not low <= mean <= high:
        raise OutputUnreadable(f"{_WHAT}: its mean is outside its range")
    if timed:
        for printed, computed, what in (
            (low, min(timed), "least"),
            (high, max(timed), "longest"),
            (mean, sum(timed) / len(timed), "mean"),
        ):
            require_close(
                printed, computed * _MS, relative=_REPLY_SHARE, absolute=_DIGIT, what=f"{_WHAT}: the {what} time"
            )
    deviation = found["deviation"]
    return build(
        PingTimes,
        _WHAT,
        minimum_s=low / _MS,
        mean_s=mean / _MS,
        maximum_s=high / _MS,
        deviation_s=None if deviation is None else _number(deviation) / _MS,
    )
