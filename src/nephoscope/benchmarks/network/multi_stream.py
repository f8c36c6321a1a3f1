"""Network throughput with as many TCP streams as it takes to fill the network: the method of the Cloud Report 2022.

A search (`stream_search`) finds, level by level, how many streams fill the network; a longer measurement then uses that
many. See docs/concepts/multi-stream.md.
"""

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, Needs, RawOutput, Site
from nephoscope.benchmarks.network.ends import Ends, ends, serving, together, users
from nephoscope.benchmarks.network.settings import BY_NAME, RECORD, Record, TcpParameters, settings
from nephoscope.benchmarks.network.stream_search import STREAMS_PER_CPU, Level, StopRule, StreamSearch
from nephoscope.benchmarks.network.tcp_streams import (
    UNIT,
    Plan,
    per_second,
    throughput_measurements,
    throughput_metrics,
)
from nephoscope.benchmarks.presets import EDITION, Presets, published
from nephoscope.machines.remote import Command
from nephoscope.model.bounded_json import load_json
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.subjects import TWO_ENDS, Subject
from nephoscope.model.words import counted

_GRACE_S = 60.0
_USUAL_LEVELS = 5
"""For plans only."""
_FINAL = "final"
_SPARE_S = 1
"""Streams last longer than their window by it: programs do not start in no time."""
MAX_REPORTED_STREAMS = 191
"""Levels of more streams are searched and not reported one by one."""


class MultiStreamParameters(TcpParameters):
    """Times of the search and of the measurement, and when the search stops."""

    presets: ClassVar[Presets] = published("multi-stream")

    edition: Literal["cr2022"] | None = EDITION
    tool: Literal["iperf3", "netperf"] = Field(
        default="iperf3", description="one process for each stream; you must install netperf yourself"
    )
    most_streams: int | None = Field(
        default=None, ge=1, le=3072, description="default: three per usable CPU of the client"
    )
    settle_s: int = Field(
        default=5, ge=0, le=3600, description="time to settle after the last stream of a level started"
    )
    window_s: int = Field(default=5, ge=1, le=3600, description="measurement of each level; the search uses its mean")
    final_s: int = Field(default=30, ge=1, le=86_400, description="measurement of the chosen level")
    start_gap_s: float = Field(default=0.0, ge=0, le=10, description="delay between the starts of two streams")
    around_s: int = Field(
        default=0,
        ge=0,
        le=3600,
        description="a run of each stream before and one after the measured one; netperf's alone",
    )
    plateau_share: float | None = Field(
        default=0.02,
        gt=0,
        lt=1,
        description="the search stops when the standard deviation of three levels is below this share of their mean",
    )
    plateau_gbit_per_s: float | None = Field(default=None, gt=0, description="the same limit as an absolute rate")
    at_the_most: Literal["highest", "first of the last"] = Field(
        default="highest",
        description="what to measure when no three levels agreed; 'first of the last' means of the last three",
    )

    @model_validator(mode="before")
    @classmethod
    def _absolute_alone(cls, given: Any) -> Any:
        """An absolute limit takes the place of the relative one that is there by default."""
        absolute = isinstance(given, Mapping) and given.get("plateau_gbit_per_s") is not None
        return {"plateau_share": None, **given} if absolute else given

    @model_validator(mode="after")
    def _one_rule(self) -> "MultiStreamParameters":
        if (self.plateau_share is None) == (self.plateau_gbit_per_s is None):
            raise ValueError("give either `plateau_share` or `plateau_gbit_per_s`")
        if self.around_s and self.tool == "iperf3":
            raise ValueError(
                "`around_s` works only with netperf: an iperf3 server ends after one stream, to complete its log"
            )
        return self

    @property
    def times(self) -> "Times":
        """Scaled."""
        return Times(
            settle_s=self.scaled(self.settle_s, minimum=2),
            window_s=self.scaled(self.window_s, minimum=3),
            final_s=self.scaled(self.final_s, minimum=5),
            around_s=self.scaled(self.around_s, minimum=2),
        )

    def rule(self, most_streams: int) -> StopRule:
        """When the search ends."""
        absolute = None if self.plateau_gbit_per_s is None else self.plateau_gbit_per_s * 1e9
        return StopRule(most_streams, absolute, self.plateau_share, self.at_the_most)


