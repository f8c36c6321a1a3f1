"""What Azure is asked for, and what its answers mean."""

import base64
from typing import Any

import pytest

from nephoscope.model.errors import (
    CapacityLacking,
    EnvironmentProblem,
    InfrastructureFailure,
    InputError,
    MachineLost,
    MachinePreempted,
    MachineUnsupported,
    NephoscopeError,
    QuotaReached,
    Throttled,
    UnknownAnswer,
)
from nephoscope.providers.azure.errors import of_code
from nephoscope.providers.azure.plan import group_call, group_of, image_of, life_of, making_steps, sku_of
from nephoscope.providers.cloud.order import ClusterOrder, order_of
from nephoscope.providers.cloud.provider import Life
from tests.support.fake_arm import SUBSCRIPTION
from tests.support.orders import request_to_azure

KEY = "study-1/m6i/abc-1"


def order(**more: Any) -> ClusterOrder:
    return order_of(request_to_azure(**more), "me@here", "ssh-ed25519 AAAA test")


def asked(operations: str, **more: Any) -> dict[str, dict[str, Any]]:
    """Bodies by name of what is made by these operations."""
    calls = [call for step in making_steps(order(**more), SUBSCRIPTION) for call in step]
    return {call.arguments[1]: call.arguments[2] for call in calls if call.operations == operations}


def test_a_machine_is_asked_for_exactly() -> None:
    made = asked("virtual_machines")
    assert sorted(made) == ["database-1", "database-2", "load"]
    machine = made["database-2"]
    assert (machine["location"], machine["zones"]) == ("eastus", ["1"])
    properties = machine["properties"]
    assert properties["hardwareProfile"] == {"vmSize": "Standard_D8s_v5"}
    assert properties["storageProfile"]["imageReference"] == {
        "publisher": "Debian",
        "offer": "debian-12",
        "sku": "12-gen2",
        "version": "0.20261012.1",
    }
    (disk,) = properties["storageProfile"]["dataDisks"]
    assert (disk["caching"], disk["deleteOption"]) == ("None", "Delete")
    assert disk["managedDisk"]["id"].endswith(f"/{group_of(KEY)}/providers/Microsoft.Compute/disks/database-2-data-1")
    volume = asked("disks")["database-2-data-1"]
    assert (volume["sku"], volume["zones"]) == ({"name": "PremiumV2_LRS"}, ["1"])
    speed = {"diskSizeGB": 100, "diskIOPSReadWrite": 8000, "diskMBpsReadWrite": 500}
    assert speed.items() <= volume["properties"].items()


FAR: dict[str, Any] = {
    "database_machine": {"type": "Standard_D8s_v5", "count": 3, "zones": ["1", "3"]},
    "load_machine": {"type": "Standard_D8s_v5", "region": "westus2", "zones": ["2"]},
}


def test_machines_of_several_zones_take_turns_and_two_regions_have_joined_networks() -> None:
    machines = asked("virtual_machines", **FAR)
    places = {name: (one["location"], *one["zones"]) for name, one in machines.items()}
    assert places == {
        "database-1": ("eastus", "1"),
        "database-2": ("eastus", "3"),
        "database-3": ("eastus", "1"),
        "load": ("westus2", "2"),
    }
    addresses = asked("public_ip_addresses", **FAR)
    assert {name: (one["location"], *one["zones"]) for name, one in addresses.items()} == places
    networks = {name: one["properties"]["addressSpace"] for name, one in asked("virtual_networks", **FAR).items()}
    assert networks == {
        "network": {"addressPrefixes": ["10.0.0.0/16"]},
        "network-2": {"addressPrefixes": ["10.1.0.0/16"]},
    }
    rules = asked("network_security_groups", **FAR)
    for name, other in (("rules", "10.1.0.0/16"), ("rules-2", "10.0.0.0/16")):
        allowed = [one["properties"] for one in rules[name]["properties"]["securityRules"] if one["name"] != "else"]
        sources = [one.get("sourceAddressPrefix", "the group") for one in allowed]
        assert sources == ["203.0.113.7/32", "the group", other]
    peerings = [
        call.arguments
        for step in making_steps(order(**FAR), SUBSCRIPTION)
        for call in step
        if call.operations == "virtual_network_peerings"
    ]
    assert [(network, name) for _, network, name, _ in peerings] == [
        ("network", "to-westus2"),
        ("network-2", "to-eastus"),
    ]
    assert peerings[0][3]["properties"]["remoteVirtualNetwork"]["id"].endswith("/virtualNetworks/network-2")
    with pytest.raises(InputError, match="an Azure subnet is in one region"):
        making_steps(order(**FAR, cloud={"subnet": "/subscriptions/x/subnets/y"}), SUBSCRIPTION)


