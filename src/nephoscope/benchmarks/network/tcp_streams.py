"""TCP streams by three tools: what each is called with, and what its output says, as spans of one stream.

iperf 2 and netperf serve any number of streams by one server, iperf3 serves one at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nephoscope.benchmarks.base import RawOutput
from nephoscope.benchmarks.network.ends import Server
from nephoscope.benchmarks.network.rates import Span
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.words import counted
from nephoscope.parsers.iperf2 import IperfStream, parse_iperf_client, parse_iperf_server
from nephoscope.parsers.iperf3 import parse_iperf3
from nephoscope.parsers.netperf import bits_per_s, parse_netperf

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
