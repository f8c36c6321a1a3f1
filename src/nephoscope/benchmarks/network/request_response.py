"""Network latency of a program: one message there and one back over TCP, one after the other.

netperf's TCP_RR is the Cloud Reports' of 2021 and 2022. sockperf's ping-pong does the same and is free to install; it
reports half of a round trip, which is doubled here.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, Needs, RawOutput, Site
from nephoscope.benchmarks.histograms import QUANTILES
from nephoscope.benchmarks.network.ends import Server, ends, port_without_connections, serving, users
from nephoscope.benchmarks.network.settings import BY_NAME, Record, TcpParameters, settings
from nephoscope.benchmarks.presets import EDITION, Presets, published
from nephoscope.machines.remote import Command
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.quantities import Bounded
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.subjects import TWO_ENDS, Subject
from nephoscope.parsers.netperf import parse_netperf
from nephoscope.parsers.sockperf import SockperfLatency, parse_sockperf

_RAW = "request-response"
_GRACE_S = 60.0
_MAX_ITERATIONS = 10
"""Of netperf's -I."""
_MIN_SHARE_OF_DURATION = 0.5
"""sockperf leaves out its first 400 ms and its last 50 ms (3.7, TEST_START_WARMUP_MSEC and TEST_END_COOLDOWN_MSEC)."""
_HEADERS_BYTES = 66
"""Of Ethernet, IPv4 and TCP with timestamps."""
_LEAST_ROUND_TRIP_S = 20e-6
"""Of TCP between two machines of a cloud: none is faster."""
_FIELDS = "min_latency,mean_latency,p50_latency,p90_latency,p99_latency,max_latency,stddev_latency,transaction_rate"
_CLOCK = "from writing the request until the response is read"


class RequestResponseParameters(TcpParameters):
    """How long, by which tool."""

    presets: ClassVar[Presets] = published("request-response")

    edition: Literal["cr2021", "cr2022"] | None = EDITION
    tool: Literal["sockperf", "netperf"] = Field(default="sockperf", description="you must install netperf yourself")
    message_bytes: int = Field(default=14, ge=1, le=65_000, description="in each direction; sockperf's minimum is 14")
    duration_s: int = Field(default=10, ge=2, le=86_400)

    @property
    def run_s(self) -> int:
        """Seconds, scaled."""
        return self.scaled(self.duration_s, minimum=3)

    @model_validator(mode="after")
    def _fits(self) -> "RequestResponseParameters":
        if self.tool == "sockperf" and self.message_bytes < 14:
            raise ValueError("sockperf cannot send a message of less than 14 bytes")
        return self


