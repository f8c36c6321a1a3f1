"""iperf3's JSON (`--json`, and the lines of `--json-stream`), of client or server, TCP or UDP.

The sender's own numbers can be wrong: it counts bytes that were handed to the kernel. The receiver's rate is the one
to use. A side that does not know the other's numbers writes 0 there; here they are None. Before 3.8 a client of UDP
knows only what it sent and how many datagrams were lost: all are of one size, so the received rate follows.

3.7 gives the sums of both ways of `--bidir` the same keys, with `sender` for whether this end sent. They are read under
the names that later versions give them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.parsers.documents import Pairs, json_documents, unique_keys
from nephoscope.parsers.text import (
    DECIMAL,
    INTEGER,
    LenientModel,
    build,
    exactly_one,
    one_or_none,
    require_close,
    shown,
    validate,
    whole_lines,
)

_JSON = "iperf3 JSON"
_MS = 1000.0
_SUMS = {"sum", "sum_sent", "sum_received"}
_REVERSE = "_bidir_reverse"
_ROUNDED = 0.02
"""Rates are computed from times with more digits than are printed, and from the other end's clock."""


class Iperf3Interval(Frozen):
    """One interval, all streams together."""

    start_s: float = Field(ge=0)
    end_s: float = Field(gt=0)
    bits_per_s: float = Field(ge=0)
    retransmits: int | None = Field(ge=0, description="None: this end does not send, or UDP")
    omitted: bool = Field(description="of the warm-up that `--omit` leaves out of the sums")


class Iperf3(Frozen):
    """One test. None: this end does not know."""

    version: str | None = Field(description="None: not printed (text)")
    protocol: str
    streams: int = Field(ge=1)
    reverse: bool = Field(description="the server sent")
    duration_s: float = Field(gt=0)
    sent_bits_per_s: float | None = Field(gt=0)
    received_bits_per_s: float | None = Field(gt=0)
    back_sent_bits_per_s: float | None = Field(gt=0, description="of `--bidir`: what the server sent at the same time")
    back_received_bits_per_s: float | None = Field(gt=0, description="of it, what arrived here")
    retransmits: int | None = Field(ge=0)
    jitter_s: float | None = Field(ge=0, description="of UDP")
    lost: int | None = Field(description="datagrams; negative: some came late and had been counted as lost")
    datagrams: int | None = Field(ge=0)
    cpu_here_share: float | None = Field(ge=0, description="of one CPU")
    cpu_there_share: float | None = Field(ge=0)
    congestion_control: str | None
    intervals: tuple[Iperf3Interval, ...]


class _Sum(LenientModel):
    start: float = Field(default=0, ge=0)
    end: float = Field(ge=0)
    seconds: float = Field(ge=0)
    bytes_: int = Field(alias="bytes", ge=0)
    bits_per_second: float = Field(ge=0)
    retransmits: int | None = Field(default=None, ge=0)
    jitter_ms: float | None = Field(default=None, ge=0)
    lost_packets: int | None = None
    packets: int | None = Field(default=None, ge=0)
    omitted: bool = False

    @property
    def rate(self) -> float | None:
        """The printed rate, checked against the bytes; None: nothing was counted."""
        if self.bytes_ == 0 or self.seconds == 0:
            return None
        require_close(self.bits_per_second, self.bytes_ * 8 / self.seconds, relative=_ROUNDED, absolute=1, what=_JSON)
        return self.bits_per_second


class _Interval(LenientModel):
    sum_: _Sum = Field(alias="sum")


class _Cpu(LenientModel):
    host_total: float = Field(ge=0)
    remote_total: float = Field(ge=0)


class _End(LenientModel):
    sum_: _Sum | None = Field(default=None, alias="sum")
    sum_sent: _Sum | None = None
    sum_received: _Sum | None = None
    sum_bidir_reverse: _Sum | None = None
    sum_sent_bidir_reverse: _Sum | None = None
    sum_received_bidir_reverse: _Sum | None = None
    cpu: _Cpu | None = Field(default=None, alias="cpu_utilization_percent")
    sender_tcp_congestion: str | None = None


