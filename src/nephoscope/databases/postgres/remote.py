"""PostgreSQL on machines that are not this one: a primary, and a standby on every further database machine.

With standbys the primary waits at each commit until any one of them has the log on its disk (`ANY 1`): a quorum of two
of three copies, as replicated databases keep. The servers are of the machines' own: the embedded package where it is
found on the machine, else the newest of its system, in each case of the version that the study names.

Data folders stay for the next trial, which may be of another configuration on the same machines. So each says what it
is. A primary's may serve with any standbys. A standby's is of one primary, and of the time in which that one had the
same standbys: what it wrote without them is in no log that they could still ask for.
"""

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import secrets
import signal
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nephoscope.databases.asking import document
from nephoscope.databases.postgres.binaries import first_of_version, major_version
from nephoscope.databases.postgres.folder import METHOD, USER
from nephoscope.databases.postgres.settings import FOR_STANDBYS
from nephoscope.databases.postgres.shared_memory import hint_on
from nephoscope.databases.programs import as_server_user
from nephoscope.machines.remote import Background, Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed, MachineLost
from nephoscope.providers.base import Cluster

PORT = 54329
"""Not 5432: the machine's own server must not be disturbed or measured."""
STANDBY = "nephoscope_standby"
"""Who copies a primary, and may do nothing else.

A standby connects again whenever its primary is away, and before PostgreSQL 16 sends the password to whoever has taken
the primary's port and asks for it. With that of the owner of the data one could run programs.
"""
STANDBYS_TIMEOUT_S = 120.0
_COPY_TIMEOUT_S = 7200.0
_LOOK_TIMEOUT_S = 30.0
_ITERATIONS = 4096
"""PostgreSQL's own number; more are of no use to a random password."""

REPLICATION = """
    SELECT coalesce(json_object_agg(application_name, state || ' ' || sync_state), '{}')
    FROM (
        SELECT DISTINCT ON (application_name) * FROM pg_stat_replication ORDER BY application_name, backend_start DESC
    ) AS latest
"""
"""Name -> how it stands; of a standby whose lost connection the primary has not noticed yet, only the new one."""

_FIND = """
id -u
for folder in "$1" $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV) $(dirname "$(command -v postgres)"); do
    postgres=$folder/postgres
    if [ -n "$folder" ] && [ -x "$postgres" ]; then echo "$("$postgres" --version | head -n 1)|$folder"; fi
done
exit 0
"""

_PREPARE = """
set -eu
root=$1 access=$2 identity=$3
shift 3
if [ "$(cat "$root/initialised" 2>/dev/null)" != "$identity" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    chmod 700 "$root"
    umask 077
    cat >"$root/password"
    "$@" >&2
    printf %s "$identity" >"$root/initialised"
fi
rm -f "$root/data/postmaster.pid"
printf %s "$access" >"$root/data/pg_hba.conf"
cat "$root/password"
"""
"""Makes a data folder unless that very one is there, opens it to the cluster's machines, and prints its password."""

_GENERATION = """
set -eu
root=$1 standbys=$2 new=$3
if [ "$(head -n 1 "$root/standbys" 2>/dev/null)" != "$standbys" ]; then
    printf '%s\\n%s\\n' "$standbys" "$new" >"$root/standbys.new"
    mv "$root/standbys.new" "$root/standbys"
fi
tail -n 1 "$root/standbys"
"""
"""A name for the time in which a primary has these standbys: a new one when they change."""


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
    generation: str = ""
    """Of the primary's standbys; empty for servers that were found."""


async def programs_on(machine: MachineHandle, embedded: str, version: str | None = None) -> Programs:
    """Where a machine has PostgreSQL: `embedded` if that path is there, too, else its system's newest.

    Args:
        machine: it.
        embedded: a folder of programs that may be there, too.
        version: take only programs of this major version, '15' or '15.4'.

    Raises:
        DatabaseFailed: it has none, or none of that version.
    """
    looked = await machine.remote.execute(
        Command(["sh", "-c", _FIND, "find", embedded], timeout_s=_LOOK_TIMEOUT_S, pinned=False)
    )
    user, *lines = looked.require().stdout.decode(errors="replace").splitlines()
    rows = [line.partition("|") for line in lines]
    found = [Programs(folder, said, by_root=user == "0") for said, _, folder in rows]
    if not found:
        raise DatabaseFailed(
            f"no PostgreSQL was found on {machine.name}", hint="apt-get install postgresql on that machine"
        )
    if version is None:
        return found[0]
    majors = [major_version(one.version) for one in found]
    return found[first_of_version(majors, version, machine.name, " on that machine")]


