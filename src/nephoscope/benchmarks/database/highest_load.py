"""The highest load at which a rule holds, for any workload that supports an open loop.

A closed-loop probe chooses where to start. It goes on for as many operations as the server needs to reach a steady
state, if the study says how many. Each level is then one call of the load generator, judged by the rule, until
the state machine in `search` reaches an outcome. The result can be recomputed from the raw output alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, Ended, Needs, RawOutput, Site
from nephoscope.benchmarks.calibrations import OwnCalibrations
from nephoscope.benchmarks.database.kv import Kv
from nephoscope.benchmarks.database.oltp import OltpInsert, OltpReadOnly, OltpReadWrite
from nephoscope.benchmarks.database.point_select import PointSelect
from nephoscope.benchmarks.database.tpcb import Tpcb
from nephoscope.benchmarks.database.ycsb import Ycsb
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import CALIBRATION, LoadBenchmark
from nephoscope.benchmarks.load.output import LoadOutput
from nephoscope.benchmarks.search import measurements, sustained, trail
from nephoscope.benchmarks.search.levels import Ask, Point, Purpose, Settings
from nephoscope.benchmarks.search.machine import begin
from nephoscope.benchmarks.search.observe import ALL, ENDED, Judge, Observed
from nephoscope.benchmarks.search.rule import DEFAULT, Rule, RuleError, parse_rule
from nephoscope.databases.base import Endpoint
from nephoscope.model.errors import DatabaseFailed, OutputUnreadable
from nephoscope.model.frozen import Frozen, conflict
from nephoscope.model.records import Measurement, Metric, OperationEvidence, Requirement, SearchEvidence
from nephoscope.model.seeds import derive_seed
from nephoscope.model.subjects import CLUSTER, DatabaseLoad, Subject
from nephoscope.model.units import GIB

INDEX_BYTES = 64
BESIDE_VALUE_BYTES = 128


class Sizing(Frozen):
    """What there is to fill."""

    memory_gib: float = Field(gt=0, description="for the data, of each machine")
    disk_gib: float = Field(gt=0, description="for the data, of each machine")
    machines: int = Field(default=1, ge=1, le=1024, description="machines that count: two for Aerospike's method")
    copies: int = Field(default=1, ge=1, le=16, description="copies of each object: the replication factor")
    memory_percent: float = Field(default=60, gt=0, le=100, description="share of the memory for the index")
    disk_percent: float = Field(default=50, gt=0, le=100, description="share of the disks for the objects")

    @property
    def rows(self) -> int:
        """Objects."""
        index_bytes = self.machines * self.memory_gib * GIB * self.memory_percent / 100
        return int(index_bytes / (INDEX_BYTES * self.copies))

    @property
    def value_bytes(self) -> int:
        """Length of each value; 0 or less: the disks are too small for so much memory."""
        disk_bytes = self.machines * self.disk_gib * GIB * self.disk_percent / 100
        return int(disk_bytes / (self.rows * self.copies)) - BESIDE_VALUE_BYTES if self.rows else 0


WORKLOADS: dict[str, LoadBenchmark] = {
    one.name: one for one in (PointSelect(), OltpInsert(), OltpReadWrite(), OltpReadOnly(), Tpcb(), Kv(), Ycsb())
}
"""Benchmarks whose workload can be driven at a rate."""
_VERSIONS = {PointSelect.name: 2}
"""Of workloads, when this benchmark became version 3; of the others 1. Each later one makes this benchmark newer."""
PROBE = "search-probe"
"""Name of the raw output of the closed loop that places the search."""
CONDITIONING = "search-conditioning"
"""Name, before a number, of the raw outputs of the closed loop after the probe; the last places the search."""
_UNIT = "/s"
_OWN = ("pace", "rate_per_s", "ramp_s", "duration_s")
"""Parameters of the workload that the search gives."""
_MAX_CONDITIONING_S = 600.0
"""Of one closed loop before the search: a slow probe says little about how long all of them take."""
_USUAL_SHORT, _USUAL_LONG = 13, 7
"""Points of a search on a server with a sharp limit."""
_START_S = 0.5
"""Of a load generator: connecting, preparing statements."""
_MORE = 1.02
"""Operations that a confirmation drives, of those asked: its rule lets 1 % fail to be done in time."""
_USUAL_PER_S = 50_000
"""Duration of a level, used only for the plan."""


class HighestLoadParameters(Frozen):
    """Parameters of `highest-load`."""

    benchmark: str = Field(default=PointSelect.name, description="the benchmark whose workload is used")
    parameters: dict[str, Any] = Field(
        default={}, description="parameters of that benchmark, without pace, rate and times"
    )
    sizing: Sizing | None = Field(
        default=None, description="computes the size of the data set as the Aerospike qualification does; only for `kv`"
    )
    operations_per_row: float | None = Field(
        default=None,
        gt=0,
        description="operations per loaded row that the confirmations run together, which sets how long they last; the "
        "Aerospike qualification requires 3. Default: a short qualification, which reports mention",
    )
    conditioning_operations_per_row: float | None = Field(
        default=None,
        gt=0,
        exclude_if=lambda asked: asked is None,  # so that trials without it keep the ids that they always had
        description="operations per loaded row that a closed loop runs before the search. A server is faster before "
        "its defragmentation, vacuum or compaction begins: Aerospike's after about 1.4, half of them writes. "
        "Default: only the probe. `plan` assumes 50,000 operations per second",
    )
    rule: str = Field(default=DEFAULT, description="the conditions that a level must meet")
    pace: Literal["poisson", "constant"] = Field(default="poisson", description="how operations arrive")
    ramp_s: float = Field(default=5, ge=0, description="time under load before each measurement interval, not measured")
    point_s: float = Field(default=30, ge=3, description="measurement interval of a level")
    confirmation_s: float = Field(
        default=60, ge=3, description="measurement interval of the levels that decide the outcome"
    )
    confirmations: int = Field(default=3, ge=3, le=20, description="how often the level found must be confirmed")
    resolution_percent: float = Field(
        default=2,
        ge=0.5,
        le=50,
        description="the search ends when the levels that pass and fail differ by less than this",
    )
    least_step_per_s: float = Field(default=0, ge=0, description="or when they differ by less than this")
    first_percent: float = Field(
        default=10, gt=0, le=100, description="the first level, as a share of the probe's rate"
    )
    lowest_per_s: float | None = Field(default=None, gt=0, description="default: a tenth of the first level")
    highest_per_s: float | None = Field(default=None, gt=0, description="default: twice the rate of the probe")
    settle_s: float = Field(default=1, ge=0, description="pause between two points")

    @model_validator(mode="after")
    def _fit_together(self) -> "HighestLoadParameters":
        if self.benchmark not in WORKLOADS:
            raise conflict(f"`benchmark` is {self.benchmark!r}, but must be {' or '.join(WORKLOADS)}")
        given = [name for name in _OWN if name in self.parameters]
        if given:
            raise conflict(f"`parameters` contains `{given[0]}`, which the search sets for each level; remove it")
        if "data_times_memory" in self.parameters:
            raise conflict("a search needs to know its rows: give `rows` or `sizing` in place of `data_times_memory`")
        if self.sizing is not None and self.sizing.value_bytes < 1:
            raise conflict(
                "`sizing` leaves no space for values: the disks are too small for an index of that much memory"
            )
        if self.lowest_per_s and self.highest_per_s and self.lowest_per_s > self.highest_per_s:
            raise conflict(f"`lowest_per_s` {self.lowest_per_s:g} is above `highest_per_s` {self.highest_per_s:g}")
        try:
            self.at(1.0, self.point_s)
            rule = parse_rule(self.rule)
        except RuleError as error:
            raise conflict(f"`rule`: {error}") from error
        except ValidationError as error:
            raise conflict(f"`parameters` of {self.benchmark}: {error.errors()[0]['msg']}") from error
        if self.data_size[0] is None and (self.operations_per_row or self.conditioning_operations_per_row):
            raise conflict(f"`operations_per_row` and its like need a number of rows, but {self.benchmark} has none")
        known = {ALL, *self.workload.kinds, *measurements.operations_of(self.workload.metrics(self.at(1.0, 1.0)))}
        unknown = sorted(rule.operations - known)
        if unknown:
            raise conflict(
                f"`rule` names the operation {unknown[0]!r}; {self.benchmark} has {', '.join(sorted(known))}"
            )
        return self

    @property
    def workload(self) -> LoadBenchmark:
        """Whose workload is driven."""
        return WORKLOADS[self.benchmark]

    def closed(self, duration_s: float | None = None) -> Any:
        """Parameters of the workload's own benchmark for a closed loop; default: for the probe."""
        times = {"ramp_s": self.ramp_s, "duration_s": duration_s or self.point_s}
        return self.workload.parameters.model_validate({**self._of_data, **times})

    @property
    def _of_data(self) -> dict[str, Any]:
        sizing = self.sizing
        return {**self.parameters, **({"rows": sizing.rows, "min_block_bytes": sizing.value_bytes} if sizing else {})}

    @property
    def data_size(self) -> tuple[int | None, int | None]:
        """Rows, and bytes of a value; None: the workload has no such parameter."""
        closed = self.closed()
        return getattr(closed, "rows", None), getattr(closed, "min_block_bytes", None)

    def at(self, level: float, duration_s: float) -> Any:
        """The same for one level."""
        times = {"pace": self.pace, "rate_per_s": level, "ramp_s": self.ramp_s, "duration_s": duration_s}
        return self.workload.parameters.model_validate({**self._of_data, **times})

    def for_ask(self, ask: Ask) -> Any:
        """The same for what the search asks for."""
        if ask.purpose is Purpose.CONFIRM:
            return self.at(ask.level, max(self.confirmation_s, self._confirmation_s_at(ask.level)))
        return self.at(ask.level, self.confirmation_s if ask.long else self.point_s)

    def _confirmation_s_at(self, level: float) -> float:
        """How long one of the confirmations must last for its share of `operations_per_row`."""
        operations = (self.operations_per_row or 0.0) * (self.data_size[0] or 0)
        return ceil(_MORE * operations / (self.confirmations * level))

    @property
    def conditioning_operations(self) -> float:
        """Operations of closed loops before the search."""
        return (self.conditioning_operations_per_row or 0.0) * (self.data_size[0] or 0)

    def settings(self, probe_per_s: float) -> Settings:
        """Where to search, after a probe in the closed loop."""
        ceiling = self.highest_per_s or 2 * probe_per_s
        first = min(max(self.first_percent / 100 * probe_per_s, self.lowest_per_s or 0), ceiling)
        return Settings(
            floor=min(self.lowest_per_s or first / 10, ceiling),
            first=first,
            ceiling=ceiling,
            resolution=self.resolution_percent / 100,
            least_step=self.least_step_per_s,
            confirmations=self.confirmations,
        )


