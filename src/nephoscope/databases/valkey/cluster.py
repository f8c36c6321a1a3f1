"""Masters of Valkey or Redis that make one cluster: each has an equal part of the slots, none has a replica."""

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
_LOOK_EVERY_S = 0.1


@dataclass(frozen=True)
class Member:
    """A server that is up."""

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
    }


def parts(masters: int) -> list[tuple[int, int]]:
    """First and last slot of each master; equal but for one slot, and the same for every start."""
    ends = [SLOTS * index // masters for index in range(masters + 1)]
    return [(first, after - 1) for first, after in pairwise(ends)]


async def join(members: Sequence[Member]) -> None:
    """Gives each its slots and makes them known to each other.

    Raises:
        DatabaseFailed: they do not come together.
        ToolFailed: one refuses.
    """
    for member, (first, last) in zip(members, parts(len(members)), strict=True):
        await member.ask("CLUSTER", "ADDSLOTSRANGE", str(first), str(last))
    for member in members[1:]:
        bus = _bus_port(await member.ask("CLUSTER", "NODES"))
        await members[0].ask("CLUSTER", "MEET", member.address, str(member.port), bus)
    await wait_until_whole(members)


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
                f"the {len(members)} masters did not form a cluster within {JOIN_TIMEOUT_S:.0f} s: {told}"
            )
        await asyncio.sleep(_LOOK_EVERY_S)


async def _state(member: Member) -> tuple[int, str]:
    """How many connected servers it knows, itself included, and what it says of the cluster."""
    lines = (await member.ask("CLUSTER", "NODES")).splitlines()
    said = dict(line.strip().partition(":")[::2] for line in (await member.ask("CLUSTER", "INFO")).splitlines())
    known = [line for line in lines if " connected" in line and "handshake" not in line]
    return len(known), said.get("cluster_state", "no state")


def _bus_port(nodes: str) -> str:
    """Of the one server that knows nobody yet: `id host:port@bus,... flags`."""
    return nodes.split("@", 1)[1].split(" ", 1)[0].split(",", 1)[0]