async def start_primary(
    cluster: Cluster, embedded: str, version: str | None, settings: Mapping[str, str], log: Path
) -> Started:
    """Starts the server of the first database machine; it may not answer yet.

    Args:
        cluster: every further database machine is going to be a standby.
        embedded: a folder of programs that may be on the machines, too.
        version: of the server that the study names; None: any.
        settings: of every server, without addresses and replication.
        log: of the primary.

    Raises:
        DatabaseFailed: a machine has no such server, they differ in version, or the primary cannot be prepared.
    """
    programs = tuple(await asyncio.gather(*(programs_on(machine, embedded, version) for machine in cluster.database)))
    if len({major_version(one.version) for one in programs}) > 1:
        pairs = zip(cluster.database, programs, strict=True)
        found = ", ".join(f"{machine.name} {one.version}" for machine, one in pairs)
        raise DatabaseFailed(f"PostgreSQL differs between the machines: {found}")
    machine, own = cluster.database[0], programs[0]
    standbys = tuple(one.name for one in cluster.database[1:])
    identity = f"primary of PostgreSQL {major_version(own.version)}"
    password = await _prepared(machine, access(cluster), identity, _initdb(machine, own), secrets.token_urlsafe(24))
    generation = await _generation(cluster)
    started = Started((), password, programs, standbys, generation)
    return replace(started, processes=(await _launched_primary(cluster, started, settings, log),))


async def launch_again(cluster: Cluster, started: Started, settings: Mapping[str, str], log: Path) -> Background:
    """Starts a primary that has ended; it may not answer yet.

    If it was killed, it left a file with its process id, which may be another process's by now.
    """
    forget = ["rm", "-f", f"{data_of(cluster.database[0])}/postmaster.pid"]
    (await cluster.database[0].remote.execute(Command(forget, timeout_s=_LOOK_TIMEOUT_S, pinned=False))).require()
    return await _launched_primary(cluster, started, settings, log)


async def _launched_primary(cluster: Cluster, started: Started, settings: Mapping[str, str], log: Path) -> Background:
    names = ", ".join(f'"{name}"' for name in started.standbys)
    waiting = {"synchronous_standby_names": f"ANY 1 ({names})"} if started.standbys else {}
    kept = FOR_STANDBYS if started.standbys else {}
    return await _launched(cluster.database[0], started.programs[0], {**kept, **settings, **waiting}, log)


async def add_standbys(cluster: Cluster, primary: Started, settings: Mapping[str, str], log: Path) -> Started:
    """Copies a primary that answers to the other machines and starts them; they may not have caught up yet.

    Raises:
        DatabaseFailed: one cannot be prepared.
    """
    others = list(zip(cluster.database, primary.programs, strict=True))[1:]
    await asyncio.gather(*(_copied(cluster, machine, programs, primary) for machine, programs in others))
    processes = list(primary.processes)
    for machine, programs in others:
        processes.append(await _launched(machine, programs, settings, _beside(log, machine)))
    return replace(primary, processes=tuple(processes))


async def make_anew(
    cluster: Cluster, started: Started, names: Collection[str], settings: Mapping[str, str], log: Path
) -> Started:
    """Copies the primary again to the standbys `names`, which run and do not stream, and starts them.

    A controller that finds the servers again takes the first start of such a standby for it: it is then ended with its
    machine, not in order.

    Raises:
        DatabaseFailed: one cannot be prepared.
    """
    processes = list(started.processes)
    for number, (machine, programs) in enumerate(zip(cluster.database, started.programs, strict=True)):
        if machine.name in names:
            await processes[number].stop(signal=signal.SIGINT, timeout_s=_LOOK_TIMEOUT_S)
            forget = ["rm", "-f", f"{_root(machine)}/initialised"]
            (await machine.remote.execute(Command(forget, timeout_s=_LOOK_TIMEOUT_S, pinned=False))).require()
            await _copied(cluster, machine, programs, started)
            processes[number] = await _launched(machine, programs, settings, _beside(log, machine))
    return replace(started, processes=tuple(processes))


async def find_again(
    cluster: Cluster, embedded: str, version: str | None, settings: Mapping[str, str], log: Path
) -> Started:
    """The servers that `start_primary` and `add_standbys` began for the same attempt: each is begun once there.

    Raises:
        DatabaseFailed: they are not there.
    """
    programs = tuple(await asyncio.gather(*(programs_on(machine, embedded, version) for machine in cluster.database)))
    primary = cluster.database[0]
    read = await primary.remote.execute(
        Command(["cat", f"{_root(primary)}/password"], timeout_s=_LOOK_TIMEOUT_S, pinned=False)
    )
    if read.exit_code != 0:
        raise DatabaseFailed(f"{primary.name} has no PostgreSQL started by nephoscope")
    logs = [log, *(_beside(log, machine) for machine in cluster.database[1:])]
    rows = zip(cluster.database, programs, logs, strict=True)
    processes = [await _launched(machine, own, settings, its_log) for machine, own, its_log in rows]
    standbys = tuple(one.name for one in cluster.database[1:])
    return Started(tuple(processes), read.stdout.decode().strip(), programs, standbys)


async def without_stream(standbys: tuple[str, ...], ask: Callable[[str], Awaitable[str]]) -> dict[str, str]:
    """Standbys that do not stream and count in the quorum, by name with how they stand; none as soon as all do.

    Args:
        standbys: by name.
        ask: runs SQL on the primary.
    """
    until = asyncio.get_running_loop().time() + STANDBYS_TIMEOUT_S
    while True:
        found = document(dict[str, str], await ask(REPLICATION)) if standbys else {}
        missing = {name: found.get(name, "away") for name in standbys if found.get(name) != "streaming quorum"}
        if not missing or asyncio.get_running_loop().time() > until:
            return missing
        await asyncio.sleep(0.1)


