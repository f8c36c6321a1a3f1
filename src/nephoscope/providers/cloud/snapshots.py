"""Data sets as snapshots of data volumes: one for each volume of each database machine, found by their tags alone.

A snapshot is tagged by the call that makes it. A data set can be used once all of its snapshots are complete; until
then they belong to the cluster that makes them, and are deleted with it. So a controller that dies leaves no snapshot
that is neither part of a whole data set nor found by the cluster's tags.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from typing_extensions import override

from nephoscope.machines.waiting import Clock
from nephoscope.model.errors import EnvironmentProblem, InfrastructureFailure, QuotaReached, Throttled
from nephoscope.providers.base import ClusterRequest, Volumes
from nephoscope.providers.cloud.order import CLUSTER, PREFIX, STUDY, ClusterOrder
from nephoscope.study.snapshots import FIRST_READ_BYTES_PER_S, SnapshotPlace, layout_of, place_of

DATA_SET, LAYOUT, PART, REGION = f"{PREFIX}data-set", f"{PREFIX}layout", f"{PREFIX}part", f"{PREFIX}region"
OWNER = f"{PREFIX}owner"
COMPLETE_TIMEOUT_S = 6 * 3600.0
"""For all snapshots of a data set; a cloud copies them at 100 MiB/s or more."""
_LOOK_EVERY_S = 15.0
_OF = " of "
_PART = re.compile(rf"[1-9][0-9]*{_OF}[1-9][0-9]*")


@dataclass(frozen=True)
class DataVolume:
    """A data volume of a database machine."""

    number: int
    """Its place among those of the cluster: machine by machine, in the order of the study."""
    id: str
    """The cloud's own."""
    zone: str


@dataclass(frozen=True)
class Snapshot:
    """A snapshot that nephoscope made."""

    id: str
    """The cloud's own."""
    tags: Mapping[str, str]
    size_bytes: int
    """What is billed, or the size of the volume if the cloud does not say."""
    made_unix_ms: int
    complete: bool
    """A volume can be created from it."""
    failed: bool = False
    """It will never be complete."""

    @property
    def number(self) -> int:
        """Place of its volume in the cluster."""
        return int(self.tags[PART].partition(_OF)[0])

    @property
    def parts(self) -> int:
        """How many snapshots its data set has."""
        return int(self.tags[PART].partition(_OF)[2])


class Snapshots(Protocol):
    """Snapshots of volumes of one cloud, by tags. Every call may be repeated."""

    async def found(self, region: str) -> list[Snapshot]:
        """All that nephoscope made in a region, whichever study and cluster."""

    async def of_study(self, study: str, regions: Collection[str] = ()) -> list[Snapshot]:
        """Those that a study made, in these regions; if none are given, in every region."""

    async def volumes(self, order: ClusterOrder) -> list[DataVolume]:
        """The data volumes of the database machines of a cluster that runs."""

    async def make(self, volume: DataVolume, tags: Mapping[str, str]) -> None:
        """Begins a snapshot of this moment, with these tags from the start; no error if it was made before."""

    async def delete(self, snapshots: Sequence[Snapshot]) -> None:
        """Deletes snapshots; no error for one that is gone."""


@dataclass(frozen=True)
class SnapshotSet:
    """The snapshots of one data set, made by one cluster."""

    data_set: str
    layout: str
    cluster: str
    snapshots: tuple[Snapshot, ...]
    """In order of their volumes; some may be missing, or there twice if the answer to a request was lost."""

    @property
    def usable(self) -> tuple[Snapshot, ...]:
        """One complete snapshot of each volume, as far as there is one."""
        return tuple({one.number: one for one in self.snapshots if one.complete}.values())

    @property
    def whole(self) -> bool:
        """Whether a cluster can be created from it."""
        return len(self.usable) == self.snapshots[0].parts

    @property
    def size_bytes(self) -> int:
        """Of all of them."""
        return sum(one.size_bytes for one in self.snapshots)

    @property
    def made_unix_ms(self) -> int:
        """When the last of them was begun."""
        return max(one.made_unix_ms for one in self.snapshots)