class _TestStart(LenientModel):
    protocol: str
    num_streams: int = Field(ge=1)
    reverse: int = 0


class _Start(LenientModel):
    version: str
    test_start: _TestStart


class _Document(LenientModel):
    start: _Start
    intervals: tuple[_Interval, ...] = ()
    end: _End


def parse_iperf3(text: str) -> Iperf3:
    """Reads one test.

    Raises:
        OutputUnreadable: no JSON, cut off, an error that iperf3 tells, or numbers that contradict each other.
    """
    is_server = '"accepted_connection"' in text
    document = _whole(json_documents(text, _JSON, join=partial(_both_ways, is_server=is_server)).values)
    if "error" in document:
        raise OutputUnreadable(f"{_JSON}: it says {str(document['error'])[:120]!r}")
    found = validate(_Document, document, _JSON)
    if not found.start.version.startswith("iperf 3"):
        raise OutputUnreadable(f"{_JSON}: {found.start.version[:40]!r} is not iperf 3")
    end = found.end
    datagrams = end.sum_ if end.sum_ and end.sum_.packets else None
    sent, received = _ends_of(end.sum_sent, end.sum_received, end.sum_)
    back = _ends_of(end.sum_sent_bidir_reverse, end.sum_received_bidir_reverse, end.sum_bidir_reverse)
    if datagrams and (datagrams.jitter_ms or 0) > datagrams.seconds * _MS:
        raise OutputUnreadable(f"{_JSON}: a jitter of {datagrams.jitter_ms:g} ms in a test of {datagrams.seconds:g} s")
    known = [one for one in (received, sent) if one and one.bytes_]
    if not known:
        raise OutputUnreadable(f"{_JSON}: end: nothing was sent or received")
    test = found.start.test_start
    return build(
        Iperf3,
        _JSON,
        version=found.start.version,
        protocol=test.protocol,
        streams=test.num_streams,
        reverse=bool(test.reverse),
        duration_s=known[0].seconds,
        sent_bits_per_s=_rate(sent),
        received_bits_per_s=_rate(received),
        back_sent_bits_per_s=_rate(back[0]),
        back_received_bits_per_s=_rate(back[1]),
        retransmits=sent.retransmits if sent and sent.bytes_ else None,
        jitter_s=datagrams.jitter_ms / _MS if datagrams and datagrams.jitter_ms is not None else None,
        lost=datagrams.lost_packets if datagrams else None,
        datagrams=datagrams.packets if datagrams else None,
        cpu_here_share=end.cpu.host_total / 100 if end.cpu else None,
        cpu_there_share=end.cpu.remote_total / 100 if end.cpu else None,
        congestion_control=end.sender_tcp_congestion,
        intervals=tuple(_interval(one.sum_) for one in found.intervals),
    )


def _both_ways(pairs: Pairs, *, is_server: bool) -> dict[str, Any]:
    """An object in which two sums of one name, one of what this end sent and one of what it got, have two names."""
    senders: dict[str, list[object]] = {}
    for key, value in pairs:
        if key in _SUMS and isinstance(value, dict):
            senders.setdefault(key, []).append(value.get("sender"))
    doubled = {key for key, ways in senders.items() if sorted(ways, key=bool) == [False, True]}
    return unique_keys(
        [
            (f"{key}{_REVERSE}" if key in doubled and value["sender"] is is_server else key, value)
            for key, value in pairs
        ]
    )


def _rate(one: _Sum | None) -> float | None:
    return one.rate if one else None


def _ends_of(sent: _Sum | None, received: _Sum | None, both: _Sum | None) -> tuple[_Sum | None, _Sum | None]:
    """What was sent one way and what arrived; old versions print one sum for both, of datagrams."""
    old = both is not None and both.packets and received is None
    return (both, _arrived(both)) if old and both else (sent, received)


