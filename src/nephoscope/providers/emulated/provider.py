"""Several hosts emulated on this one machine, as root: namespaces, control groups, loop devices, an sshd in each.

For rehearsals: they share CPUs, memory bandwidth, disk and file system with this machine, and a report about them
describes no real machines. They outlive the controller, as a cloud's do; /run/nephoscope/emulated lists what exists of
them.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from typing_extensions import override

from nephoscope.machines.local import dying_with_us
from nephoscope.machines.remote import FLOCK, LSBLK, SETPRIV, UNSHARE, MachineHandle, Tool
from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.machines.waiting import Clock, Tries
from nephoscope.model.errors import (
    EnvironmentProblem,
    InputError,
    MachineInUse,
    MachineLost,
    MachineUnreachable,
    ToolMissing,
)
from nephoscope.providers.base import Cluster, ClusterRequest, Provider, cluster_of, study_of
from nephoscope.providers.emulated.limits import of_all_clusters
from nephoscope.providers.emulated.scripts import LOCK, STATE, ClusterPlan, HostPlan, down_script, hosts_of, up_script
from nephoscope.study.machines import region_of
from nephoscope.study.model import Configuration
from nephoscope.study.provisioning import MachineType

_TOOLS = (
    Tool("ip", "iproute2"),
    Tool("tc", "iproute2"),
    Tool("bridge", "iproute2"),
    Tool("losetup", "mount"),
    LSBLK,
    Tool("mkfs.ext4", "e2fsprogs"),
    Tool("nsenter", "util-linux"),
    UNSHARE,
    SETPRIV,
    FLOCK,
    Tool("ssh-keygen", "openssh-client"),
    Tool("sshd", "openssh-server"),
)
_MKFS_XFS = Tool("mkfs.xfs", "xfsprogs")
_PATH = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"
_SCRIPT_TIMEOUT_S = 300.0
"""Ten hosts take a minute where others use the machine, too."""
_KILL_WAIT_S = 10.0
_BOOT_TIMEOUT_S = 20.0
_FIRST_LOOK_S = 0.02
_SUBNETS = 254
_STORED = "cluster.json"
_LOAD = "load"
_ZONE = "zone"


@dataclass(frozen=True)
class _Stored:
    """What a cluster's folder says of it: enough to find it and to take it away."""

    key: str
    subnet: int
    images: str


class EmulatedProvider(Provider):
    """See the module's text. `load_program` is nephoscope-load, which delays packets between zones."""

    name = "emulated"
    at_once = 1
    detached = True
    needs_root = True
    tools = _TOOLS

    def __init__(self, load_program: str, clock: Clock) -> None:
        self._load_program = load_program
        self._clock = clock

    @override
    async def create(self, request: ClusterRequest) -> Cluster:
        """Removes what a dead controller left on a cluster that serves all trials of a configuration.

        Raises:
            EnvironmentProblem: not root, or this machine's kernel does not do it.
            ToolMissing: a tool is not installed.
            InputError: a machine type has more CPUs than this machine.
        """
        _require_root_and_tools(request.configuration)
        types = _types(request.configuration)
        identity = hashlib.sha256(request.key.encode()).hexdigest()[:6]
        with _locked():
            stored = _all_stored()
            plan = _plan(identity, request, types, {one.subnet for one in stored.values()}, self._load_program)
            found = stored.get(identity)
            if found is None:
                _store(plan, request.key)
            elif found.key != request.key:
                raise MachineInUse(
                    f"the emulated cluster {found.key} has the short id {identity} of {request.key}",
                    hint=f"delete it: `nephoscope clean` with the results folder of {study_of(found.key)}",
                )
        if found is not None:
            plan = _plan(identity, request, types, set(), self._load_program, found.subnet)
            try:
                cluster = await _connected(plan, request, self._clock)
            except (MachineUnreachable, OSError):
                await self.delete(request.key)
                return await self.create(request)
            if not request.trial:
                for machine in cluster.machines:
                    await _remote(machine).end_all()
            return cluster
        try:
            await _run(up_script(plan))
            return await _connected(plan, request, self._clock)
        except BaseException:
            await self.delete(request.key)
            raise

    @override
    async def list(self, study: str) -> list[str]:
        return [stored.key for stored in _all_stored().values() if study_of(stored.key) == study]

    @override
    async def delete(self, key: str) -> None:
        """Takes the cluster's machines, network and limits away.

        Raises:
            MachineLost: something of it cannot be taken away.
        """
        for identity, stored in _all_stored().items():
            if stored.key == key:
                try:
                    await _run(down_script(identity, stored.images, _cgroup_version()))
                except EnvironmentProblem as error:
                    raise MachineLost(f"the emulated cluster {key} was not deleted: {error.message}") from error


