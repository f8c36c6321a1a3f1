"""PostgreSQL as Patroni and etcd keep it on three machines or more: when the primary is gone, a standby takes over.

Each machine runs a member of etcd, and Patroni, which runs PostgreSQL there. All are the machine's own programs. What
they write goes before each start: who was the primary, and what a standby lacks, is of one trial. Patroni and whatever
it starts have process numbers of their own, so that nothing of them outlives it.

etcd and Patroni talk to nobody who does not have the key of the trial. While a server is down, anybody on its machine
may take its port, and before version 16 libpq sends the password to whoever asks for it. So Patroni comes to its own
server by a socket in a folder that is ours alone, and to the others', as standbys do, over TLS with that key.
"""

import asyncio
import json
import secrets
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nephoscope.databases import identity
from nephoscope.databases.base import Server
from nephoscope.databases.postgres.folder import METHOD, USER
from nephoscope.databases.postgres.remote import PORT, STANDBY, Programs, access, programs_on, standbys_password
from nephoscope.databases.postgres.settings import FOR_STANDBYS
from nephoscope.databases.programs import execute, write_secret
from nephoscope.machines.loopback import in_url
from nephoscope.machines.remote import Background, Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed, InputError
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from nephoscope.study.model import Patroni

PROGRAMS = ("patroni", "postgres", "etcd")
"""Of a server, as the kernel calls them."""
_API_PORT, _CLIENT_PORT, _PEER_PORT = 28_008, 22_379, 22_380
"""Of Patroni and of etcd; below the kernel's ephemeral ports, and not those of a member of the machine's own."""
_LEAST_CONNECTIONS = 25
"""Of fewer Patroni makes 100."""
_STOP_TIMEOUT_S = 600.0
_MEMBERS_TIMEOUT_S = 120.0

ADDRESS = "SELECT host(inet_server_addr())"
"""Of the server that answers."""
OF_A_MEMBER = (
    *("listen_addresses", "primary_slot_name", "recovery_target", "ssl_cert_file", "synchronous_standby_names"),
    "unix_socket_directories",
)
"""Beginnings of the names of settings that are others once a standby has taken over."""
_LONGEST_ROOT = 107 - len(f"/.s.PGSQL.{PORT}")
"""In bytes. The kernel takes no longer path of a socket."""

_LOOK = 'for each in patroni etcd; do command -v "$each" >/dev/null || echo "$each"; done'
_RUN = """
"$@" &
started=$!
trap 'pkill -TERM -P $started' TERM
while [ -d "/proc/$started" ]; do wait "$started"; done
"""
"""Has a program in a namespace end in order. Who made the namespace passes no signal on."""
_WAIT = f"""
import ssl, sys, time, urllib.request
url, root = sys.argv[1:]
until = time.monotonic() + {_MEMBERS_TIMEOUT_S}
context = ssl.create_default_context(cafile=root + "/cert.pem")
context.load_cert_chain(root + "/cert.pem", root + "/key.pem")
while True:
    try:
        urllib.request.urlopen(url + "/health", timeout=20, context=context).read()
        break
    except OSError as error:
        if time.monotonic() > until:
            sys.exit(f"etcd does not answer: {{error}}")
        time.sleep(0.1)
"""
"""Until most members of etcd are up."""


@dataclass(frozen=True)
class Group:
    """Servers that are kept together, with what they were started with."""

    cluster: Cluster
    settings: Patroni
    parameters: Mapping[str, str]
    """Of PostgreSQL."""
    log: Path
    programs: tuple[Programs, ...]
    """By database machine."""
    password: str = field(repr=False)
    members: Mapping[str, Background] = field(default_factory=dict)
    """Of etcd, by machine."""
    keepers: Mapping[str, Background] = field(default_factory=dict)
    """Patroni, by machine."""

    @property
    def servers(self) -> Sequence[Server]:
        """What the death of each machine would take away."""
        return [Server(one, _root(one), PROGRAMS, ends_on=signal.SIGTERM) for one in self.cluster.database]


