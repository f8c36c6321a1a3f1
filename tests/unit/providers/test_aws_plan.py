"""What EC2 is asked for, held against its API reference, and what its answers mean."""

import re
from pathlib import Path
from typing import Any

import pytest

from nephoscope.model.errors import CapacityLacking, InputError, MachineLost, MachinePreempted, QuotaReached
from nephoscope.providers.aws.network import OwnNetwork, addresses, subnet_calls
from nephoscope.providers.aws.plan import (
    Cpus,
    Left,
    Site,
    ending_calls,
    group_call,
    ingress_call,
    left_of,
    machine_of,
    machines_calls,
    placement_call,
    require_possible,
)
from nephoscope.providers.cloud.order import ClusterOrder, order_of
from nephoscope.providers.cloud.provider import EndedByUser, Life
from tests.support.made_cloud import request_of
from tests.support.permissions import granted_on_aws

ROOT = Path(__file__).resolve().parents[3]
CLOUD = {"image": "ami-12c6146b", "ingress": "203.0.113.7/32"}


def order(**more: Any) -> ClusterOrder:
    return order_of(request_of(**more), "me@here", "ssh-ed25519 AAAA test")


def run_instances(asked: ClusterOrder, role: int = 0, of_type: Cpus | None = None) -> dict[str, Any]:
    (call,) = machines_calls(asked, asked.roles[role], Site("sg-1"), of_type)
    return dict(call.arguments)


def test_machines_of_a_role_are_made_all_or_none_in_one_zone() -> None:
    asked = run_instances(order())
    assert (asked["MinCount"], asked["MaxCount"]) == (3, 3)
    assert asked["InstanceType"] == "m6i.2xlarge"
    assert asked["ImageId"] == "ami-12c6146b"
    assert asked["Placement"] == {"AvailabilityZone": "us-east-1a"}
    assert run_instances(order(), role=1)["InstanceType"] == "c6i.2xlarge"


def test_volumes_are_exact_and_go_with_their_machine() -> None:
    (disk,) = run_instances(order())["BlockDeviceMappings"]
    assert disk == {
        "DeviceName": "/dev/sdf",
        "Ebs": {
            "VolumeType": "gp3",
            "VolumeSize": 100,
            "Iops": 8000,
            "Throughput": 500,
            "DeleteOnTermination": True,
        },
    }


@pytest.mark.parametrize(
    ("volume", "told"),
    [
        ({"kind": "gp2", "size": 100, "iops": 300}, set()),
        ({"kind": "io2", "size": 100, "iops": 32000}, {"Iops"}),
        ({"kind": "gp3", "size": 100}, set()),
    ],
)
def test_ec2_is_told_only_what_a_kind_of_volume_takes(volume: dict[str, Any], told: set[str]) -> None:
    machine = {"type": "m6i.large", "volumes": [volume]}
    (disk,) = run_instances(order(database_machine=machine))["BlockDeviceMappings"]
    assert disk["Ebs"].keys() - {"VolumeType", "VolumeSize", "DeleteOnTermination"} == told


def test_several_volumes_have_devices_of_their_own_and_too_many_are_refused() -> None:
    volume = {"kind": "gp3", "size": 10, "count": 11}
    asked = run_instances(order(database_machine={"type": "m6i.large", "volumes": [volume]}))
    assert len({disk["DeviceName"] for disk in asked["BlockDeviceMappings"]}) == 11
    with pytest.raises(InputError):
        run_instances(order(database_machine={"type": "m6i.large", "volumes": [volume, volume]}))


def test_every_resource_is_tagged_at_creation() -> None:
    asked = order()
    group = group_call(asked, None).arguments
    for where in (*run_instances(asked)["TagSpecifications"], *group["TagSpecifications"]):
        tags = {tag["Key"]: tag["Value"] for tag in where["Tags"]}
        assert tags["nephoscope-study"] == "study-1"
        assert tags["nephoscope-cluster"] == "study-1/m6i/abc-1"
        assert tags["nephoscope-trial"] == "abc"
        assert tags["nephoscope-attempt"] == "1"
        assert tags["nephoscope-owner"] == "me@here"
        assert tags["nephoscope-expires"] == "2027-01-15T08:00:00Z"
    kinds = [where["ResourceType"] for where in run_instances(asked)["TagSpecifications"]]
    assert kinds == ["instance", "volume"]


