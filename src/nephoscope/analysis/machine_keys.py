"""Which trials ran on the same machine, from what is stored of each trial.

What identifies a machine depends on where it comes from:

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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
