"""Aerospike's configuration file and what its versions differ in, by the documentation of 6.0 to 8.1; pure."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nephoscope.model.errors import DatabaseFailed, InputError
from nephoscope.model.units import KIB
from nephoscope.study.aerospike import Aerospike
from nephoscope.study.model import Database as DatabaseSettings

PORT, FABRIC_PORT, HEARTBEAT_PORT, ADMIN_PORT = 22_300, 22_301, 22_302, 22_303
"""Not 3000 to 3002: the machine's own server must not be disturbed. Below the kernel's ephemeral ports."""
OLDEST, NEWEST = (6, 0), (8, 1)
"""Versions whose configuration is known."""
COMMUNITY_SERVERS = 8
"""The largest cluster of the Community Edition."""
_MIN_CONNECTIONS = 1024
_MORE_CONNECTIONS = 512
"""Connections besides the load generator's: from other servers and for inspection."""
_SAID = re.compile(r"Aerospike (\w+) Edition build ((\d+)\.(\d+)(\.\d+)*\S*)")

_COMMIT_LEVEL = "namespace.write-commit-level-override"

Tree = dict[str, "str | list[str] | Tree"]


@dataclass(frozen=True)
class Build:
    """Edition and version of a server's program."""

    edition: str
    text: str
    version: tuple[int, int]

    @property
    def community(self) -> bool:
        """True if features of the Enterprise Edition are missing."""
        return self.edition == "Community"

    def __str__(self) -> str:
        return f"Aerospike {self.edition} {self.text}"


def build_of(said: str) -> Build:
    """From `asd --version`.

    Raises:
        DatabaseFailed: it is no version, or none that is known.
    """
    match = _SAID.search(said)
    if match is None:
        raise DatabaseFailed(
            f"unexpected format: `asd --version` printed {said.strip()[:100]!r}, which is not a version of Aerospike"
        )
    build = Build(match[1], match[2], (int(match[3]), int(match[4])))
    if not OLDEST <= build.version <= NEWEST:
        known = " to ".join(".".join(map(str, version)) for version in (OLDEST, NEWEST))
        raise DatabaseFailed(
            f"{build} is not supported: its configuration file may have other keys",
            hint=f"set `database.binary` to a version from {known}",
        )
    return build


def require_fit(build: Build, own: Aerospike, servers: int) -> None:
    """Finds out what a program cannot do before a server fails on it.

    Raises:
        InputError: it is asked for.
    """
    if build.community and own.commit_to_device:
        raise InputError(
            f"`aerospike.commit_to_device` needs the Enterprise Edition, but the program is {build}",
            hint="remove it: this edition offers only the copies on other machines and a flush every second",
        )
    if build.version == (7, 0) and own.memory_gib is not None:
        raise InputError(
            f"{build} has no limit for a namespace's index: neither `memory-size` nor `indexes-memory-budget`",
            hint="remove `aerospike.memory_gib`, or use a program of version 6, or of 7.1 or later",
        )
    if build.community and servers > COMMUNITY_SERVERS:
        raise InputError(f"{build} supports clusters of at most {COMMUNITY_SERVERS} servers, not {servers}")


@dataclass(frozen=True)
class ServerLayout:
    """The layout of one server: its machine and where its data are."""

    root: str
    address: str
    number: int
    """From 1, in the order of the machines: its id, so that it has the same partitions after each start."""
    memory_bytes: int
    device: str | None
    file_bytes: int
    """Without a device."""
    rack: int | None = None
    """From 1, a number for each zone; None: all servers are in one zone."""

    @property
    def config(self) -> str:
        """The file that is written."""
        return f"{self.root}/aerospike.conf"

    @property
    def file(self) -> str:
        """The namespace's data, without a device."""
        return f"{self.root}/data/namespace.dat"

    @property
    def fixtures(self) -> str:
        """Folder of sealed data sets."""
        return f"{self.root}/fixtures"


def namespace_of(build: Build, layout: ServerLayout, servers: int, settings: DatabaseSettings) -> Tree:
    """The namespace's part of the file."""
    own = own_of(settings)
    storage: Tree = {"file": layout.file, "filesize": str(layout.file_bytes), "direct-files": "true"}
    if layout.device is not None:
        storage = {"device": layout.device}
    storage["flush-size" if build.version >= (7, 1) else "write-block-size"] = str(own.write_block_kib * KIB)
    if own.commit_to_device:
        storage["commit-to-device"] = "true"
    memory: Tree = {}
    if build.version < (7, 0):
        memory = {"memory-size": str(layout.memory_bytes)}
    elif build.version >= (7, 1):
        memory = {"indexes-memory-budget": str(layout.memory_bytes)}
    # The Community Edition rejects a file with a rack in it.
    rack: Tree = {"rack-id": str(layout.rack)} if layout.rack is not None and not build.community else {}
    copies = {"replication-factor": str(min(own.replication_factor, servers))}
    return {**copies, **rack, **memory, "storage-engine device": storage}


