"""The requests to Azure Resource Manager for a cluster, and the meaning of its answers; pure, in its reference's terms.

A cluster is a resource group: its tags are the cluster's, and deleting the group deletes the cluster. Data disks are
separate resources, because Azure ignores IOPS and throughput of a disk that is created with its machine.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nephoscope.model.errors import InputError, MachineLost, MachinePreempted, NephoscopeError
from nephoscope.providers.azure.errors import of_code
from nephoscope.providers.cloud.order import NOT_PREEMPTED, ROLE, ClusterOrder, RoleOrder, short_id
from nephoscope.providers.cloud.provider import CloudMachine, Life
from nephoscope.study.model import Volume

_OF_PRICE_BOOK = re.compile(r"Premium SSD (P\d+) LRS")
_PROVISIONED = frozenset({"PremiumV2_LRS", "UltraSSD_LRS"})
_STARTING = frozenset({"creating", "updating", "starting"})


@dataclass(frozen=True)
class Call:
    """One call of the SDK's management clients."""

    client: str
    """'compute', 'network' or 'resource'."""
    operations: str
    """A group of operations of the client, as the SDK names it."""
    method: str
    arguments: tuple[Any, ...]
    """The last argument of a call that creates something is its body, with the names of the REST reference."""


class Names:
    """Identifiers of a cluster's resources. What is in one region has names of that region."""

    def __init__(self, key: str, subscription: str) -> None:
        self.group = group_of(key)
        self._group_id = f"/subscriptions/{subscription}/resourceGroups/{self.group}"

    def id(self, kind: str, name: str) -> str:
        """Of a resource of the group; `kind` as 'Microsoft.Compute/disks'."""
        return f"{self._group_id}/providers/{kind}/{name}"


def group_of(key: str) -> str:
    """Name of the cluster's resource group."""
    return f"nephoscope-{short_id(key)}"


def group_call(order: ClusterOrder) -> Call:
    """The resource group."""
    body = {"location": order.regions[0], "tags": dict(order.tags)}
    return Call("resource", "resource_groups", "create_or_update", (group_of(order.key), body))


def making_steps(order: ClusterOrder, subscription: str) -> list[list[Call]]:
    """Everything in the group; the calls of a step depend on earlier steps, but not on each other.

    Raises:
        InputError: the order contains something that Azure does not offer.
    """
    _require_possible(order)
    names = Names(order.key, subscription)
    machines = [(role, name) for role in order.roles for name in role.names]
    free: list[Call] = []
    for region in order.regions:
        free += [_machines_group(order, names, region), *_placement(order, names, region)]
        free += [] if order.cloud.subnet else [_network(order, names, region)]
    for role, name in machines:
        free += [*_address(order, names, role, name), *_disks(order, names, role, name)]
    then = [*(_rules(order, names, region) for region in order.regions), *_peerings(order, names)]
    interfaces = [_interface(order, names, role, name) for role, name in machines]
    return [free, then, interfaces, [_machine(order, names, *one) for one in machines]]


def _require_possible(order: ClusterOrder) -> None:
    for zone in (zone for region in order.regions for zone in order.zones(region)):
        if zone not in {"1", "2", "3"}:
            raise InputError(f"Azure has no zone {zone!r}", hint='zones are "1", "2" or "3"')
    if len(order.regions) > 1 and order.cloud.subnet is not None:
        raise InputError(
            f"an Azure subnet is in one region, but the machines are in {' and '.join(order.regions)}",
            hint="remove `subnet`: nephoscope then creates a network in each region, and joins the two",
        )
    if order.cloud.placement_group == "spread":
        raise InputError(
            "Azure cannot spread machines within a zone", hint='remove `placement_group`, or set it to "cluster"'
        )
    if order.cloud.identity is not None and not order.cloud.identity.startswith("/subscriptions/"):
        raise InputError(
            f"Azure has no identity {order.cloud.identity!r}",
            hint="'/subscriptions/…/providers/Microsoft.ManagedIdentity/userAssignedIdentities/…'",
        )
    if order.cloud.reach == "private" and order.cloud.subnet is None:
        raise InputError(
            '`reach = "private"` needs a subnet: a network created for a cluster is only reachable from outside',
            hint="set `subnet` to your own subnet",
        )


def _in_region(order: ClusterOrder, what: str, region: str) -> str:
    """Name of what each region has one of: 'network' in the database's, 'network-2' in the other."""
    index = order.regions.index(region)
    return what if index == 0 else f"{what}-{index + 1}"


