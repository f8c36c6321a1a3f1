"""The most active TPC-C warehouses at which a rule on response times and efficiency holds, with wait times.

The same search as in `highest-load`, over whole warehouses: each level is one TPC-C run on a data set that is loaded
once, at its largest size. Modelled on CockroachDB's `tpccbench` and the Cloud Reports 2020 and 2021.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, Ended, Needs, RawOutput, Site
from nephoscope.benchmarks.calibrations import OwnCalibrations
from nephoscope.benchmarks.database.tpcc import Tpcc, TpccParameters, headline
from nephoscope.benchmarks.database.tpcc_rules import CR2020, CR2021, SPEC, TPCCBENCH, PassRule, requirements
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import CALIBRATION
from nephoscope.benchmarks.load.metrics import rate
from nephoscope.benchmarks.load.output import LoadOutput
from nephoscope.benchmarks.load.spec import TpccWorkload
from nephoscope.benchmarks.search import sustained, trail, warehouses
from nephoscope.benchmarks.search.levels import Ask, Point, Settings
from nephoscope.benchmarks.search.machine import begin
from nephoscope.benchmarks.search.observe import of_client
from nephoscope.checks.thresholds import ERRORS
from nephoscope.databases.base import Endpoint
from nephoscope.model.errors import DatabaseFailed
from nephoscope.model.frozen import Frozen, conflict
from nephoscope.model.records import Measurement, Metric, OperationEvidence, Requirement, SearchEvidence
from nephoscope.model.subjects import CLUSTER, Subject
from nephoscope.model.units import SECONDS_PER_MINUTE

RuleName = Literal["tpc-c", "tpccbench", "cloud-report-2020", "cloud-report-2021"]
RULES: Mapping[RuleName, PassRule] = {
    "tpc-c": SPEC,
    "tpccbench": TPCCBENCH,
    "cloud-report-2020": CR2020,
    "cloud-report-2021": CR2021,
}
_UNIT = " warehouses"
_OWN = ("warehouses", "active_warehouses", "active_warehouses_per_cpu", "edition", "wait", "wait_factor",
        "ramp_s", "duration_s")  # fmt: skip
"""Parameters of `tpcc` that the search gives."""
_USUAL_SHORT, _USUAL_LONG = 9, 7
"""Points of a search on a server with a sharp limit."""
_FIRST = 8
"""The first level is this part of the warehouses that are loaded."""


class MaxWarehousesParameters(Frozen):
    """Parameters of `max-warehouses`."""

    warehouses: int = Field(
        default=1_000,
        ge=2,
        le=1_000_000,
        description="warehouses to load, once; the search cannot find more than these",
    )
    rule: RuleName = Field(default="tpc-c", description="the conditions that a level must meet")
    parameters: dict[str, Any] = Field(
        default={}, description="parameters of `tpcc`, without warehouses, waits and times"
    )
    first: int | None = Field(
        default=None, ge=1, description="first level in warehouses; default: an eighth of those loaded"
    )
    least: int = Field(default=1, ge=1, description="lowest level in warehouses that is of interest")
    ramp_s: float = Field(
        default=60, ge=0, description="time under load before each measurement interval, not measured"
    )
    point_s: float = Field(
        default=300,
        ge=10,
        description="measurement interval of a level; longer where a level makes too few New-Orders to judge them",
    )
    confirmation_s: float = Field(
        default=600, ge=10, description="measurement interval of the levels that decide the outcome"
    )
    confirmations: int = Field(default=3, ge=3, le=20, description="how often the level found must be confirmed")
    resolution_percent: float = Field(
        default=2,
        ge=0.5,
        le=50,
        description="the search ends when the levels that pass and fail differ by less than this",
    )
    settle_s: float = Field(default=15, ge=0, description="pause between two points")

    @model_validator(mode="after")
    def _fit_together(self) -> "MaxWarehousesParameters":
        given = [name for name in _OWN if name in self.parameters]
        if given:
            raise conflict(f"`parameters` contains `{given[0]}`, which the search sets; remove it")
        if self.least > self.warehouses or (self.first or 1) > self.warehouses:
            raise conflict(f"`first` and `least` must not be above `warehouses` {self.warehouses}")
        try:
            self.at(self.warehouses, self.point_s)
        except ValidationError as error:
            raise conflict(f"`parameters` of tpcc: {error.errors()[0]['msg']}") from error
        return self

    def at(self, level: float, duration_s: float) -> TpccParameters:
        """Parameters of `tpcc` for one level."""
        times = {"ramp_s": self.ramp_s, "duration_s": duration_s, "wait": "spec"}
        warehouses = {"warehouses": self.warehouses, "active_warehouses": int(level)}
        return TpccParameters.model_validate({**self.parameters, **times, **warehouses})

    def for_ask(self, ask: Ask) -> TpccParameters:
        """The same for what the search asks for."""
        return self.at(ask.level, self.lasting_s(ask.level, long=ask.long))

    def lasting_s(self, level: float, *, long: bool) -> float:
        """The measurement interval of a level: as given, or as long as its New-Orders need to be judged.

        Few warehouses make few New-Orders, and a percentile needs some beyond it: without them a level would fail, and
        the search go on where there are fewer still.
        """
        given, rule = self.confirmation_s if long else self.point_s, RULES[self.rule]
        if "new_order" not in (rule.limits_s or {}):
            return given
        per_minute = level * rule.most_tpmc * warehouses.least_efficiency(rule) / 100
        return max(given, math.ceil(rule.quantile.least_count * SECONDS_PER_MINUTE / per_minute))

    @property
    def most(self) -> TpccParameters:
        """The same for all that are loaded."""
        return self.at(self.warehouses, self.point_s)

    @property
    def settings(self) -> Settings:
        """Where to search."""
        return Settings(
            floor=self.least,
            first=max(self.least, self.first or self.warehouses // _FIRST),
            ceiling=self.warehouses,
            resolution=self.resolution_percent / 100,
            confirmations=self.confirmations,
            whole=True,
        )


@dataclass(frozen=True)
class Observed:
    """A point with what was seen of it."""

    ask: Ask
    output: LoadOutput
    asked: tuple[Requirement, ...]
    """Every limit of the rule beside what was observed."""
    tpmc: float
    signs: tuple[str, ...]
    """Of a load generator that was the limit."""
    disturbed: bool
    """The hypervisor gave its CPUs to others."""

    @property
    def held(self) -> bool:
        """No limit is exceeded, and New-Order can be judged: there may be too few of the rarer transactions."""
        judged = any(one.met for one in self.asked if one.what.startswith("new order"))
        return judged and all(one.met is not False for one in self.asked)

    @property
    def point(self) -> Point:
        """For the state machine: warehouses are not a rate, so the achieved value is the level itself."""
        return Point(self.ask.level, self.ask.purpose, self.held, bool(self.signs), self.ask.level, self.disturbed)


class MaxWarehouses(Benchmark):
    """See the module's text."""

    name = "max-warehouses"
    version = 4
    subject = Subject.DATABASE
    extent = CLUSTER
    title = "Maximum number of TPC-C warehouses"
    parameters = MaxWarehousesParameters
    _tpcc = Tpcc()
    _tpcc_version = 2
    """When this benchmark became version 4. Each later one makes this benchmark newer."""

    @override
    def version_of(self, parameters: Mapping[str, Any]) -> int:
        return self.version + self._tpcc.version - self._tpcc_version

    @override
    def metrics(self, parameters: MaxWarehousesParameters) -> tuple[Metric, ...]:
        """The level found, the curve, and what `tpcc` says at that level."""
        return warehouses.metrics(self._tpcc.metrics(parameters.most), RULES[parameters.rule])

    @override
    def needs(self, parameters: MaxWarehousesParameters) -> Needs:
        return self._tpcc.needs(parameters.most)

    def fixture_bytes(self, parameters: MaxWarehousesParameters) -> int:
        """All warehouses are loaded before the search."""
        return self._tpcc.fixture_bytes(parameters.most)

    def fixture_name(self, parameters: MaxWarehousesParameters, data_seed: int) -> str:
        """That of all warehouses."""
        return self._tpcc.fixture_name(parameters.most, data_seed)

    @override
    def expected_duration_s(self, parameters: MaxWarehousesParameters) -> float:
        """Assumes a server with a sharp limit."""
        level = parameters.settings.first
        short_s, long_s = (parameters.lasting_s(level, long=long) for long in (False, True))
        points = _USUAL_SHORT * short_s + _USUAL_LONG * long_s
        return float(points + (_USUAL_SHORT + _USUAL_LONG) * (parameters.ramp_s + parameters.settle_s))

    @override
    def connections(self, site: Site, parameters: MaxWarehousesParameters) -> int:
        return self._tpcc.connections(site, parameters.most)

    @override
    async def prepare(self, site: Site, parameters: MaxWarehousesParameters) -> Endpoint | None:
        """Loads all warehouses once; a search relies on no earlier calibration."""
        return await self._tpcc.prepare(replace(site, calibrations=OwnCalibrations()), parameters.most)

    @override
    async def run(self, site: Site, parameters: MaxWarehousesParameters) -> None:
        """Measures level after level; each leaves `point-<number>.stdout`."""
        if site.endpoint is None:
            raise DatabaseFailed(f"{self.name} needs a database, but the trial has none")
        conditions, endpoint = trail.note_conditions(site), site.endpoint
        raw = {f"{CALIBRATION}.stdout": (site.raw_dir / f"{CALIBRATION}.stdout").read_bytes()}
        judge, threads = _Judge(parameters, trail.output_of(raw, CALIBRATION), conditions.co_located), 1

        async def measure(ask: Ask, name: str) -> Point:
            nonlocal threads
            at = parameters.for_ask(ask)
            spec = trail.spec_for(ask, name, self._tpcc.run_spec(site, endpoint, at), threads)
            output = await self._tpcc.drive(site, name, spec, at)
            threads = trail.threads_of(output)
            return judge(ask, output).point

        await trail.searched(site, begin(parameters.settings), measure, settle_s=parameters.settle_s, unit=_UNIT)

    @override
    def parse(self, raw: RawOutput, parameters: MaxWarehousesParameters) -> list[Measurement]:
        """Repeats the search from the points that were measured."""
        search = read_search(raw, parameters)
        ended, rule = search.ended, RULES[parameters.rule]
        points = [warehouses.CurvePoint(one.ask, one.point.passed, one.tpmc, one.output) for one in search.points]
        found = [
            *warehouses.of_result(ended, points, search.void),
            *warehouses.curve(points, rule),
            *warehouses.limits(rule),
        ]
        found += sustained.measured(sustained.sustained(raw))
        if ended.level is not None:
            at_level = self._tpcc.numbers(search.joined, parameters.at(ended.level, parameters.confirmation_s))
            found += [row for row in at_level if row.at_s is None]
        return found

    @override
    def ended(self, raw: RawOutput, parameters: MaxWarehousesParameters) -> Sequence[Ended]:
        search = read_search(raw, parameters)
        return () if search.ended.level is None else load_output.ended(search.joined)

    @override
    def steps(self, raw: RawOutput, parameters: MaxWarehousesParameters) -> Sequence[Sequence[Ended]]:
        return [load_output.ended(output) for output in read_search(raw, parameters).others]

    @override
    def operations(
        self, raw: RawOutput, parameters: MaxWarehousesParameters, client_cpus: int | None
    ) -> OperationEvidence:
        """Counts the points that the result rests on."""
        search = read_search(raw, parameters)
        ended = search.ended
        joined = search.joined
        evidence = self._tpcc.evidence(joined, trail.output_of(raw, CALIBRATION), parameters.most, client_cpus)
        found = SearchEvidence(outcome=ended.outcome.value, reason=ended.reason)
        more = {"search": found, "sustained": sustained.sustained(raw)}
        return evidence.model_copy(update={**more, "requirements": _asked(joined, RULES[parameters.rule])})

    @override
    def notes(self, parameters: MaxWarehousesParameters) -> list[str]:
        rule = RULES[parameters.rule]
        held = f"A level passes if {rule.text()} ({rule.source}), at most {ERRORS.percent} of transactions fail, and"
        loaded = (
            f"{parameters.warehouses:,} warehouses are loaded once; each level uses as many of them as its number says"
        )
        return [
            f"{held} the load generator is not the limit. A limit with too few transactions is not judged.",
            f"{loaded}, with the wait times of the specification.",
            f"The level found was confirmed at least {parameters.confirmations} times.",
            *self._tpcc.notes(parameters.most),
        ]


