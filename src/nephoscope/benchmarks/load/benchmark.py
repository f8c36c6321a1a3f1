"""What every benchmark driven by `nephoscope-load` shares: fixture, run, parse. One subclass a workload."""

import contextlib
import hashlib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, Ended, Needs, RawOutput, Site
from nephoscope.benchmarks.database.tpcc_editions import Clients
from nephoscope.benchmarks.load import contract, shards
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.counting import counting, telling_loads
from nephoscope.benchmarks.load.data_size import DATA_SIZE, as_sized, size_data, size_measured
from nephoscope.benchmarks.load.metrics import (
    CLIENT_CPU,
    CLIENT_CPU_PER_OPERATION,
    OFFERED,
    RETRIES,
    load_row,
    steadiness,
)
from nephoscope.benchmarks.load.saturation import round_trips_per_s, saturation, saturation_measurements, too_slow
from nephoscope.benchmarks.load.spec import (
    AerospikeTarget,
    AnyTarget,
    LoadSpec,
    MysqlTarget,
    PostgresTarget,
    RespTarget,
)
from nephoscope.databases.asking import speaks_mysql
from nephoscope.databases.base import Endpoint, HasFixtures
from nephoscope.machines.remote import LOAD, Completed
from nephoscope.model.errors import (
    DatabaseFailed,
    NephoscopeError,
    OutputUnreadable,
    TargetLost,
    TargetUnreachable,
    ToolFailed,
    tool_failed,
)
from nephoscope.model.records import Measurement, OperationEvidence, Requirement
from nephoscope.model.subjects import CLUSTER, Subject
from nephoscope.model.units import MIB

RUN = "load-run"
"""Name of the raw output of driving the workload: ramp and measurement interval."""
FIXTURE = "load-fixture"
"""Name of the raw output of loading the data set, in the trial that needed it first."""

CALIBRATION = "load-calibration"
"""Name of the raw output of driving the null workload on the same connections."""

CALIBRATED_IN = "load-calibration.from"
"""Name of the raw file that names the attempt in which it was driven, unless it was driven in this one."""

CALIBRATION_S = 2.0
CALIBRATION_RAMP_S = 0.5

LOAD_TIMEOUT_S = 3600.0
LOAD_BYTES_PER_S = 2 * MIB
"""What the slowest disk worth measuring loads; adds to `LOAD_TIMEOUT_S`."""
GRACE_S = 120.0
"""For connecting, and the operations in flight at the end."""
CHECK_BYTES_PER_S = 10 * MIB
"""What it reads for the consistency conditions, some of which look at every row; adds to `GRACE_S`."""

_COMPLETE = (
    contract.EXIT_FINISHED,
    contract.EXIT_RATE_NOT_KEPT,
    contract.EXIT_CONSISTENCY_BROKEN,
    contract.EXIT_TOO_MANY_FAILED,
    contract.EXIT_STOOD_STILL,
)
"""Exit codes with complete data; the checks decide whether it is valid."""


