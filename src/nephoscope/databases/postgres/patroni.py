"""PostgreSQL as Patroni and etcd keep it on three machines or more: when the primary is gone, a standby takes over.

Each machine runs a member of etcd, and Patroni, which runs PostgreSQL there. All are the machine's own programs. What
they write goes before each start: who was the primary, and what a standby lacks, is of one trial. Patroni and whatever
it starts have process numbers of their own, so that nothing of them outlives it.
"""

import asyncio
import json
import secrets
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nephoscope.databases.base import Server
from nephoscope.databases.postgres.folder import METHOD, USER
from nephoscope.databases.postgres.remote import PORT, Programs, access, programs_on
from nephoscope.databases.postgres.settings import FOR_STANDBYS
from nephoscope.databases.programs import execute, write_secret
from nephoscope.machines.loopback import in_url
from nephoscope.machines.remote import Background, Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed
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
_GUARD_TIMEOUT_S = 120.0

ADDRESS = "SELECT host(inet_server_addr())"
"""Of the server that answers."""
OF_A_MEMBER = ("listen_addresses", "primary_slot_name", "recovery_target", "synchronous_standby_names")
"""Beginnings of the names of settings that are others once a standby has taken over."""

_LOOK = 'for each in patroni etcd; do command -v "$each" >/dev/null || echo "$each"; done'
_RUN = """
"$@" &
started=$!
trap 'pkill -TERM -P $started' TERM
while [ -d "/proc/$started" ]; do wait "$started"; done
"""
"""Has a program in a namespace end in order. Who made the namespace passes no signal on."""
_GUARD = f"""
import json, sys, time, urllib.request
address, password, until = sys.argv[1], sys.stdin.read(), time.monotonic() + {_GUARD_TIMEOUT_S}
def post(what, **body):
    data = json.dumps(body).encode()
    return urllib.request.urlopen(f"http://{{address}}/v3/auth/{{what}}", data, timeout=20).read()
while True:
    try:
        post("user/add", name="root", password=password)
        break
    except OSError as error:
        if time.monotonic() > until:
            sys.exit(f"etcd does not answer: {{error}}")
        time.sleep(0.1)
post("role/add", name="root")
post("user/grant", user="root", role="root")
post("enable")
"""
"""Gives etcd its password as soon as most members are up: whoever writes there decides what Patroni runs."""


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
    """
    programs = await asyncio.gather(*(_programs_on(machine, settings.version) for machine in cluster.database))
    group = Group(cluster, settings.patroni or Patroni(), parameters, log, tuple(programs), secrets.token_urlsafe(24))
    for machine, own in zip(cluster.database, programs, strict=True):
        await execute(machine, "rm", "-rf", _root(machine))
        await execute(machine, "mkdir", "-p", "-m", "700", _root(machine))
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


async def guard(group: Group) -> None:
    """Waits for etcd, and gives it its password.

    Raises:
        DatabaseFailed: its members do not come together.
    """
    first = group.cluster.database[0]
    argv = ["python3", "-c", _GUARD, f"{in_url(first.address)}:{_CLIENT_PORT}"]
    command = Command(argv, timeout_s=2 * _GUARD_TIMEOUT_S, stdin=group.password.encode(), pinned=False)
    completed = await first.remote.execute(command)
    if completed.exit_code != 0:
        raise DatabaseFailed(
            f"etcd did not start on {len(group.members)} machines: {completed.stderr.decode(errors='replace')[-400:]}",
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
    members = {**group.members, machine.name: await _member(group, machine)}
    return await with_keepers(replace(group, members=members), [machine])


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
    peers = [f"{one.name}=http://{in_url(one.address)}:{_PEER_PORT}" for one in group.cluster.database]
    clients, peer = f"http://{own}:{_CLIENT_PORT}", f"http://{own}:{_PEER_PORT}"
    argv = [
        *("env", "-C", root, "etcd", "--name", machine.name, "--data-dir", f"{root}/etcd", "--log-level", "warn"),
        *("--listen-client-urls", clients, "--advertise-client-urls", clients),
        *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
        *("--initial-cluster", ",".join(peers), "--initial-cluster-state", "new"),
        *("--initial-cluster-token", group.cluster.key),
    ]
    return await machine.remote.start(argv, log=_log(group, machine, "etcd"))


async def _keeper(group: Group, machine: MachineHandle) -> Background:
    root = _root(machine)
    by_root = group.programs[group.cluster.database.index(machine)].by_root
    user = ("--map-user=65534", "--map-group=65534") if by_root else ("--map-current-user",)
    apart = ("unshare", "--user", *user, "--pid", "--fork", "--kill-child", "--mount-proc", "--")
    argv = ["sh", "-c", _RUN, "patroni", *apart, "env", "-C", root, "patroni", f"{root}/patroni.yml"]
    return await machine.remote.start(argv, log=_log(group, machine, "patroni"))


def _log(group: Group, machine: MachineHandle, program: str) -> Path:
    return group.log.with_name(f"{group.log.stem}-{program}-{machine.name}{group.log.suffix}")


def _each(cluster: Cluster, port: int) -> str:
    return ",".join(f"{in_url(machine.address)}:{port}" for machine in cluster.database)


def _root(machine: MachineHandle) -> str:
    return f"{machine.data_dir}/patroni"


def configuration(group: Group, machine: MachineHandle, programs: Programs) -> Mapping[str, object]:
    """What Patroni reads on a machine, whose JSON is YAML, too; pure."""
    login = {"username": USER, "password": group.password}
    own, settings = in_url(machine.address), group.settings
    connections = max(_LEAST_CONNECTIONS, int(group.parameters["max_connections"]))
    return {
        "scope": "nephoscope",
        "name": machine.name,
        "restapi": {
            "listen": f"{own}:{_API_PORT}",
            "connect_address": f"{own}:{_API_PORT}",
            "authentication": login,
        },
        "etcd3": {
            "hosts": _each(group.cluster, _CLIENT_PORT).split(","),
            "username": "root",
            "password": group.password,
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
            "data_dir": f"{_root(machine)}/data",
            "bin_dir": programs.folder,
            "pgpass": f"{_root(machine)}/pgpass",
            "authentication": {"superuser": login, "replication": login, "rewind": login},
            "parameters": {"unix_socket_directories": ""},
            "pg_hba": access(group.cluster).splitlines(),
            "basebackup": [{"checkpoint": "fast"}],
            "remove_data_directory_on_rewind_failure": True,
            "remove_data_directory_on_diverged_timelines": True,
        },
    }
