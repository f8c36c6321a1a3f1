"""What Compute Engine is asked for, and what its answers mean."""

from typing import Any

import pytest

from nephoscope.model.errors import (
    CapacityLacking,
    EnvironmentProblem,
    InfrastructureFailure,
    InputError,
    MachineLost,
    MachineUnsupported,
    QuotaReached,
    Throttled,
    UnknownAnswer,
)
from nephoscope.providers.cloud.order import ClusterOrder, order_of
from nephoscope.providers.cloud.provider import Life
from nephoscope.providers.gcp.errors import of_reason
from nephoscope.providers.gcp.plan import (
    boot_disk_of,
    firewall_calls,
    labels_of,
    machine_calls,
    machine_of,
    name_of,
    placement_calls,
    tags_of,
)
from tests.support.orders import request_to_gcp

KEY = "study-1/m6i/abc-1"


def order(**more: Any) -> ClusterOrder:
    return order_of(request_to_gcp(**more), "Me.Myself@here", "ssh-ed25519 AAAA test")


def machines(**more: Any) -> dict[str, dict[str, Any]]:
    """By name without what is common."""
    found = [call.arguments["instanceResource"] for call in machine_calls(order(**more), "p")]
    return {one["name"].removeprefix(f"{name_of(KEY)}-"): one for one in found}


def test_a_machine_is_asked_for_exactly() -> None:
    (call, *_) = machine_calls(order(), "p")
    assert call.arguments["zone"] == "us-east4-a"
    made = machines()["database-2"]
    assert made["machineType"] == "projects/p/zones/us-east4-a/machineTypes/n2-standard-8"
    boot, data = made["disks"]
    assert boot["initializeParams"]["sourceImage"].endswith("debian-12-bookworm-v20261012")
    assert data["initializeParams"]["diskType"].endswith("/diskTypes/hyperdisk-balanced")
    assert data["initializeParams"]["diskSizeGb"] == "100"
    assert data["initializeParams"]["provisionedIops"] == "8000"
    assert data["initializeParams"]["provisionedThroughput"] == "500"
    assert all(disk["autoDelete"] for disk in made["disks"])
    assert [interface["accessConfigs"][0]["type"] for interface in made["networkInterfaces"]] == ["ONE_TO_ONE_NAT"]


def test_machines_of_several_zones_take_turns_and_each_region_has_its_own_policy_and_subnet() -> None:
    far = {
        "database_machine": {"type": "n2-standard-8", "count": 3, "zones": ["us-east4-a", "us-east4-c"]},
        "load_machine": {"type": "n2-standard-8", "region": "us-west1", "zones": ["us-west1-b"]},
        "cloud": {"subnet": "mine", "placement_group": "spread"},
    }
    zones = [call.arguments["zone"] for call in machine_calls(order(**far), "p")]
    assert zones == ["us-east4-a", "us-east4-c", "us-east4-a", "us-west1-b"]
    made = machines(**far)
    assert made["load"]["networkInterfaces"][0]["subnetwork"] == "projects/p/regions/us-west1/subnetworks/mine"
    assert made["load"]["resourcePolicies"] == [f"projects/p/regions/us-west1/resourcePolicies/{name_of(KEY)}"]
    assert made["load"]["disks"][0]["initializeParams"]["diskType"].startswith("projects/p/zones/us-west1-b/")
    policies = placement_calls(order(**far), "p")
    assert [call.arguments["region"] for call in policies] == ["us-east4", "us-west1"]
    assert len({call.arguments["requestId"] for call in policies}) == 2


def test_disks_whose_speed_follows_their_size_are_not_asked_for_more() -> None:
    volume = {"kind": "pd-ssd", "size": 500, "iops": 15000, "throughput": 240, "count": 2}
    disks = machines(database_machine={"type": "n2-standard-8", "volumes": [volume]})["database-1"]["disks"]
    assert [sorted(disk["initializeParams"]) for disk in disks[1:]] == [
        ["description", "diskName", "diskSizeGb", "diskType", "labels"]
    ] * 2