def test_a_machine_that_powers_off_is_gone() -> None:
    asked = run_instances(order())
    assert asked["InstanceInitiatedShutdownBehavior"] == "terminate"
    assert "OnCalendar=2027-01-15 08:00:00 UTC" in asked["UserData"]
    assert len(asked["UserData"]) < 16_384  # of EC2, before base64


def test_ssh_is_let_in_from_the_controller_alone() -> None:
    ssh, among = ingress_call(order(), "sg-1").arguments["IpPermissions"]
    assert (ssh["FromPort"], ssh["ToPort"], ssh["IpProtocol"]) == (22, 22, "tcp")
    assert [one["CidrIp"] for one in ssh["IpRanges"]] == ["203.0.113.7/32"]
    assert among["UserIdGroupPairs"] == [{"GroupId": "sg-1"}]
    assert "IpRanges" not in among


def test_a_call_that_is_made_again_has_its_token_and_a_later_cluster_another_one() -> None:
    token = run_instances(order())["ClientToken"]
    assert token == run_instances(order())["ClientToken"]
    assert token != run_instances(order(), role=1)["ClientToken"]
    assert token != run_instances(order(attempt=2))["ClientToken"]
    assert len(token) <= 64


def test_spot_placement_subnet_and_threads_are_asked_for_when_wished_for() -> None:
    plain = run_instances(order())
    assert not {"InstanceMarketOptions", "NetworkInterfaces", "CpuOptions"} & plain.keys()
    assert plain["SecurityGroupIds"] == ["sg-1"]
    cloud = {**CLOUD, "spot": True, "placement_group": "cluster", "subnet": "subnet-1", "reach": "private"}
    wished = order(cloud=cloud, database_machine={"type": "m6i.2xlarge", "threads_per_core": 1})
    asked = run_instances(wished, of_type=Cpus(4, 2))
    assert asked["InstanceMarketOptions"]["MarketType"] == "spot"
    assert asked["InstanceMarketOptions"]["SpotOptions"]["InstanceInterruptionBehavior"] == "terminate"
    assert asked["CpuOptions"] == {"CoreCount": 4, "ThreadsPerCore": 1}
    (network,) = asked["NetworkInterfaces"]
    assert network["SubnetId"] == "subnet-1"
    assert network["AssociatePublicIpAddress"] is False
    assert "SecurityGroupIds" not in asked
    placement = placement_call(wished)
    assert placement is not None
    assert placement.arguments["Strategy"] == "cluster"
    assert asked["Placement"]["GroupName"] == placement.arguments["GroupName"]
    assert placement_call(order()) is None


BUCKET = {"system": "cockroachdb", "fixtures": "s3://bucket/sets?AUTH=implicit"}


@pytest.mark.parametrize(("identity", "asked"), [("reader", "Name"), ("arn:aws:iam::1:instance-profile/reader", "Arn")])
def test_database_machines_have_the_identity_that_is_named(identity: str, asked: str) -> None:
    order_of_one = order(cloud={**CLOUD, "identity": identity}, database=BUCKET)
    assert run_instances(order_of_one)["IamInstanceProfile"] == {asked: identity}
    assert "IamInstanceProfile" not in run_instances(order_of_one, role=1)
    assert "IamInstanceProfile" not in run_instances(order())


def test_a_bucket_that_is_entered_as_nobody_is_refused() -> None:
    with pytest.raises(InputError, match="its machines have no identity there") as caught:
        order(database=BUCKET)
    assert "`identity` in `cloud`" in caught.value.hint


def instance(state: str, **more: Any) -> dict[str, Any]:
    tags = {"nephoscope-role": "database", "nephoscope-count": "3"}
    return {
        "InstanceId": "i-1",
        "AmiLaunchIndex": 1,
        "State": {"Name": state},
        "Placement": {"AvailabilityZone": "us-east-1a"},
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
        **more,
    }


