"""What a fault of a server costs its clients: `kv` in an open pace with numbered writes, while faults are inflicted.

Phases follow one another in one load: a baseline, a fault, a recovery, as often as asked. A closed pace would hide
what an outage costs, because clients that wait send nothing. After the load every row that was written is read again:
acknowledged writes that are gone are lost. Modelled on CockroachDB's roachtest (perturbation, failover) and the phases
of Performance under Adversity, with repeats.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, Ended, Needs, RawOutput, Site
from nephoscope.benchmarks.database.kv import Kv, KvParameters
from nephoscope.benchmarks.faults.inflict import KINDS, LoadClock, Schedule, inflict, inflicted, victim_of
from nephoscope.benchmarks.faults.kinds import Severity
from nephoscope.benchmarks.faults.outages import SLOW, USUAL, Effect, FaultedLoad
from nephoscope.benchmarks.histograms import Quantile, merged, value_ns
from nephoscope.benchmarks.load import contract
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import CALIBRATION, RUN
from nephoscope.benchmarks.load.data_size import size_measured, size_metrics
from nephoscope.benchmarks.load.metrics import load_row, rate
from nephoscope.benchmarks.load.saturation import saturation
from nephoscope.benchmarks.load.spec import ClosedPace, LoadSpec
from nephoscope.databases.base import Endpoint, HasFailover
from nephoscope.model.errors import DatabaseFailed
from nephoscope.model.frozen import Frozen, conflict
from nephoscope.model.quantities import Bounded, LowerBound
from nephoscope.model.records import (
    ERROR_CLASSES,
    ERRORS,
    OF_OUTAGE,
    OUTAGE_LASTED,
    WRITES_ACKNOWLEDGED,
    WRITES_LOST,
    Direction,
    FaultKind,
    Measurement,
    Metric,
    Observations,
    OperationEvidence,
    VictimRule,
)
from nephoscope.model.subjects import CLUSTER, DatabaseLoad, Subject
from nephoscope.model.units import NANOSECONDS_PER_SECOND
from nephoscope.model.words import counted

MAXIMUM = "load-maximum"
"""Name of the raw output of the closed loop of whose rate the load is a share."""
_OWN = ("pace", "rate_per_s", "ramp_s", "duration_s")
"""Parameters of `kv` that the phases give."""
_ENDED = ("committed", "rolled_back_by_design")
_VICTIMS = {"primary": "a primary", "replica": "a replica", "any": "any server"}
_SPARE_S = 30.0
"""Beyond a fault, for a server to come back and to answer."""
_JUDGED_ELSEWHERE = (contract.EXIT_RATE_NOT_KEPT, contract.EXIT_CONSISTENCY_BROKEN)
"""Exit codes of the load generator that a fault explains."""


class AdversityParameters(Frozen):
    """Parameters of `adversity`."""

    fault: FaultKind = Field(
        default="kill",
        description=" ".join(f"{name}: {fault.says}" for name, fault in KINDS.items()),
    )
    loss_percent: float = Field(default=10, gt=0, lt=100, description="of packets, by `loss`")
    disk_mib_per_s: float = Field(default=20, gt=0, le=1_000_000, description="left by `slow-disk`, each way")
    victim: VictimRule = Field(
        default="primary", description="which servers it may hit; of several, the trial's seed draws each time"
    )
    repeats: int = Field(default=3, ge=1, le=100, description="how often it is inflicted in a trial")
    ramp_s: float = Field(default=5, ge=0, description="time under load before the first baseline, not measured")
    baseline_s: float = Field(default=10, ge=3, description="before each fault; it is compared with this")
    fault_s: float = Field(default=5, ge=0.1, le=3_600, description="how long it lasts")
    recovery_s: float = Field(default=15, ge=3, description="after each fault, before the next baseline")
    rest: Literal["fixed", "until healthy"] = Field(
        default="fixed",
        description="until healthy: the next baseline begins once all copies are complete and clients have their rate "
        "again; `recovery_s` is the most, but no fault is inflicted while a copy is incomplete",
    )
    rate_per_s: float | None = Field(
        default=None, gt=0, description="operations due per second; default: `load_percent`"
    )
    load_percent: float = Field(
        default=50, gt=0, le=100, description="of the rate that a closed loop reaches before the load"
    )
    maximum_s: float = Field(default=10, ge=1, description="measurement interval of that closed loop")
    pace: Literal["constant", "poisson"] = Field(default="constant", description="how operations arrive")
    outage_limit_s: float = Field(
        default=1, gt=0, description="a client that has work and no success for longer sees an outage"
    )
    answer_timeout_s: float | None = Field(
        default=None,
        gt=0,
        description="a client gives a connection up on which no answer came for so long, and looks for the server "
        "anew, as where a network drops packets; default: `fault_s` and 30 s",
    )
    parameters: dict[str, Any] = Field(
        default={"read_percent": 50}, description="parameters of `kv`, without pace, rate and times"
    )

    @model_validator(mode="after")
    def _fit_together(self) -> "AdversityParameters":
        given = [name for name in _OWN if name in self.parameters]
        if given:
            raise conflict(f"`parameters` contains `{given[0]}`, which the phases set; remove it")
        try:
            self.of_kv(1)
        except ValidationError as error:
            raise conflict(f"`parameters` of kv: {error.errors()[0]['msg']}") from error
        if self.of_kv(1).read_percent == 100:
            raise conflict("`parameters` let kv only read: without writes nothing says whether one was lost")
        return self

    @property
    def schedule(self) -> Schedule:
        """When faults are due."""
        return Schedule(
            kind=self.fault,
            count=self.repeats,
            first_s=self.ramp_s + self.baseline_s,
            lasting_s=self.fault_s,
            rest_s=self.recovery_s,
            baseline_s=self.baseline_s,
            until_healthy=self.rest == "until healthy",
            victim=self.victim,
            severity=Severity(self.loss_percent, self.disk_mib_per_s),
        )

    def of_kv(self, rate_per_s: float) -> KvParameters:
        """Parameters of `kv` for the whole load."""
        times = {"ramp_s": self.ramp_s, "duration_s": self.schedule.end_s - self.ramp_s}
        return KvParameters.model_validate(
            {**self.parameters, **times, "pace": self.pace, "rate_per_s": self.rate_per_s or rate_per_s}
        )


@dataclass(frozen=True)
class _Quantity:
    """What each fault has a value of; a trial's is the median of them."""

    metric: Metric
    of: Callable[[Effect], Bounded | None]

    @property
    def of_outage(self) -> Metric:
        """The metric of single faults."""
        update = {"name": OF_OUTAGE + self.metric.name, "headline": False, "title": f"{self.metric.title}, each fault"}
        return self.metric.model_copy(update=update)