@dataclass(frozen=True)
class Times:
    """Seconds of a level's parts, as they are run."""

    settle_s: int
    window_s: int
    final_s: int
    around_s: int


class MultiStream(Benchmark):
    """The search, then the measurement."""

    name = "multi-stream"
    version = 1
    subject = Subject.NETWORK
    extent = TWO_ENDS
    title = "Network throughput (many TCP streams)"
    parameters = MultiStreamParameters

    @override
    def metrics(self, parameters: MultiStreamParameters) -> tuple[Metric, ...]:
        """Of the final measurement, how it was chosen, and of each level of the search."""
        clock = f"mean over the final {parameters.times.final_s} s: bits received per second, all streams together"
        if parameters.tool == "netperf":
            clock = clock.replace("received", "sent")
        most = parameters.most_streams or MAX_REPORTED_STREAMS
        return (
            *throughput_metrics(clock),
            Metric.lower("streams", "1", "streams needed to fill the network, found by the search"),
            Metric.higher(
                "plateau_found", "1", "the search ended on a plateau (1) or at the maximum number of streams (0)"
            ),
            *(
                Metric.higher(
                    _level_metric(streams),
                    UNIT,
                    f"throughput of {counted(streams, 'stream')}, in the search",
                    f"mean over the seconds of a window of {parameters.times.window_s} s",
                )
                for streams in range(1, min(most, MAX_REPORTED_STREAMS) + 1, 2)
            ),
        )

    @override
    def needs(self, parameters: MultiStreamParameters) -> Needs:
        return Needs(tools=(BY_NAME[parameters.tool],), users=users(parameters.between), machines=2)

    @override
    def measured_s(self, parameters: MultiStreamParameters) -> float:
        """Of the chosen number of streams."""
        return float(parameters.times.final_s)

    @override
    def expected_duration_s(self, parameters: MultiStreamParameters) -> float:
        """A search of a few levels and the final measurement."""
        times = parameters.times
        each_s = 2 * times.around_s + times.settle_s + 1.5
        return _USUAL_LEVELS * (each_s + times.window_s) + each_s + times.final_s

    @override
    async def run(self, site: Site, parameters: MultiStreamParameters) -> None:
        """Searches, then measures.

        Raises:
            EnvironmentProblem: there are no two machines, a port is taken, a setting cannot be made.
            ToolFailed: a stream ended with an error.
        """
        found = ends(site.cluster, parameters.between)
        (client,) = found.clients
        most = parameters.most_streams or STREAMS_PER_CPU * len(client.cpus)
        argv = _plan(parameters, 1).servers(site.raw_dir)[0].argv
        record = Record([client.name], found.server.name, list(argv), more={"most_streams": most, "levels": []})
        driver = _Driver(site, parameters, found, record)
        async with settings([found.server, client], parameters.settings, record, site.raw_dir):
            search = StreamSearch(parameters.rule(most))
            while (streams := search.next_streams) is not None:
                seconds = await driver.level(_plan(parameters, streams), parameters.times.window_s)
                search = search.observed(_mean(seconds))
                site.progress(f"{counted(streams, 'stream')}: {_mean(seconds) / 1e9:.3g} Gbit/s")
            await driver.level(_plan(parameters, search.best.streams, final=True), parameters.times.final_s)

    @override
    def parse(self, raw: RawOutput, parameters: MultiStreamParameters) -> list[Measurement]:
        """Searches again in what was stored, and reads the final measurement.

        Raises:
            OutputUnreadable: a level is missing, or a stream of it ended early.
        """
        most, starts = _recorded(raw)
        search = StreamSearch(parameters.rule(most))
        while (streams := search.next_streams) is not None:
            plan = _plan(parameters, streams)
            search = search.observed(_mean(_seconds(raw, plan, starts, parameters, parameters.times.window_s)))
        final = _plan(parameters, search.best.streams, final=True)
        seconds = _seconds(raw, final, starts, parameters, parameters.times.final_s)
        return [
            *throughput_measurements(seconds),
            Measurement.of("streams", "1", search.best.streams),
            Measurement.of("plateau_found", "1", float(search.ended == "plateau")),
            *(_level(level) for level in search.levels if level.streams <= MAX_REPORTED_STREAMS),
        ]


