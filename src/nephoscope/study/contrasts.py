"""Questions about one thing: which pairs of configurations differ in it and in nothing else.

"io2 against gp3" is one question over all pairs of configurations that are equal but for the kind of their volumes.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, TypeVar

from nephoscope.model.written import OVERALL, Scope
from nephoscope.study.machine_names import MachineName, machine_name
from nephoscope.study.model import Configuration, DeclaredContrast, Machine, Study, Volume
from nephoscope.study.provisioning import CLOUDS


def scopes_of(configurations: Mapping[str, Configuration]) -> dict[Scope, tuple[str, ...]]:
    """The members, sorted, of every scope with at least two members that is not the same as a wider one.

    Clouds are a question of their own only if there are several, and so are sizes.

    Args:
        configurations: by the name under which they are measured.

    Returns:
        The scope `overall` first, then clouds, then sizes from small to large.
    """
    everyone = tuple(sorted(configurations))
    by_cloud = _groups(
        {name: (one.provider if one.provider in CLOUDS else None) for name, one in configurations.items()}
    )
    vcpus = {name: many for name, one in configurations.items() if (many := vcpus_of(one)) is not None}
    sizes = Scope.sizes(vcpus.values())
    by_size = _groups({name: sizes[many] for name, many in vcpus.items()})
    scopes = {
        OVERALL: everyone,
        **{Scope("cloud", cloud): by_cloud[cloud] for cloud in sorted(by_cloud)},
        **{size: by_size[size] for size in sizes.values()},
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
    if machine.cores is not None or machine.threads_per_core is not None:
        return machine.cores * machine.threads_per_core if machine.cores and machine.threads_per_core else None
    return machine_name(configuration.provider, machine.type).vcpus if machine.type else None


Key = TypeVar("Key")


def _groups(keys: Mapping[str, Key | None]) -> dict[Key, tuple[str, ...]]:
    groups: dict[Key, list[str]] = {}
    for name, key in sorted(keys.items()):
        if key is not None:
            groups.setdefault(key, []).append(name)
    return {key: tuple(names) for key, names in groups.items()}


Value = str | int | float | bool | None
Facts = Mapping[str, Value]
"""A configuration as flat keys: 'database.settings.shared_buffers', 'CPU vendor', 'volume kind'."""

VENDOR, GENERATION, VCPUS, KIND = "CPU vendor", "generation", "vCPUs", "volume kind"
_FOLLOW: Mapping[str, frozenset[str]] = {
    VENDOR: frozenset({"database_machine.cpu_platform"}),
    GENERATION: frozenset({"database_machine.cpu_platform"}),
    KIND: frozenset({"volume iops", "volume throughput", "volume cache", "volume interface"}),
    VCPUS: frozenset({"volume size", "volume iops", "volume throughput"}),
}
"""What may change with a key: it has a meaning only together with it, or grows with the machine."""
LOAD_TYPE = "load machine type"
_OF_TYPE = frozenset({VENDOR, GENERATION, VCPUS, "machine type"})
"""Keys of the database's machine type: where load machines have the same type, theirs changes with it."""
_NAMES: Mapping[str, str] = {
    VCPUS: "size",
    "database_machine.cpus": "CPUs",
    "database_machine.count": "machines",
    "database_machine.cores": "cores",
    "database_machine.threads_per_core": "threads per core",
    "database_machine.filesystem": "filesystem",
    "database.version": "server version",
    "database.connections": "connections",
    "database.system": "database",
}
"""Key -> what a reader calls it; other settings go by the last part of their key."""
_NO_QUESTION = frozenset(
    {"machine type", "series", "provider", "region", "zone", "database_machine.hosts", "load_machine.hosts"}
    | {LOAD_TYPE, "load_machine.provider", "database.dsn", "database.binary"}
)
"""Keys that say which machine it is, not what about it: configurations are only compared where these are equal."""
ADDRESSES = frozenset({"database.dsn", "database_machine.hosts", "load_machine.hosts", "database.binary"})
"""Keys whose values may hold a password or name a machine: they are not repeated."""
_NOT_COMPARED: dict[str, Any] = {
    "name": True,
    "labels": True,
    "price_usd_per_hour": True,
    "price_basis": True,
    "priced_as": True,
    "ssh": True,
    "cloud": True,
    "other_zones": True,
    "database": {"fixtures"},
}
_EXPECTATIONS = "expect_"


@dataclass(frozen=True)
class Question:
    """One contrast: the firsts of all pairs against their seconds."""

    name: str
    """What differs: 'volume kind', 'CPU vendor', 'shared_buffers', or the declared name."""
    left: str
    """The value of the firsts: 'io2'."""
    right: str
    pairs: tuple[tuple[str, str], ...]
    """Names of configurations, sorted by the first."""
    declared: bool = False