def _quantity(name: str, unit: str, title: str, clock: str, of: Callable[[Effect], Bounded | None]) -> _Quantity:
    better = Direction.HIGHER if name.startswith("throughput") else Direction.LOWER
    metric = Metric(name=name, unit=unit, direction=better, title=title, clock=clock, headline=name == "longest_outage")
    return _Quantity(metric, of)


_UNTIL = "until the next baseline"
QUANTITIES = (
    _quantity(
        "longest_outage", "s", "longest outage that any client saw",
        f"from its last success, or from when its work was due, to its next success, {_UNTIL}",
        lambda one: one.longest_s,
    ),
    _quantity(
        "clients_hit_share", "share", "clients that saw an outage", "clients without success for over `outage_limit_s`",
        lambda one: one.clients_share,
    ),
    _quantity("time_at_zero", "s", "time in which nothing was completed", f"in steps of 0.1 s, {_UNTIL}",
              lambda one: one.zero_s),
    _quantity("time_slow", "s", f"time below {SLOW:.0%} of the usual rate", f"in seconds, {_UNTIL}",
              lambda one: one.slow_s),
    _quantity("time_to_usual_rate", "s", f"time to {USUAL:.0%} of the usual rate",
              "from the beginning of the fault to the first second with that rate", lambda one: one.usual_again_s),
    _quantity("time_to_complete_copies", "s", "time until copies are complete",
              "from the beginning of the fault until all servers are up and all copies have all data",
              lambda one: one.until_complete_s),
    _quantity("throughput_during_share", "share", "throughput during the fault",
              "operations that ended while it lasted / usual rate", lambda one: one.during_share),
    _quantity("throughput_after_share", "share", "throughput after the fault",
              f"operations that ended from its end {_UNTIL} / usual rate", lambda one: one.after_share),
    _quantity("response_p99_ratio", "1", "response time at p99, to that of the baseline",
              "up to the first second with the usual rate", lambda one: one.p99_ratio),
    *(
        _quantity(f"{ERRORS}{name}", "operations", f"errors: {what}", f"that were retried or failed, {_UNTIL}",
                  partial(Effect.errors_of, name=name))
        for name, what in ERROR_CLASSES.items()
    ),
)  # fmt: skip
LASTED = Metric(
    name=OUTAGE_LASTED, unit="s", direction=Direction.LOWER, title="time from a fault to its undoing",
    clock="from just before it was applied until the server was up again, by the load machine's clock",
)  # fmt: skip
OPERATIONS = Metric(
    name="operations_per_s", unit="1/s", direction=Direction.HIGHER, title="reads and writes per second",
    clock="operations that ended in the measurement interval, with its faults / its length",
)  # fmt: skip
RESPONSE = Metric(
    name="response_p95", unit="s", direction=Direction.LOWER, title="response time, p95",
    clock="from the intended start to the last byte read, of operations that committed in a second",
)  # fmt: skip
_P95 = Quantile(0.95)
"""Of a second: with 200 operations in it, and not only with 1,000 as p99."""
USUAL_RATE = Metric(
    name="usual_rate_per_s", unit="1/s", direction=Direction.HIGHER, title="rate before a fault",
    clock="operations that ended in the baseline of a fault / its length; median over the faults",
)  # fmt: skip