def test_a_disk_of_the_price_book_has_its_performance_tier() -> None:
    assert sku_of("Premium SSD P30 LRS") == ("Premium_LRS", "P30")
    volume = {"kind": "Premium SSD P30 LRS", "size": 1024, "iops": 5000, "throughput": 200}
    machine = {"type": "Standard_D8s_v5", "volumes": [volume]}
    properties = asked("disks", database_machine=machine)["database-1-data-1"]["properties"]
    assert properties == {"creationData": {"createOption": "Empty"}, "diskSizeGB": 1024, "tier": "P30"}


def test_the_price_books_names_and_the_hosts_cache_are_azures() -> None:
    assert (sku_of("Ultra Disk"), sku_of("Premium SSD v2")) == (("UltraSSD_LRS", None), ("PremiumV2_LRS", None))
    for cache, caching in ((None, "None"), ("read-only", "ReadOnly"), ("read-write", "ReadWrite")):
        volume = {"kind": "Premium SSD P30 LRS", "size": 1024, "cache": cache}
        machine = {"type": "Standard_D8s_v5", "volumes": [volume]}
        made = asked("virtual_machines", database_machine=machine)["database-1"]
        assert made["properties"]["storageProfile"]["dataDisks"][0]["caching"] == caching


def test_the_boot_script_and_the_study_s_key_are_handed_over() -> None:
    system = asked("virtual_machines")["load"]["properties"]["osProfile"]
    assert b"OnCalendar=2027-01-15 08:00:00 UTC" in base64.b64decode(system["customData"])
    (key,) = system["linuxConfiguration"]["ssh"]["publicKeys"]
    assert key == {"path": "/home/nephoscope/.ssh/authorized_keys", "keyData": "ssh-ed25519 AAAA test"}
    assert system["linuxConfiguration"]["disablePasswordAuthentication"] is True


def test_tags_hold_the_key_and_the_end() -> None:
    _, body = group_call(order()).arguments
    wanted = {"nephoscope-cluster": KEY, "nephoscope-study": "study-1", "nephoscope-expires": "2027-01-15T08:00:00Z"}
    assert wanted.items() <= body["tags"].items()
    for step in making_steps(order(), SUBSCRIPTION):
        for call in step:
            assert wanted.items() <= call.arguments[2]["tags"].items(), call


IDENTITY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/reader"


def test_database_machines_have_the_identity_that_is_named() -> None:
    made = asked("virtual_machines", cloud={"identity": IDENTITY})
    assert made["database-1"]["identity"] == {"type": "UserAssigned", "userAssignedIdentities": {IDENTITY: {}}}
    assert "identity" not in made["load"]
    assert "identity" not in asked("virtual_machines")["database-1"]
    with pytest.raises(InputError, match="no identity 'reader'"):
        asked("virtual_machines", cloud={"identity": "reader"})


def test_ssh_is_let_in_from_the_controller_alone() -> None:
    rules = {
        one["name"]: one["properties"]
        for one in asked("network_security_groups")["rules"]["properties"]["securityRules"]
    }
    assert (rules["ssh"]["sourceAddressPrefix"], rules["ssh"]["destinationPortRange"]) == ("203.0.113.7/32", "22")
    assert rules["among"]["sourceApplicationSecurityGroups"] == rules["among"]["destinationApplicationSecurityGroups"]
    assert (rules["else"]["access"], rules["else"]["sourceAddressPrefix"]) == ("Deny", "*")
    assert rules["ssh"]["priority"] < rules["among"]["priority"] < rules["else"]["priority"] < 65000


