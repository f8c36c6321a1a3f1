"""What all clouds have in common: create or find by tags, all machines or none, back-off, waiting for usable machines.

A cloud itself (`Cloud`) only creates, finds and deletes what carries a cluster's tags. Nothing is remembered: the
successor of a dead controller finds everything by tags.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from typing_extensions import override

from nephoscope.machines.remote import MachineHandle
from nephoscope.machines.shielded import to_its_end
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.machines.waiting import Clock
from nephoscope.model.errors import (
    EnvironmentProblem,
    InfrastructureFailure,
    MachineLost,
    MachinePreempted,
    MachineUnreachable,
    NephoscopeError,
    Throttled,
)
from nephoscope.providers.base import Cluster, ClusterRequest, FindsByPlan, OfAccount, Provider, cluster_of, study_of
from nephoscope.providers.cloud.order import NOT_PREEMPTED, ClusterOrder, Question, order_of, require_place
from nephoscope.providers.cloud.snapshots import ClusterVolumes, Snapshot, Snapshots, by_machine, newest, unfinished
from nephoscope.providers.cloud.unmaking import VISIBLE_TIMEOUT_S
from nephoscope.study.machines import database_places, load_places
from nephoscope.study.model import Configuration, Machine
from nephoscope.study.snapshots import layout_of, place_of

Result = TypeVar("Result")
Name = TypeVar("Name")
Made = TypeVar("Made")

TRIES = 7
FIRST_WAIT_S = 1.0
"""Waits of 1, 2, 4 … 32 s: a throttled account has its tokens back within a minute."""
LOOK_EVERY_S = 2.0
RUNNING_TIMEOUT_S = 300.0
"""Machines run within a minute, those of bare metal within several."""


class MadeOnce(Generic[Name, Made]):
    """Creates a thing once, when it is first needed: SDKs make sessions and clients for one thread at a time."""

    def __init__(self, make: Callable[[Name], Made]) -> None:
        self._make = make
        self._made: dict[Name, Made] = {}
        self._making = threading.Lock()

    def __call__(self, name: Name) -> Made:
        """What has this name; an error in making it is raised, and it is made the next time."""
        with self._making:
            if name not in self._made:
                self._made[name] = self._make(name)
            return self._made[name]


class EndedByUser(MachineLost):
    """Somebody with access to the account ended the machine, which may have been nephoscope."""


class Life(StrEnum):
    """Whether a machine can be used."""

    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"
    """It is stopping, is being deleted, or is gone but still listed."""


@dataclass(frozen=True)
class CloudMachine:
    """A machine as its cloud describes it."""

    name: str
    role: str
    id: str
    """The provider's own."""
    life: Life
    zone: str
    public_address: str | None
    private_address: str | None
    why: NephoscopeError | None = None
    """For an ended one: preempted, no capacity after all; None: the provider does not say."""


class Cloud(Protocol):
    """One cloud's API, asked by tags. Errors are typed; every call may be repeated, also after half of it was done.

    A list may return more than its filter says, so tags are compared again before anything is counted, used or deleted.
    """

    name: str

    async def clusters(self, study: str, regions: Collection[str] = ()) -> list[str]:
        """Keys of the clusters of which anything exists: machines, volumes, groups.

        Args:
            study: whose.
            regions: where to look; empty: in every region.
        """

    async def machines(self, key: str, regions: Sequence[str]) -> list[CloudMachine]:
        """Of one cluster; ended ones may be among them, or not any more."""

    async def make(self, order: ClusterOrder) -> None:
        """Everything of the order, with tags at creation; what was made before an error stays.

        Raises:
            CapacityLacking, QuotaReached, Throttled, MachineUnsupported, EnvironmentProblem: the cloud refused.
        """

    async def unmake(self, key: str, regions: Collection[str] = ()) -> None:
        """Everything that carries the cluster's tags is gone when it returns; nothing there is no error.

        Args:
            key: of the cluster.
            regions: where to look if nothing is known of it; empty: in every region.

        Raises:
            InfrastructureFailure: something is still there.
        """

    async def account(self) -> str | None:
        """See `OfAccount`."""

    def questions(self, order: ClusterOrder) -> Sequence[Question]:
        """What the account is asked before its first machine.

        Raises:
            ToolMissing, EnvironmentProblem: the cloud's SDK is missing, or no account is named.
        """