def sets_of(snapshots: Iterable[Snapshot]) -> list[SnapshotSet]:
    """Snapshots by data set, layout and cluster, in the order of their names and then of their age."""
    found: dict[tuple[str, str, str], list[Snapshot]] = defaultdict(list)
    for one in snapshots:
        if all(tag in one.tags for tag in (DATA_SET, LAYOUT, CLUSTER)) and _PART.fullmatch(one.tags.get(PART, "")):
            found[one.tags[DATA_SET], one.tags[LAYOUT], one.tags[CLUSTER]].append(one)
    made = [SnapshotSet(*names, tuple(sorted(many, key=lambda one: one.number))) for names, many in found.items()]
    return sorted(made, key=lambda one: (one.data_set, one.made_unix_ms))


def unfinished(snapshots: Iterable[Snapshot]) -> dict[str, list[Snapshot]]:
    """Key of a cluster -> its snapshots that cannot be used, and so belong to it."""
    found: dict[str, list[Snapshot]] = defaultdict(list)
    for one in sets_of(snapshots):
        if not one.whole:
            found[one.cluster] += one.snapshots
    return found


def newest(snapshots: Iterable[Snapshot], data_set: str, layout: str) -> SnapshotSet | None:
    """The newest whole set of a data set that fits a layout; None: there is none."""
    fitting = [one for one in sets_of(snapshots) if one.whole and (one.data_set, one.layout) == (data_set, layout)]
    return fitting[-1] if fitting else None


def by_machine(kept: SnapshotSet, names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Name of a database machine -> ids of the snapshots of its data volumes, in the order of the study."""
    each = len(kept.usable) // len(names)
    ids = [one.id for one in kept.usable]
    return {name: tuple(ids[place * each : (place + 1) * each]) for place, name in enumerate(names)}


@dataclass
class ClusterVolumes(Volumes):
    """See `Volumes`."""

    request: ClusterRequest
    order: ClusterOrder
    snapshots: Snapshots
    clock: Clock
    since: frozenset[str] = field(default_factory=frozenset)
    """Ids of the snapshots that were there when the cluster was created: they did not serve it."""

    @property
    @override
    def data_set(self) -> str:
        return self.request.data_set

    @property
    @override
    def slow_at_first(self) -> bool:
        return self.request.configuration.provider in FIRST_READ_BYTES_PER_S

    @override
    async def keep(self) -> None:
        try:
            await self._make()
        except (QuotaReached, Throttled) as error:  # of snapshots, and not of machines
            raise EnvironmentProblem(
                f"the data set cannot be kept: {error.message}",
                hint="delete other snapshots, or set `fixtures` to the address of a bucket",
            ) from error

    async def _make(self) -> None:
        place, layout = place_of(self.request.configuration), layout_of(self.request.configuration)
        if place is None:
            return
        there = await self.snapshots.found(place.region)
        if newest([one for one in there if one.id not in self.since], self.data_set, layout) is not None:
            return
        volumes = await self.snapshots.volumes(self.order)
        tags = {
            STUDY: self.request.study,
            CLUSTER: self.request.key,
            DATA_SET: self.data_set,
            LAYOUT: layout,
            REGION: place.region,
            OWNER: self.order.tags.get(OWNER, ""),
        }
        mine = [one for one in there if one.tags.get(CLUSTER) == self.request.key]
        await self.snapshots.delete([one for one in mine if one.tags.get(DATA_SET) == self.data_set])
        for volume in volumes:
            await self.snapshots.make(volume, {**tags, PART: f"{volume.number}{_OF}{len(volumes)}"})
        await self._until_complete(place, layout)
        older = [one for one in sets_of(there) if (one.data_set, one.layout) == (self.data_set, layout)]
        await self.snapshots.delete([each for one in older if one.whole for each in one.snapshots])

    async def _until_complete(self, place: SnapshotPlace, layout: str) -> None:
        """Until the data set can be used: a snapshot that is still copied slows its volume down.

        Raises:
            InfrastructureFailure: it cannot in time.
        """
        until_s = self.clock.monotonic_s() + COMPLETE_TIMEOUT_S
        while True:
            found = await self.snapshots.found(place.region)
            mine = [one for one in found if one.tags.get(CLUSTER) == self.request.key]
            if newest(mine, self.data_set, layout) is not None:
                return
            if any(one.failed for one in mine):
                raise InfrastructureFailure(f"the cloud failed to make a snapshot of {self.data_set}")
            if self.clock.monotonic_s() > until_s:
                raise InfrastructureFailure(
                    f"the snapshots of {self.data_set} are not complete after {COMPLETE_TIMEOUT_S / 3600:.0f} hours",
                    hint="look at them in the provider's console; they are deleted with their cluster",
                )
            await self.clock.sleep(_LOOK_EVERY_S)
