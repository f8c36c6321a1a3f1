"""A cluster of Galera: several servers of MariaDB, each with all data, of which each takes writes.

The servers begin on equal files. So a server that joins needs nothing copied: it is told the cluster's position as its
own. Where a position does not fit, the server asks for a copy, which nobody has a program for, and ends. Who joins gets
everything and may write, so servers talk only to who has the key of the trial.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from nephoscope.databases import identity
from nephoscope.databases.asking import Rows, typed
from nephoscope.databases.programs import write_secret
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.loopback import free_port, in_url
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed, OutputUnreadable
from nephoscope.model.units import MIB
from nephoscope.providers.base import Cluster

LEAST = 3
"""Servers, so that most are left without any one."""
CACHE_BYTES = 128 * MIB
"""`gcache.size`: of a file with the last writes, for servers that were away shortly."""
_MESSAGES_PORT = 23_307
"""On other machines: not 4567, as their own cluster must not be joined."""
_LOOK_TIMEOUT_S = 30.0
LIBRARIES = (
    *("/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib/libgalera_smm.so"),
    "/usr/lib64/galera/libgalera_smm.so",
)
"""Where packages put Galera."""
_FIRST = 'for file; do [ ! -e "$file" ] || { echo "$file"; break; }; done'
BEGINS = "--wsrep-new-cluster"
"""Has the first server begin one."""
ON_EACH_SERVER = "SET SESSION wsrep_on = OFF;\n"
"""Before statements that each server executes for itself when it starts."""
OF_A_CLUSTER = ("grastate.dat", "gvwstate.dat", "galera.cache")
"""Files in a server's data folder that know the cluster that it was in."""
_STATE = """\
# GALERA saved state
version: 2.1
uuid:    {cluster}
seqno:   {position}
safe_to_bootstrap: 0
"""
BY_DEFAULT: Mapping[str, str] = MappingProxyType(
    {
        "binlog_format": "ROW",
        "innodb_autoinc_lock_mode": "2",
        # A read sees every commit that was acknowledged before, by whichever server, as in every other database here.
        "wsrep_sync_wait": "1",
    }
)
_REPORTED = (
    *("cluster_size", "cluster_state_uuid", "cluster_status", "incoming_addresses", "last_committed"),
    *("local_state_comment", "ready"),
)
STATUS = "SHOW GLOBAL STATUS WHERE Variable_name IN ({})".format(", ".join(f"'wsrep_{name}'" for name in _REPORTED))


@dataclass(frozen=True)
class Member:
    """A server's place in its cluster."""

    machine: MachineHandle
    provider: str
    """The library of Galera there."""
    port: int
    """Of messages; the next one takes what a server missed that was away shortly."""

    @property
    def address(self) -> str:
        """Where the others send messages."""
        return f"{in_url(self.machine.address)}:{self.port}"


async def members(cluster: Cluster) -> list[Member]:
    """One on each database machine.

    Raises:
        DatabaseFailed: a machine has no Galera.
    """
    found = []
    for machine in cluster.database:
        argv = ["sh", "-c", _FIRST, "first", *LIBRARIES]
        looked = await machine.remote.execute(Command(argv, timeout_s=_LOOK_TIMEOUT_S, pinned=False))
        provider = looked.require().stdout.decode(errors="replace").strip()
        if not provider:
            raise DatabaseFailed(f"no Galera was found on {machine.name}", hint="apt-get install galera-4")
        local = isinstance(machine.remote, LocalRemote)
        found.append(Member(machine, provider, free_port(machine.address) if local else _MESSAGES_PORT))
    return found


def options(all_members: Sequence[Member], member: Member, clients_come_to: str) -> dict[str, str]:
    """Settings of one server, which a study cannot set; its identity is beside its data folder, where it works."""
    address, certificate = in_url(member.machine.address), f"../{identity.CERTIFICATE}"
    provider = {
        "gmcast.listen_addr": f"ssl://{member.address}",
        "ist.recv_addr": f"ssl://{address}:{member.port + 1}",
        "socket.ssl": "yes",
        "socket.ssl_ca": certificate,
        "socket.ssl_cert": certificate,
        "socket.ssl_key": f"../{identity.KEY}",
        "gcache.size": str(CACHE_BYTES),
    }
    return {
        "wsrep_on": "ON",
        "wsrep_provider": member.provider,
        "wsrep_provider_options": ";".join(f"{name}={value}" for name, value in provider.items()),
        "wsrep_sst_method": "none",  # no program has this name: a copy by `rsync`, the default, would not be encrypted
        "wsrep_cluster_name": "nephoscope",
        "wsrep_cluster_address": "gcomm://" + ",".join(one.address for one in all_members),
        "wsrep_node_name": member.machine.name,
        "wsrep_node_address": member.address,
        "wsrep_node_incoming_address": clients_come_to,
        "loose_wsrep_allowlist": ",".join(dict.fromkeys(one.machine.address for one in all_members)),
    }


@dataclass(frozen=True)
class Seen:
    """A cluster as one of its servers sees it."""

    cluster: str
    """Its number, drawn when it began."""
    position: int
    """Of the last write, or change of members, that is applied here."""
    servers: int
    clients_come_to: frozenset[str]
    """Addresses of its servers."""
    is_synced: bool
    """Whether this server serves clients, and has applied what it got."""
    said: str

    def has_all(self, addresses: Sequence[str]) -> bool:
        """Whether these servers are in it, and no other one."""
        return self.is_synced and self.servers == len(addresses) and self.clients_come_to == {*addresses}


def seen(rows: Rows) -> Seen:
    """Of the answer to `STATUS`.

    Raises:
        OutputUnreadable: it is no such answer.
    """
    found = {name.lower().removeprefix("wsrep_"): value for name, value in typed(list[tuple[str, str]], rows)}
    if missing := [name for name in _REPORTED if name not in found]:
        raise OutputUnreadable(f"the server does not report wsrep_{missing[0]}")
    servers, position = typed(tuple[int, int], (found["cluster_size"], found["last_committed"]))
    state, status, ready = found["local_state_comment"], found["cluster_status"], found["ready"]
    return Seen(
        cluster=found["cluster_state_uuid"],
        position=position,
        servers=servers,
        clients_come_to=frozenset(one for one in found["incoming_addresses"].split(",") if one),
        is_synced=(state, status, ready) == ("Synced", "Primary", "ON"),
        said=f"{state}, {status}, one of {servers}",
    )


async def write_state(machine: MachineHandle, data: str, joined: Seen) -> None:
    """Has the next start of a server join a cluster without a copy, as its files are what the cluster has."""
    await write_secret(
        machine, f"{data}/{OF_A_CLUSTER[0]}", _STATE.format(cluster=joined.cluster, position=joined.position)
    )