def test_options_of_a_configuration_reach_the_machine() -> None:
    cloud = {"spot": True, "placement_group": "cluster", "reach": "private", "subnet": "/subscriptions/s/subnets/mine"}
    machine = {
        "type": "Standard_D8s_v5",
        "threads_per_core": 1,
        "volumes": [{"kind": "UltraSSD_LRS", "size": 100, "iops": 8000, "throughput": 500}],
    }
    properties = asked("virtual_machines", cloud=cloud, database_machine=machine)["database-1"]["properties"]
    assert (properties["priority"], properties["evictionPolicy"]) == ("Spot", "Delete")
    assert properties["hardwareProfile"]["vmSizeProperties"] == {"vCPUsPerCore": 1}
    fewer = asked("virtual_machines", database_machine={"type": "Standard_D16s_v5", "cores": 6, "threads_per_core": 2})
    assert fewer["database-1"]["properties"]["hardwareProfile"] == {
        "vmSize": "Standard_D16s_v5",
        "vmSizeProperties": {"vCPUsAvailable": 12, "vCPUsPerCore": 2},
    }
    assert properties["additionalCapabilities"] == {"ultraSSDEnabled": True}
    assert properties["proximityPlacementGroup"]["id"].endswith("/proximityPlacementGroups/placement")
    assert asked("public_ip_addresses", cloud=cloud) == asked("virtual_networks", cloud=cloud) == {}
    (address,) = asked("network_interfaces", cloud=cloud)["load"]["properties"]["ipConfigurations"]
    assert address["properties"]["subnet"] == {"id": "/subscriptions/s/subnets/mine"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"zone": "eastus-1"},
        {"cloud": {"placement_group": "spread"}},
        {"cloud": {"reach": "private"}},
        {"cloud": {"image": "Debian:debian-12:12-gen2:latest"}},
        {"cloud": {"image": "debian"}},
    ],
)
def test_what_azure_has_not_is_refused_before_anything_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        making_steps(order(**wrong), SUBSCRIPTION)


def test_an_image_may_be_ones_own() -> None:
    assert image_of("/subscriptions/s/images/i") == {"id": "/subscriptions/s/images/i"}


@pytest.mark.parametrize(
    ("codes", "spot", "life", "why"),
    [
        (["ProvisioningState/creating"], False, Life.STARTING, None),
        ([], False, Life.STARTING, None),
        (["ProvisioningState/updating", "PowerState/starting"], False, Life.STARTING, None),
        (["ProvisioningState/succeeded", "PowerState/running"], False, Life.RUNNING, None),
        (["ProvisioningState/succeeded", "PowerState/stopped"], False, Life.ENDED, MachineLost),
        (["ProvisioningState/succeeded", "PowerState/deallocated"], True, Life.ENDED, MachinePreempted),
        (["ProvisioningState/deleting"], False, Life.ENDED, MachineLost),
        (["ProvisioningState/failed/AllocationFailed"], False, Life.ENDED, CapacityLacking),
        (["ProvisioningState/failed/Evicted", "PowerState/running"], True, Life.ENDED, MachinePreempted),
    ],
)
def test_a_machine_is_read(codes: list[str], spot: bool, life: Life, why: type[NephoscopeError] | None) -> None:
    found, because = life_of("load", {"statuses": [{"code": code} for code in codes]}, spot=spot)
    assert found is life
    assert (type(because) if because else None) is why


def test_an_error_means(subtests: pytest.Subtests) -> None:
    for code, status, message, meant in [
        ("SkuNotAvailable", 409, "", CapacityLacking),
        ("AllocationFailed", None, "", CapacityLacking),
        ("ZonalAllocationFailed", None, "", CapacityLacking),
        ("OverconstrainedZonalAllocationRequest", None, "", CapacityLacking),
        ("OperationNotAllowed", 409, "exceeding approved standardDSv5Family Cores quota", QuotaReached),
        ("QuotaExceeded", 400, "", QuotaReached),
        ("PublicIPCountLimitReached", 400, "", QuotaReached),
        ("AllocationFailedByZone", 409, "", CapacityLacking),
        ("AllocationTimedOut", None, "", CapacityLacking),
        ("OSProvisioningTimedOut", None, "", InfrastructureFailure),
        ("VMStartTimedOut", None, "", InfrastructureFailure),
        ("OperationNotAllowed", 409, "The disk is attached", InfrastructureFailure),
        ("TooManyRequests", 429, "", Throttled),
        ("", 429, "", Throttled),
        ("SubscriptionRequestsThrottled", None, "", Throttled),
        ("InvalidParameter", 400, "The value of parameter vmSize is invalid.", MachineUnsupported),
        ("InvalidParameter", 400, "The value of parameter imageReference is invalid.", InputError),
        ("Evicted", None, "", MachinePreempted),
        ("AuthorizationFailed", 403, "", EnvironmentProblem),
        ("MissingSubscriptionRegistration", 409, "", EnvironmentProblem),
        ("ResourceGroupBeingDeleted", 409, "", InfrastructureFailure),
        ("", 503, "", InfrastructureFailure),
        ("SomethingNew", None, "", UnknownAnswer),
    ]:
        with subtests.test(code=code):
            assert type(of_code(code, status, message)) is meant


def test_what_is_said_inside_an_error_counts() -> None:
    assert type(of_code("Conflict", 409, "", ("ZonalAllocationFailed",))) is CapacityLacking
    not_there = "The requested VM size Standard_B2s is not available in the current region."
    assert type(of_code("InvalidParameter", 400, not_there, target="vmSize")) is MachineUnsupported
