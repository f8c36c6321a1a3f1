"""Clients and server of a network benchmark, and the server program while it is needed."""

import asyncio
import ipaddress
import shlex
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nephoscope.machines.remote import Background, Command, MachineHandle
from nephoscope.model.errors import EnvironmentProblem, ToolFailed
from nephoscope.providers.base import Cluster

Between = Literal["auto", "databases", "load and database"]
_LOOK_TIMEOUT_S = 10.0
_START_TIMEOUT_S = 10.0
_STOP_TIMEOUT_S = 5.0
_POLL_S = 0.05
_LISTEN = "0A"
"""State of a socket in /proc/net/tcp (kernel, include/net/tcp_states.h)."""


@dataclass(frozen=True)
class Ends:
    """Machines that are not the same."""

    clients: tuple[MachineHandle, ...]
    server: MachineHandle


def ends(cluster: Cluster, between: Between, clients: int = 1) -> Ends:
    """The first database machine serves; the others, load machines last, are its clients.

    `auto` in two regions means the path between them: only load machines are clients.

    Raises:
        EnvironmentProblem: fewer machines than are needed, or addresses that never leave a machine.
    """
    far = between == "auto" and cluster.load.region != cluster.database[0].region
    others = [] if far or between == "load and database" else list(cluster.database[1:])
    if between != "databases" and not cluster.co_located:
        others.extend(cluster.load_machines)
    if len(others) < clients:
        wanted = "two machines" if clients == 1 else f"{clients + 1} machines: {clients} clients and a server"
        raise EnvironmentProblem(
            f"a network benchmark needs {wanted}, but this cluster has only {len(others) + 1} that can take part",
            hint="give the configuration a load_machine or a database_machine.count of 2 or more, with a provider "
            "that has several machines",
        )
    found = Ends(tuple(others[:clients]), cluster.database[0])
    _require_a_wire(found)
    return found


def users(between: Between, clients: int = 1) -> Callable[[Cluster], tuple[MachineHandle, ...]]:
    """The machines of a cluster on which a tool must be; see `ends`."""

    def of(cluster: Cluster) -> tuple[MachineHandle, ...]:
        found = ends(cluster, between, clients)
        return (found.server, *found.clients)

    return of


def _require_a_wire(found: Ends) -> None:
    """Loopback is memory, not a network."""
    addresses = [machine.address for machine in (found.server, *found.clients)]
    if len(set(addresses)) < len(addresses) or any(map(_is_loopback, addresses)):
        raise EnvironmentProblem(
            f"a network benchmark needs two machines, but these addresses are local to one: {', '.join(addresses)}",
            hint="give each machine its own address that the others can reach",
        )


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


async def together(streams: Iterable[Coroutine[Any, Any, None]]) -> None:
    """All at once; the first that fails stops the others, and its error is reported."""
    try:
        async with asyncio.TaskGroup() as group:
            for stream in streams:
                group.create_task(stream)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from errors


@asynccontextmanager
async def serving(machine: MachineHandle, programs: Sequence["Server"]) -> AsyncIterator[None]:
    """Server programs for the time of the block; each listens before it begins.

    Raises:
        EnvironmentProblem: one of the ports is taken.
        ToolMissing: a program is not there.
        ToolFailed: a program does not listen in time.
    """
    taken = await _listening(machine) & {program.port for program in programs}
    if taken:
        raise EnvironmentProblem(
            f"port {min(taken)} of {machine.name} is already in use",
            hint="choose another `port` in the benchmark's parameters, or stop the program that listens there",
        )
    started = []
    try:
        for program in programs:
            started.append(await machine.remote.start(program.argv, log=program.log))  # noqa: PERF401 - as it goes
        await _until_they_listen(machine, programs)
        yield
        await _until_they_end([one for one, program in zip(started, programs, strict=True) if program.ends_itself])
    finally:
        await asyncio.gather(*(one.stop(signal=signal.SIGINT, timeout_s=_STOP_TIMEOUT_S) for one in started))


async def port_without_connections(machine: MachineHandle, first: int) -> int:
    """The first port from `first` on without a connection, for a server that cannot share its port with old ones.

    A connection that the server closed keeps its port for a minute (TIME_WAIT), such as those of iperf3 in the trial
    before. iperf3 and netserver listen there nevertheless; sockperf cannot.
    """
    occupied = {port for port, state in await _sockets(machine) if state != _LISTEN}
    return next(port for port in range(first, first + len(occupied) + 1) if port not in occupied)


@dataclass(frozen=True)
class Server:
    """A program that listens."""

    argv: tuple[str, ...]
    port: int
    log: Path
    ends_itself: bool = False
    """After its last client; until then its log is not whole."""


async def _until_they_listen(machine: MachineHandle, programs: Sequence[Server]) -> None:
    wanted = {program.port for program in programs}
    try:
        async with asyncio.timeout(_START_TIMEOUT_S):
            while not wanted <= await _listening(machine):  # noqa: ASYNC110 - another machine sends no event
                await asyncio.sleep(_POLL_S)
    except TimeoutError as error:
        program = next(iter(programs))
        said = program.log.read_text(errors="replace").strip()[-300:] if program.log.exists() else ""
        raise ToolFailed(
            f"{shlex.join(program.argv)} on {machine.name} did not start listening within {_START_TIMEOUT_S:.0f} s"
            f"{f'; it said: {said}' if said else ''}"
        ) from error


async def _until_they_end(servers: Sequence[Background]) -> None:
    """Waits only for a while: the parser rejects an incomplete log."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_STOP_TIMEOUT_S):
            while any(server.running() for server in servers):  # noqa: ASYNC110 - another machine sends no event
                await asyncio.sleep(_POLL_S)


async def _listening(machine: MachineHandle) -> set[int]:
    """Ports on which something listens for TCP."""
    return {port for port, state in await _sockets(machine) if state == _LISTEN}


async def _sockets(machine: MachineHandle) -> list[tuple[int, str]]:
    """Local port and state of every TCP socket."""
    looked = await machine.remote.execute(
        Command(["cat", "/proc/net/tcp", "/proc/net/tcp6"], timeout_s=_LOOK_TIMEOUT_S, pinned=False)
    )
    rows = [line.split() for line in looked.stdout.decode(errors="replace").splitlines()]
    return [(int(row[1].rpartition(":")[2], 16), row[3]) for row in rows if len(row) > 3 and ":" in row[1]]
