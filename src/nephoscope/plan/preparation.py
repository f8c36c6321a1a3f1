"""Estimated time before a trial: creating its machines, loading or restoring its data set."""

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from nephoscope.model.units import GIB, MIB
from nephoscope.study.machines import left_raw, local_ssd_gib, local_ssds_of, volumes_of
from nephoscope.study.model import Configuration
from nephoscope.study.provisioning import CLOUDS
from nephoscope.study.snapshots import (
    COPIES,
    FIRST_READ_BYTES_PER_S,
    MAKE_BYTES_PER_S,
    first_read_s,
    layout_of,
    place_of,
    stored_bytes,
)

_EMULATED = "emulated"
MAKE_S = 240.0
"""To create machines, boot them, copy the tools there and start the database; and finally to delete the machines."""
EMULATED_HOST_S = 6.0
"""To create an emulated machine with a fifth of a CPU, inspect it, and start its part of the database; more CPU takes
less time.
"""
GIVE_BACK_S = 60.0
"""The part of it reserved for ending the cluster when its budget runs out."""
LOAD_BYTES_PER_S = 60 * MIB
"""Loading rate of three machines with a copy on each, with indexes; and of one machine. See `load_s`."""
RESTORE_BYTES_PER_S = 200 * MIB
"""Restore rate of the same, from a copy on their own disks or in a bucket in their region."""
MIGRATE_S = 60.0
"""Servers of Aerospike compare their partitions after each start: a minute with a fifth of a CPU each."""
RESET_S = 60.0
"""To stop servers, put the files of a data set back that are kept on their disks, and start them again."""
FILL_MIB_PER_S = 200.0
"""Of a local SSD, and of a volume whose study gives no throughput."""
_KEEPS_BACKUPS = frozenset({"cockroachdb"})
"""Databases for which a study may set `fixtures`."""
_KEEPS_FILES = frozenset({"cockroachdb"})
"""Databases that copy a data set once for a cluster that several trials share, and then put its files back."""
_NO_IDENTITY = "22."
"""Versions of CockroachDB that cannot use the managed identity of an Azure machine: their stores are copied instead."""


def load_s(configuration: Configuration, fixture_bytes: int) -> float:
    """Estimated seconds to load a data set from nothing.

    Each machine writes its own copies, so that a larger cluster loads as many times as fast as it has machines for each
    copy: 81 machines as fast as 27 clusters of three.
    """
    return fixture_bytes / (LOAD_BYTES_PER_S * _machines_a_copy(configuration))


def restore_s(configuration: Configuration, fixture_bytes: int) -> float:
    """Estimated seconds to copy a data set that was loaded before, by all machines at once."""
    return fixture_bytes / (RESTORE_BYTES_PER_S * _machines_a_copy(configuration))


def _machines_a_copy(configuration: Configuration) -> float:
    return max(1.0, configuration.database_machine.count / COPIES)


@runtime_checkable
class HasDataSet(Protocol):
    """A benchmark that loads a data set."""

    @property
    def parameters(self) -> Any:
        """Model of the parameters."""

    def fixture_bytes(self, parameters: Any) -> int:
        """Disk space that it needs once loaded."""

    def fixture_name(self, parameters: Any, data_seed: int) -> str:
        """A name that two data sets share only when they are equal."""


@dataclass(frozen=True)
class Setup:
    """Estimated seconds before one trial, by what takes them."""

    make_s: float = 0.0
    """To create its machines, and to wait until the servers of its database are a cluster."""
    load_s: float = 0.0
    """To load its data set from nothing."""
    restore_s: float = 0.0
    """To copy a data set that was loaded before."""
    reload_s: float = 0.0
    """The part of `load_s` that a backup of an earlier load would have saved."""

    @property
    def total_s(self) -> float:
        """All of them, one after the other."""
        return self.make_s + self.load_s + self.restore_s


