"""Servers of Valkey or Redis that make one cluster: each master has an equal part of the slots, and equal replicas."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nephoscope.model.errors import DatabaseFailed

SLOTS = 16_384
"""Number of slots into which a cluster divides its keys."""
NODES_FILE = "nodes.conf"
"""Next to the data: which server has which slots. A restarted server reads it."""
JOIN_TIMEOUT_S = 120.0
FOLLOW_TIMEOUT_S = 3600.0
"""For replicas that copy their master's data."""
_LOOK_EVERY_S = 0.1


@dataclass(frozen=True)
class Member:
    """A server that is up."""

    name: str
    """Of its machine."""
    address: str
    port: int
    ask: Callable[..., Awaitable[str]]
    """Sends it one command, word by word."""


def settings(bus_port: int) -> Mapping[str, str]:
    """Of each server. Slots without a master must be an error, and never half an answer."""
    return {
        "cluster-enabled": "yes",
        "cluster-config-file": NODES_FILE,
        "cluster-port": str(bus_port),
        "cluster-require-full-coverage": "yes",
        "cluster-node-timeout": "15000",  # a master that is slow for a moment is not taken for dead
        "cluster-replica-no-failover": "yes",  # another master would be another cluster than the one measured before
        "repl-diskless-sync-delay": "0",  # all replicas of a trial ask at once
    }


def parts(masters: int) -> list[tuple[int, int]]:
    """First and last slot of each master; equal but for one slot, and the same for every start."""
    ends = [SLOTS * index // masters for index in range(masters + 1)]
    return [(first, after - 1) for first, after in pairwise(ends)]


def followed(masters: int, replica: int) -> int:
    """The index of the master that a replica copies; both count from 0.

    A machine after the masters holds a replica. The first of them follows the second master, and so on: where machines
    take zones in turn, a replica is not in its master's zone.
    """
    return (replica + 1 + replica // masters) % masters


async def join(members: Sequence[Member], masters: int) -> None:
    """Gives the first `masters` their slots, makes all known to each other, and the others follow.

    Raises:
        DatabaseFailed: they do not come together.
        ToolFailed: one refuses.
    """
    for member, (first, last) in zip(members, parts(masters), strict=False):
        await member.ask("CLUSTER", "ADDSLOTSRANGE", str(first), str(last))
    for member in members[1:]:
        bus = _bus_port(await member.ask("CLUSTER", "NODES"))
        await members[0].ask("CLUSTER", "MEET", member.address, str(member.port), bus)
    await wait_until_whole(members)
    for number, replica in enumerate(members[masters:]):
        identity = (await members[followed(masters, number)].ask("CLUSTER", "MYID")).strip()
        await replica.ask("CLUSTER", "REPLICATE", identity)
    await wait_until_followed(members, masters)


async def wait_until_whole(members: Sequence[Member]) -> None:
    """Until every one knows every other one and says that all slots are served.

    Raises:
        DatabaseFailed: they do not come together.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + JOIN_TIMEOUT_S
    while True:
        states = [await _state(member) for member in members]
        if all(state == (len(members), "ok") for state in states):
            return
        if clock() > until:
            told = ", ".join(
                f"{member.address}: knows {known}, {state}"
                for member, (known, state) in zip(members, states, strict=True)
            )
            raise DatabaseFailed(
                f"the {len(members)} servers did not form a cluster within {JOIN_TIMEOUT_S:.0f} s: {told}"
            )
        await asyncio.sleep(_LOOK_EVERY_S)


async def links(members: Sequence[Member], masters: int) -> list[str]:
    """How each replica stands: 'connected to NAME' if it has its master's data and gets what follows."""
    names = {f"{master.address}:{master.port}": master.name for master in members[:masters]}
    return [await _link(replica, names) for replica in members[masters:]]


async def wait_until_followed(members: Sequence[Member], masters: int) -> None:
    """Until every replica is connected to its master and has all of its data.

    Raises:
        DatabaseFailed: one is not.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + FOLLOW_TIMEOUT_S
    numbers = range(len(members) - masters)
    expected = [f"connected to {members[followed(masters, number)].name}" for number in numbers]
    while (found := await links(members, masters)) != expected:
        if clock() > until:
            pairs = zip(members[masters:], found, strict=True)
            told = ", ".join(f"{replica.name}: {state}" for replica, state in pairs)
            raise DatabaseFailed(
                f"the replicas did not get their masters' data within {FOLLOW_TIMEOUT_S:.0f} s: {told}",
                hint="check the replicas' logs, which are next to the masters'",
            )
        await asyncio.sleep(_LOOK_EVERY_S)


async def _link(replica: Member, names: Mapping[str, str]) -> str:
    lines = (await replica.ask("INFO", "replication")).splitlines()
    said = dict(line.strip().partition(":")[::2] for line in lines)
    if said.get("role") != "slave":
        return "not a replica"
    master = names.get(f"{said.get('master_host')}:{said.get('master_port')}", "an unknown master")
    if said.get("master_link_status") == "up":
        return f"connected to {master}"
    copying = said.get("master_sync_in_progress") == "1"
    return f"copying the data of {master}" if copying else f"not connected to {master}"


async def _state(member: Member) -> tuple[int, str]:
    """How many connected servers it knows, itself included, and what it says of the cluster."""
    lines = (await member.ask("CLUSTER", "NODES")).splitlines()
    said = dict(line.strip().partition(":")[::2] for line in (await member.ask("CLUSTER", "INFO")).splitlines())
    known = [line for line in lines if " connected" in line and "handshake" not in line]
    return len(known), said.get("cluster_state", "no state")


def _bus_port(nodes: str) -> str:
    """Of the one server that knows nobody yet: `id host:port@bus,... flags`."""
    return nodes.split("@", 1)[1].split(" ", 1)[0].split(",", 1)[0]
