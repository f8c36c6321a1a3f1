"""Requests held against what clouds publish of their APIs: EC2 in botocore, Google by protobuf, Azure by its models.

A complaint names the field by its path. An emulator takes what the service is documented to reject, so the rules of
its reference that no model holds are here too; each names its page.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import EnumMeta
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

Complaints = Iterator[str]


# --- EC2 ---------------------------------------------------------------------------------------------------------

NEWER_THAN_BOTOCORE: frozenset[str] = frozenset()
"""Values that AWS has announced and that this botocore's model does not have yet, each with where it is announced."""


@cache
def _ec2() -> Any:
    from botocore.session import get_session

    return get_session().get_service_model("ec2")


def of_ec2(operation: str, arguments: Mapping[str, Any]) -> list[str]:
    """Complaints about a call; `operation` as the API names it ('RunInstances')."""
    from botocore.validate import ParamValidator

    shape = _ec2().operation_model(operation).input_shape
    if shape is None:
        return [f"{operation} takes no arguments"] if arguments else []
    report = ParamValidator().validate(dict(arguments), shape)
    reported = report.generate_report().splitlines() if report.has_errors() else []
    return [*reported, *_values_of_shape(shape, arguments, operation), *_rules_of_ec2(operation, arguments)]


def operation_of(method: str) -> str:
    """'RunInstances' for the method 'run_instances' of boto3's client."""
    from botocore import xform_name

    return next(str(name) for name in _ec2().operation_names if xform_name(name) == method)


def _values_of_shape(shape: Any, value: Any, path: str) -> Complaints:
    """What botocore does not look at: values of enumerations, and patterns."""
    match shape.type_name:
        case "structure":
            for name, member in shape.members.items():
                if name in value:
                    yield from _values_of_shape(member, value[name], f"{path}.{name}")
        case "list":
            for index, one in enumerate(value):
                yield from _values_of_shape(shape.member, one, f"{path}[{index}]")
        case "string":
            if shape.enum and value not in shape.enum and value not in NEWER_THAN_BOTOCORE:
                yield f"{path}: {value!r} is not one of its values"
            pattern = shape.metadata.get("pattern")
            if pattern and not re.fullmatch(pattern, value):
                yield f"{path}: {value!r} does not match {pattern}"


_EC2_NAME = re.compile(r"[A-Za-z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}")
"""Of a security group and of its description (CreateSecurityGroup)."""
_EC2_IOPS = {"gp3": (3000, 80_000, 500), "io1": (100, 64_000, 50), "io2": (100, 256_000, 1000)}
"""Kind of volume -> least, most, most per GiB (CreateVolume; EBS user guide, "Amazon EBS volume types")."""


def _rules_of_ec2(operation: str, arguments: Mapping[str, Any]) -> Complaints:
    for specification in arguments.get("TagSpecifications", ()):
        tags = {tag["Key"]: tag["Value"] for tag in specification.get("Tags", ()) if "Key" in tag and "Value" in tag}
        yield from _tags(tags, most=50, key_chars=128, value_chars=256)  # guide, "Tag your Amazon EC2 resources"
        if any(key.lower().startswith("aws:") for key in tags):
            yield f"{operation}.TagSpecifications: tags of AWS begin with aws:"
    if len(arguments.get("ClientToken", "")) > 64:  # guide, "Ensuring idempotency"
        yield f"{operation}.ClientToken: more than 64 characters"
    if operation == "CreateSecurityGroup":
        for name in ("GroupName", "Description"):
            if not _EC2_NAME.fullmatch(str(arguments.get(name, "-"))):
                yield f"{operation}.{name}: characters that EC2 does not take"
    if operation == "RunInstances":
        yield from _rules_of_machines(arguments)


def _rules_of_machines(arguments: Mapping[str, Any]) -> Complaints:
    if "NetworkInterfaces" in arguments and {"SecurityGroupIds", "SubnetId"} & arguments.keys():
        yield "RunInstances: network interfaces and security groups or a subnet beside them (RunInstances)"
    if not {"ImageId", "InstanceType", "LaunchTemplate"} & arguments.keys():
        yield "RunInstances: neither an image with a type nor a launch template"
    if len(arguments.get("UserData", "").encode()) > 16 * 1024:  # guide, "Run commands when you launch an instance"
        yield "RunInstances.UserData: more than 16 KiB"
    for device in arguments.get("BlockDeviceMappings", ()):
        disk = device.get("Ebs", {})
        kind, size, iops = disk.get("VolumeType"), disk.get("VolumeSize", 0), disk.get("Iops")
        least, most, per_gib = _EC2_IOPS.get(kind, (0, 0, 0))
        if iops is not None and not least <= iops <= min(most, max(least, per_gib * size)):
            yield f"RunInstances.BlockDeviceMappings: {iops} IOPS of a {kind} volume of {size} GiB"
        if iops is None and kind in {"io1", "io2"}:
            yield f"RunInstances.BlockDeviceMappings: no IOPS of a {kind} volume"
        throughput = disk.get("Throughput")
        if throughput is not None and not (kind == "gp3" and 125 <= throughput <= min(2000, (iops or 3000) / 4)):
            yield f"RunInstances.BlockDeviceMappings: {throughput} MiB/s of a {kind} volume"