class Before:
    """Seconds before each trial, in the order of the plan. Machines and data sets that are kept cost time only once."""

    def __init__(self) -> None:
        self._made: set[str] = set()
        self._providers: set[str] = set()
        self._kept: set[tuple[str, int]] = set()
        self._once: set[tuple[str, str, int]] = set()
        """Data sets that one backup in a store of their region could have kept."""
        self._on_disks: set[tuple[str, int]] = set()
        """Clusters and the data sets that are kept on their disks."""
        self._first_reads = False
        """Whether volumes are read that come from snapshots and are slow at first."""
        self._reloads: dict[str, set[str]] = defaultdict(set)
        """Where data sets could be kept that are loaded more than once -> providers."""

    def of(
        self,
        configuration: Configuration,
        fixture_bytes: int,
        cluster: str | None = None,
        carried_bytes: int | None = None,
    ) -> Setup:
        """Estimate before the next trial; nothing if no machines are created.

        Backups in a bucket outlive a cluster and serve every configuration that names the bucket; a data set kept on a
        cluster disappears with it.

        Args:
            configuration: of the trial.
            fixture_bytes: of its data set; 0: it has none.
            cluster: that it shares with other trials; None: it has one of its own.
            carried_bytes: of the data set for which snapshots of the cluster's volumes are made; None: this one.
        """
        setup = self._but_migrations(configuration, fixture_bytes, cluster, carried_bytes)
        migrates = configuration.database.system == "aerospike" and configuration.database_machine.count > 1
        if not migrates or not fixture_bytes:
            return setup
        starts = 2 + (setup.load_s > 0)  # of the trial, with its data set, and to load that
        return replace(setup, make_s=setup.make_s + starts * MIGRATE_S)

    def _but_migrations(
        self, configuration: Configuration, fixture_bytes: int, cluster: str | None, carried_bytes: int | None
    ) -> Setup:
        whole_s = _make_s(configuration)
        if not whole_s:
            return Setup()
        made = cluster is not None and cluster in self._made
        make_s = 0.0 if made else whole_s
        self._made.add(cluster or configuration.name)
        self._providers.add(configuration.provider)
        if not fixture_bytes or configuration.provider == _EMULATED:
            return Setup(make_s)
        if configuration.database.dsn is not None:  # its server keeps it
            return self._on_a_server(configuration, fixture_bytes, make_s)
        place = place_of(configuration)
        if place is not None:
            carried = carried_bytes in {None, fixture_bytes}
            return self._in_snapshots(configuration, fixture_bytes, cluster, make_s, str(place) if carried else "")
        return self._loaded_or_restored(configuration, fixture_bytes, cluster, make_s)

    def _loaded_or_restored(
        self, configuration: Configuration, fixture_bytes: int, cluster: str | None, make_s: float
    ) -> Setup:
        """A data set that a bucket keeps, or else its cluster."""
        bucket = configuration.database.fixtures
        kept = (bucket or cluster or "", fixture_bytes)
        loaded = kept in self._kept and kept[0] != ""
        self._kept.add(kept)
        copy_s = restore_s(configuration, fixture_bytes)
        if cluster is not None and configuration.database.system in _KEEPS_FILES:
            if (cluster, fixture_bytes) in self._on_disks:
                return Setup(make_s, restore_s=RESET_S)
            self._on_disks.add((cluster, fixture_bytes))
            copy_s = RESET_S + (copy_s if bucket is not None else 0.0)
        if loaded:
            return Setup(make_s, restore_s=copy_s)
        whole_s = load_s(configuration, fixture_bytes)
        again = self._was_loaded(configuration, fixture_bytes)
        if again and bucket is None:
            self._reloads[_store_for(configuration)].add(configuration.provider)
        return Setup(make_s, whole_s, copy_s, whole_s if again else 0.0)

    def _in_snapshots(
        self, configuration: Configuration, fixture_bytes: int, cluster: str | None, make_s: float, place: str
    ) -> Setup:
        """A data set on volumes of which snapshots are made; `place`: of the snapshots, empty if none are of it."""
        if cluster is not None and (cluster, fixture_bytes) in self._on_disks:
            return Setup(make_s, restore_s=RESET_S)
        if cluster is not None:
            self._on_disks.add((cluster, fixture_bytes))
        kept = (f"{place} {layout_of(configuration)}", fixture_bytes)
        if place and kept in self._kept:
            self._first_reads |= configuration.provider in FIRST_READ_BYTES_PER_S
            return Setup(make_s, restore_s=RESET_S + first_read_s(configuration, fixture_bytes))
        whole_s = load_s(configuration, fixture_bytes)
        if not place:
            return Setup(make_s, whole_s, RESET_S)
        self._kept.add(kept)
        stored = stored_bytes(fixture_bytes, configuration.database_machine.count)
        return Setup(make_s, whole_s, RESET_S + stored / MAKE_BYTES_PER_S)

    def _on_a_server(self, configuration: Configuration, fixture_bytes: int, make_s: float) -> Setup:
        """A data set on a server that outlives every cluster is loaded once."""
        kept = (configuration.database.dsn or "", fixture_bytes)
        loaded = kept in self._kept
        self._kept.add(kept)
        whole_s = 0.0 if loaded else load_s(configuration, fixture_bytes)
        return Setup(make_s, whole_s, restore_s(configuration, fixture_bytes))

    def _was_loaded(self, configuration: Configuration, fixture_bytes: int) -> bool:
        """Whether an earlier trial in its region loaded the same data set, with a database that can back it up."""
        once = (configuration.provider, configuration.region or "", fixture_bytes)
        before = once in self._once
        self._once.add(once)
        return before and can_keep_backups(configuration)

    def notes(self) -> list[str]:
        """Notes on how the hours were estimated."""
        if not self._made:
            return []
        load, restore = f"{LOAD_BYTES_PER_S / MIB:g} MiB/s", f"{RESTORE_BYTES_PER_S / MIB:g} MiB/s"
        found: list[str] = []
        if self._providers - {_EMULATED}:
            found.append(
                f"the hours include estimates: {MAKE_S:g} s to create a cluster, loading at {load}, restoring at "
                f"{restore}, in larger clusters by every {COPIES} machines"
            )
        if self._first_reads:
            rates = ", ".join(f"{rate / MIB:g} MiB/s on {name}" for name, rate in FIRST_READ_BYTES_PER_S.items())
            found.append(f"the first read of a volume that comes from a snapshot: {rates}")
        if _EMULATED in self._providers:
            found.append(
                f"the time includes an estimate: {EMULATED_HOST_S:g} s for each emulated machine of a database"
            )
        found += [
            f"{', '.join(sorted(where))}: clusters load data sets again; to keep them, set `database.fixtures` to "
            f"{store}"
            for store, where in self._reloads.items()
        ]
        return found


