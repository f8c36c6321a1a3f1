"""Servers of Valkey or Redis that make one cluster: each master has an equal part of the slots, and equal replicas."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from nephoscope.databases import identity
from nephoscope.model.errors import DatabaseFailed, ToolFailed, ToolTimedOut
from nephoscope.model.records import ServerRole

SLOTS = 16_384
"""Number of slots into which a cluster divides its keys."""
NODES_FILE = "nodes.conf"
"""Next to the data: which server has which slots. A restarted server reads it."""
JOIN_TIMEOUT_S = 120.0
FOLLOW_TIMEOUT_S = 3600.0
"""For replicas that copy their master's data."""
_LOOK_EVERY_S = 0.1
_TAKES_OVER_S = 0.5
"""For a replica to become master when it is asked to, before it is asked again."""


@dataclass(frozen=True)
class Member:
    """A server."""

    name: str
    """Of its machine."""
    address: str
    port: int
    links_port: int
    """To which its replicas come."""
    ask: Callable[..., Awaitable[str]]
    """Sends it one command, word by word."""


@dataclass(frozen=True)
class Node:
    """What one server says of another, or of itself."""

    address: str
    """`host:port`."""
    bus_port: str
    flags: Sequence[str]
    is_connected: bool
    has_slots: bool

    @property
    def role(self) -> ServerRole:
        """A master that has lost its slots is about to copy the one that has them."""
        return "primary" if "master" in self.flags and self.has_slots else "replica"


def nodes_of(text: str) -> list[Node]:
    """What a server answers to CLUSTER NODES."""
    found = []
    for line in text.splitlines():
        _, address, flags, _, _, _, _, link, *slots = line.split()
        at, _, bus = address.partition(",")[0].partition("@")
        found.append(Node(at, bus, flags.split(","), link == "connected", bool(slots)))
    return found


DEFAULT_SETTINGS: Mapping[str, str] = {
    "cluster-node-timeout": "15000",  # milliseconds: a master that is slow for a moment is not taken for dead
}
STEADY: Mapping[str, str] = {
    "cluster-node-timeout": DEFAULT_SETTINGS["cluster-node-timeout"],
    "cluster-replica-no-failover": "yes",
}
"""While data is loaded and copied, each server keeps its role: with a short timeout, a busy machine would have replicas
take over, and what is then sent to a master by its place (FLUSHALL, its snapshot) would meet a replica (READONLY)."""