def contrasts_of(
    configurations: Mapping[str, Configuration], declared: Sequence[DeclaredContrast] = ()
) -> list[Question]:
    """All contrasts: those that a study declares, then those that its configurations hold.

    Where a key has numbers, each value is compared with the next larger one; the larger is on the left. Other values
    are compared pair by pair in the order of the alphabet. Two values of one key form one question, over all pairs of
    configurations that differ in that key only.

    Args:
        configurations: by the name under which they are measured.
        declared: the study's `[[contrasts]]`. A question that was declared is not found again.
    """
    known = _Known.of(configurations)
    found = [question for one in declared if (question := _declared(one, known)) is not None]
    asked = {_same(question) for question in found}
    return found + [question for question in _found(known) if _same(question) not in asked]


def only_difference(configurations: Mapping[str, Configuration]) -> tuple[str, dict[str, str]] | None:
    """The one thing in which configurations differ, and the value of each; None if they differ in none or several.

    Nor is an address one: it says which machine it is, and nothing about it.
    """
    names = sorted(configurations)
    facts = dict(zip(names, facts_together([configurations[name] for name in names]), strict=True))
    differing = differing_keys(list(facts.values()))
    if len(differing) != 1 or differing <= ADDRESSES:
        return None
    (key,) = differing
    return name_of(key), {name: _label(key, one.get(key)) for name, one in facts.items()}


def facts_together(configurations: Sequence[Configuration]) -> list[Facts]:
    """The facts of each, to be compared: if all load machines are like the database's, their type is no fact."""
    facts = [facts_of(one) for one in configurations]
    return [_less_load_type(one) for one in facts] if all(map(_load_follows, configurations)) else facts


def differing_keys(facts: Sequence[Facts]) -> set[str]:
    """The keys that do not have one value in all of them."""
    return {key for one in facts for key in one if len({other.get(key) for other in facts}) > 1}


def _same(question: Question) -> frozenset[frozenset[str]]:
    """Which configurations are compared, whichever of the two sides is the first."""
    return frozenset(frozenset(pair) for pair in question.pairs)


def without_pairs(study: Study) -> list[int]:
    """Places of the declared contrasts by key for which the study has no two configurations."""
    known = _Known.of({one.name: one for one in study.configurations})
    return [place for place, one in enumerate(study.contrasts) if _declared(one, known) is None]


def facts_of(configuration: Configuration) -> Facts:
    """Everything about a configuration that could make its values differ, as flat keys."""
    database, load = configuration.database_machine, configuration.load_machine
    sold = configuration.priced_as
    said: MachineName | None = None
    if database.type is not None:
        said = machine_name(configuration.provider, database.type)
    elif sold is not None:
        said = machine_name(sold.provider, sold.type)
    facts: dict[str, Value] = {}
    if said is not None and said.series is not None and said.vcpus is not None:
        facts |= {"series": said.series, VCPUS: said.vcpus, GENERATION: said.generation, VENDOR: said.vendor}
    elif database.emulated is None:
        facts["machine type"] = database.type
    if load is not None and load.emulated is None:
        facts[LOAD_TYPE] = load.type
    plain = configuration.model_dump(mode="json", exclude_none=True, exclude=_NOT_COMPARED)
    for role, machine in (("database_machine", database), ("load_machine", load)):
        if machine is not None:
            plain[role] = _plain_machine(plain[role], machine)
    facts |= _storage(database.volumes if sold is None or database.volumes else sold.volumes)
    facts |= dict(_flat(plain))
    return facts


def _load_follows(configuration: Configuration) -> bool:
    load = configuration.load_machine
    return load is not None and load.type == configuration.database_machine.type


def _less_load_type(facts: Facts) -> Facts:
    return {key: value for key, value in facts.items() if key != LOAD_TYPE}


@dataclass(frozen=True)
class _Known:
    """The facts of all configurations, by name.

    Load machines of one type are equal beside databases of different types; so are load machines that have the type of
    their database. A configuration may be equal to others in both ways, hence two views.
    """

    as_named: Mapping[str, Facts]
    following: Mapping[str, Facts]
    """Without the type of load machines that have the database's."""

    @classmethod
    def of(cls, configurations: Mapping[str, Configuration]) -> "_Known":
        facts = {name: facts_of(one) for name, one in configurations.items()}
        following = {
            name: _less_load_type(facts[name]) if _load_follows(one) else facts[name]
            for name, one in configurations.items()
        }
        return cls(facts, following)

    def equal_but_for(self, key: str) -> list[dict[Value, list[str]]]:
        """Value of the key -> configurations, for each group that is equal in everything else."""
        groups = _equal_but_for(key, self.as_named)
        return groups + [
            group for group in _equal_but_for(key, self.following) if key in _OF_TYPE and group not in groups
        ]


