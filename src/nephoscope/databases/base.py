"""The system under test, behind a small port; every extra ability is its own optional protocol."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import Field

from nephoscope.model.frozen import Frozen
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
    """Of RESP: one of several masters that share the keys, and asks for clients that know the others."""


class Upkeep(Frozen):
    """What a database says of itself at one moment. None: it does not say, or has no such thing."""

    free_bytes: int | None = Field(
        default=None, description="free space of its data's file system, on the machine with the least"
    )
    disk_unseen: bool = Field(
        default=False, description="the user's own server, whose disk nephoscope does not inspect"
    )
    log_bytes: float | None = Field(default=None, description="written to its log, from any origin")
    cache_hits: float | None = Field(default=None, description="reads served by its own cache, from any origin")
    cache_misses: float | None = Field(default=None, description="the others")
    debt_bytes: float | None = Field(default=None, description="backlog of compaction or defragmentation")
    trouble: str = Field(default="", description="why it rejects writes, or what it lost; empty: neither")


class Database(Protocol):
    """Starts and stops a database on a cluster; both may be repeated."""

    name: str

    async def start(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        """Brings it up and waits until it answers; its log goes to `log`.

        Raises:
            DatabaseFailed: it did not come up.
            TargetUnreachable: a database of the user's does not answer.
        """
        ...

    async def stop(self, cluster: Cluster) -> None:
        """Takes it down; no error when it is down already."""
        ...


@runtime_checkable
class HasFixtures(Protocol):
    """Can keep a loaded data set and give each trial a fresh copy of it."""

    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:
        """True when the data set `fixture` was loaded completely."""
        ...

    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        """An empty place to load `fixture` into, whatever an interrupted load left behind."""
        ...

    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:
        """Marks `fixture` complete; from now on it is only copied."""
        ...

    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        """A fresh copy of `fixture` for one trial; the copy of the trial before is dropped."""
        ...


@runtime_checkable
class CanAttach(Protocol):
    """Can be found again by a controller that did not start it."""

    async def attach(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        """As `start` gave it, of a database that is up and may be under load: nothing of it is changed.

        `stop` then takes it down, and `log` is that of `start`.

        Raises:
            TargetLost: it is not up.
        """
        ...


@runtime_checkable
class HasUpkeep(Protocol):
    """Can tell what sustained load costs it."""

    async def upkeep(self, cluster: Cluster, endpoint: Endpoint) -> Upkeep:
        """At this moment."""
        ...


@runtime_checkable
class HasReplication(Protocol):
    """Keeps copies on several machines, and can tell how they stand."""

    async def replication(self, cluster: Cluster) -> dict[str, str]:
        """Copy -> its state in words; empty when it says nothing. Asked before and after a trial: both must agree."""
        ...


@runtime_checkable
class HasFootprint(Protocol):
    """Takes another amount of disk than a benchmark reckons with, which is a data set and one copy on each machine."""

    def disk_bytes(self, settings: DatabaseSettings, data_bytes: int, machines: int) -> int:
        """The most that it takes in the data folder of each of `machines` for such an amount; pure.

        Raises:
            InputError: its settings say something that is no size.
        """
        ...


@runtime_checkable
class HasSettings(Protocol):
    """Can tell the settings in force."""

    async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Setting -> value as the server says."""
        ...