def settings(address: str, bus_port: int, links_port: int, folder: str, *, failover: bool) -> Mapping[str, str]:
    """Of each server. Slots without a master must be an error, and never half an answer.

    What servers tell each other they believe, so they must know each other: whoever says on the bus to have all slots,
    gets them, and the password of those who then copy from there. Clients need no certificate.
    """
    certificate = f"{folder}/{identity.CERTIFICATE}"
    return {
        "tls-cluster": "yes",
        "tls-replication": "yes",  # without it, Redis 7.0 has replicas speak plainly to the port of TLS
        "tls-port": str(links_port),
        "tls-cert-file": certificate,
        "tls-key-file": f"{folder}/{identity.KEY}",
        "tls-ca-cert-file": certificate,
        "cluster-enabled": "yes",
        "cluster-config-file": NODES_FILE,
        "cluster-port": str(bus_port),
        # Else the others take the address from which it happens to connect, which may be another of its machine's.
        "cluster-announce-ip": address,
        "cluster-require-full-coverage": "yes",
        # Without it, another master would be another cluster than the one measured before.
        "cluster-replica-no-failover": "no" if failover else "yes",
        **({"cluster-migration-barrier": "5"} if failover else {}),  # a master keeps the replicas that it was given
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
    await wait_until_whole(members)
    for number, replica in enumerate(members[masters:]):
        identity = (await members[followed(masters, number)].ask("CLUSTER", "MYID")).strip()
        await replica.ask("CLUSTER", "REPLICATE", identity)
    await wait_until_followed(members, masters)


async def wait_until_whole(members: Sequence[Member]) -> None:
    """Introduces them until every one knows every other one and says that all slots are served.

    Raises:
        DatabaseFailed: they do not come together.
        ToolFailed: one refuses.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + JOIN_TIMEOUT_S
    while True:
        known = [nodes_of(await member.ask("CLUSTER", "NODES")) for member in members]
        states = [_word("cluster_state", await member.ask("CLUSTER", "INFO")) or "no state" for member in members]
        joined = [sum(node.is_connected and "handshake" not in node.flags for node in each) for each in known]
        if all(state == "ok" for state in states) and all(count == len(members) for count in joined):
            return
        if clock() > until:
            told = ", ".join(
                f"{member.address}: knows {count}, {state}"
                for member, count, state in zip(members, joined, states, strict=True)
            )
            raise DatabaseFailed(
                f"the {len(members)} servers did not form a cluster within {JOIN_TIMEOUT_S:.0f} s: {told}"
            )
        await _introduce(members, known)
        await asyncio.sleep(_LOOK_EVERY_S)


async def _introduce(members: Sequence[Member], known: Sequence[Sequence[Node]]) -> None:
    """The first and each other one, whose gossip does the rest; `known` is what each of them says of all.

    A server forgets an introduction that is not answered within `cluster-node-timeout`, and each side may forget it.
    """
    ports = [next(node.bus_port for node in each if "myself" in node.flags) for each in known]
    names = [f"{member.address}:{member.port}" for member in members]
    listed = [{node.address for node in each} for each in known]
    for at in range(1, len(members)):
        asked, met = (0, at) if names[at] not in listed[0] else (at, 0)
        if names[met] not in listed[asked]:
            other = members[met]
            await members[asked].ask("CLUSTER", "MEET", other.address, str(other.port), ports[met])


async def links(members: Sequence[Member], masters: int) -> list[str]:
    """How each replica stands: 'connected to NAME' if it has its master's data and gets what follows."""
    names = {f"{master.address}:{master.links_port}": master.name for master in members[:masters]}
    return [await _link(replica, names) for replica in members[masters:]]


async def wait_until_followed(members: Sequence[Member], masters: int) -> None:
    """Until every replica is connected to its master and has all of its data.

    Raises:
        DatabaseFailed: one is not.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + FOLLOW_TIMEOUT_S
    while (found := await links(members, masters)) != _links_at_first(members, masters):
        if clock() > until:
            pairs = zip(members[masters:], found, strict=True)
            told = ", ".join(f"{replica.name}: {state}" for replica, state in pairs)
            raise DatabaseFailed(
                f"the replicas did not get their masters' data within {FOLLOW_TIMEOUT_S:.0f} s: {told}",
                hint="check the replicas' logs, which are next to the masters'",
            )
        await asyncio.sleep(_LOOK_EVERY_S)


def _links_at_first(members: Sequence[Member], masters: int) -> list[str]:
    """What `links` says where each replica follows the master that `join` gave it."""
    numbers = range(len(members) - masters)
    return [f"connected to {members[followed(masters, number)].name}" for number in numbers]


async def roles(members: Sequence[Member]) -> list[ServerRole]:
    """What each of them is now, as the first that answers says.

    Raises:
        ToolFailed, ToolTimedOut: none of them answers.
    """
    known = {node.address: node for node in await _known(members)}
    addresses = [f"{member.address}:{member.port}" for member in members]
    return [known[address].role if address in known else "replica" for address in addresses]


async def is_complete(members: Sequence[Member], masters: int) -> bool:
    """Whether every server is up and every master has all of its replicas, with its data."""
    try:
        known = await _known(members)
        if any("fail" in flag or flag == "handshake" for node in known for flag in node.flags):
            return False
        now = [member for member, role in zip(members, await roles(members), strict=True) if role == "primary"]
        if len(known) != len(members) or len(now) != masters:
            return False
        each = len(members) // masters - 1
        said = [await member.ask("INFO", "replication") for member in now]
    except (ToolFailed, ToolTimedOut):
        return False
    return all(_word("connected_slaves", text) == str(each) and text.count("state=online") == each for text in said)


async def put_back(members: Sequence[Member], masters: int) -> None:
    """Makes masters again of those that were masters first: each takes over from the replica that is master now.

    One that refuses, as its roles have just changed, is looked at again.

    Raises:
        DatabaseFailed: they do not come together.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + FOLLOW_TIMEOUT_S
    while clock() <= until:
        with suppress(ToolFailed, ToolTimedOut):
            if await is_complete(members, masters):
                now = (await roles(members))[:masters]
                if "replica" in now:
                    await members[now.index("replica")].ask("CLUSTER", "FAILOVER")
                elif await links(members, masters) == _links_at_first(members, masters):
                    return
        await asyncio.sleep(_TAKES_OVER_S)
    raise DatabaseFailed(f"the servers did not get back the roles that they began with within {FOLLOW_TIMEOUT_S:.0f} s")


async def _known(members: Sequence[Member]) -> list[Node]:
    """What the first that answers says of all."""
    for place, member in enumerate(members, 1):
        try:
            return nodes_of(await member.ask("CLUSTER", "NODES"))
        except (ToolFailed, ToolTimedOut):
            if place == len(members):
                raise
    return []


def _word(name: str, info: str) -> str | None:
    return dict(line.strip().partition(":")[::2] for line in info.splitlines()).get(name)


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
