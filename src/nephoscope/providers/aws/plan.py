"""The requests to EC2 for a cluster, and the meaning of its answers; pure.

One call per role and zone creates machines and their volumes: all of them or none, with tags, with
`DeleteOnTermination` and with `terminate` on shutdown from the start. So nothing ever exists that no safety net would
catch.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nephoscope.model.errors import InputError
from nephoscope.providers.aws.call import Call, tagged, tags
from nephoscope.providers.aws.errors import of_state_reason
from nephoscope.providers.aws.network import EVERYWHERE, OwnNetwork, network_ending_calls
from nephoscope.providers.cloud.order import CLUSTER, PREFIX, ROLE, ClusterOrder, RoleOrder, machine_name, short_id
from nephoscope.providers.cloud.provider import CloudMachine, Life

PLACEMENT_GROUP = f"{PREFIX}placement-group"
"""Tag of the security group: name of the cluster's placement group, where it has one."""
_COUNT = f"{PREFIX}count"
"""Tag of a machine: how many its role has."""
_TURN = f"{PREFIX}turn"
"""Tag of a machine of a role in several zones: '2 of 3', it is in the second of the three that take turns."""
_TOO_LARGE: Mapping[str, Any] = {
    "IpProtocol": "icmp",
    "FromPort": 3,
    "ToPort": 4,
    "IpRanges": [{"CidrIp": EVERYWHERE, "Description": "a packet is too large for its path"}],
}
"""Destination unreachable, fragmentation needed: regions pass smaller packets to each other than machines of one zone
do, and routers say so from addresses of their own (EC2's guide, "Path MTU Discovery")."""
_DEVICES = tuple(f"/dev/sd{letter}" for letter in "fghijklmnop")
_OF_IOPS, _OF_THROUGHPUT = frozenset({"gp3", "io1", "io2"}), frozenset({"gp3"})
_LIVES: Mapping[str, Life] = {"pending": Life.STARTING, "running": Life.RUNNING}
_STARTS_OR_STOPS = frozenset({"pending", "running", "stopping", "stopped"})


@dataclass(frozen=True)
class Site:
    """What the machines of a region are made in."""

    group: str
    """Id of the security group."""
    subnets: Mapping[str, str] = field(default_factory=dict)
    """Zone -> id, in a network of the cluster's own; empty: none, the account's is used."""


def require_possible(order: ClusterOrder) -> None:
    """Finds out what EC2 cannot do before anything is made.

    Raises:
        InputError: the order contains something that AWS does not offer.
    """
    several = len(order.regions) > 1
    if order.cloud.subnet is not None and (several or len(order.zones(order.regions[0])) > 1):
        raise InputError(
            f"an AWS subnet is in one zone, but the machines are in {order.place}",
            hint="remove `subnet`: machines are then created in the default subnet of each zone, and for two regions "
            "in a network made for the cluster",
        )
    if several and order.cloud.reach == "private":
        raise InputError(
            "private addresses of a cluster in two regions can only be reached from its own networks",
            hint='remove `reach`, or set it to "public"',
        )
    images = [role.image for role in order.roles if role.image.startswith("ami-")]
    if several and len(set(images)) < len(images):
        raise InputError(
            f"the image {images[0]} exists in one region, but the machines are in {' and '.join(order.regions)}",
            hint=f"set `load_machine.image` to the id of that image in {order.regions[1]}",
        )


def group_call(order: ClusterOrder, vpc: str | None) -> Call:
    """The security group: created first and deleted last, so that it exists as long as anything of the cluster does."""
    tags = dict(order.tags)
    if order.cloud.placement_group is not None:
        tags[PLACEMENT_GROUP] = name_of(order)
    arguments = {
        "GroupName": name_of(order),
        "Description": "SSH from the controller, everything between the machines of one cluster",
        "TagSpecifications": [tagged("security-group", tags)],
        **({"VpcId": vpc} if vpc else {}),
    }
    return Call("create_security_group", arguments)


def ingress_call(order: ClusterOrder, group_id: str, others: Sequence[str] = ()) -> Call:
    """SSH only from the controller; everything between the machines of the cluster.

    Args:
        order: the cluster's.
        group_id: of the region.
        others: networks of the cluster in other regions, which know nothing of this group; they hold only its machines.
    """
    ssh = {
        "IpProtocol": "tcp",
        "FromPort": 22,
        "ToPort": 22,
        "IpRanges": [{"CidrIp": order.cloud.ingress, "Description": "controller"}],
    }
    among = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group_id}]}
    rules: list[dict[str, Any]] = [ssh, among]
    for cidr in others:
        far = {"CidrIp": cidr, "Description": "the cluster in another region"}
        rules.append({"IpProtocol": "-1", "IpRanges": [far]})
    if others:
        rules.append(dict(_TOO_LARGE))
    return Call("authorize_security_group_ingress", {"GroupId": group_id, "IpPermissions": rules})