@pytest.mark.parametrize(
    ("machine_type", "asked"), [("n2-standard-8", 2), ("c3-standard-8-lssd", 0), ("z3-highmem-88", 0)]
)
def test_local_ssds_are_attached_where_the_type_has_none_of_its_own(machine_type: str, asked: int) -> None:
    made = machines(database_machine={"type": machine_type, "local_ssds": 2})["database-1"]
    scratch = [disk for disk in made["disks"] if disk["type"] == "SCRATCH"]
    assert len(scratch) == asked
    assert all(disk["interface"] == "NVME" for disk in scratch)


def test_disks_are_attached_by_the_interface_that_is_named() -> None:
    volume: dict[str, Any] = {"kind": "pd-ssd", "size": 500}
    for interface in ("nvme", "scsi"):
        asked: dict[str, Any] = {"type": "n2-standard-8", "volumes": [{**volume, "interface": interface}]}
        assert machines(database_machine=asked)["database-1"]["disks"][1]["interface"] == interface.upper()
        asked = {"type": "n2-standard-8", "local_ssds": 1, "local_ssd_interface": interface}
        assert machines(database_machine=asked)["database-1"]["disks"][1]["interface"] == interface.upper()
    silent = {"type": "n2-standard-8", "volumes": [volume]}
    assert "interface" not in machines(database_machine=silent)["database-1"]["disks"][1]
    with pytest.raises(InputError, match="by NVMe"):
        machines(database_machine={"type": "z3-highmem-88", "local_ssds": 1, "local_ssd_interface": "scsi"})


@pytest.mark.parametrize(
    ("machine_type", "disk"),
    [
        ("n2-standard-8", "pd-balanced"),
        ("c3-standard-8", "pd-balanced"),
        ("t2a-standard-1", "pd-balanced"),
        ("n4-standard-8", "hyperdisk-balanced"),
        ("c4a-standard-8", "hyperdisk-balanced"),
    ],
)
def test_the_image_lies_on_a_disk_that_the_type_takes(machine_type: str, disk: str) -> None:
    assert boot_disk_of(machine_type) == disk


def test_google_ends_a_machine_before_its_own_timer_stops_it() -> None:
    scheduling = machines()["load"]["scheduling"]
    assert scheduling["terminationTime"] == "2027-01-15T07:58:00Z"
    assert "OnCalendar=2027-01-15 08:00:00 UTC" in machines()["load"]["metadata"]["items"][0]["value"]
    assert scheduling["instanceTerminationAction"] == "DELETE"
    assert scheduling["provisioningModel"] == "STANDARD"
    assert (scheduling["onHostMaintenance"], scheduling["automaticRestart"]) == ("TERMINATE", False)


def test_options_of_a_configuration_reach_the_machine() -> None:
    cloud = {"spot": True, "placement_group": "cluster", "reach": "private", "subnet": "mine"}
    asked = {"type": "n2-standard-8", "cores": 2, "threads_per_core": 1, "cpu_platform": "Intel Ice Lake"}
    made = machines(cloud=cloud, database_machine=asked)["database-1"]
    assert made["scheduling"]["provisioningModel"] == "SPOT"
    assert made["minCpuPlatform"] == "Intel Ice Lake"
    assert made["advancedMachineFeatures"] == {"visibleCoreCount": 2, "threadsPerCore": 1}
    assert made["resourcePolicies"] == [f"projects/p/regions/us-east4/resourcePolicies/{name_of(KEY)}"]
    assert made["networkInterfaces"] == [{"subnetwork": "projects/p/regions/us-east4/subnetworks/mine"}]
    (policy,) = placement_calls(order(cloud=cloud), "p")
    assert policy.arguments["resourcePolicyResource"]["groupPlacementPolicy"] == {"collocation": "COLLOCATED"}


def test_database_machines_have_the_identity_that_is_named_for_buckets_alone() -> None:
    made = machines(cloud={"identity": "reader@p.iam.gserviceaccount.com"})
    (account,) = made["database-1"]["serviceAccounts"]
    assert account["email"] == "reader@p.iam.gserviceaccount.com"
    assert account["scopes"] == ["https://www.googleapis.com/auth/devstorage.read_write"]
    assert "serviceAccounts" not in made["load"]
    assert "serviceAccounts" not in machines()["database-1"]