def can_keep_backups(configuration: Configuration) -> bool:
    """Whether its database can restore a data set from a bucket: `database.fixtures` may be set."""
    return configuration.database.system in _KEEPS_BACKUPS


def _store_for(configuration: Configuration) -> str:
    """Where its database could keep a data set."""
    by_files = configuration.provider == "azure" and (configuration.database.version or "").startswith(_NO_IDENTITY)
    return "azure-stores://account/container/folder?AUTH=implicit" if by_files else "a bucket"


def fill_s(configuration: Configuration, share: float) -> float:
    """Estimated seconds to write so much of a raw volume or local SSD once, before it is measured.

    Nothing is counted for a local SSD of unknown size, which `check_raw` rejects.
    """
    machine = left_raw(configuration).database_machine
    first = next(volumes_of(machine, raw=True), None)
    if first is not None:
        return share * first.size * GIB / ((first.throughput or FILL_MIB_PER_S) * MIB)
    size_gib = local_ssd_gib(configuration) if local_ssds_of(machine, raw=True) else None
    return share * (size_gib or 0.0) * GIB / (FILL_MIB_PER_S * MIB)


def _make_s(configuration: Configuration) -> float:
    """Seconds to create the machines of one cluster; 0: no machines are created."""
    if configuration.provider == _EMULATED:
        return EMULATED_HOST_S * configuration.database_machine.count
    return MAKE_S if configuration.provider in CLOUDS else 0.0
