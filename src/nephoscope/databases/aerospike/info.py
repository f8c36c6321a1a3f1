"""Aerospike's info protocol, and what its servers report through it; pure.

A message is a header of eight bytes (version 2, type 1, length in 48 bits, the highest byte first) and text. A command
is a line; its answer is a line that repeats the command, a tab, and the value, often as `name=value;name=value`.
Written from the documentation and the public sources of the server, 6.0 to 8.1.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nephoscope.databases.asking import typed
from nephoscope.databases.base import Upkeep
from nephoscope.model.errors import OutputUnreadable, ToolFailed
from nephoscope.model.units import MIB
from nephoscope.model.words import counted

HEADER_BYTES = 8
_VERSION, _TYPE = 2, 1
_REFUSAL = re.compile(r"(error|fail)(:|$)", re.IGNORECASE)
"""And not `failed_best_practices=`, which statistics may start with."""
_BLOCK_BYTES = 8 * MIB
"""Of a write block from 7.1 on, which has no setting of its size."""
_KEPT_BLOCKS = 8
"""Free write blocks of each device or file that only defragmentation takes."""
_HEADER_BYTES = 8 * MIB
"""Of each device or file."""
_OPEN_BLOCKS = 4
"""Blocks of each device or file that are being filled: for masters, other copies, defragmentation and transactions."""
_NOT_STORED = re.compile(
    r"password|secret|vault|key-file|cert|path|directory|address|pidfile|\.(file|device|stripe|shadow)\["
)
"""Names of settings that may be secret, or are paths of the machine."""
_QUEUES = re.compile(r"storage-engine\.(?:file|device)\[\d+\]\.(defrag_q|write_q|free_wblocks)")


def request(commands: Sequence[str]) -> bytes:
    """The message that sends all of these commands."""
    body = "".join(f"{command}\n" for command in commands).encode()
    return bytes((_VERSION, _TYPE)) + len(body).to_bytes(HEADER_BYTES - 2, "big") + body


def answers(message: bytes, commands: Sequence[str]) -> list[str]:
    """A server's answer to each command, in their order; a rejection is an answer as well.

    Raises:
        OutputUnreadable: it is not the complete answer to these commands.
    """
    header, body = message[:HEADER_BYTES], message[HEADER_BYTES:]
    if header[:2] != bytes((_VERSION, _TYPE)) or len(header) < HEADER_BYTES:
        raise OutputUnreadable(
            f"unexpected format: the answer is not an info message of Aerospike; it starts with {message[:16]!r}"
        )
    if int.from_bytes(header[2:], "big") != len(body):
        raise OutputUnreadable(f"the answer is cut off: {len(body)} bytes of {int.from_bytes(header[2:], 'big')}")
    lines = body.decode(errors="replace").rstrip("\0").removesuffix("\n").split("\n")
    pairs = [line.partition("\t")[::2] for line in lines]
    if [asked for asked, _ in pairs] != list(commands):
        raise OutputUnreadable(f"the answer does not match the commands {', '.join(commands)}: {body[:200]!r}")
    return [value for _, value in pairs]


def refused(answer: str) -> bool:
    """The server understood a command but rejected it."""
    return _REFUSAL.match(answer) is not None


def values(answer: str) -> dict[str, str]:
    """Name -> value of an answer in this format.

    Raises:
        ToolFailed: it is a rejection.
    """
    if refused(answer):
        raise ToolFailed(f"Aerospike answered {answer[:300]}")
    return dict(pair.partition("=")[::2] for pair in answer.strip().split(";") if "=" in pair)


@dataclass(frozen=True)
class ServerState:
    """What one server reports about its cluster and a namespace."""

    cluster_key: str
    """Identifies the cluster's current membership; changes whenever a server joins or leaves."""
    cluster_size: int
    to_migrate: int
    """Partitions."""
    dead: int
    unavailable: int
    evicted: int
    stop_writes: bool
    """Memory or storage is too full: it rejects writes."""
    clock_skew_stop_writes: bool
    high_water_breached: bool

    @property
    def trouble(self) -> str:
        """Why a trial on it would not be valid; empty if nothing is wrong."""
        reasons = {
            "it rejects writes: memory or storage is too full": self.stop_writes,
            "it rejects writes: the servers' clocks differ": self.clock_skew_stop_writes,
            f"{self.dead} of its partitions are dead": self.dead > 0,
            f"{counted(self.evicted, 'record')} {'was' if self.evicted == 1 else 'were'} evicted": self.evicted > 0,
        }
        return "; ".join(reason for reason, holds in reasons.items() if holds)

    def whole(self, servers: int) -> bool:
        """True if its cluster has this many servers and all copies of all partitions."""
        return self.cluster_size == servers and not self.to_migrate and not self.unavailable and not self.dead

    def __str__(self) -> str:
        writes = "stopped" if self.stop_writes else "stopped by clock skew" if self.clock_skew_stop_writes else "taken"
        mark = "breached" if self.high_water_breached else "kept"
        return (
            f"cluster {self.cluster_key} of {self.cluster_size}, partitions {self.to_migrate} to migrate, "
            f"{self.dead} dead, {self.unavailable} unavailable, writes {writes}, high-water mark {mark}, "
            f"{counted(self.evicted, 'record')} evicted"
        )


def state_commands(namespace: str) -> tuple[str, ...]:
    """The commands whose answers `state` reads."""
    return ("statistics", f"namespace/{namespace}")