def configuration(build: Build, layout: ServerLayout, addresses: Sequence[str], settings: DatabaseSettings) -> str:
    """The file of one server of a cluster with these addresses, with the study's settings in their places.

    Raises:
        InputError: the data folder's name has a space, and the file's format has no quotes.
    """
    if re.search(r"[\s#{}]", layout.root):
        raise InputError(f"Aerospike cannot use the data folder {layout.root!r}: its name contains a space or a brace")
    heartbeat: Tree = {
        "mode": "mesh",
        "port": str(HEARTBEAT_PORT),
        "mesh-seed-address-port": [f"{address} {HEARTBEAT_PORT}" for address in addresses],
        "interval": "150",
        "timeout": "10",
    }
    admin: Tree = {}
    if build.version < (8, 1):  # later ones take fabric's
        heartbeat["address"] = layout.address
    else:  # later ones warn at every start when they have none
        admin = {"admin": {"address": layout.address, "port": str(ADMIN_PORT), "disable-localhost": "true"}}
    tree: Tree = {
        "service": {
            "cluster-name": "nephoscope",
            "node-id": f"a{layout.number:x}",
            "min-cluster-size": str(len(addresses)),  # a part of it must not start to move partitions
            "proto-fd-max": str(max(_MIN_CONNECTIONS, settings.connections + _MORE_CONNECTIONS)),
            "work-directory": layout.root,
        },
        "logging": {"console": {"context": "any info"}},
        "mod-lua": {"user-path": f"{layout.root}/lua"},
        "network": {
            "service": {"address": layout.address, "port": str(PORT), "disable-localhost": "true"},
            "fabric": {"address": layout.address, "port": str(FABRIC_PORT)},
            "heartbeat": heartbeat,
            **admin,
        },
        "namespace": namespace_of(build, layout, len(addresses), settings),
    }
    for name, value in settings.settings.items():
        _put(tree, name.replace("namespace.storage-engine.", "namespace.storage-engine device."), value)
    tree[f"namespace {own_of(settings).namespace}"] = tree.pop("namespace")
    return "\n".join(_lines(tree, 0)) + "\n"


def identity(build: Build, layouts: Sequence[ServerLayout], settings: DatabaseSettings) -> str:
    """An id shared by clusters whose data files are interchangeable: connections and networks do not enter."""
    own = {name: value for name, value in settings.settings.items() if name.startswith("namespace.")}
    namespaces = [namespace_of(build, layout, len(layouts), settings) for layout in layouts]
    said = [str(build), own_of(settings).namespace, [layout.address for layout in layouts], namespaces, own]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]


def own_of(settings: DatabaseSettings) -> Aerospike:
    """The study's table `aerospike`, or its defaults."""
    return settings.aerospike or Aerospike()


def dsn(addresses: Sequence[str], namespace: str) -> str:
    """Addresses of all servers: any of them knows the others."""
    hosts = (f"[{address}]:{PORT}" if ":" in address else f"{address}:{PORT}" for address in addresses)
    return f"aerospike://{','.join(hosts)}/{namespace}"


def durability(settings: DatabaseSettings, servers: int) -> str:
    """When a write is acknowledged, as a stated condition of the trial.

    The load generator asks for every copy, unless the namespace overrides it.
    """
    own = own_of(settings)
    copies = min(own.replication_factor, servers)
    only_master = settings.settings.get(_COMMIT_LEVEL) == "master"
    said = f"{copies} of {copies} copies are"
    if copies == 1:
        said = "its only copy is"
    elif only_master:
        said = f"the master copy of {copies} copies is"
    if own.commit_to_device:
        return f"acknowledged when {said} on {'its device' if copies == 1 or only_master else 'their devices'}"
    return f"acknowledged when {said} in memory; flushed by each server within flush-max-ms"


def _put(tree: Tree, name: str, value: str) -> None:
    *sections, key = name.split(".")
    for section in sections:
        inner = tree.setdefault(section, {})
        if not isinstance(inner, dict):
            raise InputError(f"the setting {name} does not exist in Aerospike's configuration file")
        tree = inner
    tree[key] = value


def _lines(tree: Mapping[str, "str | list[str] | Tree"], depth: int) -> list[str]:
    """A value is the words after its key; a table is in braces; a repeatable key has one line per value."""
    indent, lines = "\t" * depth, []
    for key, value in tree.items():
        if isinstance(value, dict):
            lines += [f"{indent}{key} {{", *_lines(value, depth + 1), f"{indent}}}"]
        else:
            lines += [f"{indent}{key} {one}" for one in ([value] if isinstance(value, str) else value)]
    return lines
