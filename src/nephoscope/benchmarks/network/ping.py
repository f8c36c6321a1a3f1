"""Network latency: ICMP round trips between two machines, as the Cloud Reports of 2018 and 2020 measured it.

The kernel of the other machine answers: neither a program nor TCP nor a disk is involved.
"""

from typing import ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, Needs, RawOutput, Site
from nephoscope.benchmarks.histograms import QUANTILES
from nephoscope.benchmarks.network.ends import ends, users
from nephoscope.benchmarks.network.settings import NetworkParameters, Record, settings
from nephoscope.benchmarks.presets import EDITION, Presets, published
from nephoscope.machines.remote import Command, Tool
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.subjects import TWO_ENDS, Subject
from nephoscope.model.words import counted
from nephoscope.parsers.ping import parse_ping

_TOOL = Tool("ping", "iputils-ping", version_argv=("-V",))
_RAW = "ping"
_GRACE_S = 30.0
_CLOCK = "from sending an ICMP echo request to its reply, by ping's clock"


_PACKET_BYTES = 98
"""56 bytes of data, and the headers of ICMP, IPv4 and Ethernet."""


class PingParameters(NetworkParameters):
    """How often and how long."""

    presets: ClassVar[Presets] = published("ping")

    edition: Literal["cr2018", "cr2020"] | None = EDITION
    interval_s: float = Field(default=0.2, ge=0.002, le=10, description="below 0.2 ping may want root")
    duration_s: int = Field(default=10, ge=1, le=86_400)

    @property
    def run_s(self) -> int:
        """Seconds, scaled."""
        return self.scaled(self.duration_s, minimum=2)

    @property
    def count(self) -> int:
        """Requests."""
        return max(1, round(self.run_s / self.interval_s))


class Ping(Benchmark):
    """One ping from client to server."""

    name = "ping"
    version = 1
    subject = Subject.NETWORK
    extent = TWO_ENDS
    title = "Network latency (ping)"
    parameters = PingParameters

    @override
    def metrics(self, parameters: PingParameters) -> tuple[Metric, ...]:
        """The mean (headline; of each reply by time), its surroundings, and what was lost."""
        del parameters
        titles = {
            "round_trip": "round trip, mean",
            "round_trip_min": "round trip, minimum",
            "round_trip_max": "round trip, maximum",
            "round_trip_deviation": "round trip, standard deviation within a trial",
            **{f"round_trip_{one.name}": f"round trip, {one.name}" for one in QUANTILES},
        }
        return (
            *(Metric.lower(name, "s", title, _CLOCK, headline=name == "round_trip") for name, title in titles.items()),
            Metric.lower("lost_share", "share", "requests without a reply"),
        )

    @override
    def needs(self, parameters: PingParameters) -> Needs:
        return Needs(tools=(_TOOL,), users=users(parameters.between), machines=2)

    @override
    def expected_duration_s(self, parameters: PingParameters) -> float:
        return parameters.count * parameters.interval_s + 0.5

    def most_bytes_per_s(self, parameters: PingParameters) -> float:
        """A packet each way."""
        return 2 * _PACKET_BYTES / parameters.interval_s

    @override
    async def run(self, site: Site, parameters: PingParameters) -> None:
        """Pings the server from the client.

        Raises:
            EnvironmentProblem: there are no two machines.
            ToolFailed: nothing came back.
        """
        found = ends(site.cluster, parameters.between)
        (client,) = found.clients
        record = Record([client.name], found.server.name, [])
        async with settings([found.server, client], {}, record, site.raw_dir):
            argv = ["ping", "-n", "-i", f"{parameters.interval_s:g}", "-c", str(parameters.count), found.server.address]
            timeout_s = parameters.count * max(parameters.interval_s, 1.0) + _GRACE_S
            (await site.execute(client, _RAW, Command(argv, timeout_s=timeout_s))).require()

    @override
    def parse(self, raw: RawOutput, parameters: PingParameters) -> list[Measurement]:
        """The replies, and what the statistics at their end say.

        Raises:
            OutputUnreadable: no log of so many requests, or one without times.
        """
        log = parse_ping(raw.get(f"{_RAW}.stdout", b"").decode(errors="replace"))
        if log.sent != parameters.count:
            raise OutputUnreadable(f"ping log: {counted(log.sent, 'request')} instead of {parameters.count}")
        if log.times is None or not log.replies_s:
            raise OutputUnreadable("ping log: no reply contains a time")
        values = {
            # Replies are printed with three digits, and their mean at the end with more.
            "round_trip": log.times.mean_s,
            "round_trip_min": log.times.minimum_s,
            "round_trip_max": log.times.maximum_s,
            "round_trip_deviation": log.times.deviation_s,
            **_quantiles(log.replies_s),
            "lost_share": 1 - log.received / log.sent,
        }
        units = {metric.name: metric.unit for metric in self.metrics(parameters)}
        wholes = [Measurement.of(name, units[name], value) for name, value in values.items() if value is not None]
        return wholes + [
            Measurement.of("round_trip", "s", value, at_s=number * parameters.interval_s)
            for number, value in sorted(zip(log.sequence, log.replies_s, strict=True))
        ]


def _quantiles(replies_s: tuple[float, ...]) -> dict[str, float]:
    """By nearest rank; those with fewer than ten replies beyond them are left out."""
    ordered = sorted(replies_s)
    return {
        f"round_trip_{one.name}": ordered[one.rank(len(ordered)) - 1]
        for one in QUANTILES
        if one.is_supported_by(len(ordered))
    }
