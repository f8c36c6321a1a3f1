"""The requests to Compute Engine for a cluster, and the meaning of its answers; pure, in its REST terms.

One call creates a machine and its disks, with labels, with `autoDelete` and with a `terminationTime` at which Google
deletes them: nothing ever exists that no safety net would catch. Labels hold no free text, so a study and a cluster are
labelled by a hash of their keys; the description holds the keys themselves.
"""

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nephoscope.model.bounded_json import load_json
from nephoscope.model.errors import InputError, MachineLost, MachinePreempted, NephoscopeError
from nephoscope.providers.cloud.order import (
    CLUSTER,
    EXPIRES,
    NOT_PREEMPTED,
    ROLE,
    STUDY,
    ClusterOrder,
    RoleOrder,
    short_id,
    utc,
)
from nephoscope.providers.cloud.provider import CloudMachine, Life

_LIVES: Mapping[str, Life] = {
    "PENDING": Life.STARTING,
    "PROVISIONING": Life.STARTING,
    "STAGING": Life.STARTING,
    "RUNNING": Life.RUNNING,
}
_ON_ITS_WAY = frozenset({"STOPPING", "SUSPENDING", "DEPROVISIONING"})
"""Transient states: a machine in one of them is deleted at most once."""
_OF_IOPS = re.compile(r"hyperdisk-(balanced|extreme).*|pd-extreme")
_OF_THROUGHPUT = re.compile(r"hyperdisk-(balanced|throughput|ml).*")
_GENERATION = re.compile(r"[a-z]+(\d+)")
_HAS_OWN_SSDS = re.compile(r"z3-.*|.*lssd.*")
_OF_BUCKETS = "https://www.googleapis.com/auth/devstorage.read_write"
"""All that a machine's service account may be used for, whatever rights it has."""
_BEFORE_TIMER_MS = 120_000
"""Google deletes no machine that has stopped: it must come before the timer that powers the machine off."""
_OURS, _THEIRS = 900, 1000
"""Priorities of our rules: before those of a default network (65534), which let SSH in from everywhere."""


@dataclass(frozen=True)
class Call:
    """One call of the API."""

    client: str
    """The SDK's class that is asked."""
    method: str
    """Of that class; one that makes or deletes (`…_unary`) returns an operation, which continues in the background."""
    request: str
    """The SDK's type of the request."""
    arguments: Mapping[str, Any]
    """The request, with the names of the REST reference."""


def aggregated_list(resources: str, project: str, matching: str) -> Call:
    """What all zones or regions have of 'Instances', 'Disks' or 'ResourcePolicies'."""
    arguments = {"project": project, "filter": matching}
    return Call(f"{resources}Client", "aggregated_list", f"AggregatedList{resources}Request", arguments)


def firewall_list(project: str, key: str | None) -> Call:
    """The rules of one cluster, or of all."""
    return Call("FirewallsClient", "list", "ListFirewallsRequest", {"project": project, "filter": name_filter(key)})


def subnet_call(order: ClusterOrder, project: str, region: str) -> Call:
    """Asks for the subnet that is named; one network may have a subnet of that name in each region."""
    names = {"project": project, "region": region, "subnetwork": order.cloud.subnet}
    return Call("SubnetworksClient", "get", "GetSubnetworkRequest", names)


def operation_call(operation: Mapping[str, Any], begun_by: Call) -> Call:
    """Asks how an operation stands: of a zone, of a region, or of neither."""
    names = {"project": begun_by.arguments["project"], "operation": operation["name"]}
    for scope in ("zone", "region"):
        if scope in begun_by.arguments:
            kind, names = f"{scope.capitalize()}Operation", {**names, scope: begun_by.arguments[scope]}
            return Call(f"{kind}sClient", "get", f"Get{kind}Request", names)
    return Call("GlobalOperationsClient", "get", "GetGlobalOperationRequest", names)


