"""What the machines really were, and which trials ran on the same one.

Replicates on different machines are different configurations. What identifies a machine depends on where it comes from:

- **clouds**: the key of the cluster. With placement `fresh` each attempt has a cluster of its own, so machines of its
  own. Several trials on one kept cluster share it.
- **hosts** (`ssh`) and this machine (`local`, `emulated`): the kernel's boot id, which every name of a machine shares,
  or the same name and host name. A machine that restarted between two trials has another boot id and the same names.
  Without boot ids, only names can tell machines apart.
- **a server of the user's own** (`database.dsn`): its address.
- **imports**: what the importer found in the source. Most sources do not say whether runs shared a machine.

Names are joined, not compared one by one: two trials share a machine if they have any of these in common, directly or
by way of a third trial. So a mistake makes two machines one, and a verdict narrower, not wider.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nephoscope.analysis.inputs import ObservedMachine
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.records import Facts
from nephoscope.model.rows import MachineRow

IDENTIFYING_FACTS = (
    "cpu_model",
    "cpus_online",
    "cpus_allowed",
    "numa_nodes",
    "l2_bytes",
    "l3_bytes",
    "kernel",
    "clock_source",
)
"""Machines that differ in one of these facts cannot hold replicates of each other."""

_WORDS = {
    "cpu_model": "{}",
    "cpus_online": "{} CPUs online",
    "cpus_allowed": "{} CPUs allowed",
    "numa_nodes": "{} NUMA nodes",
    "l2_bytes": "L2 of {} bytes",
    "l3_bytes": "L3 of {} bytes",
    "kernel": "kernel {}",
    "clock_source": "clock source {}",
}

Signature = tuple[tuple[str, str, tuple[str, ...]], ...]
"""(role, fact, its values on the machines of that role), sorted."""


def split_names(observed: Sequence[ObservedMachine]) -> dict[str, str]:
    """Trial id -> name of its configuration, split where observed facts differ: 'n2-standard-8 (Intel Xeon 8373C)'.

    The name contains only the facts in which the splits differ. An unknown fact counts as a value of its own.
    Configurations whose machines agree keep their names; so do trials without facts. A role that some trials have no
    machine for, because they measure another, tells nothing.
    """
    signatures: dict[str, dict[str, Signature]] = defaultdict(dict)
    by_trial_of = _grouped(observed, lambda seen: seen.trial)
    roles: dict[str, set[str]] = {}
    for machines in by_trial_of.values():
        there, name = {one.role for one in machines}, machines[0].configuration
        roles[name] = roles.get(name, there) & there
    for trial, machines in by_trial_of.items():
        name = machines[0].configuration
        signatures[name][trial] = _signature([one for one in machines if one.role in roles[name]])
    names: dict[str, str] = {}
    for configuration, by_trial in signatures.items():
        entries = [set(signature) for signature in by_trial.values()]
        shared = set.intersection(*entries)
        for trial, signature in by_trial.items():
            own = [entry for entry in signature if entry not in shared]
            names[trial] = f"{configuration} ({_label(own)})" if own else configuration
    return dict(sorted(names.items()))


def machines_of(observed: Sequence[ObservedMachine]) -> list[MachineRow]:
    """One row per configuration, role and set of identifying facts; the row of most trials comes first.

    `machine` is the machine's name, or its role when every replicate had a machine of another name. `facts` are those
    before the first of its trials. `differs_in` holds the facts in which a row differs from the first row of the
    configuration and role as the study names them; its `configuration` is the split name.

    Returns:
        Sorted by configuration (as the study names it), role, then number of trials, most first.
    """
    names = split_names(observed)
    rows: list[MachineRow] = []
    for _, seen in sorted(_grouped(observed, lambda one: (one.configuration, one.role)).items()):
        groups = _grouped(seen, lambda one: (names[one.trial], *_identity(one.facts)))
        ordered = sorted(groups.values(), key=lambda group: (-len(group), group[0].trial, group[0].machine))
        first = ordered[0][0].facts
        for group in ordered:
            machines = sorted({one.machine for one in group})
            differing = [f for f in IDENTIFYING_FACTS if getattr(group[0].facts, f) != getattr(first, f)]
            rows.append(
                MachineRow(
                    configuration=names[group[0].trial],
                    machine=machines[0] if len(machines) == 1 else group[0].role,
                    facts=group[0].facts,
                    trials=sorted({one.trial for one in group}),
                    differs_in=differing,
                )
            )
    return rows


def _grouped(
    observed: Sequence[ObservedMachine], key: Callable[[ObservedMachine], Hashable]
) -> dict[Any, list[ObservedMachine]]:
    """Groups by a key, each group sorted by trial, role and machine."""
    groups: dict[Any, list[ObservedMachine]] = defaultdict(list)
    for seen in sorted(observed, key=lambda one: (one.trial, one.role, one.machine)):
        groups[key(seen)].append(seen)
    return groups


def _identity(facts: Facts) -> tuple[str, ...]:
    """The identifying facts as text; 'unknown' where a fact is missing."""
    values = (getattr(facts, fact) for fact in IDENTIFYING_FACTS)
    return tuple("unknown" if value is None else str(value) for value in values)


def _signature(machines: Sequence[ObservedMachine]) -> Signature:
    values: dict[tuple[str, str], list[str]] = defaultdict(list)
    for seen in machines:
        for fact, value in zip(IDENTIFYING_FACTS, _identity(seen.facts), strict=True):
            values[seen.role, fact].append(value)
    return tuple((role, fact, _alike(many)) for (role, fact), many in sorted(values.items()))


def _alike(values: Sequence[str]) -> tuple[str, ...]:
    """One value of equal machines, however many there are; else that of each."""
    return (values[0],) if len(set(values)) == 1 else tuple(sorted(values))


def _label(entries: Sequence[tuple[str, str, tuple[str, ...]]]) -> str:
    """Words for the facts in which a split differs, the machine under test first and without its role."""
    ordered = sorted(entries, key=lambda entry: (entry[0] != "database", entry[0], IDENTIFYING_FACTS.index(entry[1])))
    words: list[str] = []
    for role, fact, values in ordered:
        prefix = "" if role == "database" else f"{role}: "
        value = "/".join(dict.fromkeys(values)) if len(set(values)) == 1 else "/".join(values)
        template = _WORDS[fact] if value != "unknown" else f"{fact} {{}}"
        words.append(prefix + template.format(value))
    return ", ".join(words)


def machines(of: Workings) -> list[MachineRow]:
    """The machines of each configuration, those under test first."""
    return machines_of(of.inputs.machines)


MACHINES = Table("machines", MachineRow, machines, has_columns=False)


HERE = frozenset({"local", "emulated"})
"""Providers whose machines are the one that nephoscope runs on, or parts of it."""
HOSTS = frozenset({"ssh"})
MADE = frozenset({"aws", "azure", "gcp", "fake"})
"""Providers that create machines."""


@dataclass(frozen=True)
class SeenMachine:
    """One machine under test, as one trial saw it. None: not observed."""

    name: str
    hostname: str | None = None
    boot_id: str | None = None


@dataclass(frozen=True)
class Sighting:
    """What a trial says about the machines that it measured."""

    trial: str
    provider: str
    machines: tuple[SeenMachine, ...]
    """Those under test; the load generator's machines are not among them."""
    cluster: str | None = None
    """Key of its cluster; None: it is imported."""
    server: str | None = None
    """Host of the user's own server, which is measured instead of the machines."""
    stated: str | None = None
    """What an import says that trials on the same machine share."""


