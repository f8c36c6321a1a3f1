"""Where machines come from. A provider knows no benchmark and no price."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from nephoscope.machines.doctor import HostFindings
from nephoscope.machines.remote import MachineHandle, Tool
from nephoscope.model.errors import NephoscopeError
from nephoscope.study.model import Configuration


@dataclass(frozen=True)
class ClusterRequest:
    """What a trial needs."""

    study: str
    """Owner of the machines: the study's name with the id of its results folder. Every resource has this tag."""
    configuration: Configuration
    scratch: Path
    """A local folder for what must outlive a trial but not the study (fixtures, data of local machines)."""
    trial: str = ""
    """Id of the trial it is for; empty: the cluster serves several trials."""
    attempt: int = 0
    """Number of the trial's attempt.

    A command of an attempt starts only once: its folder on the machine is created first.
    """
    shared: str = ""
    """Name of a cluster that serves several trials; empty: the configuration's."""
    zone: str | None = None
    """Instead of the configuration's own, after another one lacked capacity."""
    expires_unix_ms: int | None = None
    """When machines may end themselves, if nobody has deleted them by then."""

    log_dir: Path | None = None
    """Folder for logs of creating machines; None: no logs."""
    data_set: str = ""
    """Name of the data set that its trials need and that is kept as snapshots of volumes; empty: there is none."""

    @property
    def key(self) -> str:
        """Makes `create` idempotent: equal keys are the same cluster."""
        if not self.trial:
            return f"{self.study}/{self.shared or self.configuration.name}"
        return f"{self.study}/{self.configuration.name}/{self.trial}-{self.attempt}"


def study_of(key: str) -> str:
    """The study that a cluster's key belongs to, as `ClusterRequest.study` names it."""
    return key.partition("/")[0]


class Volumes(Protocol):
    """The data volumes of a cluster's database machines, whose cloud keeps snapshots of them."""

    @property
    def data_set(self) -> str:
        """Name of the data set that the snapshots are for."""

    @property
    def slow_at_first(self) -> bool:
        """Whether the first read of a volume that was created from a snapshot takes longer than the next."""

    async def keep(self) -> None:
        """Makes a snapshot of each volume, of this moment; nothing may write to them until it returns.

        They take the place of those that were there when this cluster was created, which did not serve it. Does nothing
        if another cluster has made some since then.

        Raises:
            NephoscopeError: a snapshot cannot be made, or is not complete in time.
        """


@dataclass(frozen=True)
class Cluster:
    """Machines by role. Co-located: the load machine is the database machine."""

    key: str
    database: tuple[MachineHandle, ...]
    load: MachineHandle
    more_load: tuple[MachineHandle, ...] = ()
    """Further machines of the load generator, which share one load with the first."""
    one_machine: bool = False
    """They are parts of one machine and share its CPUs."""
    shared: bool = False
    """It serves several trials, one after the other."""
    managed: bool = False
    """Its machines only drive the load: the database is a service's, on machines that nobody sees."""
    volumes: Volumes | None = None
    """None: no snapshots are kept of them."""

    @property
    def co_located(self) -> bool:
        """True when client and server share a machine."""
        return self.load.name in {machine.name for machine in self.database}

    @property
    def shares_cpus(self) -> bool:
        """True when client and server may use the same CPU, and so wait for each other."""
        servers = {cpu for machine in self.database for cpu in machine.cpus}
        clients = {cpu for machine in self.load_machines for cpu in machine.cpus}
        if self.managed:
            return False
        return self.co_located or (self.one_machine and bool(servers & clients))

    @property
    def machines(self) -> tuple[MachineHandle, ...]:
        """Every machine once."""
        return self.database if self.co_located else (*self.database, *self.load_machines)

    @property
    def zones(self) -> tuple[str, ...]:
        """Of the database machines, in order of their first; empty unless there are several."""
        found = tuple(dict.fromkeys(machine.zone for machine in self.database))
        return found if len(found) > 1 else ()

    @property
    def load_machines(self) -> tuple[MachineHandle, ...]:
        """Every machine of the load generator."""
        return (self.load, *self.more_load)