def placement_call(order: ClusterOrder) -> Call | None:
    """The placement group, if one is requested."""
    if order.cloud.placement_group is None:
        return None
    return Call(
        "create_placement_group",
        {
            "GroupName": name_of(order),
            "Strategy": order.cloud.placement_group,
            "TagSpecifications": [tagged("placement-group", order.tags)],
        },
    )


@dataclass(frozen=True)
class Cpus:
    """The CPUs of a machine type: EC2 takes the number of cores only together with the threads of each."""

    cores: int
    threads_per_core: int


def machines_calls(order: ClusterOrder, role: RoleOrder, site: Site, of_type: Cpus | None) -> list[Call]:
    """All machines of a role with their volumes: one call for each of the zones that take turns.

    Each machine whose volumes come from snapshots is created by a call of its own, as all machines of a call have the
    same.

    Args:
        order: the cluster's.
        role: whose machines.
        site: of the role's region.
        of_type: known if the study asks for other CPUs than the type's.

    Raises:
        InputError: more volumes than there are device names.
    """
    turns = role.machine.count if role.snapshots else len(role.zones)
    return [_machines_call(order, role, (turn, turns), site, of_type) for turn in range(turns)]


def _machines_call(
    order: ClusterOrder, role: RoleOrder, which: tuple[int, int], site: Site, of_type: Cpus | None
) -> Call:
    """Creates every n-th machine of a role: `which` are the first one's place, and n."""
    turn, turns = which
    name = role.names[turn]
    zone = role.zone_of(name)
    count = len(range(turn, role.machine.count, turns))
    placement: dict[str, Any] = {"AvailabilityZone": zone}
    if order.cloud.placement_group is not None:
        placement["GroupName"] = name_of(order)
    tags = {
        **order.tags,
        ROLE: role.role,
        _COUNT: str(role.machine.count),
        **({_TURN: f"{turn + 1} of {turns}"} if turns > 1 else {}),
        "Name": f"{name_of(order)}-{role.role}",
    }
    arguments: dict[str, Any] = {
        "ImageId": role.image,
        "InstanceType": role.type,
        "MinCount": count,
        "MaxCount": count,
        "Placement": placement,
        "UserData": role.boot,
        "ClientToken": _token(order, role, turn),
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {"HttpTokens": "required"},
        "TagSpecifications": [tagged("instance", tags), tagged("volume", tags)],
    }
    if volumes := list(_volumes(role, name)):
        arguments["BlockDeviceMappings"] = volumes
    subnet = site.subnets.get(zone, order.cloud.subnet)
    if subnet is None:
        arguments["SecurityGroupIds"] = [site.group]
    else:
        network = {"DeviceIndex": 0, "SubnetId": subnet, "Groups": [site.group], "DeleteOnTermination": True}
        arguments["NetworkInterfaces"] = [{**network, "AssociatePublicIpAddress": order.cloud.reach == "public"}]
    if role.identity is not None:
        arguments["IamInstanceProfile"] = {"Arn" if role.identity.startswith("arn:") else "Name": role.identity}
    if of_type is not None:
        arguments["CpuOptions"] = {
            "CoreCount": role.machine.cores or of_type.cores,
            "ThreadsPerCore": role.machine.threads_per_core or of_type.threads_per_core,
        }
    if order.cloud.spot:
        once = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        arguments["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": once}
    return Call("run_instances", arguments)


@dataclass(frozen=True)
class Left:
    """What exists of a cluster in a region."""

    instances: Mapping[str, str]
    """Id -> state, without those that are terminated."""
    volumes: Mapping[str, str]
    """Id -> state."""
    groups: Mapping[str, str]
    """Id of a security group -> name of the cluster's placement group; empty: it has none."""
    network: OwnNetwork = field(default_factory=OwnNetwork)
    """Made for a cluster in two regions."""

    @property
    def names(self) -> tuple[str, ...]:
        """Ids of all that is left."""
        return (*self.instances, *self.volumes, *self.groups, *self.network.names)


