"""What can be known to fail before minutes are spent: a database of the user's that cannot be measured."""

from nephoscope.benchmarks.base import Benchmark
from nephoscope.model.errors import EnvironmentProblem, InputError, TrialFailure
from nephoscope.model.records import PlannedTrial
from nephoscope.model.subjects import Subject
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.cloud.order import order_of
from nephoscope.run.signals import to_its_end
from nephoscope.run.study import study_key
from nephoscope.run.world import World
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.cloud import CLOUDS
from nephoscope.study.model import Configuration, Study


async def preflight(folder: ResultsFolder, study: Study, world: World) -> None:
    """Asks for a provider that can be used, and reaches every database that the user named and a trial to come needs.

    Raises:
        InputError: a provider is known by name and price alone, a configuration does not say what a cloud must know, or
            a trial to come was planned with another version of its benchmark.
        EnvironmentProblem: a database does not answer, is too old, or does not let us do what a trial does.
    """
    for configuration in study.configurations:
        if configuration.provider not in world.providers:
            raise InputError(
                f"configuration {configuration.name!r}: machines of {configuration.provider!r} cannot be made yet",
                hint=f"there are: {', '.join(sorted(world.providers))}; plan and import know the others",
            )
        if configuration.provider in CLOUDS:
            order_of(ClusterRequest(study_key(folder), configuration, folder.scratch), owner="", public_key="")
    left = [planned for planned, trial in folder.planned() if not trial.finished()]
    for row in left:
        _require_version(row, world)
    needing = {row.intent.configuration_name for row in left if _drives_a_database(row, world)}
    for configuration in study.configurations:
        if configuration.database.dsn is not None and configuration.name in needing:
            await _reach(folder, configuration, world)


def _require_version(row: PlannedTrial, world: World) -> None:
    """Numbers of two versions do not compare, and the plan promises one."""
    use = row.intent.benchmark
    known = world.benchmarks.get(use.uses)
    if known is None or known.version != use.version:
        has = "does not know it" if known is None else f"has version {known.version}"
        raise InputError(
            f"the plan has version {use.version} of the benchmark {use.uses!r}, and this nephoscope {has}",
            hint="finish it with the nephoscope that began it (started.json names it), or begin a new folder",
        )


def _drives_a_database(row: PlannedTrial, world: World) -> bool:
    benchmark: Benchmark = world.benchmarks[row.intent.benchmark.uses]
    parameters = benchmark.parameters.model_validate(row.intent.benchmark.parameters)
    return benchmark.subject_of(parameters) is Subject.DATABASE


async def _reach(folder: ResultsFolder, configuration: Configuration, world: World) -> None:
    provider = world.providers[configuration.provider]
    cluster = await provider.create(ClusterRequest(study_key(folder), configuration, folder.scratch))
    database = world.databases[configuration.database.system]
    try:
        await database.start(cluster, configuration.database, folder.scratch / "preflight.log")
    except TrialFailure as error:  # no trial has begun: what is wrong is wrong with its surroundings
        text = f"configuration {configuration.name!r} cannot be measured: {error.message}"
        raise EnvironmentProblem(text, hint=error.hint) from error
    finally:
        await to_its_end(database.stop(cluster))
        await provider.delete(cluster.key)
