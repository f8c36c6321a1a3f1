"""PostgreSQL on machines that are not this one: a primary, and a standby on every further database machine.

With standbys the primary waits at each commit until any one of them has the log on its disk (`ANY 1`): a quorum of two
of three copies, as replicated databases keep. The servers are of the machines' own: the embedded package where it is
found on the machine, else the newest of its system.
"""

import asyncio
import secrets
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nephoscope.databases.postgres_binaries import as_server_user, major_version
from nephoscope.databases.postgres_folder import USER
from nephoscope.errors import DatabaseFailed, MachineLost
from nephoscope.machines.remote import Background, MachineHandle
from nephoscope.providers.base import Cluster

PORT = 54329
"""Not 5432: a server of the machine's own must not be disturbed, nor measured."""
STANDBYS_TIMEOUT_S = 120.0
_INIT_TIMEOUT_S = 300.0
_COPY_TIMEOUT_S = 7200.0
_LOOK_TIMEOUT_S = 30.0

REPLICATION = (
    "SELECT coalesce(json_object_agg(application_name, state || ' ' || sync_state), '{}') FROM pg_stat_replication"
)

_FIND = """
for folder in "$1" $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV) $(dirname "$(command -v postgres)"); do
    if [ -n "$folder" ] && [ -x "$folder/$2" ]; then id -u; echo "$folder"; "$folder/$2" --version; exit 0; fi
done
exit 1
"""

_PREPARE = """
set -eu
root=$1 access=$2
shift 2
if [ ! -e "$root/initialised" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    chmod 700 "$root"
    umask 077
    cat >"$root/password"
    "$@" >&2
    : >"$root/initialised"
fi
rm -f "$root/data/postmaster.pid"
printf %s "$access" >"$root/data/pg_hba.conf"
cat "$root/password"
"""
"""Makes a data folder unless it is there, opens it to the cluster's machines, and prints its password."""


@dataclass(frozen=True)
class Programs:
    """PostgreSQL as a machine has it."""

    folder: str
    version: str
    by_root: bool

    def as_user(self, *argv: str) -> list[str]:
        """A command that PostgreSQL accepts, whoever we are there."""
        return as_server_user([f"{self.folder}/{argv[0]}", *argv[1:]], by_root=self.by_root)


@dataclass(frozen=True)
class Started:
    """Servers that were started: the primary first."""

    processes: tuple[Background, ...]
    password: str
    programs: tuple[Programs, ...]
    """By database machine."""
    standbys: tuple[str, ...]


async def programs_on(machine: MachineHandle, embedded: str, program: str = "postgres") -> Programs:
    """Where a machine has PostgreSQL: `embedded` if that path is there, too, else its system's newest.

    Raises:
        DatabaseFailed: it has none.
    """
    looked = await machine.remote.execute(
        ["sh", "-c", _FIND, "find", embedded, program], timeout_s=_LOOK_TIMEOUT_S, pinned=False
    )
    lines = looked.stdout.decode(errors="replace").splitlines()
    if looked.exit_code != 0 or len(lines) != 3:
        raise DatabaseFailed(
            f"no PostgreSQL ({program}) was found on {machine.name}", hint="apt-get install postgresql on that machine"
        )
    return Programs(lines[1], lines[2], by_root=lines[0] == "0")


async def start_primary(cluster: Cluster, embedded: str, settings: Mapping[str, str], log: Path) -> Started:
    """Starts the server of the first database machine; it may not answer yet.

    Args:
        cluster: every further database machine is going to be a standby.
        embedded: a folder of programs that may be on the machines, too.
        settings: of every server, without addresses and replication.
        log: of the primary.

    Raises:
        DatabaseFailed: a machine has no server, they differ in version, or the primary cannot be prepared.
    """
    programs = tuple(await asyncio.gather(*(programs_on(machine, embedded) for machine in cluster.database)))
    if len({major_version(one.version) for one in programs}) > 1:
        pairs = zip(cluster.database, programs, strict=True)
        found = ", ".join(f"{machine.name} {one.version}" for machine, one in pairs)
        raise DatabaseFailed(f"PostgreSQL differs between the machines: {found}")
    machine, own = cluster.database[0], programs[0]
    standbys = tuple(one.name for one in cluster.database[1:])
    names = ", ".join(f'"{name}"' for name in standbys)
    # Without slots nobody keeps the log for a standby that is still being copied: hence wal_keep_size.
    waiting = {"synchronous_standby_names": f"ANY 1 ({names})", "wal_keep_size": "1GB"} if standbys else {}
    password = await _prepared(machine, _access(cluster), _initdb(machine, own), secrets.token_urlsafe(24))
    process = await _launched(machine, own, {**settings, **waiting}, log)
    return Started((process,), password, programs, standbys)


async def add_standbys(cluster: Cluster, primary: Started, settings: Mapping[str, str], log: Path) -> Started:
    """Copies a primary that answers to the other machines and starts them; they may not have caught up yet.

    Raises:
        DatabaseFailed: one cannot be prepared.
    """
    source, access = cluster.database[0], _access(cluster)
    others = list(zip(cluster.database, primary.programs, strict=True))[1:]
    await asyncio.gather(
        *(
            _prepared(machine, access, _base_backup(machine, programs, source), primary.password)
            for machine, programs in others
        )
    )
    processes = list(primary.processes)
    for machine, programs in others:
        processes.append(await _launched(machine, programs, settings, _beside(log, machine)))
    return replace(primary, processes=tuple(processes))


