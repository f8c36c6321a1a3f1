"""Hosts that the user lists. Nothing is created; a lease on each keeps two studies from sharing one.

A lease is a folder on the host with its owner and the cluster's key inside; whoever takes, renews or releases it locks
the folder around it. It is renewed while the cluster is held. If it was not renewed for `LEASE_S`, its holder died or
cannot reach the host, and anybody may take it: who finds that another study has it ends the attempt. Through it the
next controller of the same study finds what runs there. The clusters of one controller do not share a host either: a
host that has two names in the study shows by the cluster in its lease.
"""

import asyncio
import ipaddress
import secrets
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from nephoscope.machines.doctor import Finding, Health, HostFindings
from nephoscope.machines.loopback import V4
from nephoscope.machines.remote import MachineHandle, Tool
from nephoscope.machines.ssh.address import SshAddress, split_destination
from nephoscope.machines.ssh.link import PATIENCE_S
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.machines.waiting import Clock
from nephoscope.model.bounded_toml import load_toml
from nephoscope.model.errors import (
    EnvironmentProblem,
    InputError,
    MachineInUse,
    MachineLost,
    MachineUnreachable,
    NephoscopeError,
)
from nephoscope.model.words import counted
from nephoscope.providers.base import Cluster, ClusterRequest, FindsByPlan, Provider, Wanted, cluster_of, study_of
from nephoscope.providers.ssh_examination import MINE, SHARED, HostNeeds, examined
from nephoscope.study.machines import region_of
from nephoscope.study.model import Configuration, Machine
from nephoscope.study.provisioning import Ssh
from nephoscope.study.rules import is_host

LEASE_S = 300
RENEW_S = 60
"""One look at a host a minute: some 10 ms of one of its CPUs."""
_TIMEOUT_S = 30.0
_EXAMINED_AT_ONCE = 8
"""sshd drops logins beyond ten that have not ended (`MaxStartups`), also those by way of a jump host."""

_LOCK = 'umask 077\nexec 9>>"$1/lock" && flock 9 || exit 2\n'
"""On a file that nobody else can open: who may read one can lock it."""
_TAKE = (
    MINE
    + """
umask 077
exec 2>&1
mkdir -p "$1" || exit 2
mine "$1" || { echo "$1 """
    + SHARED
    + """"; exit 2; }
"""
    + _LOCK
    + """
root=$1 owner=$2 lease_s=$3 cluster=$4
shift 4
if ! mkdir "$root/lease" 2>/dev/null; then
    held=$(cat "$root/lease/owner" 2>/dev/null)
    since=$(stat -c %Y "$root/lease/owner" 2>/dev/null || stat -c %Y "$root/lease" 2>/dev/null || date +%s)
    age=$(( $(date +%s) - since ))
    [ $age -ge 0 ] || { touch "$root/lease/owner"; age=0; }
    if [ "$held" != "$owner" ]; then
        [ $age -gt $lease_s ] || { echo "held by ${held:-somebody}, last heard from $age s ago"; exit 1; }
    else
        there=$(cat "$root/lease/cluster" 2>/dev/null)
        for other in "$@"; do [ "$other" != "$there" ] || { echo "used by $other"; exit 1; }; done
    fi
fi
printf %s "$cluster" >"$root/lease/cluster" && printf %s "$owner" >"$root/lease/owner" || exit 2
mkdir -p "$root/data" && echo taken
"""
)
"""A lease of the future, from before the host's clock was set back, counts from now on: who holds it renews it."""
_GIVE_BACK = _LOCK + '[ "$(cat "$1/lease/owner" 2>/dev/null)" != "$2" ] || rm -rf "$1/lease"'
_HELD = (
    MINE + '! mine "$1" || [ "$(cat "$1/lease/owner" 2>/dev/null)" != "$2" ] || { echo held; cat "$1/lease/cluster"; }'
)
_OTHERS = (
    MINE
    + """
[ ! -d "$1" ] || mine "$1" || { echo others; exit; }
[ "$(cat "$1/lease/owner" 2>/dev/null || echo "$2")" = "$2" ] || echo others
"""
)
_RENEW = (
    _LOCK
    + """
case $(cat "$1/lease/owner" 2>/dev/null) in
    "$2") touch "$1/lease/owner" ;;
    ?*) echo lost ;;
esac
"""
)