class LoadBenchmark(Benchmark):
    """A workload of the load generator on a database; stateless."""

    subject = Subject.DATABASE
    extent = CLUSTER
    kinds: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Its operations by what they do (`read`, `write`), as a rule may call them."""

    drives: ClassVar[type[load_spec.AnyWorkload]]
    """The workload of the contract, whose keys are those of the parameters."""
    drawn_later: ClassVar[tuple[str, ...]] = ()
    """Keys that do not change what is loaded."""
    loaded_with: ClassVar[Mapping[str, Any]] = {}
    """What stands in a data set for those of them that have no default."""

    def data_set(self, parameters: Any) -> load_spec.AnyWorkload:
        """The workload as far as it decides what is loaded: equal data sets are loaded once."""
        given = {name: value for name, value in self._given(parameters).items() if name not in self.drawn_later}
        return self.drives.model_validate({**given, **self.loaded_with})

    def _given(self, parameters: Any) -> dict[str, Any]:
        return {name: getattr(parameters, name) for name in self.drives.model_fields if hasattr(parameters, name)}

    @abstractmethod
    def fixture_bytes(self, parameters: Any) -> int:
        """Disk that the loaded data set needs."""

    @abstractmethod
    def rates(self, output: load_output.LoadOutput, parameters: Any) -> list[Measurement]:
        """The workload's own rates, of the whole trial and (with `at_s`) of each interval."""

    def workload(self, parameters: Any, clients: Clients) -> load_spec.AnyWorkload:  # noqa: ARG002 - for subclasses
        """The workload as it is driven."""
        return self.drives.model_validate(self._given(parameters))

    def pace(self, parameters: Any) -> load_spec.AnyPace:  # noqa: ARG002 - for subclasses
        """When operations are due."""
        return load_spec.ClosedPace()

    def clients(self, site: Site, parameters: Any) -> Clients:
        """How many clients drive it on this site."""
        return Clients(workers=parameters.workers, connections=parameters.connections or site.connections)

    def requirements(self, output: load_output.LoadOutput, parameters: Any) -> list[Requirement]:  # noqa: ARG002
        """What a method requires before it accepts the number."""
        return []

    @override
    def connections(self, site: Site, parameters: Any) -> int:
        found = self.clients(site, parameters)
        connections, machines = found.connections or site.connections, len(site.cluster.load_machines)
        for whole, what in ((connections, "connection"), (found.workers or 0, "worker")):
            shards.share(whole, machines, what)  # told before data is loaded
        return connections

    @override
    def needs(self, parameters: Any) -> Needs:
        """Disk for the template and one copy of it."""
        return Needs(
            tools=(LOAD,),
            users=lambda cluster: cluster.load_machines,
            disk_bytes=2 * self.fixture_bytes(parameters),
        )

    @override
    def expected_duration_s(self, parameters: Any) -> float:
        return float(parameters.ramp_s + parameters.duration_s) + _SET_UP_S

    @override
    async def prepare(self, site: Site, parameters: Any) -> Endpoint | None:
        """Loads the data set when this database has none like it, gives the trial a fresh copy, calibrates on it."""
        if site.database is None or site.endpoint is None or not isinstance(site.database, HasFixtures):
            raise DatabaseFailed(f"{self.name} needs a database that can store a data set")
        size_data(site, parameters, self.fixture_bytes(parameters))
        parameters = _sized(site, parameters)
        fixture = self.fixture_name(parameters, site.data_seed)
        if not await site.database.has_fixture(site.cluster, site.endpoint, fixture):
            empty = await site.database.create_fixture(site.cluster, site.endpoint, fixture)
            streams = max(1, min(len(site.cluster.load.cpus), 8))
            target = _target(empty, parameters)
            spec = LoadSpec(
                action="load",
                target=target,
                workload=_loaded(self.data_set(parameters), target),
                seed=site.data_seed,
                connections=streams,
            )
            timeout_s = LOAD_TIMEOUT_S + self.fixture_bytes(parameters) / LOAD_BYTES_PER_S
            async with telling_loads(site, fixture, self.fixture_bytes(parameters)):
                completed = await shards.drive(site, FIXTURE, empty, spec, timeout_s=timeout_s)
            if completed.exit_code != contract.EXIT_FINISHED:
                raise tool_failed(f"loading {fixture} failed: {_said(completed)}", otherwise=DatabaseFailed)
            await site.database.seal_fixture(site.cluster, site.endpoint, fixture)
        copy = await site.database.clone_fixture(site.cluster, site.endpoint, fixture)
        known = site.calibrations.find(self.calibrated_load(site, copy, parameters))
        if known is None:
            await self._calibrate(site, copy, parameters)
        else:
            (site.raw_dir / f"{CALIBRATION}.stdout").write_bytes(known.output)
            (site.raw_dir / CALIBRATED_IN).write_text(f"{known.made_in}\n", encoding="utf-8")
        await self._require_rate(site, copy, parameters)
        return copy

    async def _require_rate(self, site: Site, endpoint: Endpoint, parameters: Any) -> None:
        """That empty round trips on these connections come at the rate that is asked: nothing else comes faster.

        A calibration that says no is repeated once, as something else may have slowed it down.

        Raises:
            ToolFailed: they do not.
        """
        pace = self.pace(parameters)
        if isinstance(pace, load_spec.ClosedPace):
            return
        reached_per_s = _calibrated_per_s(site)
        if reached_per_s < pace.rate_per_s:
            (site.raw_dir / CALIBRATED_IN).unlink(missing_ok=True)
            await self._calibrate(site, endpoint, parameters)
            reached_per_s = max(reached_per_s, _calibrated_per_s(site))
        if reached_per_s < pace.rate_per_s:
            raise ToolFailed(
                f"{pace.rate_per_s:,.15g} operations/s cannot be sent here: empty round trips on the same connections "
                f"reach {reached_per_s:,.0f}/s, with a database that has nothing to do",
                hint="ask for a lower `rate_per_s`, or give the load generator more connections or CPUs",
            )

    def calibrated_load(self, site: Site, endpoint: Endpoint, parameters: Any) -> str:
        """What two calibrations have in common whose results are the same: not the data, nor the random draws."""
        return self._empty_round_trips(site, endpoint, parameters).model_dump_json(
            exclude={"seed": True, "target": {"dsn"}}
        )

    def _empty_round_trips(self, site: Site, endpoint: Endpoint, parameters: Any) -> LoadSpec:
        return self.run_spec(site, endpoint, parameters).model_copy(
            update={
                "workload": load_spec.NullWorkload(),
                "workers": None,
                "pace": load_spec.ClosedPace(),
                "ramp_s": CALIBRATION_RAMP_S,
                "duration_s": CALIBRATION_S,
                "check": "none",
            }
        )

    async def _calibrate(self, site: Site, endpoint: Endpoint, parameters: Any) -> None:
        """What generator, connections and wire can do when nothing is asked of the database; see `saturation`."""
        spec = self._empty_round_trips(site, endpoint, parameters)
        completed = await shards.drive(site, CALIBRATION, endpoint, spec, timeout_s=CALIBRATION_S + GRACE_S)
        if completed.exit_code != contract.EXIT_FINISHED:
            raise _failure(completed)

    def run_spec(self, site: Site, endpoint: Endpoint, parameters: Any) -> LoadSpec:
        """What the load generator is asked to do on this site."""
        parameters = _sized(site, parameters)
        clients = self.clients(site, parameters)
        return LoadSpec(
            action="run",
            target=_target(endpoint, parameters),
            workload=self.workload(parameters, clients),
            seed=site.seed,
            connections=clients.connections or site.connections,
            workers=clients.workers,
            threads=parameters.threads,
            pin=parameters.pin,
            pace=self.pace(parameters),
            ramp_s=parameters.ramp_s,
            duration_s=parameters.duration_s,
        )

    @override
    async def run(self, site: Site, parameters: Any) -> None:
        """Drives the workload; raw output is `load-run.stdout`."""
        if site.endpoint is None:
            raise DatabaseFailed(f"{self.name} needs a database, but the trial has none")
        spec = self.run_spec(site, site.endpoint, parameters)
        completed = await self.driven(site, RUN, spec, parameters)
        _require_measured(completed)
        await self._confirm(site, site.endpoint, completed.stdout, parameters)

    async def _confirm(self, site: Site, endpoint: Endpoint, ran: bytes, parameters: Any) -> None:
        """Keeps a calibration that showed the generator to be fast enough for this trial.

        One of an earlier trial that does not show this is made again: something else may have slowed it down then, and
        a trial must not be rejected for that.
        """
        calibrated = site.raw_dir / f"{CALIBRATION}.stdout"
        reused = site.raw_dir / CALIBRATED_IN
        with contextlib.suppress(OutputUnreadable, FileNotFoundError):
            if not too_slow(load_output.read(ran), load_output.read(calibrated.read_bytes())):
                if not reused.exists():
                    site.calibrations.keep(self.calibrated_load(site, endpoint, parameters), calibrated.read_bytes())
                return
        if reused.exists():
            reused.unlink()
            await self._calibrate(site, endpoint, parameters)

    async def drive(self, site: Site, name: str, spec: LoadSpec, parameters: Any) -> load_output.LoadOutput:
        """One of several measurements of a trial; raw output is `<name>.stdout`.

        Some of them may not keep their rate, or may have operations that fail.

        Raises:
            ToolFailed, TargetUnreachable, TargetLost: the load generator did not finish.
            OutputUnreadable: its output is damaged.
        """
        allowed = (contract.EXIT_RATE_NOT_KEPT, contract.EXIT_TOO_MANY_FAILED)
        completed = await self.driven(site, name, spec, parameters, allowed=allowed)
        return load_output.read(completed.stdout)

    async def driven(
        self,
        site: Site,
        name: str,
        spec: LoadSpec,
        parameters: Any,
        *,
        allowed: tuple[int, ...] = (),
        on_interval: Callable[[contract.Interval], None] = lambda _: None,
    ) -> Completed:
        """One measurement with whole output.

        Args:
            site: where.
            name: of its raw output.
            spec: the load.
            parameters: of this benchmark.
            allowed: exit codes besides 0 that are results.
            on_interval: takes each interval as it ends.

        Raises:
            ToolFailed, TargetUnreachable, TargetLost: the load generator did not finish.
        """
        if site.endpoint is None:
            raise DatabaseFailed(f"{self.name} needs a database, but the trial has none")
        check_s = self.fixture_bytes(_sized(site, parameters)) / CHECK_BYTES_PER_S
        timeout_s = spec.ramp_s + spec.duration_s + GRACE_S + check_s
        async with counting(site, site.endpoint, spec) as count:

            def take(interval: contract.Interval) -> None:
                count(interval)
                on_interval(interval)

            completed = await shards.drive(
                site,
                name,
                site.endpoint,
                spec,
                timeout_s=timeout_s,
                # What a stop of the generator itself cost is for the checks.
                allowed=(*allowed, contract.EXIT_STOOD_STILL),
                complete=_COMPLETE,
                on_interval=take,
            )
        if completed.exit_code not in _COMPLETE:
            raise _failure(completed)
        return completed

    @override
    def parse(self, raw: RawOutput, parameters: Any) -> list[Measurement]:
        return [*self.numbers(_read(raw, RUN), parameters), *size_measured(raw)]

    def numbers(self, output: load_output.LoadOutput, parameters: Any) -> list[Measurement]:
        """What one measurement interval says; pure.

        Raises:
            OutputUnreadable: nothing was measured, or a histogram cannot be decoded.
        """
        ended = load_output.count(output, outcomes=("committed", "rolled_back_by_design"))
        found = [*self.rates(output, parameters), *load_output.operation_latencies(output)]
        found.append(load_row(CLIENT_CPU, load_output.client_cpu(output)))
        if ended:
            found.append(load_row(CLIENT_CPU_PER_OPERATION, output.finished.client_cpu_s / ended))
            found.append(load_row(RETRIES, load_output.retries(output) / ended))
        if output.finished.offered is not None:
            found.append(load_row(OFFERED, output.finished.offered / output.measured_s))
        return [*found, *steadiness(load_output.ended(output)), *saturation_measurements(output)]

    @override
    def ended(self, raw: RawOutput, parameters: Any) -> Sequence[Ended]:
        return load_output.ended(_read(raw, RUN))

    @override
    def operations(self, raw: RawOutput, parameters: Any, client_cpus: int | None) -> OperationEvidence:
        calibration = _read(raw, CALIBRATION) if f"{CALIBRATION}.stdout" in raw else None
        return self.evidence(_read(raw, RUN), calibration, parameters, client_cpus)

    def evidence(
        self,
        output: load_output.LoadOutput,
        calibration: load_output.LoadOutput | None,
        parameters: Any,
        client_cpus: int | None,
    ) -> OperationEvidence:
        """What one measurement interval shows the checks; pure."""
        return load_output.evidence(
            output,
            client_cpus,
            requirements=self.requirements(output, parameters),
            saturation=saturation(output, calibration),
        )

    def fixture_name(self, parameters: Any, data_seed: int) -> str:
        """A database name that two data sets share only when they are equal."""
        text = f"{self.version} {self.data_set(parameters).model_dump_json()} {parameters.dialect} {data_seed}"
        return f"nephoscope_{self.name.replace('-', '_')}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _calibrated_per_s(site: Site) -> float:
    return round_trips_per_s(load_output.read((site.raw_dir / f"{CALIBRATION}.stdout").read_bytes()))


