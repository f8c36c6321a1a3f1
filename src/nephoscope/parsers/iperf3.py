"""iperf3's JSON (`--json`, and the lines of `--json-stream`), of client or server, TCP or UDP.

What the sender says of itself can be wrong: it counts bytes that were handed to the kernel. The rate that counts is the
receiver's. A side that does not know the other's numbers writes 0 there; here they are None. Before 3.8 a client of UDP
knows only what it sent and how many datagrams were lost: all are of one size, so the received rate follows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from nephoscope.errors import OutputUnreadable
from nephoscope.frozen import Frozen
from nephoscope.parsers.text import Part, agree, checked, json_documents, made

_WHAT = "iperf3 JSON"
_MS = 1000.0
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
    lost: int | None = Field(ge=0, description="datagrams")
    datagrams: int | None = Field(ge=0)
    cpu_here_share: float | None = Field(ge=0, description="of one CPU")
    cpu_there_share: float | None = Field(ge=0)
    congestion_control: str | None
    intervals: tuple[Iperf3Interval, ...]


class _Sum(Part):
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
        """Held against its own bytes; None: nothing was counted."""
        if self.bytes_ == 0 or self.seconds == 0:
            return None
        agree(self.bits_per_second, self.bytes_ * 8 / self.seconds, relative=_ROUNDED, absolute=1, what=_WHAT)
        return self.bits_per_second


class _Interval(Part):
    sum_: _Sum = Field(alias="sum")


class _Cpu(Part):
    host_total: float = Field(ge=0)
    remote_total: float = Field(ge=0)


class _End(Part):
    sum_: _Sum | None = Field(default=None, alias="sum")
    sum_sent: _Sum | None = None
    sum_received: _Sum | None = None
    sum_sent_bidir_reverse: _Sum | None = None
    sum_received_bidir_reverse: _Sum | None = None
    cpu: _Cpu | None = Field(default=None, alias="cpu_utilization_percent")
    sender_tcp_congestion: str | None = None


class _TestStart(Part):
    protocol: str
    num_streams: int = Field(ge=1)
    reverse: int = 0


class _Start(Part):
    version: str
    test_start: _TestStart


class _Document(Part):
    start: _Start
    intervals: tuple[_Interval, ...] = ()
    end: _End


def parse_iperf3(text: str) -> Iperf3:
    """Reads one test.

    Raises:
        OutputUnreadable: no JSON, cut off, an error that iperf3 tells, or numbers that contradict each other.
    """
    document = _whole(list(json_documents(text, _WHAT)))
    if "error" in document:
        raise OutputUnreadable(f"{_WHAT}: it says {str(document['error'])[:120]!r}")
    found = checked(_Document, document, _WHAT)
    if not found.start.version.startswith("iperf 3"):
        raise OutputUnreadable(f"{_WHAT}: {found.start.version[:40]!r} is not iperf 3")
    end = found.end
    sent, received, datagrams = end.sum_sent, end.sum_received, end.sum_ if end.sum_ and end.sum_.packets else None
    if datagrams and received is None:
        sent, received = datagrams, _arrived(datagrams)
    known = [one for one in (received, sent) if one and one.bytes_]
    if not known:
        raise OutputUnreadable(f"{_WHAT}: end: nothing was sent or received")
    test = found.start.test_start
    return made(
        Iperf3,
        _WHAT,
        version=found.start.version,
        protocol=test.protocol,
        streams=test.num_streams,
        reverse=bool(test.reverse),
        duration_s=known[0].seconds,
        sent_bits_per_s=_rate(sent),
        received_bits_per_s=_rate(received),
        back_sent_bits_per_s=_rate(end.sum_sent_bidir_reverse),
        back_received_bits_per_s=_rate(end.sum_received_bidir_reverse),
        retransmits=sent.retransmits if sent and sent.bytes_ else None,
        jitter_s=datagrams.jitter_ms / _MS if datagrams and datagrams.jitter_ms is not None else None,
        lost=datagrams.lost_packets if datagrams else None,
        datagrams=datagrams.packets if datagrams else None,
        cpu_here_share=end.cpu.host_total / 100 if end.cpu else None,
        cpu_there_share=end.cpu.remote_total / 100 if end.cpu else None,
        congestion_control=end.sender_tcp_congestion,
        intervals=tuple(_interval(one.sum_) for one in found.intervals),
    )


def _rate(one: _Sum | None) -> float | None:
    return one.rate if one else None


def _arrived(sent: _Sum) -> _Sum:
    """What of datagrams that were sent was not lost; late ones may make the loss negative."""
    share = 1 - min(max((sent.lost_packets or 0) / (sent.packets or 1), 0.0), 1.0)
    scaled = {"bytes_": round(sent.bytes_ * share), "bits_per_second": sent.bits_per_second * share}
    return sent.model_copy(update=scaled)


def _interval(one: _Sum) -> Iperf3Interval:
    if one.seconds > 0:
        agree(one.bits_per_second, one.bytes_ * 8 / one.seconds, relative=_ROUNDED, absolute=1, what=_WHAT)
    return made(
        Iperf3Interval,
        _WHAT,
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
        merged: dict[str, Any] = {name: found[0] for name, found in parts.items() if found}
        return {**merged, "intervals": [one.get("data") for one in events if one["event"] == "interval"]}
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise OutputUnreadable(f"{_WHAT}: {len(documents)} documents; one test was expected")
    return documents[0]