async def prepared(cluster: Cluster, settings: DatabaseSettings, parameters: Mapping[str, str], log: Path) -> Group:
    """Clears each machine, and writes there what Patroni reads; starts nothing.

    Args:
        cluster: each of its database machines becomes a member.
        settings: of the study.
        parameters: of every server.
        log: those of the programs are beside it, by machine.

    Raises:
        DatabaseFailed: a machine lacks a program.
        InputError: its folder is no place for a socket.
    """
    for machine in cluster.database:
        if len(_root(machine).encode()) > _LONGEST_ROOT or "," in _root(machine):
            raise InputError(
                f"{_root(machine)} on {machine.name} is no place for the socket of PostgreSQL",
                hint=f"choose a folder whose path, with this end, has at most {_LONGEST_ROOT} bytes and no comma",
            )
    programs = await asyncio.gather(*(_programs_on(machine, settings.version) for machine in cluster.database))
    group = Group(cluster, settings.patroni or Patroni(), parameters, log, tuple(programs), secrets.token_urlsafe(24))
    for machine in cluster.database:
        await execute(machine, "rm", "-rf", _root(machine))
        await execute(machine, "mkdir", "-p", "-m", "700", _root(machine))
    trusted = identity.drawn(cluster.database)
    for machine, own in zip(cluster.database, programs, strict=True):
        await identity.give(machine, _root(machine), trusted)
        await write_secret(machine, f"{_root(machine)}/password", group.password)
        await write_secret(machine, f"{_root(machine)}/patroni.yml", json.dumps(configuration(group, machine, own)))
    return group


async def found_again(cluster: Cluster, settings: DatabaseSettings, parameters: Mapping[str, str], log: Path) -> Group:
    """The servers that `prepared` and the starts below began for the same attempt: each is begun once there.

    Raises:
        ToolFailed: they are not there.
    """
    programs = await asyncio.gather(*(_programs_on(machine, settings.version) for machine in cluster.database))
    password = await execute(cluster.database[0], "cat", f"{_root(cluster.database[0])}/password")
    group = Group(cluster, settings.patroni or Patroni(), parameters, log, tuple(programs), password)
    return await with_keepers(await with_members(group), cluster.database)


async def with_members(group: Group) -> Group:
    """Starts etcd on every machine."""
    members = {machine.name: await _member(group, machine) for machine in group.cluster.database}
    return replace(group, members=members)


async def until_members_answer(machine: MachineHandle) -> None:
    """Waits for etcd on a machine: Patroni ends for good when it is started and nobody answers it.

    Raises:
        DatabaseFailed: its members do not come together.
    """
    argv = ["python3", "-c", _WAIT, f"https://{in_url(machine.address)}:{_CLIENT_PORT}", _root(machine)]
    completed = await machine.remote.execute(Command(argv, timeout_s=2 * _MEMBERS_TIMEOUT_S, pinned=False))
    if completed.exit_code != 0:
        raise DatabaseFailed(
            f"etcd does not answer on {machine.name}: {completed.stderr.decode(errors='replace')[-400:]}",
            hint="check its logs, which are next to Patroni's; do the machines reach each other?",
        )


async def with_keepers(group: Group, machines: Sequence[MachineHandle]) -> Group:
    """Starts Patroni on these machines. The first machine of all makes the data, so let it be up before the others."""
    keepers = {machine.name: await _keeper(group, machine) for machine in machines}
    return replace(group, keepers={**group.keepers, **keepers})


async def again(group: Group, machine: MachineHandle) -> Group:
    """Starts everything on a machine on which it has ended, with what it had on its disk."""
    for ended in (group.keepers[machine.name], group.members[machine.name]):
        await ended.stop(signal=signal.SIGTERM, timeout_s=_STOP_TIMEOUT_S)
    # Process numbers begin anew: that of a killed server is soon somebody's, whom the next one would take for it.
    await execute(machine, "rm", "-f", f"{_root(machine)}/data/postmaster.pid")
    back = replace(group, members={**group.members, machine.name: await _member(group, machine)})
    await until_members_answer(machine)
    return await with_keepers(back, [machine])


async def stop(group: Group) -> bool:
    """Stops every Patroni with its server, then etcd; True when nothing had to be killed."""
    in_order = await _stopped(group.keepers.values())
    return await _stopped(group.members.values()) and in_order


async def _stopped(jobs: Iterable[Background]) -> bool:
    ends = await asyncio.gather(
        *(job.stop(signal=signal.SIGTERM, timeout_s=_STOP_TIMEOUT_S) for job in jobs), return_exceptions=True
    )
    for lost in ends:
        if isinstance(lost, BaseException):  # the others are stopped all the same
            raise lost
    return None not in ends


async def _programs_on(machine: MachineHandle, version: str | None) -> Programs:
    """PostgreSQL of the machine's packages, as Patroni and etcd are."""
    missing = (await execute(machine, "sh", "-c", _LOOK)).split()
    if missing:
        raise DatabaseFailed(
            f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} not installed on {machine.name}",
            hint="apt-get install patroni etcd-server on that machine",
        )
    return await programs_on(machine, "", version)