def _addresses(order: ClusterOrder, region: str) -> str:
    """The network's addresses in a region: those of two regions must differ."""
    return f"10.{order.regions.index(region)}.0.0"


def _machines_group(order: ClusterOrder, names: Names, region: str) -> Call:
    """Stands for the cluster's machines in rules: others may be in the same network."""
    body = {"location": region, "tags": dict(order.tags)}
    return _make("network", "application_security_groups", names, _in_region(order, "machines", region), body)


def _placement(order: ClusterOrder, names: Names, region: str) -> list[Call]:
    if order.cloud.placement_group is None:
        return []
    body = {
        "location": region,
        "tags": dict(order.tags),
        "zones": list(order.zones(region)),
        "properties": {
            "proximityPlacementGroupType": "Standard",
            "intent": {"vmSizes": sorted({role.type for role in order.roles if role.region == region})},
        },
    }
    name = _in_region(order, "placement", region)
    return [Call("compute", "proximity_placement_groups", "create_or_update", (names.group, name, body))]


def _rules(order: ClusterOrder, names: Names, region: str) -> Call:
    """SSH only from the controller, everything between the cluster's machines, nothing else.

    Groups of machines do not reach beyond their network: the cluster's other network stands by its addresses, which
    only the cluster's machines have.
    """
    group = _in_region(order, "machines", region)
    ours = [{"id": names.id("Microsoft.Network/applicationSecurityGroups", group)}]
    anywhere = {"sourceAddressPrefix": "*", "destinationAddressPrefix": "*", "destinationPortRange": "*"}
    among = {
        "sourceApplicationSecurityGroups": ours,
        "destinationApplicationSecurityGroups": ours,
        "destinationPortRange": "*",
    }
    ssh = {**anywhere, "sourceAddressPrefix": order.cloud.ingress, "destinationPortRange": "22"}
    rules = [
        _rule("ssh", 100, "Allow", {**ssh, "protocol": "Tcp"}),
        _rule("among", 200, "Allow", {**among, "protocol": "*"}),
        _rule("else", 4096, "Deny", {**anywhere, "protocol": "*"}),
    ]
    for other in order.regions:
        if other != region:
            far = {
                "sourceAddressPrefix": f"{_addresses(order, other)}/16",
                "destinationApplicationSecurityGroups": ours,
                "destinationPortRange": "*",
            }
            rules.append(_rule("far", 300, "Allow", {**far, "protocol": "*"}))
    body = {"location": region, "tags": dict(order.tags), "properties": {"securityRules": rules}}
    return _make("network", "network_security_groups", names, _in_region(order, "rules", region), body)


def _rule(name: str, priority: int, access: str, of_whom: Mapping[str, Any]) -> dict[str, Any]:
    shared = {"priority": priority, "access": access, "direction": "Inbound", "sourcePortRange": "*"}
    return {"name": name, "properties": {**shared, **of_whom}}


def _network(order: ClusterOrder, names: Names, region: str) -> Call:
    """One subnet for all zones: a network of Azure's reaches all of a region's."""
    addresses = _addresses(order, region)
    subnet = {"name": "machines", "properties": {"addressPrefix": f"{addresses}/20"}}
    properties = {"addressSpace": {"addressPrefixes": [f"{addresses}/16"]}, "subnets": [subnet]}
    body = {"location": region, "tags": dict(order.tags), "properties": properties}
    return _make("network", "virtual_networks", names, _in_region(order, "network", region), body)


def _peerings(order: ClusterOrder, names: Names) -> Iterator[Call]:
    """Each network names the other: both must, before anything passes."""
    for region in order.regions:
        for other in order.regions:
            if other == region:
                continue
            far = names.id("Microsoft.Network/virtualNetworks", _in_region(order, "network", other))
            properties = {
                "remoteVirtualNetwork": {"id": far},
                "allowVirtualNetworkAccess": True,
                "allowForwardedTraffic": False,
                "allowGatewayTransit": False,
                "useRemoteGateways": False,
            }
            network = _in_region(order, "network", region)
            arguments = (names.group, network, f"to-{other}", {"properties": properties})
            yield Call("network", "virtual_network_peerings", "begin_create_or_update", arguments)


def _address(order: ClusterOrder, names: Names, role: RoleOrder, name: str) -> Iterator[Call]:
    if order.cloud.reach == "private":
        return
    body = {
        "location": role.region,
        "tags": dict(order.tags),
        "zones": [role.zone_of(name)],
        "sku": {"name": "Standard"},
        "properties": {"publicIPAllocationMethod": "Static"},
    }
    yield _make("network", "public_ip_addresses", names, name, body)