# --- Compute Engine ----------------------------------------------------------------------------------------------

_GOOGLE_RESOURCES = {
    "instances": "Instance",
    "firewalls": "Firewall",
    "resourcePolicies": "ResourcePolicy",
    "snapshots": "Snapshot",
}
_GOOGLE_REQUIRED = {
    "Instance": ("name", "machineType", "disks", "networkInterfaces"),
    "Firewall": ("name",),
    "ResourcePolicy": ("name",),
    "Snapshot": ("name", "sourceDisk"),
    "AttachedDiskInitializeParams": ("diskType",),
}
"""By the discovery document's `annotations.required`, and by "Required" in the reference: protobuf marks none."""
_GOOGLE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_GOOGLE_LABEL_KEY, _GOOGLE_LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}"), re.compile(r"[a-z0-9_-]{0,63}")
_GOOGLE_OUTPUT = frozenset({"id", "kind", "selfLink", "creationTimestamp", "status", "statusMessage", "fingerprint"})
"""Marked "[Output Only]" in the reference."""
_HYPERDISK_IOPS = {
    "hyperdisk-balanced": (3000, 160_000),
    "hyperdisk-extreme": (0, 350_000),
    "pd-extreme": (2500, 120_000),
}
"""Kind of disk -> least and most IOPS (Compute Engine, "About Hyperdisk", "About extreme persistent disks")."""


def of_google_body(kind: str, body: Mapping[str, Any]) -> list[str]:
    """Complaints about what is to be made; `kind` as in the path of its request ('instances')."""
    from google.cloud import compute_v1

    name = _GOOGLE_RESOURCES[kind]
    descriptor = getattr(compute_v1, name).pb().DESCRIPTOR
    return [*_of_message(descriptor, body, name), *_rules_of_google(kind, body)]


def of_google(request: str, arguments: Mapping[str, Any]) -> list[str]:
    """Complaints about a request of the SDK ('InsertInstanceRequest')."""
    from google.cloud import compute_v1

    complaints = [*_of_message(getattr(compute_v1, request).pb().DESCRIPTOR, arguments, request)]
    if "project" not in arguments:
        complaints.append(f"{request}.project: is missing")
    for kind, name in _GOOGLE_RESOURCES.items():
        if request == f"Insert{name}Request":
            body = arguments.get(f"{name[0].lower()}{name[1:]}Resource")
            complaints += [f"{request}: no body"] if body is None else _rules_of_google(kind, body)
    return complaints


def _of_message(descriptor: Any, value: Any, path: str) -> Complaints:
    if not isinstance(value, Mapping):
        yield f"{path}: {value!r} is no {descriptor.name}"
        return
    fields = {one.json_name: one for one in descriptor.fields}
    for name in _GOOGLE_REQUIRED.get(descriptor.name, ()):
        if name not in value:
            yield f"{path}.{name}: is missing"
    for name, content in value.items():
        at = f"{path}.{name}"
        if name not in fields:
            yield f"{at}: {descriptor.name} has no such field"
        elif name in _GOOGLE_OUTPUT and descriptor.name in _GOOGLE_RESOURCES.values():
            yield f"{at}: only answers have it"
        else:
            yield from _of_field(descriptor, fields[name], content, at)


