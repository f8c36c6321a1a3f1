"""Does a study compare types of machines by one machine each? Then its answers are about those machines."""

from collections.abc import Callable, Hashable, Sequence

from nephoscope.study.cloud import CLOUDS
from nephoscope.study.model import Configuration, Study


def one_machine_each(study: Study) -> list[str]:
    """A warning for each kind of provider where several replicates of different machines share one machine each."""
    if study.replicates == 1:
        return []
    found = []
    kept = _different(study.configurations, CLOUDS, _ordered) if study.placement == "per-configuration" else []
    if kept:
        found.append(
            f"{', '.join(kept)}: all replicates of a configuration share one machine (placement = "
            '"per-configuration"), so the report compares these machines and not their types: of equal types whose '
            "machines vary by 2 %, 6 replicates on one machine each call 64 % different; use placement = "
            '"fresh" to compare types'
        )
    hosts = _different(study.configurations, frozenset({"ssh"}), _hosts)
    if hosts:
        found.append(
            f"{', '.join(hosts)}: all replicates of a configuration run on the same hosts, so the report compares "
            "these machines and not their types; to learn how much machines of one type differ, add a configuration "
            "for each further host of that type"
        )
    return found


def _different(
    configurations: Sequence[Configuration], providers: frozenset[str], machine: Callable[[Configuration], Hashable]
) -> list[str]:
    """Names of the configurations of these providers, if not all order the same machine."""
    ours = [one for one in configurations if one.provider in providers]
    return [one.name for one in ours] if len({machine(one) for one in ours}) > 1 else []


def _ordered(configuration: Configuration) -> Hashable:
    database = configuration.database_machine
    return configuration.provider, configuration.region, database.type, database.cpu_platform


def _hosts(configuration: Configuration) -> Hashable:
    return frozenset(configuration.database_machine.hosts or ())