def _writes(name: str, title: str) -> Metric:
    return Metric(name=name, unit="writes", direction=Direction.LOWER, title=title)


ACKNOWLEDGED = _writes(WRITES_ACKNOWLEDGED, "writes that the server acknowledged").model_copy(
    update={"direction": Direction.HIGHER}
)
IN_DOUBT = _writes("writes_in_doubt", "writes that were sent, and neither acknowledged nor refused")
LOST = _writes(WRITES_LOST, "acknowledged writes that were lost")


class Adversity(Benchmark):
    """See the module's text."""

    name = "adversity"
    version = 1
    subject = Subject.DATABASE
    extent = CLUSTER
    title = "Faults of a server under load"
    parameters = AdversityParameters
    _kv = Kv()

    @override
    def version_of(self, parameters: Mapping[str, Any]) -> int:
        return self.version + self._kv.version - 1

    @override
    def database_load_of(self, parameters: Any) -> DatabaseLoad:
        return DatabaseLoad.KEY_VALUE

    @override
    def metrics(self, parameters: AdversityParameters) -> tuple[Metric, ...]:
        of_trials = tuple(one.metric for one in QUANTITIES)
        of_outages = tuple(one.of_outage for one in QUANTITIES)
        others = (LOST, ACKNOWLEDGED, IN_DOUBT, USUAL_RATE, OPERATIONS, RESPONSE, LASTED)
        return (*of_trials, *others, *of_outages, *size_metrics(parameters.of_kv(1)))

    @override
    def needs(self, parameters: AdversityParameters) -> Needs:
        return self._kv.needs(parameters.of_kv(1))

    def fixture_bytes(self, parameters: AdversityParameters) -> int:
        """The data set of `kv`."""
        return self._kv.fixture_bytes(parameters.of_kv(1))

    def fixture_name(self, parameters: AdversityParameters, data_seed: int) -> str:
        """That of `kv`."""
        return self._kv.fixture_name(parameters.of_kv(1), data_seed)

    @override
    def expected_duration_s(self, parameters: AdversityParameters) -> float:
        maximum_s = 0.0 if parameters.rate_per_s else parameters.ramp_s + parameters.maximum_s
        return maximum_s + self._kv.expected_duration_s(parameters.of_kv(1))

    @override
    def connections(self, site: Site, parameters: AdversityParameters) -> int:
        return self._kv.connections(site, parameters.of_kv(1))

    @override
    async def prepare(self, site: Site, parameters: AdversityParameters) -> Endpoint | None:
        victim = await victim_of(site, parameters.schedule)
        await KINDS[parameters.fault].look(victim)  # told before data is loaded
        return await self._kv.prepare(site, parameters.of_kv(1))

    @override
    async def run(self, site: Site, parameters: AdversityParameters) -> None:
        if site.endpoint is None:
            raise DatabaseFailed(f"{self.name} needs a database, but the trial has none")
        of_kv = parameters.of_kv(await self._rate_per_s(site, site.endpoint, parameters))
        spec = self._faulted(self._kv.run_spec(site, site.endpoint, of_kv), parameters)
        clock = LoadClock()
        inflicting = asyncio.create_task(inflict(site, parameters.schedule, clock))
        try:
            await self._kv.driven(site, RUN, spec, of_kv, allowed=_JUDGED_ELSEWHERE, on_interval=clock.take)
            await inflicting  # a server may need longer to come back than the load lasts
            if site.database is not None and isinstance(site.database, HasFailover):
                await site.database.put_back(site.cluster)
        finally:
            inflicting.cancel()
            await asyncio.wait([inflicting])

    async def _rate_per_s(self, site: Site, endpoint: Endpoint, parameters: AdversityParameters) -> float:
        """As given, or a share of what a closed loop reaches."""
        if parameters.rate_per_s is not None:
            return parameters.rate_per_s
        asked = self._kv.run_spec(site, endpoint, parameters.of_kv(1))
        closed = {"pace": ClosedPace(), "duration_s": parameters.maximum_s, "check": "none", "failover": True}
        output = await self._kv.drive(site, MAXIMUM, asked.model_copy(update=closed), parameters.of_kv(1))
        return load_output.count(output, outcomes=_ENDED) / output.measured_s * parameters.load_percent / 100

    @staticmethod
    def _faulted(spec: LoadSpec, parameters: AdversityParameters) -> LoadSpec:
        """A load that lives through faults. A server that was started again has other counters: none is compared."""
        return spec.model_copy(
            update={
                "workload": spec.workload.model_copy(update={"ledger": True}),
                "failover": True,
                "reconnect_timeout_s": spec.ramp_s + spec.duration_s,
                "answer_timeout_s": parameters.answer_timeout_s or parameters.fault_s + _SPARE_S,
                "outage_limit_s": parameters.outage_limit_s,
                "max_failed_percent": 100.0,
                "check": "none",
            }
        )

    @override
    def parse(self, raw: RawOutput, parameters: AdversityParameters) -> list[Measurement]:
        load = _faulted_load(raw, parameters)
        output, begins_s = load.output, [one.begin_s for one in load.effects]
        found = rate(OPERATIONS, output, 1, *self._kv.drawn(parameters.of_kv(1)))
        found += [load_row(RESPONSE, value_s, at_s) for at_s, value_s in _responses(output)]
        for quantity in QUANTITIES:
            known = [(begin_s, quantity.of(one)) for begin_s, one in zip(begins_s, load.effects, strict=True)]
            values = [(begin_s, value) for begin_s, value in known if value is not None]
            found += [_row(quantity.of_outage, value, begin_s) for begin_s, value in values]
            found += [_row(quantity.metric, _median([value for _, value in values]))] if values else []
        found += [load_row(LASTED, one.undone_s - one.begin_s, one.begin_s) for one in load.effects]
        usual = [one.usual_per_s for one in load.effects if one.usual_per_s is not None]
        found += [load_row(USUAL_RATE, median(usual))] if usual else []
        ledger = output.finished.ledger
        if ledger is not None:
            counts = ((LOST, ledger.lost), (ACKNOWLEDGED, ledger.acknowledged), (IN_DOUBT, ledger.in_doubt))
            found += [load_row(metric, count) for metric, count in counts]
        return [*found, *size_measured(raw)]

    @override
    def ended(self, raw: RawOutput, parameters: AdversityParameters) -> Sequence[Ended]:
        """Without what faults touched: there the checks expect nothing of the server."""
        return load_output.ended(_faulted_load(raw, parameters).outside)

    @override
    def operations(self, raw: RawOutput, parameters: AdversityParameters, client_cpus: int | None) -> OperationEvidence:
        """Of what no fault touched; a write that a fault has lost is a result."""
        load = _faulted_load(raw, parameters)
        calibration = load_output.read(raw[f"{CALIBRATION}.stdout"]) if f"{CALIBRATION}.stdout" in raw else None
        found = load_output.evidence(load.outside, client_cpus, saturation=saturation(load.outside, calibration))
        ledger, code = load.output.finished.ledger, load.output.finished.exit_code
        lost = ledger is not None and ledger.lost > 0 and ledger.unsent == 0
        explained = code == contract.EXIT_RATE_NOT_KEPT or (code == contract.EXIT_CONSISTENCY_BROKEN and lost)
        return found.model_copy(update={"exit_code": 0, "message": ""}) if explained else found

    @override
    def observations(self, raw: RawOutput, parameters: AdversityParameters) -> Observations:
        return Observations(faults=_faulted_load(raw, parameters).noted, faults_planned=parameters.repeats)

    @override
    def notes(self, parameters: AdversityParameters) -> list[str]:
        of_kv = parameters.of_kv(1)
        given = f"{parameters.rate_per_s:,.15g} operations/s" if parameters.rate_per_s else (
            f"{parameters.load_percent:g} % of what a closed loop reached before"
        )  # fmt: skip
        what = f"{counted(parameters.repeats, 'fault')} of kind {parameters.fault} on {_VICTIMS[parameters.victim]}"
        times = f"{parameters.baseline_s:g} s after the load began or the last recovery ended"
        return [
            f"Open loop, {parameters.pace}, {given}: response times are measured from the moment each was due.",
            f"{what}, each {times}.",
            self._kv.notes(of_kv)[1],
            "Every write is numbered and read again after the load.",
        ]


def _faulted_load(raw: RawOutput, parameters: AdversityParameters) -> FaultedLoad:
    output = load_output.read(raw.get(f"{RUN}.stdout", b""))
    return FaultedLoad(output, tuple(inflicted(raw)), parameters.baseline_s)


def _responses(output: load_output.LoadOutput) -> list[tuple[float, float]]:
    """End of each interval with its p95 in seconds, if enough operations ended in it."""
    found = []
    for one in output.intervals:
        histogram = merged(row.histograms.response for row in one.operations if row.outcome == "committed")
        if _P95.is_supported_by(histogram.get_total_count()):
            found.append((one.end_s, value_ns(histogram, _P95) / NANOSECONDS_PER_SECOND))
    return found


def _median(values: Sequence[Bounded]) -> Bounded:
    """A bound if one of them is: the median is at least that of what is known."""
    middle = median(one.above if isinstance(one, LowerBound) else one for one in values)
    return LowerBound(above=middle, or_equal=True) if any(isinstance(one, LowerBound) for one in values) else middle


def _row(metric: Metric, value: Bounded, at_s: float | None = None) -> Measurement:
    return Measurement.of(metric.name, metric.unit, value, "load").model_copy(update={"at_s": at_s})