def _of_field(descriptor: Any, field: Any, value: Any, path: str) -> Complaints:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        if not isinstance(value, Mapping) or not all(isinstance(one, str) for one in value.values()):
            yield f"{path}: {value!r} is no map of texts"
        return
    values = value if field.is_repeated else [value]
    if not isinstance(values, list | tuple):
        yield f"{path}: {value!r} is no list"
        return
    words = descriptor.enum_types_by_name.get("".join(part.capitalize() for part in field.name.split("_")))
    for one in values:
        if field.message_type is not None:
            yield from _of_message(field.message_type, one, path)
        elif field.type == field.TYPE_BOOL and not isinstance(one, bool):
            yield f"{path}: {one!r} is neither true nor false"
        elif field.type == field.TYPE_STRING and not isinstance(one, str):
            yield f"{path}: {one!r} is no text"
        elif field.type in {field.TYPE_INT32, field.TYPE_INT64} and not re.fullmatch(r"-?\d+", str(one)):
            yield f"{path}: {one!r} is no whole number"
        elif words is not None and field.type == field.TYPE_STRING and one not in words.values_by_name:
            yield f"{path}: {one!r} is not one of its values"


def _rules_of_google(kind: str, body: Mapping[str, Any]) -> Complaints:
    if not _GOOGLE_NAME.fullmatch(str(body.get("name", ""))):
        yield f"{kind}.name: {body.get('name')!r} is no name (RFC 1035)"
    yield from _about_google(kind, body)
    for disk in body.get("disks", ()):
        params = disk.get("initializeParams", {})
        yield from _about_google(f"{kind}.disks", params)
        yield from _rules_of_google_disk(params)
        if disk.get("type") == "SCRATCH" and not disk.get("autoDelete"):
            yield "instances.disks: a local SSD goes with its machine (reference, autoDelete)"
    scheduling = body.get("scheduling", {})
    if scheduling.get("provisioningModel") == "SPOT" and scheduling.get("automaticRestart") is not False:
        yield "instances.scheduling: a spot machine is not restarted (guide, Spot VMs)"
    if {"terminationTime", "maxRunDuration"} & scheduling.keys() and "instanceTerminationAction" not in scheduling:
        yield "instances.scheduling: a time limit without what happens then (guide, Limit the run time of a VM)"


def _about_google(kind: str, resource: Mapping[str, Any]) -> Complaints:
    if len(resource.get("description", "")) > 2048:
        yield f"{kind}.description: more than 2,048 characters"
    labels = resource.get("labels", {})
    yield from _tags(labels, most=64, key_chars=63, value_chars=63)
    for key, text in labels.items():
        if not (_GOOGLE_LABEL_KEY.fullmatch(key) and _GOOGLE_LABEL.fullmatch(text)):
            yield f"{kind}.labels: {key}={text} is no label"
    if "diskName" in resource and not _GOOGLE_NAME.fullmatch(resource["diskName"]):
        yield f"{kind}.diskName: {resource['diskName']!r} is no name (RFC 1035)"


def _rules_of_google_disk(params: Mapping[str, Any]) -> Complaints:
    kind, size = str(params.get("diskType", "")).rpartition("/")[2], int(params.get("diskSizeGb", 0))
    iops, throughput = (int(params.get(name, 0)) for name in ("provisionedIops", "provisionedThroughput"))
    least, most = _HYPERDISK_IOPS.get(kind, (0, 0))
    if iops and not least <= iops <= most:
        yield f"instances.disks.provisionedIops: {iops} of a {kind}"
    if kind == "hyperdisk-balanced" and iops and iops > max(3000, 500 * size):
        yield f"instances.disks.provisionedIops: {iops} of {size} GiB"
    if throughput and kind == "hyperdisk-balanced" and not 140 <= throughput <= min(2400, (iops or 3000) / 4):
        yield f"instances.disks.provisionedThroughput: {throughput} MiB/s with {iops} IOPS"


# --- Azure -------------------------------------------------------------------------------------------------------

_AZURE_RESOURCES = {
    "virtualmachines": ("compute", "VirtualMachine"),
    "disks": ("compute", "Disk"),
    "snapshots": ("compute", "Snapshot"),
    "proximityplacementgroups": ("compute", "ProximityPlacementGroup"),
    "applicationsecuritygroups": ("network", "ApplicationSecurityGroup"),
    "networksecuritygroups": ("network", "NetworkSecurityGroup"),
    "virtualnetworks": ("network", "VirtualNetwork"),
    "virtualnetworkpeerings": ("network", "VirtualNetworkPeering"),
    "publicipaddresses": ("network", "PublicIPAddress"),
    "networkinterfaces": ("network", "NetworkInterface"),
    "resourcegroups": ("resource", "ResourceGroup"),
}
_AZURE_OPEN = frozenset({"VirtualMachineSizeTypes"})
"""Its documentation says that it ends at a size of 2021, and that the sizes of a region are to be listed instead."""
_AZURE_NEEDS_LOCATION = frozenset({"networkinterfaces", "publicipaddresses", "virtualnetworks"})
"""Of Azure's network: "Resource location" is optional in the models, and answered with LocationRequired if missing."""
_AZURE_TAG = re.compile(r"[^<>%&\\?/]{1,512}")
_AZURE_RESERVED_USERS = frozenset(
    {"admin", "administrator", "root", "guest", "test", "user", "sys", "console", "a", "1"}
)
"""Some of the names that a machine's administrator may not have (reference, osProfile.adminUsername)."""