FAR: dict[str, Any] = {
    "database_machine": {"type": "m6i.large", "count": 5, "zones": ["us-east-1a", "us-east-1b", "us-east-1c"]},
    "load_machine": {"type": "m6i.large", "region": "us-west-2", "zones": ["us-west-2b"], "image": "ami-west"},
}


def test_machines_of_several_zones_take_turns_and_keep_their_names() -> None:
    asked = order(**FAR)
    calls = machines_calls(asked, asked.roles[0], Site("sg-1", {"us-east-1b": "subnet-b"}), None)
    zones = [call.arguments["Placement"]["AvailabilityZone"] for call in calls]
    assert zones == ["us-east-1a", "us-east-1b", "us-east-1c"]
    assert [(call.arguments["MinCount"], call.arguments["MaxCount"]) for call in calls] == [(2, 2), (2, 2), (1, 1)]
    assert len({call.arguments["ClientToken"] for call in calls}) == 3
    assert calls[1].arguments["NetworkInterfaces"][0]["SubnetId"] == "subnet-b"
    names = []
    for call in calls:
        tags = call.arguments["TagSpecifications"][0]["Tags"]
        told = [instance("running", Tags=tags, AmiLaunchIndex=index) for index in range(call.arguments["MinCount"])]
        names += [machine_of(one).name for one in told]
    assert names == ["database-1", "database-4", "database-2", "database-5", "database-3"]


def test_two_regions_let_in_each_other_s_network_and_nothing_else() -> None:
    asked = order(**FAR)
    assert [addresses(asked, region) for region in asked.regions] == ["10.0.0.0/16", "10.1.0.0/16"]
    _, _, far, too_large = ingress_call(asked, "sg-1", ["10.1.0.0/16"]).arguments["IpPermissions"]
    assert [one["CidrIp"] for one in far["IpRanges"]] == ["10.1.0.0/16"]
    assert (too_large["IpProtocol"], too_large["FromPort"], too_large["ToPort"]) == ("icmp", 3, 4)
    subnets = [call.arguments["CidrBlock"] for call in subnet_calls(asked, "us-east-1", "vpc-1").values()]
    assert subnets == ["10.0.0.0/20", "10.0.16.0/20", "10.0.32.0/20"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"cloud": {**CLOUD, "subnet": "subnet-1"}}, "an AWS subnet is in one zone"),
        ({"cloud": {**CLOUD, "reach": "private"}}, "can only be reached from its own networks"),
        ({"cloud": {**CLOUD, "placement_group": "cluster"}}, "its machines are in several zones"),
        ({"load_machine": {**FAR["load_machine"], "image": None}}, "exists in one region"),
        ({"load_machine": {**FAR["load_machine"], "zones": None}}, "needs a `region` and a `zone`"),
    ],
)
def test_what_two_regions_cannot_have_is_refused(more: dict[str, Any], why: str) -> None:
    require_possible(order(**FAR))
    with pytest.raises(InputError, match=why):
        require_possible(order(**{**FAR, **more}))


def test_a_network_goes_after_all_that_is_in_it() -> None:
    whole = OwnNetwork(("vpc-1",), ("subnet-1",), {"rtb-1": ("rtbassoc-1",)}, {"igw-1": ("vpc-1",)}, ("pcx-1",))
    assert operations(Left({"i-1": "running"}, {}, {}, whole)) == ["terminate_instances"]
    assert operations(Left({}, {}, {}, whole)) == [
        "delete_vpc_peering_connection",
        "disassociate_route_table",
        "delete_route_table",
        "delete_subnet",
        "detach_internet_gateway",
        "delete_internet_gateway",
    ]
    assert operations(Left({}, {}, {}, OwnNetwork(("vpc-1",)))) == ["delete_vpc"]


