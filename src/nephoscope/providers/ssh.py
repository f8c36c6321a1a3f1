"""Hosts that the user lists. Nothing is created; a lease on each keeps two studies from sharing one.

A lease is a folder on the host, made by an atomic `mkdir`, with its owner inside. It is renewed while the cluster is
held, and whoever finds it not renewed for `LEASE_S` may take it: its holder died.
"""

import asyncio
import ipaddress
import socket
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nephoscope.errors import EnvironmentProblem, InputError, MachineInUse, NephoscopeError
from nephoscope.machines.remote import Completed, MachineHandle
from nephoscope.machines.ssh import SshRemote
from nephoscope.machines.ssh_link import PATIENCE_S, SshAddress
from nephoscope.providers.base import Cluster, ClusterRequest, cluster_of
from nephoscope.study.model import Machine
from nephoscope.study.places import Ssh

LEASE_S = 300
RENEW_S = 60
"""One look at a host a minute: some 10 ms of one of its CPUs."""
_TIMEOUT_S = 30.0

_TAKE = """
root=$1 owner=$2 lease_s=$3
umask 077
mkdir -p "$root" || exit 2
[ -O "$root" ] || { echo "$root belongs to somebody else" >&2; exit 2; }
if ! mkdir "$root/lease" 2>/dev/null; then
    held=$(cat "$root/lease/owner" 2>/dev/null)
    age=$(( $(date +%s) - $(stat -c %Y "$root/lease/owner" 2>/dev/null || date +%s) ))
    if [ "$held" != "$owner" ]; then
        [ $age -gt $lease_s ] || { echo "${held:-somebody}, who said so $age s ago"; exit 1; }
        mv "$root/lease" "$root/lease.$$" && rm -rf "$root/lease.$$" && mkdir "$root/lease" || exit 1
    fi
fi
printf %s "$owner" >"$root/lease/owner" && mkdir -p "$root/data"
"""

_GIVE_BACK = '[ "$(cat "$1/lease/owner" 2>/dev/null)" != "$2" ] || rm -rf "$1/lease"'
_RENEW = '[ "$(cat "$1/lease/owner" 2>/dev/null)" = "$2" ] && touch "$1/lease/owner"'


@dataclass(frozen=True)
class Host:
    """A host of a study, before it was met."""

    name: str
    ssh: SshAddress
    address: str | None
    """IP address by which the other machines reach it; None: that of its name."""


@dataclass
class _Held:
    """A cluster that we hold."""

    cluster: Cluster
    folder: str
    owner: str
    renewing: asyncio.Task[None]


class SshProvider:
    """See the module's text. `carried` are programs that are taken to the hosts; tools must be there.

    A host may stay away for `patience_s` seconds before it counts as lost.
    """

    name = "ssh"
    at_once = 1
    outlives_controller = True

    def __init__(self, carried: Sequence[str], *, patience_s: float = PATIENCE_S) -> None:
        self._carried = tuple(carried)
        self._patience_s = patience_s
        self._held: dict[str, _Held] = {}

    async def create(self, request: ClusterRequest) -> Cluster:
        """See `Provider.create`: leases the hosts, and ends what an earlier attempt left running there.

        Raises:
            InputError: the inventory is wrong, or a host stands twice.
            MachineInUse: another study holds one of them.
            MachineUnreachable, AccessDenied, HostKeyRefused: one cannot be entered.
        """
        if request.key in self._held:
            return self._held[request.key].cluster
        configuration = request.configuration
        ssh = configuration.ssh or Ssh()
        database, load = configuration.database_machine, configuration.load_machine
        roles = [(host, database) for host in database.hosts or ()]
        if load is not None:
            roles += [(host, load) for host in load.hosts or ()]
        hosts = hosts_of([name for name, _ in roles], ssh)
        session = f"{request.trial}-{request.attempt}" if request.trial else ""
        ours = f"{ssh.folder}/ours"
        remotes = [
            SshRemote(
                host.name,
                host.ssh,
                folder=ours,
                carried=self._carried,
                session=session,
                patience_s=self._patience_s,
            )
            for host in hosts
        ]
        leased: list[SshRemote] = []
        try:
            for remote in remotes:
                await _take(remote, ssh.folder, request.study)
                leased.append(remote)
                await remote.end_all(keep=session)
            machines = [
                await _machine(host, remote, asked, ssh.folder)
                for host, remote, (_, asked) in zip(hosts, remotes, roles, strict=True)
            ]
        except BaseException:
            await _give_back(leased, ssh.folder, request.study)
            raise
        cluster = cluster_of(request.key, machines, len(database.hosts or ()))
        renewing = asyncio.create_task(_renew(remotes, ssh.folder, request.study))
        self._held[request.key] = _Held(cluster, ssh.folder, request.study, renewing)
        return cluster

    async def list(self, study: str) -> list[str]:
        """See `Provider.list`: those of this controller; leases of a dead one end by themselves."""
        return [key for key in self._held if key.startswith(f"{study}/")]

    async def delete(self, key: str) -> None:
        """See `Provider.delete`: what runs there is ended, data folders stay for the next trial."""
        held = self._held.pop(key, None)
        if held is None:
            return
        held.renewing.cancel()
        remotes = [machine.remote for machine in held.cluster.machines if isinstance(machine.remote, SshRemote)]
        for remote in remotes:
            await remote.end_all()
        await _give_back(remotes, held.folder, held.owner)


