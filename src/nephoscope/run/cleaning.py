"""What is given back, and what is found and given back when somebody could not."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from nephoscope.model.errors import NephoscopeError
from nephoscope.model.records import PlannedTrial
from nephoscope.providers.base import FindsOnMachines, Provider
from nephoscope.run.clock import Clock
from nephoscope.study.model import Configuration

TRIES = 5
FIRST_WAIT_S = 1.0


@dataclass(frozen=True)
class Cleaned:
    """What a look at a provider left."""

    terminated: list[str]
    """Keys of the clusters that were given back."""
    left: list[str]
    """Keys of those that are still there."""
    not_asked: Collection[str] = ()
    """Machines of which nothing is known, and why."""


async def give_back(provider: Provider, key: str, clock: Clock) -> None:
    """Deletes a cluster, in some tries, with longer and longer waits between them.

    Raises:
        NephoscopeError: what the provider said the last time.
    """
    for done in range(TRIES):
        try:
            return await provider.delete(key)
        except NephoscopeError:
            if done == TRIES - 1:
                raise
        await clock.sleep(FIRST_WAIT_S * 2**done)
    return None


async def find(providers: Iterable[Provider], study_key: str, planned: Iterable[PlannedTrial]) -> list[str]:
    """Lets providers without a list look at the machines of a plan; which could not be asked, and why."""
    configurations = {
        row.intent.configuration_name: Configuration.model_validate(row.intent.configuration) for row in planned
    }
    not_asked: list[str] = []
    for provider in providers:
        if isinstance(provider, FindsOnMachines):
            its_own = [one for one in configurations.values() if one.provider == provider.name]
            not_asked += await provider.find(study_key, its_own)
    return not_asked


async def clean(providers: Iterable[Provider], study_key: str, clock: Clock, keep: Collection[str] = ()) -> Cleaned:
    """Finds every cluster of a study by its tags and gives it back, but for those to `keep`.

    A cluster that cannot be given back does not keep the others from it.

    Raises:
        NephoscopeError: a provider cannot be asked.
    """
    terminated: list[str] = []
    left: list[str] = []
    for provider in providers:
        for key in await provider.list(study_key):
            if key in keep:
                continue
            try:
                await give_back(provider, key, clock)
            except NephoscopeError:
                continue
            terminated.append(key)
        left += [key for key in await provider.list(study_key) if key not in keep]
    return Cleaned([key for key in terminated if key not in left], left)