def _disks(order: ClusterOrder, names: Names, role: RoleOrder, name: str) -> Iterator[Call]:
    for disk, volume, snapshot in data_disks(role, name):
        kind, tier = sku_of(volume.kind)
        source = {"createOption": "Copy", "sourceResourceId": snapshot} if snapshot else {"createOption": "Empty"}
        properties: dict[str, Any] = {"creationData": source, "diskSizeGB": int(volume.size)}
        if tier is not None:
            properties["tier"] = tier
        if volume.iops and kind in _PROVISIONED:
            properties["diskIOPSReadWrite"] = int(volume.iops)
        if volume.throughput and kind in _PROVISIONED:
            properties["diskMBpsReadWrite"] = int(volume.throughput)
        body = {
            "location": role.region,
            "tags": {**order.tags, ROLE: role.role},
            "zones": [role.zone_of(name)],
            "sku": {"name": kind},
            "properties": properties,
        }
        yield _make("compute", "disks", names, disk, body)


_CACHING = {"none": "None", "read-only": "ReadOnly", "read-write": "ReadWrite"}
_ALSO_OF_PRICE_BOOK = {"Ultra Disk": "UltraSSD_LRS", "Premium SSD v2": "PremiumV2_LRS"}


def data_disks(role: RoleOrder, name: str) -> Iterator[tuple[str, Volume, str | None]]:
    """Name and volume of each data disk of a machine, and the id of the snapshot that it is created from."""
    for index, (volume, snapshot) in enumerate(role.volumes_of(name)):
        yield f"{name}-data-{index + 1}", volume, snapshot


def sku_of(kind: str) -> tuple[str, str | None]:
    """Azure's name of a kind of disk, with its performance tier: 'Premium SSD P30 LRS' of the price book is both."""
    found = _OF_PRICE_BOOK.fullmatch(kind)
    return ("Premium_LRS", found[1]) if found else (_ALSO_OF_PRICE_BOOK.get(kind, kind), None)


def _interface(order: ClusterOrder, names: Names, role: RoleOrder, name: str) -> Call:
    network, group, rules = (_in_region(order, what, role.region) for what in ("network", "machines", "rules"))
    subnet = order.cloud.subnet or f"{names.id('Microsoft.Network/virtualNetworks', network)}/subnets/machines"
    address: dict[str, Any] = {
        "subnet": {"id": subnet},
        "applicationSecurityGroups": [{"id": names.id("Microsoft.Network/applicationSecurityGroups", group)}],
    }
    if order.cloud.reach == "public":
        address["publicIPAddress"] = {"id": names.id("Microsoft.Network/publicIPAddresses", name)}
    body = {
        "location": role.region,
        "tags": dict(order.tags),
        "properties": {
            "enableAcceleratedNetworking": True,
            "networkSecurityGroup": {"id": names.id("Microsoft.Network/networkSecurityGroups", rules)},
            "ipConfigurations": [{"name": "address", "properties": address}],
        },
    }
    return _make("network", "network_interfaces", names, name, body)


def _machine(order: ClusterOrder, names: Names, role: RoleOrder, name: str) -> Call:
    properties: dict[str, Any] = {
        "hardwareProfile": _hardware(role),
        "storageProfile": _storage(names, role, name),
        "osProfile": _system(order, role, name),
        "networkProfile": {
            "networkInterfaces": [
                {
                    "id": names.id("Microsoft.Network/networkInterfaces", name),
                    "properties": {"primary": True, "deleteOption": "Delete"},
                }
            ]
        },
    }
    if any(sku_of(volume.kind)[0] == "UltraSSD_LRS" for volume in role.machine.volumes or ()):
        properties["additionalCapabilities"] = {"ultraSSDEnabled": True}
    if order.cloud.placement_group is not None:
        properties["proximityPlacementGroup"] = {
            "id": names.id("Microsoft.Compute/proximityPlacementGroups", _in_region(order, "placement", role.region))
        }
    if order.cloud.spot:
        properties |= {"priority": "Spot", "evictionPolicy": "Delete", "billingProfile": {"maxPrice": -1}}
    body: dict[str, Any] = {
        "location": role.region,
        "tags": {**order.tags, ROLE: role.role},
        "zones": [role.zone_of(name)],
        "properties": properties,
    }
    if role.identity is not None:
        body["identity"] = {"type": "UserAssigned", "userAssignedIdentities": {role.identity: {}}}
    return _make("compute", "virtual_machines", names, name, body)