def _level_metric(streams: int) -> str:
    return f"{streams}-streams.throughput"


def _level(level: Level) -> Measurement:
    return Measurement.of(_level_metric(level.streams), UNIT, level.bits_per_s)


def _plan(parameters: MultiStreamParameters, streams: int, *, final: bool = False) -> Plan:
    name = f"multi-stream-{_FINAL if final else streams}"
    return Plan(parameters.tool, name, streams, parameters.port)


def _mean(seconds: Sequence[float]) -> float:
    return sum(seconds) / len(seconds)


class _Driver:
    """Runs the streams of one level after the other."""

    def __init__(self, site: Site, parameters: MultiStreamParameters, found: Ends, record: Record) -> None:
        self._site, self._parameters, self._ends, self._record = site, parameters, found, record

    async def level(self, plan: Plan, window_s: int) -> list[float]:
        """What each second of the window carried; when each stream began is recorded."""
        starts = [0.0] * plan.streams
        folder, begun_s = self._site.raw_dir, time.monotonic()
        async with serving(self._ends.server, plan.servers(folder)):
            indices = range(1, plan.streams + 1)
            await together(self._stream(plan, index, window_s, starts, begun_s) for index in indices)
        self._record.more["levels"].append({"name": plan.name, "starts_s": starts})
        self._record.write(folder)
        raw = {path.name: path.read_bytes() for path in folder.glob(f"{plan.name}-*.stdout")}
        return _seconds(raw, plan, {plan.name: starts}, self._parameters, window_s)

    async def _stream(self, plan: Plan, index: int, window_s: int, starts: list[float], begun_s: float) -> None:
        """One stream: perhaps a run before, the measured one until the level ends, perhaps one after."""
        parameters, (client,) = self._parameters, self._ends.clients
        await asyncio.sleep((index - 1) * parameters.start_gap_s)
        last_begins_s = (plan.streams - index) * parameters.start_gap_s
        measured_s = math.ceil(last_begins_s) + parameters.times.settle_s + window_s + _SPARE_S
        runs = [(plan.stream_name(index), measured_s)]
        if around_s := parameters.times.around_s:
            before, after = (f"{when}-{plan.stream_name(index)}" for when in ("before", "after"))
            runs = [(before, around_s), *runs, (after, around_s)]
        for name, duration_s in runs:
            if name == plan.stream_name(index):
                starts[index - 1] = time.monotonic() - begun_s
            argv = plan.client_argv(index, self._ends.server.address, duration_s)
            (await self._site.execute(client, name, Command(argv, timeout_s=duration_s + _GRACE_S))).require()


def _seconds(
    raw: RawOutput, plan: Plan, starts: dict[str, list[float]], parameters: MultiStreamParameters, window_s: int
) -> list[float]:
    """Sums over all streams within the window, which begins when the last stream has settled."""
    begun = starts.get(plan.name)
    if begun is None or len(begun) != plan.streams:
        raise OutputUnreadable(f"{RECORD}: it does not say when the streams of {plan.name} began")
    streams = [stream.since(at_s) for at_s, stream in zip(begun, plan.read(raw, "server"), strict=True)]
    return per_second(streams, max(begun) + parameters.times.settle_s, window_s)


def _recorded(raw: RawOutput) -> tuple[int, dict[str, list[float]]]:
    """The most streams, and the starts of each level's streams."""
    try:
        more = load_json(raw.get(RECORD, b""))["more"]
        starts = {one["name"]: [float(at_s) for at_s in one["starts_s"]] for one in more["levels"]}
        return int(more["most_streams"]), starts
    except (ValueError, KeyError, TypeError) as error:
        raise OutputUnreadable(f"{RECORD} is missing or damaged: {error!r}") from error
