"""An order to a cloud, as values: machines by role, tags, the moment at which they end themselves. Pure."""

import hashlib
import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from nephoscope.model.errors import EnvironmentProblem, InputError
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.cloud.boot import BootPlan, boot_script
from nephoscope.study.machines import local_ssds_of, region_of, volumes_of, zones_in_turn
from nephoscope.study.model import SNAPSHOTS, Machine, Volume
from nephoscope.study.provisioning import Cloud

PREFIX = "nephoscope-"
STUDY, CLUSTER, ROLE = f"{PREFIX}study", f"{PREFIX}cluster", f"{PREFIX}role"
EXPIRES = f"{PREFIX}expires"
_PLACE = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
NOT_PREEMPTED = "`spot = false` gives machines that are not preempted"
LATER = "list more zones in `other_zones`, or run the same command again later"
SLOWER = "run the same command again later, or use fewer clusters: --max-clusters"
OTHER_ZONE = "check that the zone offers this machine type, or list zones that do in `other_zones`"
"""Hints that are the same on several clouds."""
AS_THE_MACHINE = "AUTH=implicit"
"""In an address of CockroachDB: log in with the machine's own identity."""


@dataclass(frozen=True)
class RoleOrder:
    """The equal machines of one role."""

    role: str
    machine: Machine
    image: str
    boot: str
    """A shell script that the machine runs as root when it comes up first."""

    region: str
    zones: tuple[str, ...]
    """Assigned to its machines in turn."""
    identity: str | None = None
    """Who its machines are for the cloud's other services; None: nobody."""
    snapshots: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name of a machine -> ids of the snapshots that its data volumes are created from; empty: they are empty."""

    @property
    def type(self) -> str:
        """The provider's machine type."""
        return self.machine.type or ""

    @property
    def names(self) -> tuple[str, ...]:
        """Of its machines, in order."""
        return tuple(machine_name(self.role, index, self.machine.count) for index in range(self.machine.count))

    def zone_of(self, name: str) -> str:
        """Zone of one of its machines."""
        return self.zones[self.names.index(name) % len(self.zones)]

    def volumes_of(self, name: str) -> list[tuple[Volume, str | None]]:
        """The volumes of one of its machines, each with the id of the snapshot that it is created from."""
        sources = iter(self.snapshots.get(name, ()))
        volumes = [volume for volume in self.machine.volumes or () for _ in range(volume.count)]
        return [(volume, None if volume.use == "raw" else next(sources, None)) for volume in volumes]


@dataclass(frozen=True)
class ClusterOrder:
    """One cluster, whole."""

    key: str
    cloud: Cloud
    roles: tuple[RoleOrder, ...]
    tags: Mapping[str, str]
    """Of every resource, at its creation; a role's resources have `ROLE` besides."""
    expires_unix_ms: int | None
    public_key: str
    """Of the study: the boot script lets it in, and so does a cloud that wants to know it."""

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that stand for the key where a name must be short."""
        return short_id(self.key)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all machines."""
        return tuple(name for role in self.roles for name in role.names)

    @property
    def regions(self) -> tuple[str, ...]:
        """Where its machines are, the database's first."""
        return tuple(dict.fromkeys(role.region for role in self.roles))

    def zones(self, region: str) -> tuple[str, ...]:
        """Where its machines are in a region."""
        return tuple(dict.fromkeys(zone for role in self.roles if role.region == region for zone in role.zones))

    @property
    def place(self) -> str:
        """All its zones, as a text that changes with them."""
        return " ".join(zone for region in self.regions for zone in self.zones(region))


def require_place(name: str) -> str:
    """The name of a region or zone, which becomes part of filters and addresses of a cloud's API.

    Raises:
        InputError: it is no such name.
    """
    if not _PLACE.fullmatch(name):
        raise InputError(
            f"{name!r} is not the name of a region or zone of a cloud",
            hint="such a name has lower-case letters, digits and dashes: us-east-1a, westeurope, 1",
        )
    return name