def _arrived(sent: _Sum) -> _Sum:
    """What of datagrams that were sent was not lost; late ones may make the loss negative."""
    share = 1 - min(max((sent.lost_packets or 0) / (sent.packets or 1), 0.0), 1.0)
    scaled = {"bytes_": round(sent.bytes_ * share), "bits_per_second": sent.bits_per_second * share}
    return sent.model_copy(update=scaled)


def _interval(one: _Sum) -> Iperf3Interval:
    if one.seconds > 0:
        require_close(one.bits_per_second, one.bytes_ * 8 / one.seconds, relative=_ROUNDED, absolute=1, what=_JSON)
    return build(
        Iperf3Interval,
        _JSON,
        start_s=one.start,
        end_s=one.end,
        bits_per_s=one.bits_per_second,
        retransmits=one.retransmits,
        omitted=one.omitted,
    )


def _whole(documents: Sequence[Any]) -> Mapping[str, Any]:
    """The one document, or the one that the lines of a stream make."""
    events = [one for one in documents if isinstance(one, dict) and isinstance(one.get("event"), str)]
    if events:
        parts = {
            name: [one.get("data") for one in events if one["event"] == name] for name in ("start", "end", "error")
        }
        tests = max(len(parts["start"]), len(parts["end"]), len(documents) - len(events) + 1)
        if tests > 1:
            raise OutputUnreadable(f"{_JSON}: {tests} tests in one text; expected one: split it")
        merged: dict[str, Any] = {name: found[0] for name, found in parts.items() if found}
        return {**merged, "intervals": [one.get("data") for one in events if one["event"] == "interval"]}
    if len(documents) != 1:
        raise OutputUnreadable(f"{_JSON}: {len(documents)} documents in one text; expected one test: split it")
    document: Mapping[str, Any] = documents[0]
    return document


_TEXT = "iperf3 text"
_HEAD = re.compile(r"Connecting to host \S{1,255}, port [0-9]{1,5}|Server listening on [0-9]{1,5}.{0,20}")
_VERSION = re.compile(r"iperf (?P<version>3\.\S{1,30})(?: .*)?")
_RESULT = (
    rf"\[ *(?P<stream>{INTEGER}|SUM)\](?:\[(?P<role>[TR]X-[CS])\])? +(?P<start>{DECIMAL})-(?P<end>{DECIMAL}) +sec"
    rf" +(?P<amount>{DECIMAL}) (?P<byte>[KMGT]?)Bytes +(?P<rate>{DECIMAL}) (?P<bit>[KMGT]?)(?P<kind>bits|Bytes)/sec"
    rf"(?: +(?P<jitter>{DECIMAL}) ms +(?P<lost>-?{INTEGER})/(?P<datagrams>{INTEGER}) \([^)]{{1,20}}\))?"
    rf"(?: +(?P<retransmits>{INTEGER})(?: +{DECIMAL} [KMGT]?Bytes)?)?"
)
_LINE = re.compile(rf"{_RESULT}(?: +(?P<said>sender|receiver|\(omitted\)))? *")
_RATE = re.compile(r"\[.*(?:bits|Bytes)/sec.*")
_ENDS = re.compile(rf"iperf Done\.|{_RESULT} +(?:sender|receiver) *")
_BACK = {"RX-C", "TX-S"}
"""Roles of what the server sends."""
_BYTES = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_BITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_THREE_DIGITS = 0.011
_HUNDREDTH_S = 0.006

Row = re.Match[str]