def are_complete(states: Mapping[str, str], servers: Sequence[str], *, synchronous: bool) -> bool:
    """Whether all but the primary get what it writes, and a commit waits for one of them if it should; pure.

    While a copy is made, `pg_basebackup` streams, too, under its own name: what is written meanwhile.

    Args:
        states: what `REPLICATION` selects.
        servers: names of all, the primary's included.
        synchronous: whether a commit waits for one.
    """
    streaming = [state for name, state in states.items() if name in servers and state.startswith("streaming ")]
    return len(streaming) == len(servers) - 1 and (not synchronous or set(streaming) != {"streaming async"})


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


def standbys_password(password: str) -> str:
    """That of `STANDBY`, which does not tell the password of the data's owner; pure."""
    return hmac.digest(password.encode(), STANDBY.encode(), "sha256").hex()


def role_of_standbys(password: str) -> Sequence[str]:
    """Makes `STANDBY`, given the password of the data's owner.

    The statement may get into a log, so it has what the server would store of the standbys' password (RFC 5803).
    """
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", standbys_password(password).encode(), salt, _ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    salt64, stored64, server64 = (
        base64.b64encode(each).decode() for each in (salt, stored, hmac.digest(salted, b"Server Key", "sha256"))
    )
    return (
        f"DO $$ BEGIN CREATE ROLE {STANDBY}; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
        f"ALTER ROLE {STANDBY} LOGIN REPLICATION PASSWORD 'SCRAM-SHA-256${_ITERATIONS}:{salt64}${stored64}:{server64}'",
    )


def _beside(log: Path, standby: MachineHandle) -> Path:
    return log.with_name(f"{log.stem}-{standby.name}{log.suffix}")


def access(cluster: Cluster) -> str:
    """pg_hba.conf: the machines of the cluster, by password, and nobody else."""
    addresses = dict.fromkeys(machine.address for machine in cluster.machines)
    lines = [
        f"host {what} {user} {ipaddress.ip_network(address)} {METHOD}"
        for address in addresses
        for what, user in (("all", USER), ("replication", STANDBY))
    ]
    return "\n".join(lines) + "\n"


def _initdb(machine: MachineHandle, programs: Programs) -> list[str]:
    root = _root(machine)
    return programs.as_user(
        "initdb", "-D", f"{root}/data", "-U", USER, "-E", "UTF8", "--locale=C", f"--auth={METHOD}",
        f"--pwfile={root}/password", "--no-instructions",
    )  # fmt: skip


def _base_backup(machine: MachineHandle, programs: Programs, primary: MachineHandle) -> list[str]:
    return programs.as_user(
        "pg_basebackup", "-h", primary.address, "-p", str(PORT), "-U", STANDBY, "-D", f"{_root(machine)}/data", "-R",
        "-X", "stream", "-c", "fast",
    )  # fmt: skip


async def _copied(cluster: Cluster, machine: MachineHandle, programs: Programs, primary: Started) -> None:
    """A data folder of a standby of this primary, unless it is there."""
    copy, password = _base_backup(machine, programs, cluster.database[0]), standbys_password(primary.password)
    await _prepared(machine, access(cluster), f"standby of {primary.generation}", copy, password)


async def _generation(cluster: Cluster) -> str:
    primary, *standbys = cluster.database
    listed = " ".join(["standbys", *(machine.address for machine in standbys)])
    argv = ["sh", "-c", _GENERATION, "generation", _root(primary), listed, secrets.token_hex(8)]
    said = (await primary.remote.execute(Command(argv, timeout_s=_LOOK_TIMEOUT_S, pinned=False))).require()
    return said.stdout.decode().strip()


async def _prepared(machine: MachineHandle, access: str, identity: str, make: list[str], password: str) -> str:
    """The password of a data folder that can be started; a folder that is there keeps its own."""
    completed = await machine.remote.execute(
        Command(
            ["sh", "-c", _PREPARE, "prepare", _root(machine), access, identity, *make],
            timeout_s=_COPY_TIMEOUT_S,
            stdin=password.encode(),
            environment={"PGPASSWORD": password, "PGREQUIREAUTH": METHOD},  # since PostgreSQL 16
        )
    )
    if completed.exit_code != 0:
        said = completed.stderr.decode(errors="replace").strip()
        raise DatabaseFailed(f"PostgreSQL cannot be prepared on {machine.name}: {said[-400:]}", hint=hint_on(said))
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
    return await machine.remote.start(["env", f"PGREQUIREAUTH={METHOD}", *argv], log=log)


def data_of(machine: MachineHandle) -> str:
    """Where a server's data are on its machine."""
    return f"{_root(machine)}/data"


def _root(machine: MachineHandle) -> str:
    return f"{machine.data_dir}/postgres"
