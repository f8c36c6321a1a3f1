"""One attempt at a trial, from its intent to its commit mark. `_measure` is the lifecycle: read it first."""

import asyncio
import signal
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn

from nephoscope.benchmarks.base import Benchmark, Needs, Site
from nephoscope.checks.registry import overall
from nephoscope.checks.thresholds import FOREIGN_SHARE
from nephoscope.databases.base import (
    CanAttach,
    Database,
    Endpoint,
    HasFootprint,
    HasPrograms,
    HasReplication,
    HasSettings,
)
from nephoscope.machines.remote import Background, Command, Completed, KnowsItsProcesses, MachineHandle
from nephoscope.machines.shielded import beside, to_its_end
from nephoscope.model.control import Resumption, State
from nephoscope.model.errors import (
    STORAGE_ERRNOS,
    BudgetReached,
    MachineLost,
    NephoscopeError,
    StorageFailed,
    ToolFailed,
)
from nephoscope.model.records import NOT_OBSERVED, CommandRecord, Facts, Status, TrialIntent, Verdict, VerdictKind
from nephoscope.model.seeds import derive_seed
from nephoscope.model.subjects import Subject
from nephoscope.providers.base import Cluster, ClusterRequest, KnowsLosses, Provider
from nephoscope.run.cleaning import give_back
from nephoscope.run.clock import Clock
from nephoscope.run.derive import TELEMETRY_PREFIX, TELEMETRY_SUFFIX, derive
from nephoscope.run.gate import gate, observe, stated_conditions
from nephoscope.run.world import World
from nephoscope.store.attempt import CLEANUP_LOG, Attempt, When
from nephoscope.study.managed import MANAGED
from nephoscope.study.model import Configuration


class Recorder:
    """An `Execute` for one attempt."""

    def __init__(self, attempt: Attempt, clock: Clock) -> None:
        self._attempt = attempt
        self._clock = clock

    async def __call__(self, machine: MachineHandle, name: str, command: Command) -> Completed:
        """See `Execute`; the environment is not written down, as secrets travel in it."""
        started_unix_ms, started_s = self._clock.unix_ms(), self._clock.monotonic_s()
        exit_code: int | None = None
        missing = False
        self._attempt.require_place()
        try:
            completed = await machine.remote.execute(command, save_as=self._attempt.raw_dir / name)
            exit_code = completed.exit_code
        except NephoscopeError as error:
            missing = error.failure_class == "tool_missing"
            raise
        else:
            return completed
        finally:
            if not missing:
                self._attempt.add_command(
                    CommandRecord(
                        argv=[Path(command.argv[0]).name, *command.argv[1:]],
                        machine=machine.name,
                        started_unix_ms=started_unix_ms,
                        duration_s=self._clock.monotonic_s() - started_s,
                        exit_code=exit_code,
                        allowed_exit_codes=list(command.allowed),
                        output=name,
                    )
                )


_LOOK_AT_SAMPLERS_S = 1.0
_SERVER_PROGRAMS = "NEPHOSCOPE_SERVER"
"""A variable, as a load generator of an earlier image does not know the option, and can do without it."""


@dataclass
class AttemptState:
    """What is known about an attempt only while it runs."""

    ended_by_budget: bool = False
    given_back: bool = True
    failure: Exception | None = None
    """Its first error, unless the budget ended it before."""


@dataclass(frozen=True)
class AttemptTask:
    """One attempt, new or taken over from a controller that died."""

    attempt: Attempt
    request: ClusterRequest
    keep_cluster: bool
    """It also serves other trials; whoever shares it deletes it."""
    resumable: bool
    """Its machines live on when the controller dies."""
    collected: bool
    """Its output is already stored; only deleting the machines and the commit mark are missing."""
    enter: Callable[[State], None]
    """Called with each state that it enters."""
    ends_unix_ms: int | None = None
    """When the money reserved for its cluster is spent, except for the part to delete it; `None`: there is no limit."""
    quiet_within_s: float = 0.0
    """How long a busy machine may delay it, besides the usual tries: the attempt before it was disturbed."""
    course: AttemptState = field(default_factory=AttemptState)


@dataclass(frozen=True)
class Ended:
    """How an attempt ended."""

    status: Status
    verdict: VerdictKind | None
    reasons: list[str]
    """Why it is not valid; empty if it is."""
    verdicts: Sequence[Verdict]
    given_back: bool
    """False: the provider did not delete its cluster, which may still cost money."""