def _sized(site: Site, parameters: Any) -> Any:
    stored = site.raw_dir / DATA_SIZE
    return as_sized(parameters, stored.read_bytes() if stored.exists() else None)


def _target(endpoint: Endpoint, parameters: Any) -> AnyTarget:
    """By the scheme of the endpoint's DSN."""
    pipeline, cluster = getattr(parameters, "pipeline", 1), getattr(parameters, "cluster", False)
    if endpoint.dsn.startswith(("redis://", "valkey://", "unix://")):
        return RespTarget(dsn=endpoint.dsn, pipeline=pipeline, cluster=cluster or endpoint.sharded)
    if endpoint.dsn.startswith("aerospike://"):
        return AerospikeTarget.of(endpoint.dsn)
    if speaks_mysql(endpoint.dsn):
        return MysqlTarget(dsn=endpoint.dsn, isolation=parameters.isolation, pipeline=pipeline)
    return PostgresTarget(
        dsn=endpoint.dsn,
        isolation=parameters.isolation,
        dialect=parameters.dialect,
        retry=parameters.retry,
        prepared=parameters.prepared,
    )


def _loaded(workload: load_spec.AnyWorkload, target: AnyTarget) -> load_spec.AnyWorkload:
    """What a load names: it is the same for each profile, but MariaDB and MySQL know only one."""
    known = isinstance(target, MysqlTarget) and isinstance(workload, load_spec.TpccWorkload)
    return workload.model_copy(update={"profile": "chatty"}) if known else workload