def of_azure(kind: str, body: Mapping[str, Any]) -> list[str]:
    """Complaints about what is to be made; `kind` as in the path of its request, in lower case."""
    if kind not in _AZURE_RESOURCES:
        return [f"no {kind} are known here"]
    models = _azure_models(_AZURE_RESOURCES[kind][0])
    name = _AZURE_RESOURCES[kind][1]
    return [*_of_model(getattr(models, name), models, body, name), *_rules_of_azure(kind, body)]


def kind_of_azure(operations: str) -> str:
    """'virtualmachines' for the SDK's group of operations 'virtual_machines'."""
    return operations.replace("_", "")


@cache
def _azure_models(client: str) -> Any:
    import importlib

    path = {"compute": "compute", "network": "network", "resource": "resource.resources"}[client]
    return importlib.import_module(f"azure.mgmt.{path}.models")


@cache
def _azure_fields(model: Any, models: Any) -> Mapping[str, tuple[Any, bool]]:
    """Name in the API -> its type, and whether a request may have it."""
    model({})  # its fields are collected when the first one is made
    hints: dict[str, Any] = {}
    for one in reversed(model.__mro__):
        if one.__module__.startswith("azure.mgmt"):
            hints |= get_type_hints(one, {**vars(sys.modules[one.__module__]), "_models": models})
    fields = model._attr_to_rest_field
    return {
        field._rest_name: (hints[name], field._visibility is None or "create" in field._visibility)
        for name, field in fields.items()
    }


def _of_model(model: Any, models: Any, value: Any, path: str) -> Complaints:
    if not isinstance(value, Mapping):
        yield f"{path}: {value!r} is no {model.__name__}"
        return
    fields = _azure_fields(model, models)
    for name, (kind, writable) in fields.items():
        if writable and type(None) not in get_args(kind) and name not in value:
            yield f"{path}.{name}: is missing"
    for name, content in value.items():
        if name not in fields:
            yield f"{path}.{name}: {model.__name__} has no such field"
        elif not fields[name][1]:
            yield f"{path}.{name}: only answers have it"
        else:
            yield from _of_type(fields[name][0], models, content, f"{path}.{name}")


def _of_type(kind: Any, models: Any, value: Any, path: str) -> Complaints:
    choices = [one for one in get_args(kind) if one is not type(None)]
    if get_origin(kind) in {Union, UnionType}:
        words: list[Any] = [one for one in choices if isinstance(one, EnumMeta)]
        if not words:
            yield from _of_type(choices[0], models, value, path)
        elif words[0].__name__ not in _AZURE_OPEN and value not in {member.value for member in words[0]}:
            yield f"{path}: {value!r} is not one of its values"
    elif get_origin(kind) is list:
        yield from _of_list(choices[0], models, value, path)
    elif get_origin(kind) is dict:
        for name, one in value.items():
            yield from _of_type(choices[1], models, one, f"{path}.{name}")
    elif hasattr(kind, "_attr_to_rest_field") or isinstance(value, Mapping):
        yield from _of_model(kind, models, value, path)
    elif kind in _AZURE_SCALARS and (
        not isinstance(value, _AZURE_SCALARS[kind]) or (isinstance(value, bool) and kind is not bool)
    ):
        yield f"{path}: {value!r} is no {kind.__name__}"


def _of_list(kind: Any, models: Any, value: Any, path: str) -> Complaints:
    if not isinstance(value, list | tuple):
        yield f"{path}: {value!r} is no list"
        return
    for index, one in enumerate(value):
        yield from _of_type(kind, models, one, f"{path}[{index}]")


_AZURE_SCALARS: Mapping[Any, Any] = {str: str, int: int, bool: bool, float: (int, float)}


def _rules_of_azure(kind: str, body: Mapping[str, Any]) -> Complaints:
    properties: Mapping[str, Any] = body.get("properties", {})
    yield from _tags(body.get("tags", {}), most=50, key_chars=512, value_chars=256)
    for name in body.get("tags", {}):
        if not _AZURE_TAG.fullmatch(name):
            yield f"{kind}.tags: {name!r} is no name of a tag"
    if kind in _AZURE_NEEDS_LOCATION and "location" not in body:
        yield f"{kind}.location: is missing"
    rule = _AZURE_RULES.get(kind)
    if rule is not None:
        yield from rule(body, properties)