async def run_attempt(intent: TrialIntent, task: AttemptTask, world: World) -> Ended:
    """Runs one attempt to its commit mark; whatever happens to it is in the attempt's `status.json`.

    Raises:
        StorageFailed: the results could not be stored; the attempt then has no commit mark.
        asyncio.CancelledError: after the attempt was marked interrupted.
    """
    attempt = task.attempt
    started = attempt.started()
    gone_on_s = 0.0 if started is None else (world.clock.unix_ms() - (started.at_unix_ms or 0)) / 1000
    started_s = world.clock.monotonic_s() - max(0.0, gone_on_s)
    verdict: VerdictKind | None = None
    verdicts: list[Verdict] = []
    state: Literal["finished", "failed", "interrupted"] = "finished"
    failure: NephoscopeError | None = None
    try:
        benchmark = world.benchmarks[intent.benchmark.uses]
        if task.collected:
            await _leave(task, world)
        else:
            await _within_its_money(_measure(intent, benchmark, task, world), task, world)
        derived = derive(attempt, intent, benchmark)
        attempt.write_derived(derived)
        verdicts, verdict = derived.verdicts, overall(derived.verdicts)
    except asyncio.CancelledError:
        attempt.write_status(_status("interrupted", None, world, started_s))
        raise
    except StorageFailed:
        raise
    except BudgetReached as error:
        state, failure = "interrupted", error
    except NephoscopeError as error:
        state, failure = "failed", error
    except Exception as error:
        if isinstance(error, OSError) and error.errno in STORAGE_ERRNOS:
            raise StorageFailed.of(Path(error.filename or attempt.folder), error) from error
        state, failure = "failed", _defect(attempt, error)
    status = _status(state, failure, world, started_s)
    attempt.write_status(status)
    refused = [f"{row.check}: {row.reason}" for row in verdicts if row.verdict is not VerdictKind.VALID]
    return Ended(status, verdict, [str(failure)] if failure else refused, verdicts, task.course.given_back)


async def _within_its_money(work: Coroutine[Any, Any, None], task: AttemptTask, world: World) -> None:
    """Stops the attempt before its cluster costs more than is reserved for it; what is already measured is valid.

    Raises:
        BudgetReached: it was ended.
    """
    if task.ends_unix_ms is None:
        return await work
    working = asyncio.ensure_future(work)
    left_s = (task.ends_unix_ms - world.clock.unix_ms()) / 1000
    try:
        await asyncio.wait({working}, timeout=max(0.0, left_s))
        if working.done() or task.attempt.collected():
            return await working
        task.course.ended_by_budget = True
        working.cancel()
        await asyncio.wait({working})
        if not working.cancelled() and (
            working.exception() is None or isinstance(working.exception(), StorageFailed)
        ):  # any other error after being cut off means nothing
            return working.result()
        if task.course.failure is not None:  # it was cleaning up
            raise task.course.failure
        raise BudgetReached(
            "the budget for its cluster was spent, so the cluster was deleted before the trial finished",
            hint="run the same command with a larger budget: the trial restarts",
        )
    finally:
        if not working.done():
            working.cancel()
            await asyncio.wait({working})