def _require_root_and_tools(configuration: Configuration) -> None:
    if os.geteuid() != 0:
        raise EnvironmentProblem(
            "only root can emulate machines", hint="use `sudo nephoscope run …`, or provider 'ssh'"
        )
    machines = (configuration.database_machine, configuration.load_machine)
    more = [_MKFS_XFS] if any(one is not None and one.filesystem == "xfs" for one in machines) else []
    for tool in (*_TOOLS, *more):
        if shutil.which(tool.name, path=_PATH) is None:
            raise ToolMissing(f"{tool.name} is not installed, but emulated machines need it", hint=tool.install_hint)


def _types(configuration: Configuration) -> list[tuple[str, str, MachineType]]:
    """Name, zone and type of every host: the database machines, then the load machines if there are any."""
    database, load = configuration.database_machine, configuration.load_machine
    named = [(f"database-{number}", database, number) for number in range(1, database.count + 1)]
    if load is not None:
        numbers = [""] if load.count == 1 else [f"-{number}" for number in range(1, load.count + 1)]
        named += [(f"{_LOAD}{suffix}", load, number) for number, suffix in enumerate(numbers, start=1)]
    found = [
        (name, zones[(number - 1) % len(zones)], machine.emulated)
        for name, machine, number in named
        if machine.emulated is not None and (zones := machine.zones or [_ZONE])
    ]
    if len(found) < len(named):
        raise InputError(f"configuration {configuration.name!r} does not specify its emulated machines")
    return found


def _plan(
    identity: str,
    request: ClusterRequest,
    types: list[tuple[str, str, MachineType]],
    taken: set[int],
    load_program: str,
    own: int | None = None,
) -> ClusterPlan:
    cpus = sorted(os.sched_getaffinity(0))
    most = max(machine.vcpus for _, _, machine in types)
    if most > len(cpus):
        raise InputError(
            f"configuration {request.configuration.name!r} requests machines with {most} CPUs, but only {len(cpus)} "
            "may be used here",
            hint="lower `vcpus`: emulated machines may share CPUs, but none can have more than exist",
        )
    first = int(identity, 16) % _SUBNETS
    free = (subnet for offset in range(_SUBNETS) if (subnet := (first + offset) % _SUBNETS) not in taken)
    return ClusterPlan(
        id=identity,
        subnet=next(free) if own is None else own,
        images=str(request.scratch.resolve() / "disks"),
        hosts=tuple(_formatted(host, request.configuration) for host in hosts_of(types, cpus)),
        sshd=shutil.which("sshd", path=_PATH) or "sshd",
        cgroup_version=_cgroup_version(),
        load_program=load_program,
        links=tuple(request.configuration.links or ()),
    )


def _formatted(host: HostPlan, configuration: Configuration) -> HostPlan:
    """With the filesystem of its role."""
    load = configuration.load_machine if host.name.startswith("load") else None
    asked = load or configuration.database_machine
    return replace(host, filesystem=asked.filesystem or host.filesystem, mount_options=tuple(asked.mount_options or ()))


def _cgroup_version() -> int:
    return 2 if Path("/sys/fs/cgroup/cgroup.controllers").exists() else 1


