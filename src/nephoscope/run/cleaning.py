"""Deleting clusters, and finding those that somebody failed to delete."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass

from nephoscope.model.errors import NephoscopeError
from nephoscope.providers.base import FindsByPlan, OfAccount, Provider
from nephoscope.run.clock import Clock
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.managed import read_as_provided
from nephoscope.study.model import Configuration
from nephoscope.study.provisioning import CLOUDS

TRIES = 5
FIRST_WAIT_S = 1.0


@dataclass(frozen=True)
class CleanupResult:
    """The result of cleaning up at a provider."""

    terminated: list[str]
    """Keys of the clusters that were deleted."""
    left: list[str]
    """Keys of the clusters that still exist."""
    unreachable: Collection[str] = ()
    """Machines about which nothing is known, and why."""
    elsewhere: Collection[str] = ()
    """Keys of clusters of another account, which these credentials do not show."""


async def give_back(provider: Provider, key: str, clock: Clock) -> None:
    """Deletes a cluster, with several tries and growing waits between them.

    Raises:
        NephoscopeError: the provider's last answer.
    """
    for done in range(TRIES):
        try:
            return await provider.delete(key)
        except NephoscopeError:
            if done == TRIES - 1:
                raise
        await clock.sleep(FIRST_WAIT_S * 2**done)
    return None


async def account_of(provider: Provider, study_key: str) -> str | None:
    """A digest of the account that a provider's credentials are of; None: it has none, or does not tell.

    A results folder may be published, so it does not hold the account itself.
    """
    account = None
    if isinstance(provider, OfAccount):
        with suppress(NephoscopeError):  # whoever needs the account hears of it
            account = await provider.account()
    return None if account is None else hashlib.sha256(f"{study_key} {account}".encode()).hexdigest()[:16]


def stored_configurations(folder: ResultsFolder) -> list[Configuration]:
    """The configurations on whose machines trials of the folder may have been.

    Those of earlier plans are among them if a cloud created their machines. Hosts that are not planned any more may be
    out of order for that reason, and looking for them takes minutes.
    """
    planned = {row.intent.configuration_name: row.intent.configuration for row in folder.plan().trials}
    earlier = [read_as_provided(intent.configuration) for intent in folder.unplanned()]
    return [*map(read_as_provided, planned.values()), *(one for one in earlier if one.provider in CLOUDS)]


async def find(providers: Iterable[Provider], study_key: str, configurations: Iterable[Configuration]) -> list[str]:
    """Tells providers where machines of a study may be; returns those that did not answer, and why."""
    of_provider: dict[str, list[Configuration]] = defaultdict(list)
    for configuration in configurations:
        of_provider[configuration.provider].append(configuration)
    unreachable: list[str] = []
    for provider in providers:
        if isinstance(provider, FindsByPlan):
            its_own = of_provider[provider.name]
            unreachable += await provider.find(study_key, its_own)
    return unreachable


async def clean(
    providers: Iterable[Provider], study_key: str, clock: Clock, keep: Collection[str] = ()
) -> CleanupResult:
    """Finds every cluster of a study by its tags and deletes it, except those to `keep`.

    A cluster that cannot be deleted does not stop the deletion of the others.

    Raises:
        NephoscopeError: a provider does not answer.
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
    return CleanupResult([key for key in terminated if key not in left], left)