def short_id(key: str) -> str:
    """See `ClusterOrder.id`."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def machine_name(role: str, index: int, count: int) -> str:
    """'database-1' for the first one, 'load' for a load machine that is alone."""
    return role if role == "load" and count == 1 else f"{role}-{index + 1}"


def order_of(
    request: ClusterRequest, owner: str, public_key: str, snapshots: Mapping[str, tuple[str, ...]] | None = None
) -> ClusterOrder:
    """The order of a request.

    Args:
        request: of the cluster.
        owner: who orders it.
        public_key: of the study.
        snapshots: name of a database machine -> ids of the snapshots that its data volumes are created from.

    Raises:
        InputError: the configuration does not say enough.
    """
    configuration = request.configuration
    if request.zone is not None:
        configuration = configuration.model_copy(update={"zone": request.zone})
    cloud, name = configuration.cloud, configuration.name
    if cloud is None:
        raise InputError(
            f"configuration {name!r} does not say how {configuration.provider} should create its machines",
            hint='add cloud = { image = "…", ingress = "203.0.113.7/32" }',
        )
    if AS_THE_MACHINE in (configuration.database.fixtures or "") and cloud.identity is None:
        raise InputError(
            f"configuration {name!r} has `fixtures` with {AS_THE_MACHINE}, but its machines have no identity there",
            hint="set `identity` in `cloud`, and give it permission to read and write that bucket",
        )
    machines = {"database": configuration.database_machine, "load": configuration.load_machine}
    roles = []
    for role, machine in machines.items():
        if machine is None:
            continue
        if machine.type is None:
            raise InputError(f"configuration {name!r} does not set the `type` of its {role} machine")
        region, zones = region_of(configuration, machine), zones_in_turn(configuration, machine)
        named = [zone for zone in zones if zone is not None]
        if region is None or len(named) < len(zones):
            raise InputError(
                f"configuration {name!r} needs a `region` and a `zone`, because prices and results depend on them",
                hint=f"its {role} machine has none: set `zone`, or `zones` of {role}_machine",
            )
        for place in (region, *named):
            require_place(place)
        _require_distinct(name, machine)
        sources = snapshots or {} if role == "database" else {}
        plan = BootPlan(
            user=cloud.user,
            public_key=public_key,
            expires_unix_ms=request.expires_unix_ms,
            packages=tuple(cloud.packages or ()),
            volumes=len(list(volumes_of(machine, raw=False))),
            local_ssds=local_ssds_of(machine, raw=False),
            raw_volumes_gib=tuple(int(volume.size) for volume in volumes_of(machine, raw=True)),
            raw_local_ssds=local_ssds_of(machine, raw=True),
            apart=machine.disks == "apart",
            filesystem=machine.filesystem or "ext4",
            mount_options=tuple(machine.mount_options or ()),
            labelled=role == "database" and configuration.database.fixtures == SNAPSHOTS,
            filled=bool(sources),
        )
        identity = cloud.identity if role == "database" else None
        image = machine.image or cloud.image
        roles.append(RoleOrder(role, machine, image, boot_script(plan), region, tuple(named), identity, sources))
    found = ClusterOrder(
        key=request.key,
        cloud=cloud,
        roles=tuple(roles),
        tags=tags_of(request, owner),
        expires_unix_ms=request.expires_unix_ms,
        public_key=public_key,
    )
    if cloud.placement_group == "cluster" and any(len(found.zones(region)) > 1 for region in found.regions):
        raise InputError(
            f'configuration {name!r} has `placement_group = "cluster"`, but its machines are in several zones',
            hint="machines are close together in one zone only: remove `placement_group`, or use one zone",
        )
    return found


def _require_distinct(name: str, machine: Machine) -> None:
    """At boot a machine tells raw volumes from the others by their size alone."""
    raw, data = ({int(one.size) for one in volumes_of(machine, raw=raw)} for raw in (True, False))
    if raw & data:
        raise InputError(
            f"configuration {name!r} has a raw volume and one with a filesystem that are both {min(raw & data)} GiB, "
            "but a machine tells them apart by their size",
            hint="make one of them 1 GiB larger",
        )


def tags_of(request: ClusterRequest, owner: str) -> Mapping[str, str]:
    """Tags by which a resource is found again, and when it expires."""
    expires = request.expires_unix_ms
    found = {
        STUDY: request.study,
        CLUSTER: request.key,
        f"{PREFIX}configuration": request.configuration.name,
        f"{PREFIX}trial": request.trial,
        f"{PREFIX}attempt": str(request.attempt) if request.trial else "",
        f"{PREFIX}owner": owner,
        EXPIRES: utc(expires) if expires is not None else "",
    }
    return {name: text for name, text in found.items() if text}


def utc(unix_ms: int) -> str:
    """'2026-11-22T01:40:00Z'."""
    return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Question:
    """One question."""

    topic: str
    """'network'."""
    ask: Callable[[], Coroutine[Any, Any, str]]
    """What is the case, for people; raises a `NephoscopeError` if no machine can be made so."""
    account: str = ""
    """Name of the account as answers and errors repeat it; empty: its form tells what it is."""


def require_free(account: str, region: str, free: Mapping[str, float], needed: Mapping[str, float]) -> str:
    """What is free of each quota that is needed, for people; one that is not listed is not limited.

    Raises:
        EnvironmentProblem: too little of one is.
    """
    for name, amount in needed.items():
        if free.get(name, amount) < amount:
            raise EnvironmentProblem(
                f"the {account} has {free[name]:g} of {name} left in {region}, and {amount:g} are needed",
                hint=f"request more of {name} in the console, or try another --region and --zone",
            )
    return ", ".join(f"{free[name]:g} of {name}" for name in needed if name in free) + " free"