def hosts_of(names: Sequence[str], ssh: Ssh) -> list[Host]:
    """Hosts by what the study says and the inventory knows.

    Raises:
        InputError: the inventory cannot be read, or a host stands twice.
    """
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"host {twice[0]!r} stands twice", hint="leave out load_machine to measure on one machine")
    known = _inventory(ssh.inventory) if ssh.inventory else {}
    jump = parse_destination(ssh.jump, ssh, None) if ssh.jump else None
    hosts = []
    for name in names:
        entry = known.get(name, name)
        found = {"destination": entry} if isinstance(entry, str) else entry
        destination = str(found.get("destination", name))
        address = found.get("address")
        hosts.append(
            Host(
                name=name.rpartition("@")[2].replace(":", "-"),
                ssh=parse_destination(destination, ssh, jump, host_key=ssh.host_keys.get(name)),
                address=None if address is None else str(address),
            )
        )
    return hosts


def parse_destination(text: str, ssh: Ssh, jump: SshAddress | None, host_key: str | None = None) -> SshAddress:
    """`user@host:port`, of which only the host must be there.

    Raises:
        InputError: it is something else.
    """
    user, _, place = text.rpartition("@")
    host, colon, port = place.rpartition(":") if place.count(":") == 1 else (place, "", "")
    if not host or (colon and not port.isdigit()):
        raise InputError(f"{text!r} is no host", hint="write user@host:port; user and port may be left out")
    key_file = Path(ssh.key_file).expanduser() if ssh.key_file else None
    return SshAddress(host, int(port) if port else None, user or None, key_file, host_key, jump)


def _inventory(file: str) -> Mapping[str, Any]:
    try:
        hosts = tomllib.loads(Path(file).expanduser().read_text(encoding="utf-8")).get("hosts")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the inventory {file}: {error}") from error
    if not isinstance(hosts, dict) or not all(isinstance(entry, str | dict) for entry in hosts.values()):
        raise InputError(f"{file} holds no table [hosts] of names and destinations", hint='db1 = "me@10.0.0.1"')
    return hosts


async def _take(remote: SshRemote, folder: str, owner: str) -> None:
    said = await _sh(remote, _TAKE, folder, owner, str(LEASE_S))
    if said.exit_code == 1:
        held = said.stdout.decode(errors="replace").strip()
        raise MachineInUse(
            f"{remote.name} is leased by {held or 'somebody else'}",
            hint=f"wait for that study, or remove {folder}/lease there if you know that it is dead",
        )
    if said.exit_code != 0:
        why = said.stderr.decode(errors="replace").strip()[-300:]
        raise EnvironmentProblem(
            f"{folder} on {remote.name} cannot be used: {why}", hint="name another folder in `ssh.folder` of the study"
        )


async def _give_back(remotes: Sequence[SshRemote], folder: str, owner: str) -> None:
    for remote in remotes:
        with suppress(NephoscopeError):  # a lease that is not renewed ends by itself
            await _sh(remote, _GIVE_BACK, folder, owner)
        await remote.close()


async def _renew(remotes: Sequence[SshRemote], folder: str, owner: str) -> None:
    while True:
        await asyncio.sleep(RENEW_S)
        for remote in remotes:
            with suppress(NephoscopeError):
                await _sh(remote, _RENEW, folder, owner)


async def _machine(host: Host, remote: SshRemote, asked: Machine, folder: str) -> MachineHandle:
    look = await remote.look()
    if asked.cpus != "all" and asked.cpus > look.cpus:
        raise EnvironmentProblem(
            f"{host.name} lets us use {look.cpus} CPUs, and {asked.cpus} are asked for", hint="lower `cpus`"
        )
    remote.cpus = tuple(range(look.cpus if asked.cpus == "all" else asked.cpus))
    return MachineHandle(host.name, remote, await _address(host), remote.cpus, f"{folder}/data")


async def _address(host: Host) -> str:
    """An IP address: the generator that is taken along resolves no names."""
    wanted = host.address or host.ssh.host
    with suppress(ValueError):
        return str(ipaddress.ip_address(wanted))
    try:
        found = await asyncio.get_running_loop().getaddrinfo(wanted, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise EnvironmentProblem(
            f"the IP address of {host.name} is not known: {error}",
            hint='give it in the inventory: db1 = { destination = "db1", address = "10.0.0.1" }',
        ) from error
    return str(found[0][4][0])


async def _sh(remote: SshRemote, script: str, *arguments: str) -> Completed:
    argv = ["sh", "-c", script, "lease", *arguments]
    return await remote.execute(argv, timeout_s=_TIMEOUT_S, pinned=False)