class HighestLoad(Benchmark):
    """See the module's text."""

    name = "highest-load"
    version = 3
    subject = Subject.DATABASE
    extent = CLUSTER
    title = "Highest sustainable load"
    parameters = HighestLoadParameters

    @override
    def version_of(self, parameters: Mapping[str, Any]) -> int:
        workload = WORKLOADS.get(parameters["benchmark"])
        if workload is None:
            return self.version
        return self.version + workload.version_of(parameters["parameters"]) - _VERSIONS.get(workload.name, 1)

    @override
    def database_load_of(self, parameters: HighestLoadParameters) -> DatabaseLoad | None:
        return parameters.workload.database_load_of(parameters.closed())

    @override
    def metrics(self, parameters: HighestLoadParameters) -> tuple[Metric, ...]:
        """The level found, the curve, and what the workload's benchmark says at that level."""
        return measurements.metrics(parameters.workload.metrics(parameters.at(1.0, 1.0)), parse_rule(parameters.rule))

    @override
    def needs(self, parameters: HighestLoadParameters) -> Needs:
        return parameters.workload.needs(parameters.closed())

    def fixture_bytes(self, parameters: HighestLoadParameters) -> int:
        """The data set of its workload."""
        return parameters.workload.fixture_bytes(parameters.closed())

    def fixture_name(self, parameters: HighestLoadParameters, data_seed: int) -> str:
        """That of its workload."""
        return parameters.workload.fixture_name(parameters.closed(), data_seed)

    @override
    def expected_duration_s(self, parameters: HighestLoadParameters) -> float:
        """Assumes a server with a sharp limit."""
        confirmation_s = parameters.for_ask(Ask(_USUAL_PER_S, Purpose.CONFIRM)).duration_s
        points = _USUAL_SHORT * parameters.point_s + _USUAL_LONG * confirmation_s
        between_s = parameters.ramp_s + parameters.settle_s + _START_S
        points += parameters.conditioning_operations / _USUAL_PER_S
        return float(points + (_USUAL_SHORT + _USUAL_LONG) * between_s)

    @override
    def connections(self, site: Site, parameters: HighestLoadParameters) -> int:
        return parameters.workload.connections(site, parameters.closed())

    @override
    async def prepare(self, site: Site, parameters: HighestLoadParameters) -> Endpoint | None:
        """Prepares what the workload's own benchmark prepares; a search relies on no earlier calibration."""
        return await parameters.workload.prepare(replace(site, calibrations=OwnCalibrations()), parameters.closed())

    @override
    async def run(self, site: Site, parameters: HighestLoadParameters) -> None:
        """Measures level after level; each leaves `point-<number>.stdout`."""
        if site.endpoint is None:
            raise DatabaseFailed(f"{self.name} needs a database, but the trial has none")
        conditions = trail.note_conditions(site)
        workload, closed = parameters.workload, parameters.closed()
        site.progress("probing in the closed loop")
        probe = await workload.drive(site, PROBE, workload.run_spec(site, site.endpoint, closed), closed)
        probe = await _conditioned(site, site.endpoint, parameters, probe)
        raw = {f"{CALIBRATION}.stdout": (site.raw_dir / f"{CALIBRATION}.stdout").read_bytes()}
        judge, threads = _judge(raw, parameters, conditions), trail.threads_of(probe)
        endpoint = site.endpoint

        async def measure(ask: Ask, name: str) -> Point:
            at = parameters.for_ask(ask)
            spec = trail.spec_for(ask, name, workload.run_spec(site, endpoint, at), threads)
            return judge(ask, await workload.drive(site, name, spec, at)).point

        state = begin(parameters.settings(_per_s(probe)))
        await trail.searched(site, state, measure, settle_s=parameters.settle_s, unit=_UNIT)

    @override
    def parse(self, raw: RawOutput, parameters: HighestLoadParameters) -> list[Measurement]:
        """Repeats the search from the points that were measured."""
        search = read_search(raw, parameters)
        ended, workload, rule = search.ended, parameters.workload, parse_rule(parameters.rule)
        found = [
            *measurements.of_result(ended, search.points, search.void, _per_s(_closed_loops(raw)[-1])),
            *measurements.limits(rule),
            *measurements.of_data(*parameters.data_size),
            *measurements.curve(search.points, rule, workload.kinds),
            *sustained.measured(sustained.sustained(raw)),
        ]
        if ended.level is not None:
            at_level = workload.numbers(search.joined, parameters.at(ended.level, parameters.confirmation_s))
            found += [row for row in at_level if row.at_s is None]
        return found

    @override
    def ended(self, raw: RawOutput, parameters: HighestLoadParameters) -> Sequence[Ended]:
        search = read_search(raw, parameters)
        return () if search.ended.level is None else load_output.ended(search.joined)

    @override
    def steps(self, raw: RawOutput, parameters: HighestLoadParameters) -> Sequence[Sequence[Ended]]:
        return [load_output.ended(output) for output in read_search(raw, parameters).others]

    @override
    def operations(
        self, raw: RawOutput, parameters: HighestLoadParameters, client_cpus: int | None
    ) -> OperationEvidence:
        """Counts the points that the result rests on."""
        search = read_search(raw, parameters)
        ended, workload = search.ended, parameters.workload
        calibration = trail.output_of(raw, CALIBRATION)
        evidence = workload.evidence(search.joined, calibration, parameters.closed(), client_cpus)
        found = SearchEvidence(outcome=ended.outcome.value, reason=ended.reason)
        asked = _per_row(parameters, evidence.attempted, sum(map(_operations, _closed_loops(raw))))
        more = {"search": found, "sustained": sustained.sustained(raw)}
        return evidence.model_copy(update={**more, "requirements": [*evidence.requirements, *asked]})

    @override
    def notes(self, parameters: HighestLoadParameters) -> list[str]:
        rule = parse_rule(parameters.rule).text
        pace = f"Load is offered in an open loop ({parameters.pace})"
        return [
            f"A level passes if {rule}, the backlog does not grow, and the load generator is not the limit.",
            f"{pace}: response times are measured from the moment each operation was due.",
            f"The level found was confirmed at least {parameters.confirmations} times.",
            "Short: the length of the confirmations does not depend on the size of the data set."
            if parameters.operations_per_row is None
            else f"The confirmations run at least {parameters.operations_per_row:g} operations per row.",
        ]