def _read(raw: RawOutput, name: str) -> load_output.LoadOutput:
    return load_output.read(raw.get(f"{name}.stdout", b""))


def _failure(completed: Completed) -> NephoscopeError:
    kinds: dict[int, Callable[..., NephoscopeError]] = {
        contract.EXIT_CANNOT_CONNECT: TargetUnreachable,
        contract.EXIT_TARGET_LOST: TargetLost,
    }
    return kinds.get(completed.exit_code, tool_failed)(
        f"nephoscope-load ended with exit code {completed.exit_code}: {_said(completed)}",
        hint="the database's log is next to the raw output",
    )


_SET_UP_S = 4.5
"""Facts, start and stop of the database, copy of the data set, checks: an estimate for the plan. Only the first trial
of a configuration calibrates, for another 2.5 s."""


def _require_measured(completed: Completed) -> None:
    """The data set may have been found broken before anything was driven; what cannot be read is for `parse` to say."""
    with contextlib.suppress(OutputUnreadable):
        finished = load_output.read(completed.stdout).finished
        if finished.measured_s is None:
            raise ToolFailed(
                f"nephoscope-load measured nothing: {finished.message or _said(completed)}",
                hint="its raw output says what it found; a new results folder loads the data set again",
            )


def _said(completed: Completed) -> str:
    return completed.stderr.decode(errors="replace").strip()[-600:] or "it printed nothing"