async def _member(group: Group, machine: MachineHandle) -> Background:
    own, root = in_url(machine.address), _root(machine)
    peers = [f"{one.name}=https://{in_url(one.address)}:{_PEER_PORT}" for one in group.cluster.database]
    clients, peer = f"https://{own}:{_CLIENT_PORT}", f"https://{own}:{_PEER_PORT}"
    trusted = [
        word
        for of in ("", "peer-")
        for word in (
            *(f"--{of}client-cert-auth", f"--{of}trusted-ca-file", f"{root}/cert.pem"),
            *(f"--{of}cert-file", f"{root}/cert.pem", f"--{of}key-file", f"{root}/key.pem"),
        )
    ]
    argv = [
        *("env", "-C", root, "etcd", "--name", machine.name, "--data-dir", f"{root}/etcd", "--log-level", "warn"),
        *("--listen-client-urls", clients, "--advertise-client-urls", clients),
        *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
        *("--initial-cluster", ",".join(peers), "--initial-cluster-state", "new"),
        *("--initial-cluster-token", group.cluster.key, *trusted),
    ]
    return await machine.remote.start(argv, log=_log(group, machine, "etcd"))


async def _keeper(group: Group, machine: MachineHandle) -> Background:
    root = _root(machine)
    by_root = group.programs[group.cluster.database.index(machine)].by_root
    user = ("--map-user=65534", "--map-group=65534") if by_root else ("--map-current-user",)
    apart = ("unshare", "--user", *user, "--pid", "--fork", "--kill-child", "--mount-proc", "--")
    inside = ("env", "-C", root, f"PGREQUIREAUTH={METHOD}", "patroni", f"{root}/patroni.yml")
    argv = ["sh", "-c", _RUN, "patroni", *apart, *inside]
    return await machine.remote.start(argv, log=_log(group, machine, "patroni"))


def _log(group: Group, machine: MachineHandle, program: str) -> Path:
    return group.log.with_name(f"{group.log.stem}-{program}-{machine.name}{group.log.suffix}")


def _root(machine: MachineHandle) -> str:
    return f"{machine.data_dir}/patroni"


def configuration(group: Group, machine: MachineHandle, programs: Programs) -> Mapping[str, object]:
    """What Patroni reads on a machine, whose JSON is YAML, too; pure."""
    own, settings, root = in_url(machine.address), group.settings, _root(machine)
    certificate, key = f"{root}/cert.pem", f"{root}/key.pem"
    login = {"username": USER, "password": group.password}
    known = {"sslmode": "verify-ca", "sslrootcert": certificate}
    standby = {"username": STANDBY, "password": standbys_password(group.password)}
    connections = max(_LEAST_CONNECTIONS, int(group.parameters["max_connections"]))
    return {
        "scope": "nephoscope",
        "name": machine.name,
        "restapi": {
            "listen": f"{own}:{_API_PORT}",
            "connect_address": f"{own}:{_API_PORT}",
            "authentication": login,
            "verify_client": "required",
            "cafile": certificate,
            "certfile": certificate,
            "keyfile": key,
        },
        "ctl": {"cacert": certificate, "certfile": certificate, "keyfile": key},
        "etcd3": {
            "hosts": [f"{in_url(one.address)}:{_CLIENT_PORT}" for one in group.cluster.database],
            "protocol": "https",
            "cacert": certificate,
            "cert": certificate,
            "key": key,
        },
        "bootstrap": {
            "dcs": {
                "ttl": settings.ttl,
                "loop_wait": settings.loop_wait,
                "retry_timeout": settings.retry_timeout,
                "synchronous_mode": settings.synchronous_mode,
                "postgresql": {
                    "use_pg_rewind": True,
                    "use_slots": True,
                    "parameters": {**FOR_STANDBYS, **group.parameters, "max_connections": str(connections)},
                },
            },
            "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, {"auth": METHOD}],
        },
        "postgresql": {
            "listen": f"{own}:{PORT}",
            "connect_address": f"{own}:{PORT}",
            "data_dir": f"{root}/data",
            "bin_dir": programs.folder,
            "pgpass": f"{root}/pgpass",
            "authentication": {
                "superuser": {**login, **known},
                "replication": {**standby, **known},
                "rewind": {**login, **known},
            },
            "parameters": {
                "unix_socket_directories": root,
                "ssl": "on",
                "ssl_cert_file": certificate,
                "ssl_key_file": key,
            },
            "use_unix_socket": True,
            "use_unix_socket_repl": True,
            "pg_hba": [
                *(f"local {what} {user} {METHOD}" for what, user in (("all", USER), ("replication", STANDBY))),
                *access(group.cluster).splitlines(),
            ],
            "basebackup": [{"checkpoint": "fast"}],
            "remove_data_directory_on_rewind_failure": True,
            "remove_data_directory_on_diverged_timelines": True,
        },
    }