def machine_keys(sightings: Sequence[Sighting]) -> dict[str, str | None]:
    """Trial id -> a text that is equal for trials on the same machine or cluster; None: it is not known which."""
    tokens = {one.trial: [_tokens(one, machine) for machine in one.machines] for one in sightings}
    joined = _joined(many for machines in tokens.values() for many in machines if many)
    return {one.trial: _key(one, tokens[one.trial], joined) for one in sightings}


def _key(one: Sighting, machines: Sequence[Sequence[str]], joined: Mapping[str, str]) -> str | None:
    if one.server is not None:
        return f"server {one.server}"
    if one.stated is not None:
        return f"imported {one.stated}"
    if one.provider in MADE:
        return one.cluster
    if one.provider in HERE:
        machines = machines[:1]  # parts of one machine are one machine
    return " + ".join(sorted({joined[many[0]] for many in machines})) if machines and all(machines) else None


def _tokens(one: Sighting, machine: SeenMachine) -> list[str]:
    """Everything that names the machine; the readable ones first."""
    boot = [f"boot {machine.boot_id}"] if machine.boot_id else []
    if one.provider == "local":
        return [f"this machine {machine.hostname or ''}".strip(), *boot]
    if one.provider == "emulated":
        return ["this machine, emulating others", *boot]
    if one.provider in HOSTS:
        return [f"host {machine.name} {machine.hostname or ''}".strip(), *boot]
    return []


def _joined(groups: Iterable[Sequence[str]]) -> dict[str, str]:
    """Each token -> the first readable token of all that are connected with it."""
    parent: dict[str, str] = {}

    def root(token: str) -> str:
        while parent.setdefault(token, token) != token:
            token = parent[token]
        return token

    for first, *others in groups:
        root(first)
        for other in others:
            low, high = sorted((root(first), root(other)), key=lambda token: (token.startswith("boot "), token))
            parent[high] = low
    return {token: root(token) for token in parent}