async def _conditioned(
    site: Site, endpoint: Endpoint, parameters: HighestLoadParameters, probe: LoadOutput
) -> LoadOutput:
    """Drives a closed loop until there were as many operations as asked; returns the last one, or the probe."""
    done, workload, last, number = _operations(probe), parameters.workload, probe, 0
    while done < parameters.conditioning_operations:
        missing, number = parameters.conditioning_operations - done, number + 1
        duration_s = min(max(parameters.point_s, ceil(missing / _per_s(last))), _MAX_CONDITIONING_S)
        site.progress(f"conditioning in the closed loop, {duration_s:,.0f} s")
        name, closed = f"{CONDITIONING}-{number:03d}", parameters.closed(duration_s)
        spec = workload.run_spec(site, endpoint, closed)
        seeded = spec.model_copy(update={"seed": derive_seed(spec.seed, name)})
        last = await workload.drive(site, name, seeded, closed)
        done += _operations(last)
    return last


def _closed_loops(raw: RawOutput) -> list[LoadOutput]:
    """The probe and what followed it, in order."""
    more = sorted(name for name in raw if name.startswith(CONDITIONING) and name.endswith(".stdout"))
    return [trail.output_of(raw, PROBE), *(trail.output_of(raw, name.removesuffix(".stdout")) for name in more)]


