"""Which configurations compete with each other: all of them, those of one cloud, and those of one size."""

from collections.abc import Mapping

from nephoscope.model.scopes import OVERALL, Scope
from nephoscope.study.cloud import CLOUDS
from nephoscope.study.machine_names import machine_name
from nephoscope.study.model import Configuration


def scopes_of(configurations: Mapping[str, Configuration]) -> dict[Scope, tuple[str, ...]]:
    """The members, sorted, of every scope with at least two members that is not the same as a wider one.

    Clouds are a question of their own only if there are several, and so are sizes.

    Args:
        configurations: by the name under which they are measured.

    Returns:
        The scope `overall` first, then clouds, then sizes from small to large.
    """
    everyone = tuple(sorted(configurations))
    by_cloud = _groups({name: _cloud(one) for name, one in configurations.items()})
    by_size = _groups({name: vcpus_of(one) for name, one in configurations.items()})
    scopes = {
        OVERALL: everyone,
        **{Scope("cloud", cloud): by_cloud[cloud] for cloud in sorted(by_cloud, key=str)},
        **{Scope("size", size): by_size[size] for size in sorted(by_size, key=int)},
    }
    first = {members: scope for scope, members in reversed(scopes.items()) if len(members) > 1}
    return {scope: members for scope, members in scopes.items() if first.get(members) == scope}


def vcpus_of(configuration: Configuration) -> int | None:
    """The vCPUs of a database machine by the study's words; None: they do not say."""
    machine = configuration.database_machine
    if machine.cpus != "all":
        return machine.cpus
    if machine.emulated is not None:
        return machine.emulated.vcpus
    return machine_name(configuration.provider, machine.type).vcpus if machine.type else None


def _cloud(configuration: Configuration) -> str | None:
    return configuration.provider if configuration.provider in CLOUDS else None


def _groups(keys: Mapping[str, str | int | None]) -> dict[str | int, tuple[str, ...]]:
    groups: dict[str | int, list[str]] = {}
    for name, key in sorted(keys.items()):
        if key is not None:
            groups.setdefault(key, []).append(name)
    return {key: tuple(names) for key, names in groups.items()}
