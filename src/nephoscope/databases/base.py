"""The system under test, behind a small port; every extra ability is its own optional protocol."""

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import Field

from nephoscope.machines.remote import MachineHandle
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import ServerRole
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings


@dataclass(frozen=True)
class Endpoint:
    """How to reach a database that is up. Secrets are in `environment`, never in `dsn`."""

    dsn: str
    environment: dict[str, str] = field(repr=False)
    version: str
    origin: str
    """Where the server came from: 'user', 'embedded', 'system', 'fake'."""
    sharded: bool = False
    """For RESP: one of several masters that share the keys, so clients must know the others."""


class Upkeep(Frozen):
    """What a database reports about itself at one moment. None: not reported, or it has no such thing."""

    free_bytes: int | None = Field(
        default=None, description="free space of its data's file system, on the machine with the least"
    )
    assured_bytes: int | None = Field(
        default=None,
        description="free space that remains however full the blocks in use get, while defragmentation keeps up, on "
        "the machine with the least; a store that rewrites blocks knows it",
    )
    disk_unseen: bool = Field(
        default=False, description="the user's own server, whose disk nephoscope does not inspect"
    )
    log_bytes: float | None = Field(default=None, description="written to its log, from any origin")
    rewritten_bytes: tuple[float, ...] = Field(
        default=(),
        description="length of each server's log when it was last rewritten; when one of them changes, growth of the "
        "log and of the backlog is unknown",
    )
    cache_hits: float | None = Field(default=None, description="reads served by its own cache, from any origin")
    cache_misses: float | None = Field(default=None, description="the others")
    debt_bytes: float | None = Field(default=None, description="backlog of compaction or defragmentation")
    trouble: str = Field(default="", description="why it rejects writes, or what it lost; empty: neither")


class Database(Protocol):
    """Starts and stops a database on a cluster; both may be repeated."""

    name: str

    async def start(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        """Starts it and waits until it answers; its log goes to `log`.

        Raises:
            DatabaseFailed: it did not start.
            TargetUnreachable: the user's own database does not answer.
        """

    async def stop(self, cluster: Cluster) -> None:
        """Stops it; no error if it is already stopped."""


@runtime_checkable
class HasServer(Protocol):
    """Can tell, without starting anything, which server it would start on this machine."""

    def server_here(self, settings: DatabaseSettings) -> str:
        """Path of the server's program, or where it will come from.

        Raises:
            DatabaseFailed: this machine has none.
            InputError: the study names a file that is not there.
        """


@runtime_checkable
class HasFixtures(Protocol):
    """Can keep a loaded data set and give each trial a fresh copy of it."""

    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:
        """True if the data set `fixture` was loaded completely."""

    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        """An empty place to load `fixture` into, whatever an interrupted load left behind."""

    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:
        """Marks `fixture` complete; from now on it is only copied."""

    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        """A fresh copy of `fixture` for one trial; the previous trial's copy is dropped."""


@runtime_checkable
class HasLoadedBytes(Protocol):
    """Can report how large a data set is while it is loaded."""

    async def loaded_bytes(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> int:
        """Its size on disk at this moment."""


@runtime_checkable
class CanAttach(Protocol):
    """Can be found again by a controller that did not start it."""

    async def attach(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        """The endpoint that `start` returned, for a running database that may be under load and is not changed.

        `stop` then stops it, and `log` is that of `start`.

        Raises:
            TargetLost: it is not running.
        """


@runtime_checkable
class HasUpkeep(Protocol):
    """Can report what sustained load costs it."""

    async def upkeep(self, cluster: Cluster, endpoint: Endpoint) -> Upkeep:
        """The counters at this moment."""


@runtime_checkable
class HasPrograms(Protocol):
    """Runs as processes on the database machines, where a sampler finds them."""

    server_programs: tuple[str, ...]
    """What the kernel calls them."""


@dataclass(frozen=True)
class Server:
    """A server that nephoscope started. Its processes are its programs' and user's that work there or in `data`."""

    machine: MachineHandle
    folder: str
    programs: tuple[str, ...]
    """What the kernel calls them."""
    ends_on: signal.Signals
    """The signal on which it ends in order."""


@runtime_checkable
class CanRestart(Protocol):
    """Runs servers of its own that may be ended and started again one by one."""

    def servers(self, cluster: Cluster) -> Sequence[Server]:
        """Those that run on a cluster: first the primary, or the first master. None: they are the user's own."""

    async def start_again(self, cluster: Cluster, server: Server) -> None:
        """Starts one that has ended, at the same address with the same data, and waits until it answers.

        Raises:
            DatabaseFailed: it did not start.
        """


@runtime_checkable
class HasFailover(Protocol):
    """Runs several servers of its own, of which one may take over from another if the study lets it."""

    async def roles(self, cluster: Cluster) -> Sequence[ServerRole]:
        """What each of `CanRestart.servers` is at this moment, in their order.

        Raises:
            ToolFailed, ToolTimedOut: one of them does not answer.
        """

    async def is_complete(self, cluster: Cluster) -> bool:
        """Whether all servers are up and all copies have all data."""

    async def put_back(self, cluster: Cluster) -> None:
        """Gives each server the role again that it began with, and waits until all copies are complete.

        Raises:
            DatabaseFailed: they do not come together.
        """


@runtime_checkable
class NeedsRoomHere(Protocol):
    """Needs more than programs where it is started on this machine."""

    def require_here(self) -> None:
        """Finds before the first trial what would fail in each.

        Raises:
            EnvironmentProblem: it could not start here.
        """


@runtime_checkable
class HasCounters(Protocol):
    """Counts what its work costs."""

    async def counters(self, cluster: Cluster, endpoint: Endpoint) -> Mapping[str, float]:
        """Counters of all its servers since their start: those of `server_costs.COUNTED` and `HAPPENED` that it has.

        Raises:
            OutputUnreadable, ToolFailed, ToolTimedOut: it does not answer, or not with numbers.
        """


@runtime_checkable
class HasReplication(Protocol):
    """Keeps copies on several machines, and can report their states."""

    async def replication(self, cluster: Cluster) -> dict[str, str]:
        """Copy -> its state in words; empty if nothing is reported. Read before and after a trial; both must agree."""


@runtime_checkable
class HasFootprint(Protocol):
    """Uses a different amount of disk than a benchmark assumes (a data set and one copy on each machine)."""

    def disk_bytes(self, settings: DatabaseSettings, data_bytes: int, machines: int) -> int:
        """The most that it uses in the data folder of each of `machines` for this amount; pure.

        Raises:
            InputError: a setting is not a size.
        """


@runtime_checkable
class HasSettings(Protocol):
    """Can report the settings in force."""

    async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Setting -> value as reported by the server."""

    async def identity(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """What differs once a server is another one or was restarted, by name: start, role, version.

        Read before and after a trial, like the settings; both must agree.
        """