class Connect(Protocol):
    """Makes of a machine that runs one that can be used; the real one is `cloud_ssh.SshConnect`."""

    async def key(self, scratch: Path) -> str:
        """The public key of the study, created when first needed."""

    async def __call__(self, machine: CloudMachine, asked: Machine, request: ClusterRequest) -> MachineHandle:
        """Waits until the machine accepts a login and its boot script has ended.

        Raises:
            MachineLost: it does not answer in time.
            EnvironmentProblem: its boot script failed.
        """


class CloudProvider(Provider, FindsByPlan, OfAccount):
    """A cloud as a `Provider`."""

    detached = True

    def __init__(
        self, cloud: Cloud, connect: Connect, clock: Clock, owner: str, snapshots: Snapshots | None = None
    ) -> None:
        self.name = cloud.name
        self._cloud = cloud
        self._snapshots = snapshots
        self._connect = connect
        self._clock = clock
        self._owner = owner
        self._account: str | None = None
        self._held: dict[str, Cluster] = {}
        self._regions: dict[str, frozenset[str]] = {}
        """Study -> the regions of its configurations, as far as they are known."""

    @override
    async def create(self, request: ClusterRequest) -> Cluster:
        """Creates the cluster, or finds it. Deletes it on any failure, so that the next attempt makes a new one.

        Raises:
            InputError: the configuration does not say enough.
            EnvironmentProblem: the cloud's SDK or its credentials are missing, or a boot script failed.
            MachinePreempted: a machine was taken back while it booted.
        """
        order = order_of(request, self._owner, await self._connect.key(request.scratch))
        there = await self._cloud.machines(order.key, order.regions)
        new = all(machine.life is Life.ENDED for machine in there)
        try:
            kept = await self._kept(request)
            if new:
                await _close(self._held.pop(request.key, None))
                order = self._from_snapshots(order, request, kept)
                await self._cloud.make(order)
            machines = await self._running(order, {machine.id for machine in there} if new else None)
            if request.key not in self._held:
                cluster = await self._connected(machines, request)
                self._held[request.key] = replace(cluster, volumes=self._volumes(order, request, kept))
        except BaseException as error:
            why = await self._why_not_booted(request, error)  # asked now: a deleted machine no longer says it
            with suppress(NephoscopeError):  # the first error is reported; what is left is found by its tags
                await to_its_end(self.delete(request.key))
            if why is not None:
                raise why from error
            raise
        cluster = self._held[request.key]
        if not request.trial:
            await _end_what_was_left(cluster)
        return cluster

    @override
    async def list(self, study: str) -> list[str]:
        """Also of clusters of which only snapshots are left that belong to no whole data set.

        A key that does not begin with the study's is of another study, whatever tag stands beside it.
        """
        keys = {*await self._cloud.clusters(study, self._regions.get(study, ())), *await self._unfinished(study)}
        return sorted(key for key in keys if study_of(key) == study)

    @override
    async def find(self, study: str, configurations: Sequence[Configuration]) -> Sequence[str]:
        """From now on only the regions of these configurations are asked for what is left of a study."""
        places = [place for one in configurations for place in (*database_places(one), *load_places(one))]
        named = {place.region for place in places if place.region is not None}
        self._regions[study] = frozenset(map(require_place, named))
        return ()

    @override
    async def delete(self, key: str) -> None:
        """Deletes what the cloud still has of the cluster, but not the data sets that it has kept.

        Raises:
            InfrastructureFailure: something of it is still there.
        """
        held = self._held.pop(key, None)
        try:
            await self._cloud.unmake(key, self._regions.get(study_of(key), ()))
            if self._snapshots is not None and (held is None or held.volumes is not None):
                left = await self._unfinished(study_of(key))
                await self._snapshots.delete(left.get(key, []))
        finally:
            await _close(held)

    @override
    async def account(self) -> str | None:
        """Asked once: a process keeps its credentials."""
        if self._account is None:
            self._account = await self._cloud.account()
        return self._account

    def questions(self, request: ClusterRequest) -> Sequence[Question]:
        """What the account is asked before the first machine of a request.

        Raises:
            ToolMissing, EnvironmentProblem: the cloud's SDK is missing, or no account is named.
        """

        async def lists() -> str:
            study = study_of(request.key)
            await self.find(study, [request.configuration])
            return f"the cloud lists {len(await self.list(study))} clusters of this folder"

        return [*self._cloud.questions(order_of(request, self._owner, "")), Question("lists", lists)]

    async def why_lost(self, request: ClusterRequest) -> NephoscopeError | None:
        """See `KnowsLosses`. A preemptible machine that its cloud has already deleted was taken back.

        An end that a user asked for may be our own deletion of an earlier cluster with the same key.
        """
        order = order_of(request, self._owner, "")
        found = await self._cloud.machines(order.key, order.regions)
        living = {machine.name for machine in found if machine.life is not Life.ENDED}
        missing = [name for name in order.names if name not in living]
        reason = _reason([one for one in found if one.name in missing])
        unlisted = [name for name in missing if all(one.name != name for one in found)]
        if reason is None and unlisted and order.cloud.spot:
            return MachinePreempted(
                f"{', '.join(unlisted)} of {order.key}: preempted by {self.name}", hint=NOT_PREEMPTED
            )
        return reason

    async def _unfinished(self, study: str) -> Mapping[str, Sequence[Snapshot]]:
        """Snapshots of a study's clusters that cannot be used; whoever may not list any has made none."""
        if self._snapshots is not None:
            with suppress(EnvironmentProblem):
                return unfinished(await self._snapshots.of_study(study, self._regions.get(study, ())))
        return {}

    async def _kept(self, request: ClusterRequest) -> Sequence[Snapshot]:
        """The snapshots in the region of a cluster that uses them."""
        place = place_of(request.configuration) if request.data_set else None
        return await self._snapshots.found(place.region) if self._snapshots is not None and place is not None else ()

    def _from_snapshots(self, order: ClusterOrder, request: ClusterRequest, kept: Sequence[Snapshot]) -> ClusterOrder:
        """The order of volumes that hold the data set already, if it has been kept."""
        found = newest(kept, request.data_set, layout_of(request.configuration)) if kept else None
        if found is None:
            return order
        names = next(role.names for role in order.roles if role.role == "database")
        return order_of(request, self._owner, order.public_key, by_machine(found, names))

    def _volumes(self, order: ClusterOrder, request: ClusterRequest, kept: Sequence[Snapshot]) -> ClusterVolumes | None:
        if self._snapshots is None or not request.data_set:
            return None
        since = frozenset(one.id for one in kept)
        return ClusterVolumes(request, order, self._snapshots, self._clock, since)

    async def _why_not_booted(self, request: ClusterRequest, error: BaseException) -> NephoscopeError | None:
        """Why a machine that ran cannot be entered, if its cloud knows."""
        if not isinstance(error, MachineLost | MachineUnreachable) or isinstance(error, MachinePreempted):
            return None
        with suppress(NephoscopeError):
            return await self.why_lost(request)
        return None

    async def _running(self, order: ClusterOrder, gone: Collection[str] | None) -> Sequence[CloudMachine]:
        """All machines of the order, once they run.

        Args:
            order: what was requested.
            gone: ids of an earlier cluster of the same key, of one that was just made; None: it was there before.

        Raises:
            MachineLost: one is not there, has ended, or does not start.
            CapacityLacking, QuotaReached: what the cloud says of one that ended while it started.
        """
        begun_s = self._clock.monotonic_s()
        while True:
            found = [one for one in await self._cloud.machines(order.key, order.regions) if one.id not in (gone or ())]
            living = {machine.name: machine for machine in found if machine.life is not Life.ENDED}
            missing = [name for name in order.names if name not in living]
            waited_s = self._clock.monotonic_s() - begun_s
            if missing:
                ended = [machine for machine in found if machine.name in missing]
                if ended or gone is None or waited_s > VISIBLE_TIMEOUT_S:
                    raise _lost(order, missing, ended)
            elif all(machine.life is Life.RUNNING for machine in living.values()):
                return [living[name] for name in order.names]
            if waited_s > RUNNING_TIMEOUT_S:
                raise MachineLost(f"machines of {order.key} are not running after {RUNNING_TIMEOUT_S:.0f} s")
            await self._clock.sleep(LOOK_EVERY_S)

    async def _connected(self, machines: Sequence[CloudMachine], request: ClusterRequest) -> Cluster:
        configuration = request.configuration
        asked = {"database": configuration.database_machine, "load": configuration.load_machine}
        tasks = [
            asyncio.create_task(self._connect(machine, asked[machine.role] or Machine(), request))
            for machine in machines
        ]
        try:
            handles = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        return cluster_of(request.key, handles, sum(one.role == "database" for one in machines))