async def _run(script: str) -> None:
    """Runs a script that dies with the controller; whatever it starts in its own sessions lives on.

    Raises:
        EnvironmentProblem: it failed, with what it said last, or did not end.
    """
    process = await asyncio.create_subprocess_exec(
        *(*dying_with_us(), "sh", "-c", script),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PATH": _PATH, "LC_ALL": "C"},
        process_group=0,
    )
    try:
        async with asyncio.timeout(_SCRIPT_TIMEOUT_S):
            _, said = await process.communicate()
    except BaseException as error:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # also what it waits for
        with suppress(TimeoutError):
            async with asyncio.timeout(_KILL_WAIT_S):  # nobody kills what waits for a disk that hangs
                await process.wait()
        if isinstance(error, TimeoutError):
            raise EnvironmentProblem(
                f"emulated machines did not start or stop within {_SCRIPT_TIMEOUT_S:.0f} s",
                hint="this machine's disk may be too slow or failing; run again, or run `nephoscope clean`",
            ) from error
        raise
    if process.returncode != 0:
        last = said.decode(errors="replace").strip()[-400:]
        raise EnvironmentProblem(
            f"this machine cannot emulate others: {last or f'exit code {process.returncode}'}",
            hint="emulation needs root with all capabilities, network namespaces, loop devices and control groups",
        )


async def _connected(plan: ClusterPlan, request: ClusterRequest, clock: Clock) -> Cluster:
    """The cluster once every host answers."""
    machines = await asyncio.gather(*(_machine(plan, host, request, clock) for host in plan.hosts))
    cluster = cluster_of(request.key, machines, request.configuration.database_machine.count)
    return replace(cluster, one_machine=True)


async def _machine(plan: ClusterPlan, host: HostPlan, request: ClusterRequest, clock: Clock) -> MachineHandle:
    folder = Path(plan.state) / host.name
    address = SshAddress(
        plan.address(host),
        user="root",
        key_file=Path(plan.state) / "key",
        host_key=(folder / "host_key.pub").read_text(encoding="utf-8"),
        user_config=False,
    )
    asked = (
        request.configuration.load_machine if host.name.startswith(_LOAD) else None
    ) or request.configuration.database_machine
    cpus = host.cpus if asked.cpus == "all" else host.cpus[: asked.cpus]
    session = f"{request.trial}-{request.attempt}" if request.trial else ""
    remote = SshRemote(host.name, address, clock, cpus=cpus, folder=str(folder / "ours"), session=session)
    await _answering(remote, clock)
    return MachineHandle(
        host.name,
        remote,
        plan.address(host),
        cpus,
        str(folder / "data"),
        group=of_all_clusters(plan.cgroup_version),
        region=region_of(request.configuration, asked) or "",
        zone=host.zone if asked.zones else "",
    )


async def _answering(remote: SshRemote, clock: Clock) -> None:
    """Returns once a host that has just been started answers."""
    unreachable: MachineUnreachable | None = None
    async for _ in Tries(clock, _BOOT_TIMEOUT_S, pause_s=_FIRST_LOOK_S):
        try:
            await remote.look()
        except MachineUnreachable as error:
            unreachable = error
        else:
            return
    if unreachable is not None:
        raise unreachable


def _remote(machine: MachineHandle) -> SshRemote:
    remote = machine.remote
    if not isinstance(remote, SshRemote):
        raise TypeError(f"{machine.name} cannot be reached over SSH")
    return remote


def _all_stored() -> dict[str, _Stored]:
    """Every cluster that is there or half there, by its id."""
    found = {}
    for file in Path(STATE).glob(f"*/{_STORED}"):
        found[file.parent.name] = _Stored(**json.loads(file.read_text(encoding="utf-8")))
    return found


def _store(plan: ClusterPlan, key: str) -> None:
    folder = Path(plan.state)
    folder.mkdir(parents=True, mode=0o755)
    content = json.dumps(asdict(_Stored(key, plan.subnet, plan.images)))
    new = folder / f"{_STORED}.new"
    new.write_text(content, encoding="utf-8")
    new.rename(folder / _STORED)


@contextmanager
def _locked() -> Iterator[None]:
    """Two controllers must not take one subnet. The lock goes with its holder, and nobody else can open its file."""
    file = Path(LOCK)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.parent.chmod(0o700)
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