def ending_calls(left: Left, placements_gone: Collection[str] = ()) -> list[Call]:
    """What can be deleted now: machines first, then volumes that outlive them, groups once they are empty.

    Only the tag of a security group names its placement group, so the security group stays until that one is gone.

    Args:
        left: what exists.
        placements_gone: names of placement groups that EC2 has deleted, or does not know.
    """
    if left.instances:
        ids = sorted(one for one, state in left.instances.items() if state in _STARTS_OR_STOPS)
        return [Call("terminate_instances", {"InstanceIds": ids})] if ids else []
    if left.volumes:
        free = sorted(one for one, state in left.volumes.items() if state in {"available", "error"})
        return [Call("delete_volume", {"VolumeId": one}) for one in free]
    calls = []
    for group, placement in sorted(left.groups.items()):
        if placement and placement not in placements_gone:
            calls.append(Call("delete_placement_group", {"GroupName": placement}))
        else:
            calls.append(Call("delete_security_group", {"GroupId": group}))
    return [*calls, *network_ending_calls(left.network)]


def left_of(
    instances: Sequence[Mapping[str, Any]],
    volumes: Sequence[Mapping[str, Any]],
    groups: Sequence[Mapping[str, Any]],
    network: OwnNetwork | None = None,
) -> Left:
    """What exists according to the lists."""
    return Left(
        instances={
            one["InstanceId"]: one["State"]["Name"] for one in instances if one["State"]["Name"] != "terminated"
        },
        volumes={one["VolumeId"]: one["State"] for one in volumes if one["State"] not in {"deleting", "deleted"}},
        groups={one["GroupId"]: _placement_of(tags(one)) for one in groups},
        network=network or OwnNetwork(),
    )


def _placement_of(group: Mapping[str, str]) -> str:
    """Name of the cluster's placement group by the tags of its security group; empty: it has none.

    A name that is not the cluster's own was not written by nephoscope, and nothing of that name is deleted.
    """
    own = _name_of_key(group[CLUSTER])
    return own if group.get(PLACEMENT_GROUP) == own else ""


def keys_of(resources: Sequence[Mapping[str, Any]]) -> set[str]:
    """Of the clusters that resources belong to."""
    return {tags(one)[CLUSTER] for one in resources if CLUSTER in tags(one)}


def machine_of(instance: Mapping[str, Any]) -> CloudMachine:
    """A machine as described by `DescribeInstances`."""
    said = tags(instance)
    role, reason = said.get(ROLE, ""), instance.get("StateReason") or {}
    turn, _, turns = said.get(_TURN, "1 of 1").partition(" of ")
    index = int(turn) - 1 + int(instance.get("AmiLaunchIndex") or 0) * int(turns)
    life = _LIVES.get(instance["State"]["Name"], Life.ENDED)
    return CloudMachine(
        name=machine_name(role, index, int(said.get(_COUNT, "1"))),
        role=role,
        id=instance["InstanceId"],
        life=life,
        zone=instance["Placement"]["AvailabilityZone"],
        public_address=instance.get("PublicIpAddress") or None,
        private_address=instance.get("PrivateIpAddress") or None,
        why=of_state_reason(reason.get("Code", ""), reason.get("Message", "")) if life is Life.ENDED else None,
    )


def name_of(order: ClusterOrder) -> str:
    """Of the cluster's groups."""
    return _name_of_key(order.key)


def _name_of_key(key: str) -> str:
    return f"nephoscope-{short_id(key)}"


def data_volumes_of(instance: Mapping[str, Any], role: RoleOrder, name: str) -> list[str]:
    """Ids of the volumes of a machine that are not raw, in the order of the study."""
    attached = {one["DeviceName"]: one["Ebs"]["VolumeId"] for one in instance.get("BlockDeviceMappings", ())}
    ordered = zip(_DEVICES, role.volumes_of(name), strict=False)
    return [attached[device] for device, (volume, _) in ordered if volume.use != "raw" and device in attached]


def _volumes(role: RoleOrder, name: str) -> Iterator[dict[str, Any]]:
    one_by_one = role.volumes_of(name)
    if len(one_by_one) > len(_DEVICES):
        raise InputError(f"{len(one_by_one)} volumes on a machine, but AWS has device names for only {len(_DEVICES)}")
    for device, (volume, snapshot) in zip(_DEVICES, one_by_one, strict=False):
        disk: dict[str, Any] = {
            "VolumeType": volume.kind,
            "VolumeSize": int(volume.size),
            "DeleteOnTermination": True,
        }
        if snapshot is not None:
            disk["SnapshotId"] = snapshot
        if volume.iops and volume.kind in _OF_IOPS:
            disk["Iops"] = int(volume.iops)
        if volume.throughput and volume.kind in _OF_THROUGHPUT:
            disk["Throughput"] = int(volume.throughput)
        yield {"DeviceName": device, "Ebs": disk}


def _token(order: ClusterOrder, role: RoleOrder, turn: int) -> str:
    """The same for a repeated call, but different for a later cluster with the same key."""
    what = f"{order.key} {role.role} {turn} {order.place} {order.expires_unix_ms}"
    return hashlib.sha256(what.encode()).hexdigest()