def cluster_of(key: str, machines: Sequence[MachineHandle], database: int) -> Cluster:
    """A cluster whose first `database` machines are the database's and whose others are the load generator's."""
    load = machines[database:] or machines[:1]
    return Cluster(key, tuple(machines[:database]), load[0], tuple(load[1:]))


class Provider(Protocol):
    """Creates, lists and deletes clusters; every call may be repeated."""

    name: str

    async def create(self, request: ClusterRequest) -> Cluster:
        """The cluster of this request: the one that exists, or a new one. All of its machines, or none.

        Raises:
            CapacityLacking: the zone has no such machines at the moment.
            QuotaReached: the account's quota allows no more.
            Throttled: too many requests.
            MachineLost: a created machine disappeared in the meantime.
            MachineUnsupported: the provider does not offer such a machine there.
        """

    async def list(self, study: str) -> list[str]:
        """Keys of the clusters of a study that exist, whoever made them: asked of the provider, not remembered."""

    async def delete(self, key: str) -> None:
        """Deletes the machines and volumes of a cluster; no error if they are already deleted."""


@runtime_checkable
class OnThisMachine(Protocol):
    """A provider whose machines are this one or parts of it, so that what a study needs must be installed here."""

    @property
    def tools(self) -> Sequence[Tool]:
        """What it runs itself, besides the tools of benchmarks."""

    @property
    def needs_root(self) -> bool:
        """True when it works for root alone."""


@dataclass(frozen=True)
class Wanted:
    """What trials of one configuration need of its machines."""

    configuration: Configuration
    tools: Sequence[tuple[Sequence[Tool], Callable[[Cluster], Sequence[MachineHandle]]]] = ()
    """Programs, each with the machines of a cluster on which they must be."""
    disk_bytes: int = 0
    clock_off_s: float | None = None
    """How far the clock of a machine may be from the controller's; None: it matters to no trial."""


@runtime_checkable
class ExaminesHosts(Protocol):
    """A provider of machines that are there before a study, and can be asked whether they are fit for it."""

    async def examine(self, wanted: Sequence[Wanted]) -> Sequence[HostFindings]:
        """Findings about every host, all asked at the same time; changes nothing that a trial could notice.

        Raises:
            InputError: the study does not say where a host is.
        """


@runtime_checkable
class HasLimit(Protocol):
    """A provider that has a known number of clusters."""

    @property
    def at_once(self) -> int:
        """How many clusters may exist at the same time."""


@runtime_checkable
class NamesHosts(Protocol):
    """A provider of machines that are there before a study; trials that need the same one take turns."""

    def hosts(self, configuration: Configuration) -> Sequence[str]:
        """Names of the machines that a configuration needs for itself; the same machine has the same name."""


@runtime_checkable
class Detached(Protocol):
    """A provider whose machines, with the commands started on them, live on when the controller dies.

    `create` with the key of an attempt then gives machines on which `execute` of the same name waits for the command
    that was started before, and starts it if there is none.
    """

    @property
    def detached(self) -> bool:
        """True."""


@runtime_checkable
class KnowsLosses(Protocol):
    """A provider that may know what happened to a machine that does not answer any more."""

    async def why_lost(self, request: ClusterRequest) -> NephoscopeError | None:
        """What ended a machine of the cluster, asked before the cluster is deleted; None: nothing is known."""


@runtime_checkable
class OfAccount(Protocol):
    """A provider whose machines belong to an account: with the credentials of another one it lists none of them."""

    async def account(self) -> str | None:
        """The account, project or subscription of these credentials; None: they do not tell.

        Raises:
            NephoscopeError: it cannot be asked.
        """


@runtime_checkable
class FindsByPlan(Protocol):
    """A provider that looks for what is left of a study where its configurations say: on hosts, or in regions."""

    async def find(self, study: str, configurations: Sequence[Configuration]) -> Sequence[str]:
        """Call this before `list`, which then knows what a controller that died left there.

        Returns which machines did not answer, and why.
        """
