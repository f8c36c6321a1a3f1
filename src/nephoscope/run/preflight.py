"""What can be known to fail before minutes are spent: a database of the user's that cannot be measured."""

from nephoscope.benchmarks.base import Benchmark
from nephoscope.errors import EnvironmentProblem, TrialFailure
from nephoscope.providers.base import ClusterRequest
from nephoscope.records import PlannedTrial
from nephoscope.run.signals import to_its_end
from nephoscope.run.world import World
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.model import Configuration, Study


async def preflight(folder: ResultsFolder, study: Study, world: World) -> None:
    """Reaches every database that the user named and that a trial still to come needs.

    Raises:
        EnvironmentProblem: one does not answer, is too old, or does not let us do what a trial does.
    """
    left = [planned for planned, trial in folder.planned() if not trial.finished()]
    needing = {row.intent.configuration_name for row in left if _needs_database(row, world)}
    for configuration in study.configurations:
        if configuration.database.dsn is not None and configuration.name in needing:
            await _reach(folder, study, configuration, world)


def _needs_database(row: PlannedTrial, world: World) -> bool:
    benchmark: Benchmark = world.benchmarks[row.intent.benchmark.uses]
    return benchmark.needs(benchmark.parameters.model_validate(row.intent.benchmark.parameters)).database


async def _reach(folder: ResultsFolder, study: Study, configuration: Configuration, world: World) -> None:
    provider = world.providers[configuration.provider]
    cluster = await provider.create(ClusterRequest(study.name, configuration, folder.scratch))
    database = world.databases[configuration.database.system]
    try:
        await database.start(cluster, configuration.database, folder.scratch / "preflight.log")
    except TrialFailure as error:  # no trial has begun: what is wrong is wrong with its surroundings
        text = f"configuration {configuration.name!r} cannot be measured: {error.message}"
        raise EnvironmentProblem(text, hint=error.hint) from error
    finally:
        await to_its_end(database.stop(cluster))
        await provider.delete(cluster)