@dataclass(frozen=True)
class Host:
    """A host of a study, before it was met."""

    name: str
    ssh: SshAddress
    address: str | None
    """IP address by which the other machines reach it; None: that of its name."""


@dataclass
class _Held:
    """Hosts that we lease: leased by this controller, or found from a dead one."""

    remotes: list[SshRemote]
    folder: str
    owner: str
    cluster: Cluster | None = None
    """None: found, but not yet resumed."""
    renewing: asyncio.Task[None] | None = None


class SshProvider(Provider, FindsByPlan):
    """See the module's text. `carried` are programs that are copied to the hosts; tools must be there.

    A host may stay away for `patience_s` seconds before it counts as lost.
    """

    name = "ssh"
    detached = True

    def __init__(self, carried: Sequence[str], clock: Clock, *, patience_s: float = PATIENCE_S) -> None:
        self._carried = tuple(carried)
        self._clock = clock
        self._patience_s = patience_s
        self._held: dict[str, _Held] = {}
        self._creating: set[str] = set()
        self._taking = asyncio.Lock()
        """One lease at a time, so that each sees those that were taken before it."""

    def hosts(self, configuration: Configuration) -> Sequence[str]:
        """See `NamesHosts`: addresses, as far as ~/.ssh/config tells them."""
        from asyncssh import ConfigParseError

        from nephoscope.machines.ssh.config import place_of

        names = [name for name, _ in _roles(configuration)]
        try:
            return [place_of(host.ssh) for host in hosts_of(names, configuration.ssh or Ssh())]
        except (InputError, ConfigParseError):  # its trials say so
            return names

    @override
    async def create(self, request: ClusterRequest) -> Cluster:
        """Leases the hosts, and ends what an earlier attempt left running there.

        Raises:
            InputError: the inventory is wrong, or a host appears twice.
            MachineInUse: another study holds one of them, or another cluster of this one, by another name.
            MachineUnreachable, AccessDenied, HostKeyRefused: one cannot be entered.
        """
        held = self._held.get(request.key)
        if held is not None and held.cluster is not None:
            if (lost := await self.why_lost(request)) is not None:
                raise lost
            return held.cluster
        configuration = request.configuration
        ssh, roles = configuration.ssh or Ssh(), _roles(configuration)
        hosts = hosts_of([name for name, _ in roles], ssh)
        session = f"{request.trial}-{request.attempt}" if request.trial else ""
        ours = f"{ssh.folder}/ours"
        remotes = [
            SshRemote(
                host.name,
                host.ssh,
                self._clock,
                folder=ours,
                carried=self._carried,
                session=session,
                patience_s=self._patience_s,
            )
            for host in hosts
        ]
        leased: list[SshRemote] = []
        self._creating.add(request.key)
        try:
            for remote in remotes:
                await remote.look()  # whether it has the tools
                async with self._taking:
                    await _take(remote, ssh.folder, request.study, request.key, self._others(request.key))
                leased.append(remote)
                await remote.end_all(keep=session)
            alone = len(hosts) == 1
            machines = [
                _placed(await _machine(host, remote, asked, ssh.folder, alone=alone), configuration, asked, name)
                for host, remote, (name, asked) in zip(hosts, remotes, roles, strict=True)
            ]
        except BaseException:
            await _give_back(leased, ssh.folder, request.study)
            for remote in remotes:
                await remote.close()
            raise
        finally:
            self._creating.discard(request.key)
        cluster = cluster_of(request.key, machines, len(configuration.database_machine.hosts or ()))
        renewing = asyncio.create_task(_renew(remotes, ssh.folder, request.study, self._clock))
        self._held[request.key] = _Held(remotes, ssh.folder, request.study, cluster, renewing)
        return cluster

    async def examine(self, wanted: Sequence[Wanted]) -> Sequence[HostFindings]:
        """See `ExaminesHosts`. Some hosts at a time: their jump host may not accept more logins at once."""
        needs: dict[tuple[Host, str], HostNeeds] = {}
        for asked in wanted:
            for place, more in _needs(asked, self._clock).items():
                needs[place] = needs[place].and_also(more) if place in needs else more
        room = asyncio.Semaphore(_EXAMINED_AT_ONCE)

        async def examine(host: Host, folder: str, of_host: HostNeeds) -> HostFindings:
            session = f"doctor-{secrets.token_hex(4)}"
            remote = SshRemote(host.name, host.ssh, self._clock, folder=f"{folder}/ours", session=session)
            async with room:
                findings = await examined(remote, folder, session, self._carried, of_host)
            try:
                await _address(host, alone=of_host.alone)
            except EnvironmentProblem as error:
                findings.append(Finding(what="address", health=Health.BAD, found=error.message, hint=error.hint))
            return HostFindings(host=host.name, findings=tuple(findings))

        return await asyncio.gather(*(examine(host, folder, more) for (host, folder), more in needs.items()))

    def _others(self, key: str) -> Sequence[str]:
        """The other clusters that exist now, or are about to."""
        living = {other for other, held in self._held.items() if held.cluster is not None}
        return sorted((living | self._creating) - {key})

    @override
    async def find(self, study: str, configurations: Sequence[Configuration]) -> Sequence[str]:
        self._held = {key: held for key, held in self._held.items() if held.cluster is not None}
        silent: dict[str, None] = {}
        places: dict[tuple[SshAddress, str], SshRemote] = {}
        for configuration in configurations:
            ssh = configuration.ssh or Ssh()
            try:
                hosts = hosts_of([name for name, _ in _roles(configuration)], ssh)
            except InputError as error:
                silent[f"hosts of {configuration.name} cannot be checked: {error.message}"] = None
                continue
            for host in hosts:
                remote = SshRemote(
                    host.name, host.ssh, self._clock, folder=f"{ssh.folder}/ours", patience_s=self._patience_s
                )
                places.setdefault((host.ssh, ssh.folder), remote)
        looks = (_cluster_there(remote, folder, study) for (_, folder), remote in places.items())
        for ((_, folder), remote), found in zip(places.items(), await asyncio.gather(*looks), strict=True):
            if isinstance(found, NephoscopeError):
                silent[found.message] = None
            elif found is not None:
                held = self._held.setdefault(found, _Held([], folder, study))
                if held.cluster is None:
                    held.remotes.append(remote)
        return list(silent)

    async def why_lost(self, request: ClusterRequest) -> NephoscopeError | None:
        """See `KnowsLosses`. Whoever takes a host ends what runs there."""
        held = self._held.get(request.key)
        if held is None:
            return None
        taken = await asyncio.gather(*(_is_others(remote, held) for remote in held.remotes))
        return next((_taken(remote) for remote, is_others in zip(held.remotes, taken, strict=True) if is_others), None)

    @override
    async def list(self, study: str) -> list[str]:
        """Clusters of this controller, and those that `find` found."""
        return [key for key in self._held if study_of(key) == study]

    @override
    async def delete(self, key: str) -> None:
        """Ends what runs there; data folders stay for the next trial.

        Releases every host that it can. An unreachable host is dropped: its lease expires, and the next holder, or the
        deadline, ends what runs there. A host whose lease another study has taken is dropped, too.
        """
        held = self._held.get(key)
        if held is None:
            return
        if held.renewing is not None:
            held.renewing.cancel()
        failed: NephoscopeError | None = None
        for remote in held.remotes:
            try:
                if not await remote.ask(_OTHERS, held.folder, held.owner):
                    await remote.end_all()
                    await remote.ask(_GIVE_BACK, held.folder, held.owner)
            except (MachineLost, MachineUnreachable):
                pass
            except NephoscopeError as error:
                failed = failed or error
            finally:
                await remote.close()
        if failed is not None:
            raise failed
        self._held.pop(key, None)