def firewall_calls(order: ClusterOrder, project: str, network: str) -> list[Call]:
    """SSH only from the controller, everything between the cluster's machines, nothing else."""
    name = name_of(order.key)
    rules: list[dict[str, Any]] = [
        {
            "name": f"{name}-ssh",
            "priority": _OURS,
            "sourceRanges": [order.cloud.ingress],
            "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}],
        },
        {"name": f"{name}-among", "priority": _OURS, "sourceTags": [name], "allowed": [{"IPProtocol": "all"}]},
        {
            "name": f"{name}-else",
            "priority": _THEIRS,
            "sourceRanges": ["0.0.0.0/0"],
            "denied": [{"IPProtocol": "all"}],
        },
    ]
    shared = {
        "network": network,
        "direction": "INGRESS",
        "targetTags": [name],
        "description": description_of(order.tags),
    }
    return [
        Call(
            "FirewallsClient",
            "insert_unary",
            "InsertFirewallRequest",
            {"project": project, "requestId": _request_id(order, rule["name"]), "firewallResource": {**rule, **shared}},
        )
        for rule in rules
    ]


def placement_calls(order: ClusterOrder, project: str) -> list[Call]:
    """The placement policy of each region, if one is requested."""
    if order.cloud.placement_group is None:
        return []
    return [_placement_call(order, project, region) for region in order.regions]


def _placement_call(order: ClusterOrder, project: str, region: str) -> Call:
    machines = sum(role.machine.count for role in order.roles if role.region == region)
    how = (
        {"collocation": "COLLOCATED"}
        if order.cloud.placement_group == "cluster"
        else {"availabilityDomainCount": min(8, max(2, machines))}
    )
    policy = {
        "name": name_of(order.key),
        "description": description_of(order.tags),
        "groupPlacementPolicy": how,
    }
    return Call(
        "ResourcePoliciesClient",
        "insert_unary",
        "InsertResourcePolicyRequest",
        {
            "project": project,
            "region": region,
            "requestId": _request_id(order, f"placement {region}"),
            "resourcePolicyResource": policy,
        },
    )


def machine_calls(order: ClusterOrder, project: str) -> list[Call]:
    """One call for each machine, with its disks."""
    return [
        Call(
            "InstancesClient",
            "insert_unary",
            "InsertInstanceRequest",
            {
                "project": project,
                "zone": role.zone_of(name),
                "requestId": _request_id(order, name),
                "instanceResource": _machine(order, role, name, project),
            },
        )
        for role in order.roles
        for name in role.names
    ]


def _machine(order: ClusterOrder, role: RoleOrder, name: str, project: str) -> dict[str, Any]:
    machine, zone = role.machine, f"projects/{project}/zones/{role.zone_of(name)}"
    tags = {**order.tags, ROLE: role.role}
    made: dict[str, Any] = {
        "name": f"{name_of(order.key)}-{name}",
        "description": description_of(tags),
        "labels": labels_of(tags),
        "machineType": f"{zone}/machineTypes/{role.type}",
        "tags": {"items": [name_of(order.key)]},
        "scheduling": _scheduling(order),
        "networkInterfaces": [_interface(order, role, project)],
        "disks": list(_disks(order, role, name, project)),
        "metadata": {
            "items": [
                {"key": "startup-script", "value": role.boot},
                {"key": "block-project-ssh-keys", "value": "TRUE"},
                {"key": "enable-oslogin", "value": "FALSE"},
            ]
        },
    }
    if role.identity is not None:
        made["serviceAccounts"] = [{"email": role.identity, "scopes": [_OF_BUCKETS]}]
    if machine.cpu_platform is not None:
        made["minCpuPlatform"] = machine.cpu_platform
    features = {"visibleCoreCount": machine.cores, "threadsPerCore": machine.threads_per_core}
    if any(features.values()):
        made["advancedMachineFeatures"] = {name: number for name, number in features.items() if number is not None}
    if order.cloud.placement_group is not None:
        made["resourcePolicies"] = [f"projects/{project}/regions/{role.region}/resourcePolicies/{name_of(order.key)}"]
    return made


def _scheduling(order: ClusterOrder) -> dict[str, Any]:
    """A machine that Google would move to other hardware ends instead: its trial would be of two machines."""
    found: dict[str, Any] = {
        "onHostMaintenance": "TERMINATE",
        "automaticRestart": False,
        "provisioningModel": "SPOT" if order.cloud.spot else "STANDARD",
    }
    if order.expires_unix_ms is not None:
        found["terminationTime"] = utc(order.expires_unix_ms - _BEFORE_TIMER_MS)
    if order.expires_unix_ms is not None or order.cloud.spot:
        found["instanceTerminationAction"] = "DELETE"
    return found