def _azure_machine(body: Mapping[str, Any], properties: Mapping[str, Any]) -> Complaints:
    system: Mapping[str, Any] = properties.get("osProfile", {})
    if len(system.get("customData", "")) > 65_535 * 4 // 3 + 4:
        yield "virtualmachines.osProfile.customData: more than 65,535 bytes"
    if len(system.get("computerName", "")) > 64:
        yield "virtualmachines.osProfile.computerName: more than 64 characters"
    if str(system.get("adminUsername", "")) in _AZURE_RESERVED_USERS:
        yield f"virtualmachines.osProfile.adminUsername: {system['adminUsername']!r} is reserved"
    if {"evictionPolicy", "billingProfile"} & properties.keys() and properties.get("priority") not in {"Spot", "Low"}:
        yield "virtualmachines: eviction and a maximum price are those of spot machines"
    luns = [disk.get("lun") for disk in properties.get("storageProfile", {}).get("dataDisks", ())]
    if len(set(luns)) < len(luns):
        yield "virtualmachines.storageProfile.dataDisks: two disks have one lun"


def _azure_disk(body: Mapping[str, Any], properties: Mapping[str, Any]) -> Complaints:
    kind = body.get("sku", {}).get("name")
    provisioned = {"diskIOPSReadWrite", "diskMBpsReadWrite"} & properties.keys()
    if provisioned and kind not in {"PremiumV2_LRS", "UltraSSD_LRS"}:
        yield f"disks: {', '.join(sorted(provisioned))} are for Ultra Disks and Premium SSD v2, not {kind}"
    if kind in {"PremiumV2_LRS", "UltraSSD_LRS"} and not body.get("zones"):
        yield f"disks.zones: {kind} is in a zone"
    if "tier" in properties and kind not in {"Premium_LRS", "Premium_ZRS"}:
        yield f"disks.tier: {kind} has no tiers"
    iops, throughput = properties.get("diskIOPSReadWrite"), properties.get("diskMBpsReadWrite")
    if kind == "PremiumV2_LRS" and iops is not None and not 3000 <= iops <= max(3000, 500 * properties["diskSizeGB"]):
        yield f"disks.diskIOPSReadWrite: {iops} of {properties['diskSizeGB']} GiB"
    if kind == "PremiumV2_LRS" and throughput is not None and not 125 <= throughput <= (iops or 3000) / 4:
        yield f"disks.diskMBpsReadWrite: {throughput} with {iops} IOPS"


def _azure_rules(body: Mapping[str, Any], properties: Mapping[str, Any]) -> Complaints:
    """Of a network security group: each rule says from where and to where, once."""
    seen = set()
    for rule in properties.get("securityRules", ()):
        said, name = rule.get("properties", {}), rule.get("name")
        if not 100 <= said.get("priority", 0) <= 4096 or (said.get("priority"), said.get("direction")) in seen:
            yield f"networksecuritygroups.securityRules.{name}: priority {said.get('priority')}"
        seen.add((said.get("priority"), said.get("direction")))
        for end in ("source", "destination"):
            ways = [f"{end}AddressPrefix", f"{end}AddressPrefixes", f"{end}ApplicationSecurityGroups"]
            if sum(way in said for way in ways) != 1:
                yield f"networksecuritygroups.securityRules.{name}: not one of {', '.join(ways)}"
            if sum(way in said for way in (f"{end}PortRange", f"{end}PortRanges")) != 1:
                yield f"networksecuritygroups.securityRules.{name}: not one {end}PortRange"


def _azure_address(body: Mapping[str, Any], properties: Mapping[str, Any]) -> Complaints:
    if body.get("sku", {}).get("name") == "Standard" and properties.get("publicIPAllocationMethod") != "Static":
        yield "publicipaddresses: a Standard one is Static"


_AZURE_RULES: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Complaints]] = {
    "virtualmachines": _azure_machine,
    "disks": _azure_disk,
    "networksecuritygroups": _azure_rules,
    "publicipaddresses": _azure_address,
}


def _tags(tags: Mapping[str, str], *, most: int, key_chars: int, value_chars: int) -> Complaints:
    if len(tags) > most:
        yield f"{len(tags)} tags"
    for key, text in tags.items():
        if len(key) > key_chars or len(text) > value_chars:
            yield f"the tag {key} is too long"
