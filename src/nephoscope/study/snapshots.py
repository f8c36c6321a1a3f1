"""Data sets kept as snapshots of volumes (`database.fixtures = "snapshots"`): where, and which machines they fit. Pure.

A snapshot holds the filesystem of one data volume of one database machine. So it fits machines that have as many
volumes of the same size, and a database that stores its data in the same way.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from nephoscope.model.units import MIB
from nephoscope.study.machines import database_places, volumes_of
from nephoscope.study.model import SNAPSHOTS, Configuration
from nephoscope.study.provisioning import CLOUDS

FIRST_READ_BYTES_PER_S: Mapping[str, float] = {"aws": 100 * MIB, "azure": 60 * MIB}
"""Rate at which a volume created from a snapshot can be read for the first time, by cloud; not here: at once as any.

AWS: the lowest rate that it sells (EBS user guide, "Initialize Amazon EBS volumes"; the default rate is not stated).
Azure: no rate is stated, so that of the standard disks on which snapshots are kept. GCP: a disk "can immediately
achieve its maximum performance and doesn't require pre-warming" (Compute Engine, "Restore from a snapshot").
"""
MAKE_BYTES_PER_S = 100 * MIB
"""Rate at which the data of a volume become a complete snapshot; an assumption, as no cloud states one."""
STORED_SHARE = 0.35
"""Of a data set, on the disks of CockroachDB: in 2022 10,000 warehouses of TPC-C lay on three volumes of 1,000 GB."""
COPIES = 3
"""Of every range of CockroachDB, if there are enough machines."""
_SCHEME = "snapshots"
_NOT_STORED = {"connections", "connections_per_cpu", "fixtures", "binary", "dsn"}
"""What a database's files do not depend on. Cluster settings are among its files."""
_BY_KIND = frozenset({"azure"})
"""Clouds where a volume cannot be made from a snapshot of any other kind: Azure's Ultra Disks and Premium SSD v2 have
sectors of 4 KiB."""


@dataclass(frozen=True)
class SnapshotPlace:
    """Where a cloud keeps snapshots."""

    provider: str
    region: str

    def __str__(self) -> str:
        """'snapshots of aws us-east-1'."""
        return f"snapshots of {self.provider} {self.region}"


def place_of(configuration: Configuration) -> SnapshotPlace | None:
    """Where its data sets are kept; None: not as snapshots."""
    if configuration.database.fixtures != SNAPSHOTS or configuration.provider not in CLOUDS:
        return None
    return SnapshotPlace(configuration.provider, configuration.region or "")


def place_at(address: str) -> SnapshotPlace | None:
    """Where 'snapshots://aws/us-east-1' points to; None: nowhere."""
    parts = urlsplit(address)
    region = parts.path.strip("/")
    if parts.scheme != _SCHEME or parts.netloc not in CLOUDS or not region or "/" in region:
        return None
    return SnapshotPlace(parts.netloc, region)


def layout_of(configuration: Configuration) -> str:
    """Twelve hexadecimal digits; equal for configurations whose machines can start on each other's snapshots."""
    machine, database = configuration.database_machine, configuration.database
    zones = [place.zone for place in database_places(configuration)]
    volumes = [
        [volume.size, volume.kind if configuration.provider in _BY_KIND else ""]
        for volume in volumes_of(machine, raw=False)
    ]
    inputs = {
        "database": database.model_dump(mode="json", exclude_none=True, exclude=_NOT_STORED),
        "filesystem": machine.filesystem or "ext4",
        "volumes": volumes,
        "zones": [zones.index(zone) for zone in zones],
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:12]


def stored_bytes(data_bytes: int, machines: int) -> float:
    """What a data set takes on each of a number of database machines: compressed, with all copies that are there."""
    return STORED_SHARE * data_bytes * min(1.0, COPIES / machines)


def first_read_s(configuration: Configuration, data_bytes: int) -> float:
    """Estimated seconds until a data set on volumes that come from snapshots has been read once."""
    rate = FIRST_READ_BYTES_PER_S.get(configuration.provider)
    if rate is None:
        return 0.0
    volumes = list(volumes_of(configuration.database_machine, raw=False))
    rates = [min(rate, volume.throughput * MIB) if volume.throughput else rate for volume in volumes]
    return stored_bytes(data_bytes, configuration.database_machine.count) / sum(rates)
