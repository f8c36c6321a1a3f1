"""iperf3's text, of client or server, TCP or UDP, one way or both (`--bidir`): what is printed without `--json`.

The same value as of its JSON, with fewer digits; what the text does not say is None. A client's text ends with "iperf
Done."; a server's with the whole of each stream, and of several with their sum.
"""

import re
from collections.abc import Iterable, Sequence

from nephoscope.errors import OutputUnreadable
from nephoscope.parsers.iperf3 import Iperf3, Iperf3Interval
from nephoscope.parsers.text import DECIMAL, INTEGER, agree, made, one_or_none, only, shown, whole_lines

_WHAT = "iperf3 text"
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
    lines = [line.rstrip() for line in whole_lines(text, _WHAT, ends=_ENDS)]
    for line in lines:
        if line.startswith(("iperf3: error", "iperf3: interrupt")):
            raise OutputUnreadable(f"{_WHAT}: it says {line[:120]!r}")
        if _RATE.fullmatch(line) and not _LINE.fullmatch(line):
            raise OutputUnreadable(f"{_WHAT}: unreadable line {shown(line)}")
    head = only((_HEAD.fullmatch(line) for line in lines), f"{_WHAT} that begin it")
    is_client = head[0].startswith("Connecting")
    if is_client and "iperf Done." not in lines:
        raise OutputUnreadable(f"{_WHAT} is cut off: no line says 'iperf Done.'")
    is_udp = any("Datagrams" in line for line in lines)
    version = one_or_none((_VERSION.fullmatch(line) for line in lines), f"{_WHAT} with a version")
    rows = [row for line in lines if (row := _LINE.fullmatch(line))]
    there, back = ([row for row in rows if (row["role"] in _BACK) == way] for way in (False, True))
    sent, received = _total(there, "sender"), _total(there, "receiver")
    counted = received or sent
    if counted is None or (_bits_per_s(sent) is None and _bits_per_s(received) is None):
        raise OutputUnreadable(f"{_WHAT}: no whole of the sender or the receiver in it, or 0")
    return made(
        Iperf3,
        _WHAT,
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
    """What one side says of all streams; None: it says nothing."""
    found = {row["stream"]: row for row in rows if row["said"] == side}
    streams = {row["stream"] for row in rows} - {"SUM"}
    if not found:
        return None
    total = found.get("SUM") if len(streams) > 1 else next(iter(found.values()))
    if total is None or found.keys() - {"SUM"} != streams:
        raise OutputUnreadable(f"{_WHAT} is cut off: not every stream has the {side}'s whole, or their sum is missing")
    return total


def _bits_per_s(row: Row | None) -> float | None:
    """Held against its own amount; None: nothing was counted."""
    if row is None:
        return None
    length_s = float(row["end"]) - float(row["start"])
    if length_s <= 0:
        raise OutputUnreadable(f"{_WHAT}: an interval from {row['start']} to {row['end']} s")
    rate = float(row["rate"]) * (_BYTES[row["bit"]] * 8 if row["kind"] == "Bytes" else _BITS[row["bit"]])
    computed = float(row["amount"]) * _BYTES[row["byte"]] * 8 / length_s
    agree(rate, computed, relative=_THREE_DIGITS + 2 * _HUNDREDTH_S / length_s, absolute=100, what=_WHAT)
    return rate or None


def _intervals(rows: Sequence[Row], *, is_udp: bool) -> Iterable[Iperf3Interval]:
    """Of the sum, or of the only stream. Of UDP the number behind the rate counts datagrams."""
    found = [row for row in rows if row["said"] not in {"sender", "receiver"}]
    for row in [row for row in found if row["stream"] == "SUM"] or found:
        yield made(
            Iperf3Interval,
            _WHAT,
            start_s=float(row["start"]),
            end_s=float(row["end"]),
            bits_per_s=_bits_per_s(row) or 0.0,
            retransmits=int(row["retransmits"]) if row["retransmits"] and not is_udp else None,
            omitted=row["said"] == "(omitted)",
        )