async def _measure(intent: TrialIntent, benchmark: Benchmark, task: AttemptTask, world: World) -> None:
    """Cluster -> facts -> gate -> database -> prepare -> run -> settings and logs -> leave -> facts again.

    If a dead controller started the measurement, this waits for its end: the earlier steps are already done.
    """
    attempt, configuration = task.attempt, task.request.configuration
    parameters = benchmark.parameters.model_validate(intent.benchmark.parameters)
    needs, driven = benchmark.needs(parameters), _database_of(benchmark, parameters, configuration, world)
    if driven is not None:
        needs = _as_kept(needs, driven, configuration)
    managed = intent.configuration["provider"] == MANAGED
    if managed:  # the data are not on our machines
        needs = replace(needs, disk_bytes=0)
    provider = world.providers[configuration.provider]
    async with AsyncExitStack() as leave:
        task.enter(State.PROVISIONING)
        leave.push_async_callback(_leave, task, world)
        leave.enter_context(_noting_failure(task.course))
        cluster = replace(await provider.create(task.request), shared=task.keep_cluster, managed=managed)
        await leave.enter_async_context(_with_its_reason(provider, task.request))
        configuration = _at_this_size(configuration, cluster)
        site = _site(intent, configuration, cluster, attempt, world)
        resumption = attempt.resumption()
        if resumption is None:
            task.enter(State.PREPARING)
            conditions = stated_conditions(configuration.database, cluster) if driven else []
            await gate(
                configuration,
                cluster,
                needs,
                conditions,
                attempt,
                world,
                intent.disturbance,
                quiet_within_s=task.quiet_within_s,
            )
            task.enter(State.VERIFIED)
            configuration = _with_connections(configuration, benchmark.connections(site, parameters))
        before = {record.machine: record for record in attempt.facts()}
        boots = [before[machine.name].before.boot_id for machine in cluster.machines]
        own = world.calibrations.of(f"{intent.id}/{attempt.number}", configuration.name, boots)
        site = replace(site, calibrations=own, database_facts=_database_facts(attempt, cluster))
        async with _database_up(driven, configuration, cluster, task) as (database, endpoint):
            site = replace(site, database=database, endpoint=endpoint, resumed=resumption is not None)
            if resumption is None:
                made = await benchmark.prepare(site, parameters)
                site = replace(site, endpoint=made or endpoint)
                await _note_database("before", site, attempt)
                if task.resumable and _can_be_resumed(benchmark, database):
                    attempt.write_resumption(Resumption(dsn=site.endpoint.dsn if site.endpoint else None))
            if resumption is None or not resumption.measured:
                await _run(benchmark, site, parameters, task, world)
        for machine, (after, _) in zip(cluster.machines, await observe(configuration, cluster, world), strict=True):
            attempt.write_facts(before[machine.name].model_copy(update={"after": after}))
        attempt.sync_raw()
        task.enter(State.COLLECTED)


def _database_facts(attempt: Attempt, cluster: Cluster) -> Sequence[Facts]:
    """Of the database's machines before the trial; none where these are not the cluster's."""
    started = attempt.started()
    if started is None or NOT_OBSERVED in started.conditions:
        return ()
    before = {record.machine: record.before for record in attempt.facts()}
    return [before[machine.name] for machine in cluster.database]


@contextmanager
def _noting_failure(course: AttemptState) -> Iterator[None]:
    """An error in the block is what the attempt failed for, even if the budget cuts its cleaning up short."""
    try:
        yield
    except Exception as error:
        if not course.ended_by_budget:
            course.failure = error
        raise


@asynccontextmanager
async def _with_its_reason(provider: Provider, request: ClusterRequest) -> AsyncIterator[None]:
    """The loss of a machine is reported as its provider explains it, which it can do until the cluster is deleted.

    Enter it only once the cluster exists: a provider that fails to create one deletes what it made, and would explain
    its own deletion.
    """
    try:
        yield
    except MachineLost as error:
        why = None
        if isinstance(provider, KnowsLosses):
            with suppress(NephoscopeError):
                why = await provider.why_lost(request)
        raise (why or error) from error


async def _run(benchmark: Benchmark, site: Site, parameters: Any, task: AttemptTask, world: World) -> None:
    """The measurement, followed by a mark: if the controller dies from here on, its successor restarts nothing."""
    attempt, cluster = task.attempt, site.cluster
    task.enter(State.RUNNING)
    users_server = site.endpoint is not None and site.endpoint.origin == "user"
    programs = () if users_server else _programs(site.database)
    async with _telemetry(cluster, attempt, world, programs, ours=not users_server) as samplers:
        with _noting_failure(task.course):
            await beside(benchmark.run(site, parameters), _until_one_ends(samplers))
    await best_effort(attempt, "querying the database", lambda: _note_database("after", site, attempt))
    resumption = attempt.resumption()
    if resumption is not None:
        attempt.sync_raw()
        attempt.write_resumption(resumption.model_copy(update={"measured": True}))


def _programs(database: Database | None) -> Sequence[str]:
    """Of the server, as the kernel calls them; none: it does not say."""
    return () if database is None or not isinstance(database, HasPrograms) else database.server_programs


async def _note_database(when: When, site: Site, attempt: Attempt) -> None:
    """The states of the copies of the data, if there are any; settings in force, and which servers they are of."""
    database, cluster, endpoint = site.database, site.cluster, site.endpoint
    if database is None or endpoint is None:
        return
    states: dict[str, str] = await database.replication(cluster) if isinstance(database, HasReplication) else {}
    if states or attempt.replication("before") is not None:
        attempt.write_replication(when, states)
    if isinstance(database, HasSettings):
        attempt.write_settings(await database.settings(cluster, endpoint), when)
        attempt.write_identity(when, await database.identity(cluster, endpoint))