def _roles(configuration: Configuration) -> list[tuple[str, Machine]]:
    """Every host that a configuration names, with what is asked of it: the database's first."""
    machines = (configuration.database_machine, configuration.load_machine)
    return [(host, machine) for machine in machines if machine is not None for host in machine.hosts or ()]


def _needs(wanted: Wanted, clock: Clock) -> dict[tuple[Host, str], HostNeeds]:
    """What a configuration needs of each of its hosts, in the folder that it uses there.

    Raises:
        InputError: see `hosts_of`.
    """
    configuration, roles = wanted.configuration, _roles(wanted.configuration)
    ssh = configuration.ssh or Ssh()
    hosts = hosts_of([name for name, _ in roles], ssh)
    handles = [
        MachineHandle(host.name, SshRemote(host.name, host.ssh, clock), host.address or host.ssh.host, (), ssh.folder)
        for host in hosts
    ]
    servers = len(configuration.database_machine.hosts or ())
    cluster = cluster_of(configuration.name, handles, servers)
    tools: dict[str, dict[Tool, None]] = {handle.name: {} for handle in handles}
    for programs, users in wanted.tools:
        with suppress(NephoscopeError):  # a benchmark that these machines do not suit: its trials say why
            for machine in users(cluster):
                tools[machine.name] |= dict.fromkeys(programs)
    return {
        (host, ssh.folder): HostNeeds(
            tuple(tools[host.name]),
            disk_bytes=wanted.disk_bytes if number < servers else 0,
            cpus=0 if machine.cpus == "all" else machine.cpus,
            clock_off_s=wanted.clock_off_s if len(hosts) > 1 else None,
            alone=len(hosts) == 1,
            rented=configuration.rented,
        )
        for number, (host, (_, machine)) in enumerate(zip(hosts, roles, strict=True))
    }