def _interface(order: ClusterOrder, role: RoleOrder, project: str) -> dict[str, Any]:
    subnet = order.cloud.subnet
    if subnet is None:
        found: dict[str, Any] = {"network": f"projects/{project}/global/networks/default"}
    else:
        found = {"subnetwork": f"projects/{project}/regions/{role.region}/subnetworks/{subnet}"}
    if order.cloud.reach == "public":
        found["accessConfigs"] = [{"name": "public", "type": "ONE_TO_ONE_NAT"}]
    return found


def _disks(order: ClusterOrder, role: RoleOrder, name: str, project: str) -> Iterator[dict[str, Any]]:
    types = f"projects/{project}/zones/{role.zone_of(name)}/diskTypes"
    tags = {**order.tags, ROLE: role.role}
    about = {"labels": labels_of(tags), "description": description_of(tags)}
    full = f"{name_of(order.key)}-{name}"
    boot = {"diskName": full, "diskType": f"{types}/{boot_disk_of(role.type)}", "sourceImage": role.image, **about}
    yield {"boot": True, "autoDelete": True, "type": "PERSISTENT", "initializeParams": boot}
    for index, (volume, snapshot) in enumerate(role.volumes_of(name)):
        data: dict[str, Any] = {
            "diskName": data_disk_name(order, name, index),
            "diskType": f"{types}/{volume.kind}",
            "diskSizeGb": str(int(volume.size)),
            **about,
        }
        if snapshot is not None:
            data["sourceSnapshot"] = f"projects/{project}/global/snapshots/{snapshot}"
        if volume.iops and _OF_IOPS.fullmatch(volume.kind):
            data["provisionedIops"] = str(int(volume.iops))
        if volume.throughput and _OF_THROUGHPUT.fullmatch(volume.kind):
            data["provisionedThroughput"] = str(int(volume.throughput))
        yield {
            "autoDelete": True,
            "type": "PERSISTENT",
            "deviceName": f"data-{index + 1}",
            **({"interface": volume.interface.upper()} if volume.interface else {}),
            "initializeParams": data,
        }
    interface = (role.machine.local_ssd_interface or "nvme").upper()
    if _HAS_OWN_SSDS.fullmatch(role.type):
        if interface != "NVME":
            raise InputError(f"{role.type} attaches its local SSDs only by NVMe", hint="remove `local_ssd_interface`")
        return
    for _ in range(role.machine.local_ssds or 0):
        scratch = {"diskType": f"{types}/local-ssd"}
        yield {"autoDelete": True, "type": "SCRATCH", "interface": interface, "initializeParams": scratch}


def data_disk_name(order: ClusterOrder, machine: str, index: int) -> str:
    """Of a volume of a machine."""
    return f"{name_of(order.key)}-{machine}-data-{index + 1}"


def boot_disk_of(machine_type: str) -> str:
    """Kind of the image's disk: from the fourth generation on (n4, c4, h4d …) machines support only Hyperdisk."""
    found = _GENERATION.match(machine_type)
    return "hyperdisk-balanced" if found and int(found[1]) >= 4 else "pd-balanced"


@dataclass(frozen=True)
class Left:
    """What there is of a cluster."""

    instances: Sequence[Mapping[str, Any]]
    disks: Sequence[Mapping[str, Any]]
    policies: Sequence[Mapping[str, Any]]
    firewalls: Sequence[Mapping[str, Any]]

    @property
    def names(self) -> tuple[str, ...]:
        """Of all that is left."""
        return tuple(one["name"] for one in (*self.instances, *self.disks, *self.policies, *self.firewalls))


def ending_calls(left: Left, project: str) -> list[Call]:
    """What can be ended now: machines first, then disks that outlived them, firewall rules when nothing needs them."""
    if left.instances:
        return [
            delete_call("Instances", "Instance", project, zone=_last(one["zone"]), instance=one["name"])
            for one in left.instances
            if one["status"] not in _ON_ITS_WAY
        ]
    if left.disks:
        return [
            delete_call("Disks", "Disk", project, zone=_last(one["zone"]), disk=one["name"])
            for one in left.disks
            if not one.get("users")
        ]
    if left.policies:
        return [
            delete_call(
                "ResourcePolicies",
                "ResourcePolicy",
                project,
                region=_last(one["region"]),
                resourcePolicy=one["name"],
            )
            for one in left.policies
        ]
    return [delete_call("Firewalls", "Firewall", project, firewall=one["name"]) for one in left.firewalls]


