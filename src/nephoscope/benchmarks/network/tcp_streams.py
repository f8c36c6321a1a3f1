"""TCP streams by three tools: what each is called with, and what its output says, as spans of one stream.

iperf 2 and netperf serve any number of streams by one server, iperf3 serves one at a time.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Literal

from nephoscope.benchmarks.base import RawOutput
from nephoscope.benchmarks.network.ends import Server
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.words import counted
from nephoscope.parsers.iperf2 import IperfStream, parse_iperf_client, parse_iperf_server
from nephoscope.parsers.iperf3 import parse_iperf3
from nephoscope.parsers.netperf import bits_per_s, parse_netperf

MIN_SHARE = 0.8
"""Of the seconds asked for: tools end a little early, and leave out a last interval that is cut."""
_NEARLY_A_SECOND = 0.9
"""A second that a stream covers by less is not counted: its rate would be an extrapolation."""

THROUGHPUT = "throughput"
UNIT = "bit/s"


@dataclass(frozen=True)
class Span:
    """A rate that held from one moment to another."""

    start_s: float
    end_s: float
    bits_per_s: float


def per_second(streams: Sequence[Sequence[Span]], start_s: float, duration_s: float) -> list[float]:
    """The sum of all streams in each whole second of a window that every one of them covers.

    Args:
        streams: spans of each stream in order of time; all times count from one moment.
        start_s: of the window.
        duration_s: of the window.

    Raises:
        OutputUnreadable: a stream covers less than four fifths of the window.
    """
    seconds = math.floor(duration_s + 1e-9)
    found = []
    for second in range(seconds):
        parts = [_mean_within(spans, start_s + second) for spans in streams]
        if all(part is not None for part in parts):
            found.append(math.fsum(part for part in parts if part is not None))
    if len(found) < MIN_SHARE * seconds or not found:
        whole = "the stream: it" if len(streams) == 1 else f"all {len(streams)} streams: one"
        were = "was" if len(found) == 1 else "were"
        raise OutputUnreadable(f"{len(found)} of {counted(seconds, 'second')} {were} covered by {whole} ended early")
    return found


def _mean_within(spans: Iterable[Span], start_s: float) -> float | None:
    """Of one second; None where the stream covers too little of it."""
    covered_s, bits = 0.0, 0.0
    for span in spans:
        overlap_s = min(span.end_s, start_s + 1) - max(span.start_s, start_s)
        if overlap_s > 0:
            covered_s += overlap_s
            bits += overlap_s * span.bits_per_s
    return bits / covered_s if covered_s >= _NEARLY_A_SECOND else None


def throughput_metrics(clock: str) -> tuple[Metric, ...]:
    """Of all streams together: the mean (headline) and what single seconds gave."""
    titles = {
        THROUGHPUT: "throughput",
        f"{THROUGHPUT}_min_1s": "throughput of the slowest second",
        f"{THROUGHPUT}_median_1s": "throughput of the median second",
        f"{THROUGHPUT}_max_1s": "throughput of the fastest second",
    }
    return tuple(
        Metric.higher(
            name,
            UNIT,
            title,
            clock if name == THROUGHPUT else "sum of all streams in each second",
            headline=name == THROUGHPUT,
        )
        for name, title in titles.items()
    )


def throughput_measurements(seconds: Sequence[float], whole: float | None = None) -> list[Measurement]:
    """What `throughput_metrics` declares, and the throughput of each second.

    Args:
        seconds: the sum of all streams in each second.
        whole: the throughput that the tool reports for the whole test; None: use the mean of the seconds.
    """
    values = {
        THROUGHPUT: fmean(seconds) if whole is None else whole,
        f"{THROUGHPUT}_min_1s": min(seconds),
        f"{THROUGHPUT}_median_1s": median(seconds),
        f"{THROUGHPUT}_max_1s": max(seconds),
    }
    wholes = [Measurement.of(name, UNIT, value) for name, value in values.items()]
    return wholes + [Measurement.of(THROUGHPUT, UNIT, value, at_s=float(at_s)) for at_s, value in enumerate(seconds, 1)]


Tool = Literal["iperf", "iperf3", "netperf"]
Figures = Literal["server", "client"]
NETPERF_DEMO_S = 0.5
"""Of netperf's interim results, as in the Cloud Report 2022."""


@dataclass(frozen=True)
class Stream:
    """What one stream carried, by one end's count."""

    bits_per_s: float
    spans: tuple[Span, ...]
    """Since the stream began."""

    def since(self, start_s: float) -> list[Span]:
        """The spans on a clock on which the stream began at `start_s`."""
        return [Span(start_s + one.start_s, start_s + one.end_s, one.bits_per_s) for one in self.spans]