def test_a_machine_is_read_from_what_ec2_tells() -> None:
    machine = machine_of(instance("running", PublicIpAddress="198.51.100.1", PrivateIpAddress="10.0.0.1"))
    assert (machine.name, machine.role, machine.life) == ("database-2", "database", Life.RUNNING)
    assert (machine.public_address, machine.private_address) == ("198.51.100.1", "10.0.0.1")
    assert machine_of(instance("pending", PublicIpAddress="")).public_address is None
    assert machine_of(instance("pending")).life is Life.STARTING


def test_why_a_machine_ended_is_told(subtests: pytest.Subtests) -> None:
    for code, meaning in [
        ("Server.InsufficientInstanceCapacity", CapacityLacking),
        ("Client.VolumeLimitExceeded", QuotaReached),
        ("Server.SpotInstanceTermination", MachinePreempted),
        ("Client.InstanceInitiatedShutdown", MachineLost),
        ("Client.UserInitiatedShutdown", EndedByUser),
        ("", MachineLost),
    ]:
        for state in ["shutting-down", "terminated", "stopping", "stopped"]:
            with subtests.test(code=code, state=state):
                machine = machine_of(instance(state, StateReason={"Code": code, "Message": "so"}))
                assert machine.life is Life.ENDED
                assert type(machine.why) is meaning


def operations(left: Left) -> list[str]:
    return [call.operation for call in ending_calls(left)]


def test_machines_end_before_volumes_and_these_before_groups() -> None:
    groups = {"sg-1": "nephoscope-1"}
    assert operations(Left({"i-1": "running", "i-2": "shutting-down"}, {"vol-1": "available"}, groups)) == [
        "terminate_instances"
    ]
    assert operations(Left({"i-2": "shutting-down"}, {"vol-1": "available"}, groups)) == []
    assert operations(Left({}, {"vol-1": "available", "vol-2": "in-use"}, groups)) == ["delete_volume"]
    assert operations(Left({}, {}, groups)) == ["delete_placement_group"]
    (call,) = ending_calls(Left({}, {}, groups), {"nephoscope-1"})
    assert call.operation == "delete_security_group"
    assert operations(Left({}, {}, {"sg-1": ""})) == ["delete_security_group"]
    (call,) = ending_calls(Left({"i-1": "running", "i-2": "shutting-down"}, {}, groups))
    assert call.arguments == {"InstanceIds": ["i-1"]}


def test_what_is_terminated_or_being_deleted_is_not_left() -> None:
    volumes = [{"VolumeId": "vol-1", "State": "deleting"}, {"VolumeId": "vol-2", "State": "in-use"}]
    left = left_of([instance("terminated")], volumes, [])
    assert left == Left({}, {"vol-2": "in-use"}, {})
    assert left.names
    assert not left_of([instance("terminated")], [], []).names


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"cores": 8}, {"CoreCount": 8, "ThreadsPerCore": 2}),
        ({"cores": 8, "threads_per_core": 1}, {"CoreCount": 8, "ThreadsPerCore": 1}),
        ({"threads_per_core": 1}, {"CoreCount": 12, "ThreadsPerCore": 1}),
    ],
)
def test_cores_and_threads_are_always_told_together(asked: dict[str, int], told: dict[str, int]) -> None:
    """The Cloud Report of 2020 gave i3en.6xlarge, which has 12 cores, `CoreCount=8,ThreadsPerCore=2`."""
    wished = order(database_machine={"type": "i3en.6xlarge", **asked})
    assert run_instances(wished, of_type=Cpus(12, 2))["CpuOptions"] == told


def test_the_policy_in_the_manual_allows_what_is_asked_and_nothing_else() -> None:
    sources = "".join(
        (ROOT / "src/nephoscope/providers/aws" / name).read_text()
        for name in ("cloud.py", "plan.py", "network.py", "kept.py")
    )
    asked = set(re.findall(r'(?:Call|Kind)\(\s*"([a-z_]+)"', sources)) - {"get_caller_identity", "get_service_quota"}
    assert granted_on_aws() == {f"ec2:{operation.title().replace('_', '')}" for operation in asked} | {
        "ec2:CreateTags",
        "iam:PassRole",
        "servicequotas:GetServiceQuota",
    }