def read_search(raw: RawOutput, parameters: MaxWarehousesParameters) -> trail.Search[Observed]:
    """See `trail.made_again`.

    Raises:
        OutputUnreadable: points are missing, damaged, or are not those that this version would have asked for.
    """
    judge = _Judge(parameters, trail.output_of(raw, CALIBRATION), trail.conditions_of(raw).co_located)
    return trail.made_again(raw, begin(parameters.settings), _active, judge, _UNIT)


@dataclass(frozen=True)
class _Judge:
    """What all points of a search are judged by."""

    parameters: MaxWarehousesParameters
    calibration: LoadOutput
    co_located: bool

    def __call__(self, ask: Ask, output: LoadOutput) -> Observed:
        signs, taken = of_client(output, self.calibration, co_located=self.co_located)
        asked = [*_asked(output, RULES[self.parameters.rule]), *_errors(output)]
        return Observed(ask, output, tuple(asked), _tpmc(output), signs, taken)


def _asked(output: LoadOutput, rule: PassRule) -> list[Requirement]:
    responses = load_output.responses(output)
    return requirements(rule, tpmc=_tpmc(output), active_warehouses=_active(output) or 1, responses=responses)


def _errors(output: LoadOutput) -> Iterator[Requirement]:
    ended, failed = (load_output.count(output, outcomes=(which,)) for which in ("committed", "failed"))
    if ended + failed:
        yield Requirement(
            what="errors",
            observed=failed / (ended + failed),
            relation="at most",
            limit=ERRORS.value,
            unit="share",
            source="every search",
        )


def _tpmc(output: LoadOutput) -> float:
    (first, *_) = rate(headline(_WITH_WAITS), output, SECONDS_PER_MINUTE, "new_order")
    return first.value


_WITH_WAITS = TpccParameters(wait="spec")


def _active(output: LoadOutput) -> int | None:
    """Active warehouses, as driven; None: an output of another workload."""
    workload = output.started.spec.workload
    return workload.active_warehouses or workload.warehouses if isinstance(workload, TpccWorkload) else None