@dataclass(frozen=True)
class Plan:
    """Streams that run together, by names of raw output."""

    tool: Tool
    name: str
    """Of the raw output: `<name>-<index>` for each stream, `<name>-server...` for what serves them."""
    streams: int
    port: int
    block_size_kib: int | None = None
    netperf_test: Literal["TCP_STREAM", "OMNI"] = "TCP_STREAM"

    def stream_name(self, index: int) -> str:
        """Of the raw output of a client."""
        return f"{self.name}-{index}"

    def server_name(self, index: int) -> str:
        """Of the raw output of what serves it."""
        return f"{self.name}-server-{index}" if self.tool == "iperf3" else f"{self.name}-server"

    def servers(self, folder: Path) -> list[Server]:
        """What must listen; logs go to `folder`."""
        indices = range(1, self.streams + 1) if self.tool == "iperf3" else (1,)
        return [
            Server(
                self._server_argv(self.port_of(index)),
                self.port_of(index),
                folder / f"{self.server_name(index)}.stdout",
                ends_itself=self.tool != "netperf",
            )
            for index in indices
        ]

    def port_of(self, index: int) -> int:
        """At the server."""
        return self.port + index - 1 if self.tool == "iperf3" else self.port

    def _server_argv(self, port: int) -> tuple[str, ...]:
        block = (f"--len={self.block_size_kib}k",) if self.block_size_kib else ()
        return {
            # Both end after the last of their clients, and so their logs are whole.
            "iperf": (
                *("iperf", "--server", *block, "--interval=1", "--format=k", f"--port={port}"),
                f"--parallel={self.streams}",
            ),
            "iperf3": ("iperf3", "--server", "--one-off", "--interval=1", "--json", f"--port={port}"),
            "netperf": ("netserver", "-D", "-p", str(port)),
        }[self.tool]

    def client_argv(self, index: int, server: str, duration_s: int, options: Sequence[str] = ()) -> list[str]:
        """Of a stream that lasts `duration_s`; `options` are netperf's before its `--`."""
        port = str(self.port_of(index))
        block = [f"--len={self.block_size_kib}k"] if self.block_size_kib else []
        common = ["--interval=1", f"--time={duration_s}", f"--port={port}"]
        if self.tool == "iperf":
            return ["iperf", f"--client={server}", *block, *common, "--format=k"]
        if self.tool == "iperf3":
            return ["iperf3", f"--client={server}", *block, *common, "--json"]
        return [
            *("netperf", "-H", server, "-p", port, "-t", self.netperf_test, "-l", str(duration_s)),
            *("-D", f"{NETPERF_DEMO_S:g}", "-P", "0", "-f", "m", *options),
            *("--", "-o", "throughput,throughput_units"),
        ]

    def read(self, raw: RawOutput, figures: Figures) -> list[Stream]:
        """Every stream, in the order of their indices (of connection, by the log of iperf 2's server).

        Raises:
            OutputUnreadable: output is missing, or not what the tool writes for so many streams.
        """
        indices = range(1, self.streams + 1)
        if self.tool == "iperf" and figures == "server":
            found = [_iperf(one) for one in parse_iperf_server(_text(raw, self.server_name(1)))]
            if len(found) != self.streams:
                raise OutputUnreadable(f"iperf's server saw {counted(len(found), 'stream')} of {self.streams}")
            return found
        if self.tool == "iperf3":
            name = self.server_name if figures == "server" else self.stream_name
            return [_iperf3(_text(raw, name(index)), figures) for index in indices]
        if self.tool == "iperf":
            return [_iperf_client(_text(raw, self.stream_name(index))) for index in indices]
        return [_netperf(_text(raw, self.stream_name(index))) for index in indices]


def _text(raw: RawOutput, name: str) -> str:
    output = raw.get(f"{name}.stdout")
    if output is None:
        raise OutputUnreadable(f"{name}.stdout is missing")
    return output.decode(errors="replace")


def _iperf(found: IperfStream) -> Stream:
    spans = tuple(Span(one.start_s, one.end_s, one.bits_per_s) for one in found.intervals)
    return Stream(found.whole.bits_per_s, spans)


def _iperf_client(text: str) -> Stream:
    log = parse_iperf_client(text)
    if len(log.streams) != 1:
        raise OutputUnreadable(f"iperf's client opened {len(log.streams)} streams instead of one")
    return _iperf(log.streams[0])


def _iperf3(text: str, figures: Figures) -> Stream:
    test = parse_iperf3(text)
    rate = test.received_bits_per_s if figures == "server" else test.sent_bits_per_s
    if rate is None:
        raise OutputUnreadable(f"iperf3 JSON: it does not contain the {figures}'s rate")
    spans = tuple(Span(one.start_s, one.end_s, one.bits_per_s) for one in test.intervals if not one.omitted)
    return Stream(rate, spans)


def _netperf(text: str) -> Stream:
    test = parse_netperf(text)
    if test.bits_per_s is None:
        raise OutputUnreadable("netperf output: it does not contain its unit")
    spans: list[Span] = []
    at_s = 0.0
    for one in test.interims:
        rate = bits_per_s(one.rate, one.unit)
        if rate is None:
            raise OutputUnreadable(f"netperf output: an interim result has the unit {one.unit!r}")
        spans.append(Span(at_s, at_s + one.length_s, rate))
        at_s += one.length_s
    return Stream(test.bits_per_s, tuple(spans))