def _placed(made: MachineHandle, configuration: Configuration, machine: Machine, host: str) -> MachineHandle:
    """With the region and the zone of a role's host; zones are assigned to the hosts in turn."""
    zones = machine.zones or [""]
    zone = zones[(machine.hosts or []).index(host) % len(zones)]
    return replace(made, region=region_of(configuration, machine) or "", zone=zone)


def hosts_of(names: Sequence[str], ssh: Ssh) -> list[Host]:
    """Hosts from the study and the inventory.

    Raises:
        InputError: the inventory cannot be read, or a host appears twice.
    """
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"host {twice[0]!r} appears twice", hint="remove load_machine to measure on one machine")
    known = _inventory(ssh.inventory) if ssh.inventory else {}
    jump = parse_destination(ssh.jump, ssh, None, host_key=ssh.host_keys.get(ssh.jump)) if ssh.jump else None
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
    if not is_host(text):
        raise InputError(f"{text!r} is not a host", hint="write user@host:port; user and port are optional")
    user, host, port = split_destination(text)
    key_file = Path(ssh.key_file).expanduser() if ssh.key_file else None
    return SshAddress(host, port, user, key_file, host_key, jump)


def _inventory(file: str) -> Mapping[str, Any]:
    try:
        hosts = load_toml(Path(file).expanduser().read_text(encoding="utf-8")).get("hosts")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the inventory {file}: {error}") from error
    if not isinstance(hosts, dict) or not all(isinstance(entry, str | dict) for entry in hosts.values()):
        raise InputError(
            f"{file} has no table [hosts] of names and destinations",
            hint='write lines such as db1 = "me@10.0.0.1" below [hosts]',
        )
    return hosts