def test_ssh_is_let_in_from_the_controller_alone() -> None:
    rules = [call.arguments["firewallResource"] for call in firewall_calls(order(), "p", "n")]
    ssh, among, rest = rules
    assert (ssh["sourceRanges"], ssh["allowed"]) == (["203.0.113.7/32"], [{"IPProtocol": "tcp", "ports": ["22"]}])
    assert among["sourceTags"] == among["targetTags"] == machines()["load"]["tags"]["items"]
    assert (rest["sourceRanges"], rest["denied"]) == (["0.0.0.0/0"], [{"IPProtocol": "all"}])
    assert max(ssh["priority"], among["priority"]) < rest["priority"] < 65534


def test_labels_hold_what_google_allows_and_descriptions_what_was_said() -> None:
    made = machines()["load"]
    assert all(
        len(text) <= 63 and set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")
        for text in made["labels"].values()
    )
    assert made["labels"]["nephoscope-owner"] == "me-myself-here"
    assert tags_of(made)["nephoscope-cluster"] == KEY
    assert labels_of({"nephoscope-study": "A"}) != labels_of({"nephoscope-study": "a"})
    assert tags_of({"description": "somebody else's"}) == tags_of({"description": "[1]"}) == tags_of({}) == {}


@pytest.mark.parametrize(
    ("status", "life"),
    [
        ("PROVISIONING", Life.STARTING),
        ("STAGING", Life.STARTING),
        ("RUNNING", Life.RUNNING),
        *((status, Life.ENDED) for status in ("STOPPING", "TERMINATED", "SUSPENDED", "REPAIRING")),
    ],
)
def test_a_machine_is_read(status: str, life: Life) -> None:
    said = {
        "name": f"{name_of(KEY)}-database-1",
        "id": "77",
        "status": status,
        "zone": "https://x/compute/v1/projects/p/zones/us-east4-b",
        "labels": {"nephoscope-role": "database"},
        "networkInterfaces": [{"networkIP": "10.0.0.2", "accessConfigs": [{"natIP": "192.0.2.9"}]}],
        "scheduling": {"provisioningModel": "SPOT"},
    }
    machine = machine_of(said, KEY)
    assert (machine.name, machine.role, machine.id, machine.zone) == ("database-1", "database", "77", "us-east4-b")
    assert (machine.public_address, machine.private_address, machine.life) == ("192.0.2.9", "10.0.0.2", life)
    assert isinstance(machine.why, MachineLost) is (life is Life.ENDED)


def test_an_error_means(subtests: pytest.Subtests) -> None:
    for reason, status, message, meant in [
        ("ZONE_RESOURCE_POOL_EXHAUSTED", None, "", CapacityLacking),
        ("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", 503, "", CapacityLacking),
        ("insufficientCapacity", 503, "", CapacityLacking),
        ("QUOTA_EXCEEDED", None, "Quota 'N2_CPUS' exceeded. Limit: 24.0 in region us-east4.", QuotaReached),
        ("quotaExceeded", 403, "", QuotaReached),
        ("rateLimitExceeded", 403, "", Throttled),
        ("RESOURCE_OPERATION_RATE_EXCEEDED", None, "", Throttled),
        ("", 429, "", Throttled),
        ("UNSUPPORTED_OPERATION", None, "", MachineUnsupported),
        ("notFound", 404, "The resource 'projects/p/zones/z/machineTypes/n9-x' was not found", MachineUnsupported),
        ("invalid", 400, "Machine type with name 'n9' does not exist in zone 'z'.", MachineUnsupported),
        ("invalid", 400, "Invalid value for field 'resource.disks[0]'", InputError),
        ("forbidden", 403, "Required 'compute.instances.create' permission", EnvironmentProblem),
        ("authError", 401, "", EnvironmentProblem),
        ("backendError", 500, "", InfrastructureFailure),
        ("", 502, "", InfrastructureFailure),
        ("ZONE_RESOURCE_STOCKOUT", None, "", CapacityLacking),
        ("", 503, "does not have enough resources available to fulfill the request", CapacityLacking),
        ("SOMETHING_NEW", None, "", UnknownAnswer),
    ]:
        with subtests.test(reason=reason):
            assert type(of_reason(reason, status, message)) is meant
