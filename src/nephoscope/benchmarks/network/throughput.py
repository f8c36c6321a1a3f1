"""Network throughput: one TCP stream from each client to a server, as the Cloud Reports of 2018, 2020 and 2021 did."""

import time
from typing import ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, Needs, RawOutput, Site
from nephoscope.benchmarks.network.ends import ends, serving, together, users
from nephoscope.benchmarks.network.settings import BY_NAME, RECORD, Record, TcpParameters, settings
from nephoscope.benchmarks.network.tcp_streams import (
    Figures,
    Plan,
    Tool,
    per_second,
    throughput_measurements,
    throughput_metrics,
)
from nephoscope.benchmarks.presets import EDITION, Presets, published
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.bounded_json import load_json
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.subjects import TWO_ENDS, Extent, Subject
from nephoscope.model.words import counted

_RAW = "throughput"
_GRACE_S = 60.0
_MAX_ITERATIONS = 10
"""Of netperf's -I."""
_MIN_SHARE_OF_DURATION = 0.9
_ROUNDED_S = 0.1
"""A last second that is cut by less is one."""


class ThroughputParameters(TcpParameters):
    """Who sends, with what, how long, and whose figures count."""

    presets: ClassVar[Presets] = published("throughput")

    edition: Literal["cr2018", "cr2020", "cr2021"] | None = EDITION
    tool: Tool = Field(default="iperf", description="iperf is iperf 2; you must install netperf yourself")
    clients: int = Field(default=1, ge=1, le=64, description="machines that send at the same time")
    figures: Figures = Field(
        default="server", description="for iperf and iperf3: count what arrived (server) or what was sent (client)"
    )
    overlap: bool = Field(
        default=True,
        description="of several clients: only seconds in which all of them send count; false: the sum of "
        "each one's own mean",
    )
    block_size_kib: int = Field(default=128, ge=1, le=1024, description="of each write; not for netperf")
    duration_s: int = Field(default=10, ge=2, le=86_400)

    @property
    def run_s(self) -> int:
        """Seconds, scaled."""
        return self.scaled(self.duration_s, minimum=3)

    @property
    def means_of_seconds(self) -> bool:
        """False: the tool's own figure is taken, or their sum."""
        return self.clients > 1 and self.overlap

    @property
    def plan(self) -> Plan:
        """The streams."""
        block = None if self.tool == "netperf" else self.block_size_kib
        return Plan(self.tool, _RAW, self.clients, self.port, block, netperf_test="OMNI")


class Throughput(Benchmark):
    """Streams from all clients at once."""

    name = "throughput"
    version = 1
    subject = Subject.NETWORK
    extent = TWO_ENDS
    title = "Network throughput (TCP)"
    parameters = ThroughputParameters

    @override
    def metrics(self, parameters: ThroughputParameters) -> tuple[Metric, ...]:
        """The sum over all clients."""
        whose = "the server counted" if parameters.figures == "server" else "the clients counted"
        if parameters.means_of_seconds:
            return throughput_metrics(f"mean over the seconds in which all clients sent: bits that {whose}")
        return throughput_metrics(f"bits that {whose} / running time measured by the tool, all clients together")

    @override
    def extent_of(self, parameters: ThroughputParameters) -> Extent:
        return Extent(machines=1 + parameters.clients, volumes=False)

    @override
    def needs(self, parameters: ThroughputParameters) -> Needs:
        clients = parameters.clients
        return Needs(tools=(BY_NAME[parameters.tool],), users=users(parameters.between, clients), machines=1 + clients)

    @override
    def expected_duration_s(self, parameters: ThroughputParameters) -> float:
        return parameters.run_s + 1.5

    @override
    async def run(self, site: Site, parameters: ThroughputParameters) -> None:
        """One stream from each client, all begun at once.

        Raises:
            EnvironmentProblem: too few machines, a port that is taken, a setting that cannot be made.
            ToolFailed: a client ended with an error.
        """
        found = ends(site.cluster, parameters.between, parameters.clients)
        plan, machines = parameters.plan, [found.server, *found.clients]
        servers = plan.servers(site.raw_dir)
        record = Record([client.name for client in found.clients], found.server.name, list(servers[0].argv))
        believing = parameters.tool == "netperf" and parameters.mode == "faithful"
        options = ["-I", "99,5"] if believing else []
        timeout_s = parameters.run_s * (_MAX_ITERATIONS if believing else 1) + _GRACE_S
        async with settings(machines, parameters.settings, record, site.raw_dir), serving(found.server, servers):
            starts = record.more["starts_s"] = [0.0] * len(found.clients)
            begun_s = time.monotonic()

            async def stream(index: int, client: MachineHandle) -> None:
                starts[index - 1] = time.monotonic() - begun_s
                argv = plan.client_argv(index, found.server.address, parameters.run_s, options)
                (await site.execute(client, plan.stream_name(index), Command(argv, timeout_s=timeout_s))).require()

            await together(stream(index, client) for index, client in enumerate(found.clients, 1))

    @override
    def parse(self, raw: RawOutput, parameters: ThroughputParameters) -> list[Measurement]:
        """The sum of the tool's own figures, and that of each second.

        Raises:
            OutputUnreadable: a stream is missing, or ended early.
        """
        streams = parameters.plan.read(raw, parameters.figures)
        for stream in streams:
            lasted_s = stream.spans[-1].end_s if stream.spans else 0.0
            if lasted_s < _MIN_SHARE_OF_DURATION * parameters.run_s:
                raise OutputUnreadable(f"a stream ended after {lasted_s:g} s instead of {parameters.run_s} s")
        # iperf's server tells of streams in the order in which they came.
        starts = sorted(_starts(raw, len(streams)))
        spans = [stream.since(at_s) for at_s, stream in zip(starts, streams, strict=True)]
        end_s = min(one[-1].end_s for one in spans)
        seconds = per_second(spans, starts[-1], max(1.0, end_s - starts[-1] + _ROUNDED_S))
        return throughput_measurements(
            seconds, None if parameters.means_of_seconds else sum(stream.bits_per_s for stream in streams)
        )


def _starts(raw: RawOutput, streams: int) -> list[float]:
    """When each client began."""
    try:
        found = [float(at_s) for at_s in load_json(raw.get(RECORD, b""))["more"]["starts_s"]]
    except (ValueError, KeyError, TypeError) as error:
        raise OutputUnreadable(f"{RECORD} is missing or damaged: {error!r}") from error
    if len(found) != streams:
        raise OutputUnreadable(f"{RECORD}: {counted(len(found), 'client')} started for {counted(streams, 'stream')}")
    return found