async def _take(remote: SshRemote, folder: str, owner: str, key: str, others: Sequence[str]) -> None:
    """Takes a lease for the cluster `key`; `others` are the clusters of its study that exist now."""
    said = (await remote.ask(_TAKE, folder, owner, str(LEASE_S), key, *others)).strip()[:300]
    if said.startswith("used by "):
        raise MachineInUse(
            f"{remote.name} is in use by {said.removeprefix('used by ')}, for which it has another name",
            hint="give each host one name in the study, or use one cluster at a time: --max-clusters 1",
        )
    if said.startswith("held by "):
        raise MachineInUse(
            f"{remote.name} is leased by {said.removeprefix('held by ')}",
            hint=f"wait for that study, or delete {folder}/lease there if you know that it has ended",
        )
    if said != "taken":
        raise EnvironmentProblem(
            f"{folder} on {remote.name} cannot be used: {said}",
            hint="set `ssh.folder` in the study to a folder that is writable for the user and for nobody else",
        )


async def _give_back(remotes: Sequence[SshRemote], folder: str, owner: str) -> None:
    for remote in remotes:
        with suppress(NephoscopeError):  # a lease that is not renewed ends by itself
            await remote.ask(_GIVE_BACK, folder, owner)
        await remote.close()


async def _cluster_there(remote: SshRemote, folder: str, owner: str) -> str | NephoscopeError | None:
    """Key of the cluster that a host was leased for by `owner`; None: it is not; an error: it does not say.

    A host whose lease names a cluster of another study gets a key of its own: it is ours to release, not that cluster.
    """
    try:
        held, _, key = (await remote.ask(_HELD, folder, owner)).partition("\n")
    except NephoscopeError as error:
        return error
    finally:
        await remote.close()
    return (key if study_of(key) == owner else f"{owner}/{remote.name}") if held == "held" else None


async def _renew(remotes: Sequence[SshRemote], folder: str, owner: str, clock: Clock) -> None:
    """Ends what still runs for us on a host that another study took, so that the attempt ends, too."""

    async def renew(remote: SshRemote) -> None:
        with suppress(NephoscopeError):  # within the lease there are four more times
            if await remote.ask(_RENEW, folder, owner):
                await remote.withdraw(_taken(remote))

    while True:
        await clock.sleep(RENEW_S)
        await asyncio.gather(*map(renew, remotes))  # a host that is away keeps no other from being renewed


async def _is_others(remote: SshRemote, held: _Held) -> bool:
    """Whether another study leases a host; False: it does not, or the host does not answer."""
    with suppress(NephoscopeError, TimeoutError):
        return bool(await asyncio.wait_for(remote.ask(_OTHERS, held.folder, held.owner), _TIMEOUT_S))
    return False


def _taken(remote: SshRemote) -> MachineInUse:
    return MachineInUse(
        f"another study took {remote.name}: its lease had not been renewed for {LEASE_S} s",
        hint="run the same command again once that study has ended; keep this machine awake and online meanwhile",
    )


async def _machine(host: Host, remote: SshRemote, asked: Machine, folder: str, *, alone: bool) -> MachineHandle:
    look = await remote.look()
    if asked.cpus != "all" and asked.cpus > look.cpus:
        raise EnvironmentProblem(
            f"{host.name} offers {counted(look.cpus, 'CPU')}, but {asked.cpus} are requested", hint="lower `cpus`"
        )
    remote.cpus = tuple(range(look.cpus if asked.cpus == "all" else asked.cpus))
    return MachineHandle(host.name, remote, await _address(host, alone=alone), remote.cpus, f"{folder}/data")


async def _address(host: Host, *, alone: bool) -> str:
    """An IP address: the copied generator resolves no names. A host that is alone needs none of the network's."""
    from nephoscope.machines.ssh.config import host_name_of

    wanted = host.address or host_name_of(host.ssh)
    with suppress(ValueError):
        return str(ipaddress.ip_address(wanted))
    try:
        found = await asyncio.get_running_loop().getaddrinfo(wanted, None, type=socket.SOCK_STREAM)
    except OSError as error:
        if alone:
            return V4
        raise EnvironmentProblem(
            f"the IP address of {host.name} is not known: {error}",
            hint='give it in the inventory: db1 = { destination = "db1", address = "10.0.0.1" }',
        ) from error
    return str(found[0][4][0])