def state(answered: Sequence[str]) -> ServerState:
    """From the answers to `state_commands`.

    Raises:
        OutputUnreadable: a number is not there: an unknown version, or another namespace.
        ToolFailed: the server rejected a command.
    """
    cluster, namespace = (values(answer) for answer in answered)
    try:
        return ServerState(
            cluster_key=cluster["cluster_key"],
            cluster_size=int(cluster["cluster_size"]),
            to_migrate=sum(int(namespace[f"migrate_{way}_partitions_remaining"]) for way in ("tx", "rx")),
            dead=int(namespace["dead_partitions"]),
            unavailable=int(namespace["unavailable_partitions"]),
            evicted=int(namespace["evicted_objects"]),
            stop_writes=_truth(namespace, "stop_writes"),
            clock_skew_stop_writes=_truth(namespace, "clock_skew_stop_writes"),
            high_water_breached=_truth(namespace, "hwm_breached"),
        )
    except (KeyError, ValueError) as error:
        raise OutputUnreadable(
            f"unexpected format of Aerospike's statistics, which differ from those of 6.0 to 8.1: {error}"
        ) from error


def uptime_s(statistics: str) -> int:
    """Whole seconds for which a server has run, from its answer to `statistics`.

    Raises:
        OutputUnreadable: they are not there.
        ToolFailed: the server rejected the command.
    """
    try:
        return int(values(statistics)["uptime"])
    except (KeyError, ValueError) as error:
        raise OutputUnreadable(f"Aerospike's statistics do not say how long it has run: {error}") from error


def stable_command(servers: int, namespace: str) -> str:
    """Its answer is the cluster's key once this many servers are present and nothing is left to migrate."""
    return f"cluster-stable:size={servers};ignore-migrations=false;namespace={namespace}"


def config_commands(namespace: str, version: tuple[int, int]) -> tuple[str, ...]:
    """The commands whose answers `settings` reads. From 8.1 on `id` is deprecated; before, `namespace` is unknown."""
    key = "namespace" if version >= (8, 1) else "id"
    contexts = ("service", "network", f"namespace;{key}={namespace}")
    return tuple(f"get-config:context={context}" for context in contexts)


def settings(answered: Sequence[str]) -> dict[str, str]:
    """Settings in force, by their names in the configuration file, without secrets and paths of the machine.

    Raises:
        ToolFailed: the server rejected a command.
    """
    sections = ("service", "network", "namespace")
    found = {
        f"{section}.{name}": value
        for section, answer in zip(sections, answered, strict=True)
        for name, value in values(answer).items()
    }
    return {name: found[name] for name in sorted(found) if not _NOT_STORED.search(name)}


def upkeep_commands(namespace: str, version: tuple[int, int]) -> tuple[str, ...]:
    """The commands whose answers `upkeep` reads."""
    return (*state_commands(namespace), config_commands(namespace, version)[-1])


def upkeep(answered: Sequence[str]) -> Upkeep:
    """For one server: how much it may still write, and how much waits to be written or defragmented.

    It stops writes if too few write blocks are free, or if too much space is used (70 % by default; 6.0 has no such
    limit): the closer limit applies. It keeps the last blocks of each device or file for defragmentation: 64 MiB from
    7.1 on (`DRV_DEFRAG_RESERVE` in drv_common.h, `swb_get` in drv_ssd.c).

    `assured_bytes` assumes that each block is only just full enough to be left alone (`ssd_block_free` queues all
    others), and that the cache of written blocks is full: none of those is defragmented (`ssd_post_write`).

    Raises:
        OutputUnreadable: a number is not there.
        ToolFailed: the server rejected a command.
    """
    trouble = state(answered[:-1]).trouble
    said, config = (values(answer) for answer in answered[1:])
    try:
        total = int(said.get("data_total_bytes") or said["device_total_bytes"])
        used = int(said.get("data_used_bytes") or said["device_used_bytes"])
        least = _first(config, "stop-writes-avail-pct", "min-avail-pct")
        most = _first(config, "stop-writes-used-pct", "max-used-pct") or 100
        block = int(config.get("storage-engine.write-block-size", _BLOCK_BYTES))
        counts = {"free_wblocks": 0, "defrag_q": 0, "write_q": 0}
        found = [(match[1], int(value)) for name, value in said.items() if (match := _QUEUES.fullmatch(name))]
        for name, count in found:
            counts[name] += count
    except (KeyError, ValueError) as error:
        raise OutputUnreadable(
            f"unexpected format of Aerospike's storage statistics, which differ from those of 6.0 to 8.1: {error}"
        ) from error
    if {name for name, _ in found} != counts.keys():
        raise OutputUnreadable("Aerospike does not report how many write blocks are free, to write and to defragment")
    kept = max(total * least // 100, sum(name == "free_wblocks" for name, _ in found) * _KEPT_BLOCKS * block)
    debt, room = (counts["defrag_q"] + counts["write_q"]) * block, total * most // 100 - used
    assured = None
    if left_alone := _first(config, "defrag-lwm-pct"):
        cached = _first(config, "post-write-cache") or _first(config, "post-write-queue") * block
        of_each = sum(name == "free_wblocks" for name, _ in found) * (_HEADER_BYTES + cached + _OPEN_BLOCKS * block)
        assured = max(0, min(total - kept - of_each - used * 100 // left_alone - debt, room))
    free = max(0, min(counts["free_wblocks"] * block - kept, room))
    return typed(Upkeep, {"free_bytes": free, "assured_bytes": assured, "debt_bytes": debt, "trouble": trouble})


def _first(config: Mapping[str, str], *names: str) -> int:
    """The first of these storage settings that exists."""
    return next((int(config[f"storage-engine.{name}"]) for name in names if f"storage-engine.{name}" in config), 0)


def _truth(said: Mapping[str, str], name: str) -> bool:
    if said[name] not in {"true", "false"}:
        raise ValueError(f"{name} is {said[name]!r}")
    return said[name] == "true"
