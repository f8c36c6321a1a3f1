"""Every request of every shipped study, held against what the clouds publish of their APIs."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.stages.planning import read_study
from nephoscope.providers.aws import network
from nephoscope.providers.aws import plan as aws_plan
from nephoscope.providers.azure import plan as azure_plan
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.cloud.order import ClusterOrder, order_of
from nephoscope.providers.gcp import plan as gcp_plan
from nephoscope.study.model import Configuration
from tests.support import definitions

STUDIES = sorted((Path(__file__).parents[3] / "studies").glob("*.toml"))
Made = tuple[str, str, Any]
"""Cloud, what is asked (operation, request or kind), and its arguments or body."""


def orders(configuration: Configuration) -> Iterator[ClusterOrder]:
    """In each of its zones; in the last one also as spot machines, and from snapshots."""
    for zone in (configuration.zone, *(configuration.other_zones or ())):
        request = ClusterRequest(
            "study-01234567", configuration, Path(), "0123456789ab", 1, zone=zone, expires_unix_ms=1_800_000_000_000
        )
        empty = order_of(request, "me@here", "ssh-ed25519 AAAA me")
        yield empty
    yield replace(empty, cloud=empty.cloud.model_copy(update={"spot": True}))
    database = next(role for role in empty.roles if role.role == "database")
    each = sum(volume.use != "raw" for volume, _ in database.volumes_of(database.names[0]))
    if each:
        filled = {name: tuple(f"snap-{name}-{index}" for index in range(each)) for name in database.names}
        yield order_of(request, "me@here", "ssh-ed25519 AAAA me", filled)


def requests_to_aws(order: ClusterOrder) -> Iterator[Made]:
    calls = [aws_plan.group_call(order, "vpc-1"), aws_plan.ingress_call(order, "sg-1", ["10.1.0.0/16"])]
    calls += filter(None, [aws_plan.placement_call(order)])
    for role in order.roles:
        cpus = aws_plan.Cpus(4, 2) if role.machine.cores or role.machine.threads_per_core else None
        for site in (aws_plan.Site("sg-1"), aws_plan.Site("sg-1", dict.fromkeys(role.zones, "subnet-1"))):
            calls += aws_plan.machines_calls(order, role, site, cpus)
    calls += network.subnet_calls(order, order.regions[0], "vpc-1").values()
    for call in calls:
        yield "aws", definitions.operation_of(call.operation), call.arguments


def requests_to_gcp(order: ClusterOrder) -> Iterator[Made]:
    project = "rehearsal"
    network_name = f"projects/{project}/global/networks/default"
    for call in (
        *gcp_plan.firewall_calls(order, project, network_name),
        *gcp_plan.placement_calls(order, project),
        *gcp_plan.machine_calls(order, project),
    ):
        yield "gcp", call.request, call.arguments


def requests_to_azure(order: ClusterOrder) -> Iterator[Made]:
    steps = [[azure_plan.group_call(order)], *azure_plan.making_steps(order, "subscription")]
    for call in (call for step in steps for call in step):
        yield "azure", definitions.kind_of_azure(call.operations), call.arguments[-1]


REQUESTS = {"aws": requests_to_aws, "gcp": requests_to_gcp, "azure": requests_to_azure}
COMPLAINTS: dict[str, Callable[[str, Any], list[str]]] = {
    "aws": definitions.of_ec2,
    "gcp": definitions.of_google,
    "azure": definitions.of_azure,
}


def test_every_request_of_a_shipped_study_is_as_its_cloud_defines_it(subtests: pytest.Subtests) -> None:
    for file in STUDIES:
        with subtests.test(file=file):
            complaints: dict[str, str] = {}
            for configuration in read_study(file).configurations:
                if configuration.provider in REQUESTS:
                    for order in orders(configuration):
                        for cloud, what, content in REQUESTS[configuration.provider](order):
                            for complaint in COMPLAINTS[cloud](what, content):
                                complaints.setdefault(complaint, configuration.name)
            assert complaints == {}


MACHINES = {"aws": "RunInstances", "gcp": "InsertInstanceRequest", "azure": "virtualmachines"}
GONE = object()
FAULTS: list[tuple[str, str, Any, str]] = [
    ("aws", "Placement.AvailabilityZome", "us-east-1a", "AvailabilityZome"),
    ("aws", "BlockDeviceMappings.0.Ebs.DeviceName", "/dev/sdf", "DeviceName"),
    ("aws", "Tenancy", "default", "Tenancy"),
    ("aws", "MinCount", GONE, "MinCount"),
    ("aws", "MaxCount", "1", "MaxCount"),
    ("aws", "InstanceType", "m6i.2xlarg", "m6i.2xlarg"),
    ("aws", "InstanceInitiatedShutdownBehavior", "delete", "'delete'"),
    ("aws", "BlockDeviceMappings.0.Ebs.VolumeType", "gp4", "'gp4'"),
    ("aws", "BlockDeviceMappings.0.Ebs.Iops", 90_000, "90000 IOPS"),
    ("aws", "TagSpecifications.0.Tags.0.Key", "aws:study", "begin with aws:"),
    ("aws", "NetworkInterfaces", [{"DeviceIndex": 0, "SubnetId": "subnet-1"}], "beside them"),
    ("gcp", "instanceResource.minCpuPlattform", "Intel Ice Lake", "minCpuPlattform"),
    ("gcp", "instanceResource.onHostMaintenance", "TERMINATE", "onHostMaintenance"),
    ("gcp", "instanceResource.disks.0.initializeParams.autoDelete", True, "autoDelete"),
    ("gcp", "instanceResource.machineType", GONE, "machineType"),
    ("gcp", "instanceResource", GONE, "no body"),
    ("gcp", "project", GONE, "project"),
    ("gcp", "instanceResource.status", "RUNNING", "only answers"),
    ("gcp", "instanceResource.scheduling.provisioningModel", "Spot", "'Spot'"),
    ("gcp", "instanceResource.disks.0.interface", "NVMe", "'NVMe'"),
    ("gcp", "instanceResource.scheduling.automaticRestart", "false", "automaticRestart"),
    ("gcp", "instanceResource.scheduling.instanceTerminationAction", GONE, "time limit"),
    ("gcp", "instanceResource.labels.nephoscope-study", "Study", "no label"),
    ("azure", "properties.hardwareProfil", {}, "hardwareProfil"),
    ("azure", "hardwareProfile", {"vmSize": "Standard_D8s_v5"}, "hardwareProfile"),
    ("azure", "properties.zones", ["1"], "zones"),
    ("azure", "location", GONE, "location"),
    ("azure", "properties.storageProfile.osDisk.createOption", GONE, "createOption"),
    ("azure", "properties.vmId", "x", "only answers"),
    ("azure", "properties.storageProfile.osDisk.createOption", "fromimage", "'fromimage'"),
    ("azure", "properties.storageProfile.osDisk.managedDisk.storageAccountType", "PremiumV3_LRS", "PremiumV3_LRS"),
    ("azure", "properties.storageProfile.dataDisks.0.lun", "0", "lun"),
    ("azure", "properties.osProfile.adminUsername", "root", "reserved"),
    ("azure", "properties.evictionPolicy", "Delete", "spot"),
]
"""Cloud, where in the request for a machine, what is there instead, and what the complaint names."""


@pytest.fixture(scope="module")
def sound() -> dict[str, Any]:
    """Cloud -> a request for a database machine of the edition of 2026 that has a volume."""
    made: dict[str, Any] = {}
    for configuration in read_study(next(one for one in STUDIES if one.stem == "cloud-report-2026")).configurations:
        cloud = configuration.provider
        if cloud not in made and configuration.database_machine.volumes:
            requests = REQUESTS[cloud](next(orders(configuration)))
            made[cloud] = next(content for _, what, content in requests if what == MACHINES[cloud])
    return made


@pytest.mark.parametrize(("cloud", "where", "instead", "names"), FAULTS)
def test_a_planted_fault_is_named(sound: dict[str, Any], cloud: str, where: str, instead: Any, names: str) -> None:
    request = copy.deepcopy(sound[cloud])
    assert COMPLAINTS[cloud](MACHINES[cloud], request) == []
    *path, last = (int(part) if part.isdigit() else part for part in where.split("."))
    holder = request
    for part in path:
        holder = holder[part]
    if instead is GONE:
        del holder[last]
    else:
        holder[last] = instead
    complaints = COMPLAINTS[cloud](MACHINES[cloud], request)
    assert any(names in one for one in complaints), complaints
