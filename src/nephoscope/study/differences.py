"""What configurations differ in: those of one study in one clause, and one of them in two studies."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from nephoscope.model.words import counted
from nephoscope.study.contrasts import (
    ADDRESSES,
    GENERATION,
    KIND,
    LOAD_TYPE,
    VCPUS,
    VENDOR,
    Facts,
    Value,
    differing_keys,
    facts_of,
    facts_together,
    followers,
    name_of,
    without_followers,
)
from nephoscope.study.model import Configuration, DeclaredContrast

MAX_NAMED = 4
"""Things that the clause names; the others are counted."""
_MAX_VALUES_LENGTH = 60

_MACHINE = "machine type"
_SAYS_MACHINE = frozenset({_MACHINE, "series", VCPUS, GENERATION, VENDOR})
"""Keys that the name of a machine type gives: several of them are one difference."""
_PLACES = ("provider", "region", "zone")
"""Each implies that those after it differ, too."""
_VOLUME = "volume "
_SERVER = "database.dsn"
_HOSTS = "database_machine.hosts"
_ONLY_HOSTS = frozenset({_HOSTS, "load_machine.hosts"})
_BY_SERVER = frozenset({_SERVER, "database.version"})
_WORDS: Mapping[str, str] = {
    VCPUS: "vCPUs",
    KIND: "kind of volume",
    _SERVER: "the server",
    _HOSTS: "hosts",
    "load_machine.hosts": "hosts of the load generator",
    LOAD_TYPE: "machine type of the load generator",
    "database.binary": "database program",
}


@dataclass(frozen=True)
class Differing:
    """What the configurations of a study differ in."""

    clause: str
    """Without a full stop, to follow the number of configurations; empty for a single one."""
    several: bool = False
    """It lists more than one thing."""


def what_differs(
    configurations: Sequence[Configuration], declared: Sequence[DeclaredContrast] = (), *, imported: bool = False
) -> Differing:
    """'they differ only in shared_buffers: 128MB and 1GB'.

    It speaks of what the study says; whether the machines were as it says is for checks and facts.

    Args:
        configurations: of a study.
        declared: its `[[contrasts]]`: only these say what servers of the user's differ in.
        imported: the study was made from files of others, which need not say what was measured.
    """
    if len(configurations) < 2:
        return Differing("")
    facts = facts_together(configurations)
    keys = differing_keys(facts)
    if not keys:
        equal = "they are equal, so every difference between them is noise"
        return Differing("the imported files do not say what they differ in" if imported else equal)
    if _HOSTS in keys and keys <= _ONLY_HOSTS:
        return Differing(_on_hosts(configurations))
    stated = _of_servers(configurations, declared) if keys <= _BY_SERVER and _SERVER in keys else ""
    if stated:
        return Differing(stated)
    words = _words(keys)
    if len(words) == 1:
        values = _values(next(iter(keys)), facts) if len(keys) == 1 else ""
        return Differing(f"they differ {'' if imported else 'only '}in {words[0]}{values}")
    more = len(words) - MAX_NAMED
    named = words if more <= 0 else [*words[:MAX_NAMED], f"{more} more {'thing' if more == 1 else 'things'}"]
    return Differing(f"they differ in {', '.join(named[:-1])} and {named[-1]}", several=True)


def on_equal_hosts(configurations: Sequence[Configuration]) -> bool:
    """Whether the configurations are equal in all but the hosts that they run on: machines of a rack."""
    keys = differing_keys(facts_together(configurations)) if len(configurations) > 1 else set[str]()
    return _HOSTS in keys and keys <= _ONLY_HOSTS


def _on_hosts(configurations: Sequence[Configuration]) -> str:
    hosts = {host for one in configurations for host in one.database_machine.hosts or ()}
    return f"they run on {counted(len(hosts), 'host')} and are equal otherwise"


def _of_servers(configurations: Sequence[Configuration], declared: Sequence[DeclaredContrast]) -> str:
    """What the study declares about servers of the user's, if it says one thing about all of them."""
    values: dict[str, str] = {}
    for one in declared:
        if one.left is not None and one.right is not None and one.labels is not None:
            values |= dict.fromkeys(one.left, one.labels[0]) | dict.fromkeys(one.right, one.labels[1])
    names = {one.name for one in declared}
    if len(names) != 1 or not all(one.name in values for one in configurations):
        return ""
    labels = list(dict.fromkeys(values[one.name] for one in configurations))
    return f"they are servers that, as the study declares, differ only in {names.pop()}{_listed(labels)}"


def _words(keys: Collection[str]) -> list[str]:
    """What a reader calls the keys, the most important first."""
    left, found = set(keys), list[str]()
    places = [place for place in _PLACES if place in left]
    found += places[:1]
    left -= set(_PLACES)
    of_machine = left & _SAYS_MACHINE
    if len(of_machine) > 1 or of_machine & {_MACHINE, "series"}:
        found.append(_MACHINE)
        left -= _SAYS_MACHINE | {"database_machine.cpu_platform"}
    volumes = {key for key in left if key.startswith(_VOLUME)}
    if len(volumes) > 1:
        found.append("volumes")
        left -= volumes
    return found + [_WORDS.get(key) or name_of(key) for key in sorted(left)]


def _values(key: str, facts: Sequence[Facts]) -> str:
    """': 128MB and 1GB'."""
    if key in {*ADDRESSES, *_PLACES} or key in _SAYS_MACHINE - {VCPUS}:
        return ""
    return _listed([_shown(value) for value in dict.fromkeys(one.get(key) for one in facts)])


def _listed(values: Sequence[str]) -> str:
    listed = f"{', '.join(values[:-1])} and {values[-1]}"
    return f": {listed}" if len(listed) <= _MAX_VALUES_LENGTH else ""


def _shown(value: Value) -> str:
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def changes(before: Configuration, after: Configuration) -> tuple[str, ...]:
    """What differs from one configuration to another: 'shared_buffers: 128MB → 1GB', 'hosts: not the same'.

    Machine types are one difference, with all that their names say. What may change with a key is not told beside it.
    """
    old, new = facts_together([before, after])
    keys = without_followers(differing_keys([old, new]))
    said = []
    if keys & _SAYS_MACHINE:
        said.append(f"{_MACHINE}: {_type_of(before)} → {_type_of(after)}")
    for key in sorted(keys - _SAYS_MACHINE):
        name = _WORDS.get(key) or name_of(key)
        if key in ADDRESSES:
            said.append(f"{name}: not the same")
        else:
            said.append(f"{name}: {_shown(old.get(key))} → {_shown(new.get(key))}")
    return tuple(sorted(said))


def likenesses(configuration: Configuration, most: int) -> frozenset[frozenset[tuple[str, Value]]]:
    """Configurations of which `changes` finds so few share one of these; some that differ in more do, too.

    Each is everything that is known about the configuration, but for one thing and what may change with it.

    Args:
        configuration: one of a study.
        most: 0 or 1.
    """
    known = frozenset((key, value) for key, value in facts_of(configuration).items() if value is not None)
    things = (
        [_SAYS_MACHINE | {LOAD_TYPE}, *(frozenset({key}) for key, _ in known if key not in _SAYS_MACHINE)]
        if most
        else []
    )
    ignored = [thing | followers(thing) for thing in things]
    return frozenset({known, *(frozenset(pair for pair in known if pair[0] not in keys) for keys in ignored)})


def _type_of(configuration: Configuration) -> str:
    sold = configuration.priced_as
    return configuration.database_machine.type or (sold.type if sold else "not known")