async def find_again(cluster: Cluster, embedded: str, settings: Mapping[str, str], log: Path) -> Started:
    """The servers that `start_primary` and `add_standbys` began for the same attempt: each is begun once there.

    Raises:
        DatabaseFailed: they are not there.
    """
    programs = tuple(await asyncio.gather(*(programs_on(machine, embedded) for machine in cluster.database)))
    primary = cluster.database[0]
    read = await primary.remote.execute(["cat", f"{_root(primary)}/password"], timeout_s=_LOOK_TIMEOUT_S, pinned=False)
    if read.exit_code != 0:
        raise DatabaseFailed(f"{primary.name} holds no PostgreSQL of ours")
    logs = [log, *(_beside(log, machine) for machine in cluster.database[1:])]
    rows = zip(cluster.database, programs, logs, strict=True)
    processes = [await _launched(machine, own, settings, its_log) for machine, own, its_log in rows]
    standbys = tuple(one.name for one in cluster.database[1:])
    return Started(tuple(processes), read.stdout.decode().strip(), programs, standbys)


async def wait_for_standbys(standbys: tuple[str, ...], ask: Callable[[str], Awaitable[str]]) -> None:
    """Until every standby streams and counts in the quorum; `ask` runs SQL on the primary.

    Raises:
        DatabaseFailed: one does not come.
    """
    until = asyncio.get_running_loop().time() + STANDBYS_TIMEOUT_S
    said = ""
    while standbys:
        said = await ask(REPLICATION)
        if said.count("streaming quorum") == len(standbys):
            return
        if asyncio.get_running_loop().time() > until:
            raise DatabaseFailed(
                f"not all of {', '.join(standbys)} stream from the primary: {said}", hint="their logs stand beside its"
            )
        await asyncio.sleep(0.1)


async def stop(processes: tuple[Background, ...] | list[Background], timeout_s: float = 600.0) -> bool:
    """Stops them in order, the primary first; True when none had to be killed.

    Raises:
        MachineLost: the machine of one went away.
    """
    in_order, lost = True, None
    for process in processes:
        try:
            in_order &= await process.stop(signal=signal.SIGINT, timeout_s=timeout_s) is not None
        except MachineLost as error:  # the others are stopped all the same
            lost = error
    if lost is not None:
        raise lost
    return in_order


def _beside(log: Path, standby: MachineHandle) -> Path:
    return log.with_name(f"{log.stem}-{standby.name}{log.suffix}")


def _access(cluster: Cluster) -> str:
    """pg_hba.conf: the machines of the cluster, by password, and nobody else."""
    addresses = dict.fromkeys(machine.address for machine in cluster.machines)
    lines = [
        f"host {what} {USER} {address}/32 scram-sha-256" for address in addresses for what in ("all", "replication")
    ]
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return f'"{name}"'


def _initdb(machine: MachineHandle, programs: Programs) -> list[str]:
    root = _root(machine)
    return programs.as_user(
        "initdb", "-D", f"{root}/data", "-U", USER, "-E", "UTF8", "--locale=C", "--auth=scram-sha-256",
        f"--pwfile={root}/password", "--no-instructions",
    )  # fmt: skip


def _base_backup(machine: MachineHandle, programs: Programs, primary: MachineHandle) -> list[str]:
    return programs.as_user(
        "pg_basebackup", "-h", primary.address, "-p", str(PORT), "-U", USER, "-D", f"{_root(machine)}/data", "-R",
        "-X", "stream", "-c", "fast",
    )  # fmt: skip


async def _prepared(machine: MachineHandle, access: str, make: list[str], password: str) -> str:
    """The password of a data folder that can be started; a folder that is there keeps its own."""
    completed = await machine.remote.execute(
        ["sh", "-c", _PREPARE, "prepare", _root(machine), access, *make],
        timeout_s=_COPY_TIMEOUT_S,
        stdin=password.encode(),
        environment={"PGPASSWORD": password},
    )
    if completed.exit_code != 0:
        said = completed.stderr.decode(errors="replace").strip()[-400:]
        raise DatabaseFailed(f"PostgreSQL cannot be prepared on {machine.name}: {said}")
    return completed.stdout.decode().strip()


async def _launched(machine: MachineHandle, programs: Programs, settings: Mapping[str, str], log: Path) -> Background:
    own = {
        "port": str(PORT),
        "listen_addresses": machine.address,
        "unix_socket_directories": "",
        "cluster_name": machine.name,  # by which the primary knows a standby
    }
    options = [part for name, value in {**settings, **own}.items() for part in ("-c", f"{name}={value}")]
    argv = programs.as_user("postgres", "-D", f"{_root(machine)}/data", *options)
    return await machine.remote.start(argv, log=log)


def _root(machine: MachineHandle) -> str:
    return f"{machine.data_dir}/postgres"