class RequestResponse(Benchmark):
    """One client, one connection, one message on its way at any moment."""

    name = "request-response"
    version = 1
    subject = Subject.NETWORK
    extent = TWO_ENDS
    title = "Network latency (TCP request and response)"
    parameters = RequestResponseParameters

    @override
    def metrics(self, parameters: RequestResponseParameters) -> tuple[Metric, ...]:
        """The mean (headline), its surroundings and the rate."""
        del parameters
        titles = {
            "tcp_round_trip": "round trip over TCP, mean",
            "tcp_round_trip_min": "round trip over TCP, minimum",
            "tcp_round_trip_max": "round trip over TCP, maximum",
            "tcp_round_trip_deviation": "round trip over TCP, standard deviation within a trial",
            **{f"tcp_round_trip_{one.name}": f"round trip over TCP, {one.name}" for one in QUANTILES},
        }
        return (
            *(Metric.lower(name, "s", title, _CLOCK, headline="_trip_" not in name) for name, title in titles.items()),
            Metric.higher(
                "transactions_per_s", "1/s", "round trips per second", "round trips / running time measured by the tool"
            ),
        )

    @override
    def needs(self, parameters: RequestResponseParameters) -> Needs:
        return Needs(tools=(BY_NAME[parameters.tool],), users=users(parameters.between), machines=2)

    @override
    def expected_duration_s(self, parameters: RequestResponseParameters) -> float:
        return parameters.run_s + 1.5

    def most_bytes_per_s(self, parameters: RequestResponseParameters) -> float:
        """A message and a packet's headers each way, as often as the fastest networks answer."""
        return 2 * (parameters.message_bytes + _HEADERS_BYTES) / _LEAST_ROUND_TRIP_S

    @override
    async def run(self, site: Site, parameters: RequestResponseParameters) -> None:
        """One client against one server.

        Raises:
            EnvironmentProblem: there are no two machines, a port is taken, a setting cannot be made.
            ToolFailed: the client ended with an error.
        """
        found = ends(site.cluster, parameters.between)
        (client,) = found.clients
        if parameters.tool == "sockperf":
            port = await port_without_connections(found.server, parameters.port)
            parameters = parameters.model_copy(update={"port": port})
        address = found.server.address
        server = Server(_server_argv(parameters, address), parameters.port, site.raw_dir / f"{_RAW}-server.stdout")
        record = Record([client.name], found.server.name, list(server.argv))
        machines = [found.server, client]
        iterations = _MAX_ITERATIONS if parameters.mode == "faithful" else 1
        async with settings(machines, parameters.settings, record, site.raw_dir), serving(found.server, [server]):
            done = await site.execute(
                client,
                _RAW,
                Command(_client_argv(parameters, address), timeout_s=iterations * parameters.run_s + _GRACE_S),
            )
        done.require()

    @override
    def parse(self, raw: RawOutput, parameters: RequestResponseParameters) -> list[Measurement]:
        """What the client says.

        Raises:
            OutputUnreadable: no output, another test's, or one that ended early.
        """
        text = raw.get(f"{_RAW}.stdout", b"").decode(errors="replace")
        values = _netperf(text) if parameters.tool == "netperf" else _sockperf(text, parameters.run_s)
        return [
            Measurement.of(metric.name, metric.unit, value)
            for metric in self.metrics(parameters)
            if (value := values.get(metric.name)) is not None
        ]


def _server_argv(parameters: RequestResponseParameters, address: str) -> tuple[str, ...]:
    port = str(parameters.port)
    if parameters.tool == "netperf":
        return ("netserver", "-D", "-p", port)
    return ("sockperf", "server", "--tcp", "-i", address, "-p", port)


def _client_argv(parameters: RequestResponseParameters, address: str) -> list[str]:
    port, size, duration = (str(one) for one in (parameters.port, parameters.message_bytes, parameters.run_s))
    if parameters.tool == "sockperf":
        return ["sockperf", "ping-pong", "--tcp", "-i", address, "-p", port, "-t", duration, "-m", size]
    believing = ["-I", "99,5"] if parameters.mode == "faithful" else []
    test = ["-t", "TCP_RR", "-l", duration, "-j", *believing]
    return ["netperf", "-H", address, "-p", port, *test, "--", "-r", f"{size},{size}", "-o", _FIELDS]


def _sockperf(text: str, duration_s: int) -> Mapping[str, Bounded]:
    test = parse_sockperf(text)
    if not isinstance(test, SockperfLatency):
        raise OutputUnreadable("sockperf output: from a throughput test instead of a ping-pong test")
    if test.duration_s < _MIN_SHARE_OF_DURATION * duration_s:
        raise OutputUnreadable(f"sockperf output: the test ended after {test.duration_s:g} s instead of {duration_s} s")
    halves = {"": test.mean_s, "_min": test.minimum_s, "_max": test.maximum_s, "_deviation": test.deviation_s}
    for one in QUANTILES:
        found = test.percentiles_s.get(round(one.value * 100, 3))
        if found is not None and one.is_supported_by(test.observations):
            halves[f"_{one.name}"] = found
    return {
        **{f"tcp_round_trip{name}": 2 * value for name, value in halves.items()},
        "transactions_per_s": test.received / test.duration_s,
    }


def _netperf(text: str) -> Mapping[str, Bounded]:
    test = parse_netperf(text)
    if test.latency_mean_s is None:
        raise OutputUnreadable("netperf output: it contains no latency")
    found: dict[str, Bounded | None] = {
        "": test.latency_mean_s,
        "_min": test.latency_minimum_s,
        "_max": test.latency_maximum_s,
        "_deviation": test.latency_deviation_s,
        "_p50": test.latency_p50_s,
        "_p90": test.latency_p90_s,
        "_p99": test.latency_p99_s,
    }
    values = {f"tcp_round_trip{name}": value for name, value in found.items() if value is not None}
    return {**values, "transactions_per_s": test.transactions_per_s or test.throughput}