def _hardware(role: RoleOrder) -> dict[str, Any]:
    """The size, and its CPUs if the study sets them.

    `vCPUsAvailable` is a number of vCPUs (REST reference, `VMSizeProperties`), so the study's rules reject `cores`
    without `threads_per_core`.
    """
    cores, threads = role.machine.cores, role.machine.threads_per_core
    if threads is None:
        return {"vmSize": role.type}
    vcpus = {} if cores is None else {"vCPUsAvailable": cores * threads}
    return {"vmSize": role.type, "vmSizeProperties": {"vCPUsPerCore": threads, **vcpus}}


def _storage(names: Names, role: RoleOrder, name: str) -> dict[str, Any]:
    return {
        "imageReference": image_of(role.image),
        "osDisk": {
            "createOption": "FromImage",
            "deleteOption": "Delete",
            "managedDisk": {"storageAccountType": "StandardSSD_LRS"},  # the one kind that every size takes
        },
        "dataDisks": [
            {
                "lun": lun,
                "createOption": "Attach",
                "deleteOption": "Delete",
                "caching": _CACHING[volume.cache or "none"],
                "managedDisk": {"id": names.id("Microsoft.Compute/disks", disk)},
            }
            for lun, (disk, volume, _) in enumerate(data_disks(role, name))
        ],
    }


def _system(order: ClusterOrder, role: RoleOrder, name: str) -> dict[str, Any]:
    user = order.cloud.user
    key = {"path": f"/home/{user}/.ssh/authorized_keys", "keyData": order.public_key}
    return {
        "computerName": name,
        "adminUsername": user,
        "customData": base64.b64encode(role.boot.encode()).decode(),
        "linuxConfiguration": {"disablePasswordAuthentication": True, "ssh": {"publicKeys": [key]}},
    }


def image_of(image: str) -> dict[str, str]:
    """'publisher:offer:sku:version', or the id of your own image.

    Raises:
        InputError: it is neither.
    """
    if image.startswith("/subscriptions/"):
        return {"id": image}
    parts = image.split(":")
    if len(parts) != 4 or "latest" in parts:
        raise InputError(
            f"Azure has no image {image!r}",
            hint="'publisher:offer:sku:version' with an exact version, or '/subscriptions/…/images/…'",
        )
    return dict(zip(("publisher", "offer", "sku", "version"), parts, strict=True))


def _make(client: str, operations: str, names: Names, name: str, body: Mapping[str, Any]) -> Call:
    return Call(client, operations, "begin_create_or_update", (names.group, name, body))


def machine_of(
    machine: Mapping[str, Any],
    view: Mapping[str, Any],
    interfaces: Sequence[Mapping[str, Any]],
    addresses: Sequence[Mapping[str, Any]],
) -> CloudMachine:
    """A machine as described by ARM; interface and address have its name."""
    name, properties = str(machine["name"]), machine.get("properties", {})
    private = [one for found in interfaces if found["name"] == name for one in found["properties"]["ipConfigurations"]]
    public = [found["properties"].get("ipAddress") for found in addresses if found["name"] == name]
    life, why = life_of(name, view, spot=properties.get("priority") == "Spot")
    return CloudMachine(
        name=name,
        role=machine.get("tags", {}).get(ROLE, ""),
        id=str(properties.get("vmId") or machine.get("id") or name),
        life=life,
        zone=next(iter(machine.get("zones") or ()), ""),
        public_address=next(iter(public), None),
        private_address=private[0]["properties"].get("privateIPAddress") if private else None,
        why=why,
    )


def life_of(name: str, view: Mapping[str, Any], *, spot: bool) -> tuple[Life, NephoscopeError | None]:
    """Whether a machine can be used, by its instance view; and why not, once it has ended."""
    codes = {
        kind: (state, status.get("message") or status.get("displayStatus") or "")
        for status in view.get("statuses", ())
        for kind, _, state in [str(status.get("code", "")).partition("/")]
    }
    made, why = codes.get("ProvisioningState", ("", ""))
    if made.startswith("failed"):
        return Life.ENDED, of_code(made.rpartition("/")[2], None, f"{name}: {why}")
    power, told = codes.get("PowerState", ("", ""))
    if power == "running":
        return Life.RUNNING, None
    if power in _STARTING or (not power and made in {"", *_STARTING}):
        return Life.STARTING, None
    said = f"Azure reports {power or made} for {name}" + (f": {told}" if told else "")
    return Life.ENDED, MachinePreempted(said, hint=NOT_PREEMPTED) if spot else MachineLost(said)