async def _leave(task: AttemptTask, world: World) -> None:
    """Deletes the cluster; if that fails, it is found by its tags at the study's end."""
    task.enter(State.DESTROYING)
    if task.keep_cluster:
        return
    course, provider = task.course, world.providers[task.request.configuration.provider]
    course.given_back = False

    async def delete() -> None:
        await give_back(provider, task.request.key, world.clock)
        course.given_back = True

    await best_effort(task.attempt, "deleting the cluster", delete)


def _can_be_resumed(benchmark: Benchmark, database: Database | None) -> bool:
    """Whether another controller could wait for what starts now."""
    return benchmark.resumable and (database is None or isinstance(database, CanAttach))


def _site(intent: TrialIntent, configuration: Configuration, cluster: Cluster, attempt: Attempt, world: World) -> Site:
    return Site(
        cluster=cluster,
        execute=Recorder(attempt, world.clock),
        raw_dir=attempt.raw_dir,
        # Equal for all configurations, so that all face the same operations.
        seed=derive_seed(intent.seed, intent.benchmark.name, intent.replicate),
        data_seed=intent.seed,
        connections=configuration.database.connections,
        load_program=world.load_program,
        progress=world.listener.value,
        loading=partial(world.listener.loading, intent.id),
        loaded=partial(world.listener.loaded, intent.id),
    )


def _database_of(benchmark: Benchmark, parameters: Any, configuration: Configuration, world: World) -> Database | None:
    """The one that the benchmark drives; None: it drives none."""
    driven = benchmark.subject_of(parameters) is Subject.DATABASE
    return world.databases[configuration.database.system] if driven else None


def _as_kept(needs: Needs, database: Database, configuration: Configuration) -> Needs:
    """With the disk space that this database uses."""
    if not isinstance(database, HasFootprint):
        return needs
    machines = configuration.database_machine.count
    return replace(needs, disk_bytes=database.disk_bytes(configuration.database, needs.disk_bytes, machines))


def _at_this_size(configuration: Configuration, cluster: Cluster) -> Configuration:
    """With connections in proportion to the CPUs of its database machines, if it says so."""
    database = configuration.database
    if database.connections_per_cpu is None:
        return configuration
    cpus = sum(len(machine.cpus) for machine in cluster.database)
    connections = max(1, round(database.connections_per_cpu * cpus))
    return configuration.model_copy(update={"database": database.model_copy(update={"connections": connections})})


def _with_connections(configuration: Configuration, connections: int) -> Configuration:
    """The server must allow as many connections as the benchmark opens; an edition has its own rule for them."""
    database = configuration.database
    most = max(connections, database.connections)
    return configuration.model_copy(update={"database": database.model_copy(update={"connections": most})})


@asynccontextmanager
async def _database_up(
    database: Database | None, configuration: Configuration, cluster: Cluster, task: AttemptTask
) -> AsyncIterator[tuple[Database | None, Endpoint | None]]:
    """The database for the time of the block; its settings and log are kept, also after a failure.

    On machines about to be deleted for the budget there is no orderly stop, which may take many minutes.
    """
    if database is None:
        yield None, None
        return
    attempt = task.attempt
    log = attempt.log_dir / f"{database.name}.log"
    resumption = attempt.resumption()
    try:
        if resumption is not None and isinstance(database, CanAttach):  # it is up, and under load
            if resumption.measured:  # or the dead controller had started to stop it
                attach = partial(database.attach, cluster, configuration.database, log)
                await best_effort(attempt, f"reconnecting to {database.name}", attach)
                yield database, None
                return
            endpoint = await database.attach(cluster, configuration.database, log)
            yield database, replace(endpoint, dsn=resumption.dsn or endpoint.dsn)
            return
        with _noting_failure(task.course):
            endpoint = await database.start(cluster, configuration.database, log)
            yield database, endpoint
    finally:
        if not (task.course.ended_by_budget and task.resumable):
            await best_effort(attempt, f"stopping {database.name}", lambda: database.stop(cluster))