def delete_call(resources: str, one: str, project: str, **names: str) -> Call:
    """Deletes a resource: 'Disks', one 'Disk'."""
    return Call(f"{resources}Client", "delete_unary", f"Delete{one}Request", {"project": project, **names})


def of_cluster(resources: Iterable[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    """The resources whose description names this cluster: labels and names hold only a hash of its key."""
    return [one for one in resources if tags_of(one).get(CLUSTER) == key]


def keys_of(resources: Iterable[Mapping[str, Any]], study: str) -> set[str]:
    """Of the clusters of a study that resources belong to."""
    tags = [tags_of(one) for one in resources]
    return {one[CLUSTER] for one in tags if one.get(STUDY) == study and CLUSTER in one}


def machine_of(instance: Mapping[str, Any], key: str) -> CloudMachine:
    """A machine as the API describes it."""
    interface: Mapping[str, Any] = next(iter(instance.get("networkInterfaces", ())), {})
    access: Mapping[str, Any] = next(iter(interface.get("accessConfigs", ())), {})
    life = _LIVES.get(instance["status"], Life.ENDED)
    return CloudMachine(
        name=str(instance["name"]).removeprefix(f"{name_of(key)}-"),
        role=instance.get("labels", {}).get(ROLE, ""),
        id=str(instance.get("id") or instance["name"]),
        life=life,
        zone=_last(instance["zone"]),
        public_address=access.get("natIP") or None,
        private_address=interface.get("networkIP") or None,
        why=_why_ended(instance) if life is Life.ENDED else None,
    )


def _why_ended(instance: Mapping[str, Any]) -> NephoscopeError:
    said = f"GCP reports {instance['status']} for {instance['name']}: {instance.get('statusMessage') or 'no reason'}"
    if instance.get("scheduling", {}).get("provisioningModel") == "SPOT":
        return MachinePreempted(said, hint=NOT_PREEMPTED)
    return MachineLost(said)


def name_of(key: str) -> str:
    """What the names of all resources of a cluster begin with."""
    return f"nephoscope-{short_id(key)}"


def labels_of(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags as labels: 63 of `a-z0-9_-`. What is searched for is a hash, the rest is for people."""
    found = {name: re.sub(r"[^a-z0-9_-]", "-", text.lower())[:63] for name, text in tags.items()}
    return found | {name: short_id(tags[name]) for name in (STUDY, CLUSTER) if name in tags}


def label_filter(label: str, text: str) -> str:
    """Of lists: what carries the label of a study or a cluster."""
    return f"labels.{label}={short_id(text)}"


def name_filter(key: str | None) -> str:
    """Of lists of what has no labels: all of one cluster, or of all clusters."""
    return f'name eq "{name_of(key) if key is not None else "nephoscope-"}.*"'


def description_of(tags: Mapping[str, str]) -> str:
    """Tags as the text that any resource may have, whatever is in them."""
    short = {name: tags[name] for name in (STUDY, CLUSTER, EXPIRES) if name in tags}
    return json.dumps(short, sort_keys=True)


def tags_of(resource: Mapping[str, Any]) -> dict[str, str]:
    """Of a resource's description; none when it is not ours."""
    try:
        found = load_json(str(resource.get("description") or ""))
    except ValueError:
        return {}
    return {str(name): str(text) for name, text in found.items()} if isinstance(found, dict) else {}


def network_of(subnetwork: Mapping[str, Any], name: str) -> str:
    """The network of a subnet, as rules name it.

    Raises:
        InputError: it has none.
    """
    network = str(subnetwork.get("network", ""))
    if "projects/" not in network:
        raise InputError(f"GCP does not report a network for the subnet {name!r}")
    return network[network.index("projects/") :]


def _last(url: str) -> str:
    """Name of what a URL names."""
    return url.rpartition("/")[2]


def _request_id(order: ClusterOrder, what: str) -> str:
    """The same for a repeated call, but different for a later cluster with the same key."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{order.key} {what} {order.place} {order.expires_unix_ms}"))