def _plain_machine(plain: Mapping[str, Any], machine: Machine) -> dict[str, Any]:
    told_elsewhere = {"type", "volumes"} if machine.volumes is None or len(machine.volumes) == 1 else {"type"}
    kept = {
        key: value for key, value in plain.items() if key not in told_elsewhere and not key.startswith(_EXPECTATIONS)
    }
    if "emulated" in kept:
        kept |= {key: value for key, value in kept.pop("emulated").items() if key != "name"}
    return kept


def _storage(volumes: Sequence[Volume] | None) -> dict[str, Value]:
    if volumes is None or len(volumes) != 1:
        return {}
    return {f"volume {key}": value for key, value in volumes[0].model_dump(exclude_none=True).items()}


def _flat(plain: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Value]]:
    for key, value in plain.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", _listed(value) if isinstance(value, list) else value


def _listed(values: Sequence[Any]) -> str:
    """'nobarrier, noatime'; of anything but texts and numbers as JSON."""
    return json.dumps(values) if any(isinstance(one, dict | list) for one in values) else ", ".join(map(str, values))


def _found(known: _Known) -> Iterator[Question]:
    """Groups configurations by everything but one key, so that it takes no look at each pair."""
    for key in sorted({key for one in known.as_named.values() for key in one} - _NO_QUESTION):
        questions: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for by_value in known.equal_but_for(key):
            for left, right in _compared(list(by_value)):
                labels = (_label(key, left), _label(key, right))
                questions[labels] += [(a, b) for a in by_value[left] for b in by_value[right]]
        for (left_label, right_label), pairs in questions.items():
            yield Question(_name(key, left_label, right_label), left_label, right_label, tuple(sorted(pairs)))


def _name(key: str, left: str, right: str) -> str:
    if key == VENDOR and "Arm" in (left, right):
        return "architecture"
    return name_of(key)


def without_followers(keys: AbstractSet[str]) -> set[str]:
    """The keys less those that may change with another one of them: a volume's IOPS with its kind."""
    return set(keys) - followers(keys)


def followers(keys: AbstractSet[str]) -> set[str]:
    """What may change with one of these keys."""
    return {follower for key in keys for follower in _FOLLOW.get(key, ())}


def name_of(key: str) -> str:
    """What a reader calls a key: 'server version', 'shared_buffers'."""
    if key in _NAMES or "settings." in key:
        return _NAMES.get(key) or key.rpartition("settings.")[2]
    role, dot, last = key.partition(".")
    words = last.replace("_", " ") if dot else key
    return f"{words} of the load machine" if role == "load_machine" else words


def _equal_but_for(key: str, facts: Mapping[str, Facts]) -> list[dict[Value, list[str]]]:
    ignored = {key} | _FOLLOW.get(key, frozenset())
    groups: dict[frozenset[tuple[str, Value]], dict[Value, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, one in sorted(facts.items()):
        rest = frozenset((other, value) for other, value in one.items() if other not in ignored)
        groups[rest][one.get(key)].append(name)
    return [dict(group) for group in groups.values() if len(group) > 1]


def _compared(values: list[Value]) -> list[tuple[Value, Value]]:
    """Which values form questions; the left one first."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        ordered = sorted(values, key=lambda value: float(value or 0), reverse=True)
        return list(pairwise(ordered))
    return list(combinations(sorted(values, key=lambda value: (value is None, str(value))), 2))


def _label(key: str, value: Value) -> str:
    unit = f" {VCPUS}" if key == VCPUS else ""
    if isinstance(value, bool):
        return str(value).lower()
    return "not set" if value is None else f"{value:g}{unit}" if isinstance(value, int | float) else value


def _declared(one: DeclaredContrast, known: _Known) -> Question | None:
    if one.left is not None and one.right is not None:
        pairs = [(a, b) for a, b in zip(one.left, one.right, strict=True) if {a, b} <= known.as_named.keys()]
        return _as_declared(one, ["left", "right"], pairs)
    key, values = one.key or "", one.values or ["", ""]
    pairs = [
        (a, b) for group in known.equal_but_for(key) for a in _with(group, values[0]) for b in _with(group, values[1])
    ]
    return _as_declared(one, values, pairs)


def _as_declared(one: DeclaredContrast, sides: list[str], pairs: list[tuple[str, str]]) -> Question | None:
    left, right = one.labels or sides
    return Question(one.name, left, right, tuple(sorted(pairs)), declared=True) if pairs else None


def _with(group: Mapping[Value, list[str]], value: str) -> list[str]:
    return [name for known, names in group.items() if str(known) == value for name in names]
