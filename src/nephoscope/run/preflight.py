"""Finds failures before minutes are spent on them: hosts that do not fit, a database that cannot be measured."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from nephoscope.benchmarks.base import Benchmark
from nephoscope.checks.thresholds import CLOCK_OFFSET
from nephoscope.databases.base import Database, NeedsRoomHere
from nephoscope.machines.doctor import require_hosts_fit
from nephoscope.machines.shielded import to_its_end
from nephoscope.model.errors import EnvironmentProblem, InputError, NephoscopeError, TrialFailure
from nephoscope.model.records import PlannedTrial
from nephoscope.model.subjects import Subject
from nephoscope.providers.base import ClusterRequest, ExaminesHosts, OnThisMachine, Provider, Wanted
from nephoscope.providers.cloud.order import order_of
from nephoscope.run.repeats import due
from nephoscope.run.world import World
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.managed import read_as_provided, study_as_provided
from nephoscope.study.model import Study
from nephoscope.study.provisioning import CLOUDS


async def preflight(folder: ResultsFolder, study: Study, world: World) -> None:
    """Checks that all providers can be used, and asks the study's own hosts whether they fit.

    Then it connects to every database of the user's that a remaining trial needs, and looks whether this machine has
    room for one that it starts here.

    Raises:
        InputError: only the name and price of a provider are known, a configuration lacks what a cloud needs, or a
        remaining trial was planned with another version of its benchmark. EnvironmentProblem: a host does not fit; a
        database does not answer, is too old, or denies a permission that a trial needs.
    """
    key = folder.study_key()
    provided = study_as_provided(study).configurations
    for configuration in provided:
        if configuration.provider not in world.providers:
            raise InputError(
                f"configuration {configuration.name!r}: nephoscope cannot create machines of "
                f"{configuration.provider!r} yet",
                hint=f"there are: {', '.join(sorted(world.providers))}; the others work only with plan and import",
            )
        if configuration.provider in CLOUDS:
            order_of(ClusterRequest(key, configuration, folder.scratch), owner="", public_key="")
    left = [planned for planned, trial in folder.planned() if due(trial)]
    for row in left:
        _require_version(row, world)
    await _examine_hosts(left, world)
    needing = {row.intent.configuration_name for row in left if _drives_a_database(row, world)}
    for configuration in provided:
        if configuration.name not in needing:
            continue
        database, provider = world.databases[configuration.database.system], world.providers[configuration.provider]
        if configuration.database.dsn is not None:
            await reach(ClusterRequest(key, configuration, folder.scratch), provider, database)
        elif isinstance(provider, OnThisMachine) and isinstance(database, NeedsRoomHere):
            database.require_here()


async def _examine_hosts(left: Sequence[PlannedTrial], world: World) -> None:
    """Asks all hosts of remaining trials at once whether they are fit.

    Raises:
        EnvironmentProblem: some are not.
    """
    for name, wanted in wanted_of(left, world.benchmarks).items():
        provider = world.providers[name]
        if isinstance(provider, ExaminesHosts):
            hosts = await provider.examine(wanted)
            world.listener.hosts_examined(hosts)
            require_hosts_fit(hosts)


def wanted_of(trials: Iterable[PlannedTrial], benchmarks: Mapping[str, Benchmark]) -> dict[str, list[Wanted]]:
    """What trials need of their machines, by provider; one value for each configuration."""
    wanted: dict[str, dict[str, Wanted]] = {}
    for row in trials:
        configuration = read_as_provided(row.intent.configuration)
        benchmark = benchmarks[row.intent.benchmark.uses]
        needs = benchmark.needs(benchmark.parameters.model_validate(row.intent.benchmark.parameters))
        of_provider = wanted.setdefault(configuration.provider, {})
        earlier = of_provider.get(configuration.name, Wanted(configuration, clock_off_s=CLOCK_OFFSET.value))
        of_provider[configuration.name] = replace(
            earlier,
            tools=tuple(dict.fromkeys((*earlier.tools, (needs.tools, needs.users)))),
            disk_bytes=max(earlier.disk_bytes, needs.disk_bytes),
        )
    return {provider: list(of_provider.values()) for provider, of_provider in wanted.items()}


def _require_version(row: PlannedTrial, world: World) -> None:
    """Numbers of two versions are not comparable, and the plan names one version."""
    use = row.intent.benchmark
    known = world.benchmarks.get(use.uses)
    version = None if known is None else known.version_of(use.parameters)
    if version != use.version:
        has = "does not know it" if version is None else f"has version {version}"
        raise InputError(
            f"the plan has version {use.version} of the benchmark {use.uses!r}, but this nephoscope {has}",
            hint="finish the study with the nephoscope that started it (started.json names it), or start a new folder",
        )


def _drives_a_database(row: PlannedTrial, world: World) -> bool:
    benchmark: Benchmark = world.benchmarks[row.intent.benchmark.uses]
    parameters = benchmark.parameters.model_validate(row.intent.benchmark.parameters)
    return benchmark.subject_of(parameters) is Subject.DATABASE


async def reach(request: ClusterRequest, provider: Provider, database: Database) -> None:
    """Asks a user's own database, from the machine that will drive the load, whether it can be measured.

    Raises:
        EnvironmentProblem: it does not answer, is too old, or denies a permission that a trial needs.
        NephoscopeError: the provider has no such machine now.
    """
    configuration = request.configuration
    cluster = await provider.create(request)
    try:
        async with _followed_by(lambda: provider.delete(cluster.key)), _followed_by(lambda: database.stop(cluster)):
            await database.start(cluster, configuration.database, request.scratch / "preflight.log")
    except TrialFailure as error:  # no trial has started, so the problem is in the environment
        text = f"configuration {configuration.name!r} cannot be measured: {error.message}"
        raise EnvironmentProblem(text, hint=error.hint) from error


@asynccontextmanager
async def _followed_by(clean_up: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Cleans up after the block. If both fail, the block's error is reported: it explains more."""
    try:
        yield
    except BaseException:
        with suppress(NephoscopeError):
            await to_its_end(clean_up())
        raise
    await to_its_end(clean_up())