@asynccontextmanager
async def _telemetry(
    cluster: Cluster, attempt: Attempt, world: World, programs: Sequence[str], *, ours: bool
) -> AsyncIterator[Mapping[str, Background]]:
    """Per-second counters of every machine for the time of the block; gives the samplers by machine.

    One that does not start ends the trial, which would only be rejected. What one wrote that ended or hung before the
    block did is set aside: the checks would judge a part of the trial as if it were all of it, and missing telemetry
    rejects a trial.

    `ours`: every process that works for the trial was started by nephoscope, so that all others are foreign load.
    `programs`: names of the measured server's; its processes are counted.

    Raises:
        ToolFailed: a sampler did not start.
    """
    samplers: dict[str, Background] = {}
    async with AsyncExitStack() as leave:
        for machine in cluster.machines:
            log = attempt.raw_dir / f"{TELEMETRY_PREFIX}{machine.name}{TELEMETRY_SUFFIX}"
            errors = attempt.log_dir / f"{TELEMETRY_PREFIX}{machine.name}.stderr"

            async def start(machine: MachineHandle = machine, log: Path = log, errors: Path = errors) -> None:
                argv = [world.load_program, "telemetry", *(await _whose(machine) if ours else ())]
                named = {_SERVER_PROGRAMS: ",".join(programs)} if programs and machine in cluster.database else {}
                sampler = await machine.remote.start(argv, log=log, errors=errors, environment=named, pinned=False)
                samplers[machine.name] = sampler

                async def stop() -> None:
                    ran = sampler.running()
                    exit_code = await sampler.stop(signal=signal.SIGTERM, timeout_s=5)
                    if not ran or exit_code is None:
                        with suppress(FileNotFoundError):
                            log.rename(log.with_name(f"incomplete-{log.name}"))
                        why = "hung" if ran else f"exited early with code {exit_code}"
                        raise ToolFailed(f"the sampler {why}: its output is in incomplete-{log.name}")

                leave.push_async_callback(best_effort, attempt, f"sampling {machine.name}", stop)

            try:
                await start()
            except MachineLost:
                raise
            except NephoscopeError as error:
                raise ToolFailed(
                    f"the sampler did not start on {machine.name}, without which no trial counts: {error.message}",
                    hint=error.hint or f"{world.load_program} must be there, and its file system must allow programs",
                ) from error
        yield samplers


async def _until_one_ends(samplers: Mapping[str, Background]) -> NoReturn:
    """A trial that was not watched to its end does not count, so it need not go on.

    Raises:
        ToolFailed: a sampler ended.
        MachineLost: its machine went away.
    """
    while True:
        await asyncio.sleep(_LOOK_AT_SAMPLERS_S)
        for name, sampler in samplers.items():
            if not sampler.running():
                exit_code = await sampler.stop(signal=signal.SIGTERM, timeout_s=5)
                raise ToolFailed(
                    f"the sampler on {name} ended during the trial, with code {exit_code}",
                    hint=f"see {TELEMETRY_PREFIX}{name}.stderr in its logs; its file system must let programs run",
                )


async def _whose(machine: MachineHandle) -> list[str]:
    """Options of the sampler by which it tells the trial's processes from others."""
    if machine.group:
        whose = f"group:{machine.group}"
    elif isinstance(machine.remote, KnowsItsProcesses):
        whose = await machine.remote.own_processes()
    else:
        return []
    limit_cpus = FOREIGN_SHARE.value * max(1, len(machine.cpus))
    return ["--trial", whose, "--limit-cpus", f"{limit_cpus:g}"]


async def best_effort(attempt: Attempt, what: str, action: Callable[[], Awaitable[Any]]) -> None:
    """Completes an action even if a signal arrives; its failure is logged, and must not hide the trial's outcome."""
    try:
        await to_its_end(action())
    except Exception as error:
        said = error.message if isinstance(error, NephoscopeError) else repr(error)
        _note(attempt.log_dir / CLEANUP_LOG, f"{what} failed: {said}\n")


def _note(log: Path, text: str) -> None:
    """Appends to a log; if even that fails, the original failure matters more."""
    with suppress(OSError):
        log.parent.parent.mkdir(exist_ok=True)
        log.parent.mkdir(exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(text)


def _status(
    state: Literal["finished", "failed", "interrupted"], failure: NephoscopeError | None, world: World, started_s: float
) -> Status:
    return Status(
        state=state,
        failure_class=failure.failure_class if failure else None,
        message=failure.message if failure else None,
        hint=(failure.hint or None) if failure else None,
        at_unix_ms=world.clock.unix_ms(),
        duration_s=world.clock.monotonic_s() - started_s,
    )


def _defect(attempt: Attempt, error: Exception) -> NephoscopeError:
    log = attempt.log_dir / "defect.txt"
    _note(log, traceback.format_exc())
    return NephoscopeError(
        f"a defect in nephoscope: {error!r}", hint=f"please report it with {log.name} of the attempt"
    )