def _lost(order: ClusterOrder, missing: Sequence[str], ended: Sequence[CloudMachine]) -> NephoscopeError:
    """Why machines are missing, as far as the cloud says."""
    said = next((machine.why for machine in ended if machine.why is not None), None)
    lost = f"{', '.join(missing)} of {order.key} disappeared or was never created"
    return _reason(ended) or said or MachineLost(lost)


def _reason(ended: Sequence[CloudMachine]) -> NephoscopeError | None:
    """A preemption explains more than any other end, and an end that a user asked for explains nothing."""
    reasons = [one.why for one in ended if one.why is not None and not isinstance(one.why, EndedByUser)]
    return next((why for why in reasons if isinstance(why, MachinePreempted)), next(iter(reasons), None))


async def _close(cluster: Cluster | None) -> None:
    for machine in cluster.machines if cluster is not None else ():
        if isinstance(machine.remote, SshRemote):
            await machine.remote.close()


async def _end_what_was_left(cluster: Cluster) -> None:
    """A cluster of many trials is freed of what a dead controller left."""
    for machine in cluster.machines:
        if isinstance(machine.remote, SshRemote):
            await machine.remote.end_all()


async def patiently(
    call: Callable[[], Result],
    typed: Callable[[Exception], NephoscopeError | None],
    clock: Clock,
    threads: Executor | None = None,
) -> Result:
    """What a blocking call of an SDK returns, made again while its cloud asks to slow down or has a fault of its own.

    Runs in a thread; a cancellation waits for its end, as what is being made must be known to be unmade.

    Args:
        call: may be made again.
        typed: of what the SDK raised; None: it is not the cloud's, and passes unchanged.
        clock: for the waits between tries.
        threads: where it runs; default: asyncio's few, for calls that are answered at once.
    """
    for done in range(TRIES):
        try:
            return await to_its_end(asyncio.get_running_loop().run_in_executor(threads, call))
        except NephoscopeError:
            raise
        except Exception as error:
            meant = typed(error)
            if meant is None:
                raise
            if done == TRIES - 1 or not (isinstance(meant, Throttled) or type(meant) is InfrastructureFailure):
                raise meant from error
        await clock.sleep(FIRST_WAIT_S * 2**done)
    raise AssertionError("the last try returns or raises")


async def together(*actions: Awaitable[Result]) -> list[Result]:
    """What all of them return, in order; when it raises the first error, the others have ended, too."""
    tasks = [asyncio.ensure_future(action) for action in actions]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        if tasks:
            await asyncio.wait(tasks)