def parse_iperf3_text(text: str) -> Iperf3:
    """Reads one test.

    Raises:
        OutputUnreadable: nothing, cut off, several tests, an error that iperf3 tells, or numbers that contradict each
            other.
    """
    lines = [line.rstrip() for line in whole_lines(text, _TEXT, ends=_ENDS)]
    for line in lines:
        if line.startswith(("iperf3: error", "iperf3: interrupt")):
            raise OutputUnreadable(f"{_TEXT}: it says {line[:120]!r}")
        if _RATE.fullmatch(line) and not _LINE.fullmatch(line):
            raise OutputUnreadable(f"{_TEXT}: unreadable line {shown(line)}")
    head = exactly_one((_HEAD.fullmatch(line) for line in lines), f"{_TEXT} that begin it")
    is_client = head[0].startswith("Connecting")
    if is_client and "iperf Done." not in lines:
        raise OutputUnreadable(f"{_TEXT} is cut off: no line says 'iperf Done.'")
    is_udp = any("Datagrams" in line for line in lines)
    version = one_or_none((_VERSION.fullmatch(line) for line in lines), f"{_TEXT} with a version")
    rows = [row for line in lines if (row := _LINE.fullmatch(line))]
    there, back = ([row for row in rows if (row["role"] in _BACK) == way] for way in (False, True))
    sent, received = _total(there, "sender"), _total(there, "receiver")
    counted = received or sent
    if counted is None or (_bits_per_s(sent) is None and _bits_per_s(received) is None):
        raise OutputUnreadable(f"{_TEXT}: no total of the sender or the receiver in it, or 0")
    return build(
        Iperf3,
        _TEXT,
        version=f"iperf {version['version']}" if version else None,
        protocol="UDP" if is_udp else "TCP",
        streams=len({row["stream"] for row in there} - {"SUM"}),
        reverse=any(line.startswith("Reverse mode") for line in lines) or (not is_client and received is None),
        duration_s=float(counted["end"]) - float(counted["start"]),
        sent_bits_per_s=_bits_per_s(sent),
        received_bits_per_s=_bits_per_s(received),
        back_sent_bits_per_s=_bits_per_s(_total(back, "sender")),
        back_received_bits_per_s=_bits_per_s(_total(back, "receiver")),
        retransmits=int(sent["retransmits"]) if sent and sent["retransmits"] and not is_udp else None,
        jitter_s=float(counted["jitter"]) / 1000 if counted["jitter"] else None,
        lost=int(counted["lost"]) if counted["lost"] else None,
        datagrams=int(counted["datagrams"]) if counted["datagrams"] else None,
        cpu_here_share=None,
        cpu_there_share=None,
        congestion_control=None,
        intervals=tuple(_intervals(there, is_udp=is_udp)),
    )


def _total(rows: Sequence[Row], side: str) -> Row | None:
    """What one side reports for all streams; None: nothing."""
    found = {row["stream"]: row for row in rows if row["said"] == side}
    streams = {row["stream"] for row in rows} - {"SUM"}
    if not found:
        return None
    total = found.get("SUM") if len(streams) > 1 else next(iter(found.values()))
    if total is None or found.keys() - {"SUM"} != streams:
        raise OutputUnreadable(f"{_TEXT} is cut off: not every stream has the {side}'s total, or their sum is missing")
    return total


def _bits_per_s(row: Row | None) -> float | None:
    """The printed rate, checked against the amount; None: nothing was counted."""
    if row is None:
        return None
    length_s = float(row["end"]) - float(row["start"])
    if length_s <= 0:
        raise OutputUnreadable(f"{_TEXT}: an interval from {row['start']} to {row['end']} s")
    rate = float(row["rate"]) * (_BYTES[row["bit"]] * 8 if row["kind"] == "Bytes" else _BITS[row["bit"]])
    computed = float(row["amount"]) * _BYTES[row["byte"]] * 8 / length_s
    require_close(rate, computed, relative=_THREE_DIGITS + 2 * _HUNDREDTH_S / length_s, absolute=100, what=_TEXT)
    return rate or None


def _intervals(rows: Sequence[Row], *, is_udp: bool) -> Iterable[Iperf3Interval]:
    """Of the sum, or of the only stream. For UDP the number after the rate counts datagrams."""
    found = [row for row in rows if row["said"] not in {"sender", "receiver"}]
    for row in [row for row in found if row["stream"] == "SUM"] or found:
        yield build(
            Iperf3Interval,
            _TEXT,
            start_s=float(row["start"]),
            end_s=float(row["end"]),
            bits_per_s=_bits_per_s(row) or 0.0,
            retransmits=int(row["retransmits"]) if row["retransmits"] and not is_udp else None,
            omitted=row["said"] == "(omitted)",
        )