def _per_row(parameters: HighestLoadParameters, confirmed: int, before: int) -> list[Requirement]:
    """What the study demands of the number of operations, in confirmations and before the search."""
    asked = (
        ("operations per row in the confirmations", confirmed, parameters.operations_per_row, "the qualification"),
        ("operations per row before the search", before, parameters.conditioning_operations_per_row, "the study"),
    )
    rows = parameters.data_size[0] or 1
    return [
        Requirement(what=what, observed=operations / rows, relation="at least", limit=limit, unit="", source=source)
        for what, operations, limit, source in asked
        if limit is not None
    ]


def read_search(raw: RawOutput, parameters: HighestLoadParameters) -> trail.Search[Observed]:
    """See `trail.made_again`.

    Raises:
        OutputUnreadable: points are missing, damaged, or are not those that this version would have asked for.
    """
    judge = _judge(raw, parameters, trail.conditions_of(raw))
    state = begin(parameters.settings(_per_s(_closed_loops(raw)[-1])))
    return trail.made_again(raw, state, _level, judge, _UNIT)


def _level(output: LoadOutput) -> float | None:
    """At which it was measured; None: in the closed loop."""
    pace = output.started.spec.pace
    return None if pace.kind == "closed" else pace.rate_per_s


def _judge(raw: RawOutput, parameters: HighestLoadParameters, conditions: trail.Conditions) -> Judge:
    rule: Rule = parse_rule(parameters.rule)
    return Judge(rule, parameters.workload.kinds, trail.output_of(raw, CALIBRATION), conditions.co_located)


def _operations(output: LoadOutput) -> int:
    """Operations of the measurement interval that ended."""
    return load_output.count(output, outcomes=ENDED)


def _per_s(output: LoadOutput) -> float:
    """Operations that ended per second.

    Raises:
        OutputUnreadable: none did, so there is nowhere to start the search.
    """
    ended = _operations(output)
    if not ended:
        raise OutputUnreadable("no operation completed in the closed-loop probe, so there is no level to start from")
    return ended / output.measured_s
