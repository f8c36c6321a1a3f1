"""Calls to EC2 that are made again after their answer was lost, or whose effect another one must wait for."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError

from nephoscope.model.errors import InfrastructureFailure
from nephoscope.providers.aws.cloud import AwsCloud
from nephoscope.providers.aws.plan import PLACEMENT_GROUP
from nephoscope.providers.cloud.order import CLUSTER, order_of, short_id
from nephoscope.run.clock import FakeClock
from tests.support.made_cloud import request_of

KEY = "study-1/m6i/abc-1"
TAGS = [{"Key": CLUSTER, "Value": KEY}]
MADE: Mapping[str, Any] = {
    "create_vpc": {"Vpc": {"VpcId": "vpc-1"}},
    "create_internet_gateway": {"InternetGateway": {"InternetGatewayId": "igw-1"}},
    "create_route_table": {"RouteTable": {"RouteTableId": "rtb-1"}},
    "create_subnet": {"Subnet": {"SubnetId": "subnet-1"}},
    "create_vpc_peering_connection": {"VpcPeeringConnection": {"VpcPeeringConnectionId": "pcx-1"}},
}
PAGES: Mapping[str, str] = {
    "describe_instances": "Reservations",
    "describe_volumes": "Volumes",
    "describe_security_groups": "SecurityGroups",
    "describe_vpcs": "Vpcs",
    "describe_subnets": "Subnets",
}


@dataclass
class Ec2:
    """An EC2 of two regions; `codes` are the errors that an operation answers first."""

    codes: dict[str, list[str]] = field(default_factory=dict)
    listed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)

    def __getattr__(self, operation: str) -> Any:
        def call(**arguments: Any) -> dict[str, Any]:
            self.called.append(operation)
            if self.codes.get(operation):
                raise ClientError({"Error": {"Code": self.codes[operation].pop(0), "Message": ""}}, operation)
            if operation == "delete_security_group":
                self.listed.clear()
            if operation == "describe_vpc_peering_connections":
                accepted = "accept_vpc_peering_connection" in self.called
                state = {"Code": "active" if accepted else "pending-acceptance"}
                return {"VpcPeeringConnections": [{"Status": state}]}
            return dict(MADE.get(operation, {}))

        return call

    def get_paginator(self, operation: str) -> Any:
        ec2 = self

        class Pages:
            def paginate(self, Filters: list[dict[str, Any]]) -> list[dict[str, Any]]:  # noqa: N803
                ec2.called.append(operation)
                return [{PAGES[operation]: ec2.listed.get(operation, [])}]

        return Pages()


def cloud_of(ec2: Ec2) -> AwsCloud:
    return AwsCloud(FakeClock(), lambda _region: ec2, ["us-east-1"])


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("create_route", "RouteAlreadyExists"),
        ("create_route", "InvalidGatewayID.NotFound"),
        ("attach_internet_gateway", "Resource.AlreadyAssociated"),
        ("associate_route_table", "Resource.AlreadyAssociated"),
        ("create_subnet", "InvalidSubnet.Conflict"),
        ("accept_vpc_peering_connection", "InvalidStateTransition"),
    ],
)
def test_a_network_whose_calls_are_repeated_after_a_lost_answer_is_complete(operation: str, code: str) -> None:
    subnets = [
        {"SubnetId": "subnet-1", "VpcId": "vpc-1", "CidrBlock": cidr, "Tags": TAGS}
        for cidr in ("10.0.0.0/20", "10.1.0.0/20")
    ]
    ec2 = Ec2({operation: ["RequestTimeout", code]}, {"describe_subnets": subnets})
    far = {"region": "us-west-2", "zones": ["us-west-2a"], "type": "c6i.2xlarge"}
    order = order_of(request_of(load_machine=far), "me@here", "ssh-ed25519 AAAA test")
    networks = asyncio.run(cloud_of(ec2)._joined_networks(order))
    assert {region: dict(network.subnets) for region, network in networks.items()} == {
        "us-east-1": {"us-east-1a": "subnet-1"},
        "us-west-2": {"us-west-2a": "subnet-1"},
    }
    assert ec2.codes[operation] == []


def test_a_subnet_that_exists_but_is_not_found_is_an_error() -> None:
    ec2 = Ec2({"create_subnet": ["InvalidSubnet.Conflict"]})
    order = order_of(request_of(), "me@here", "ssh-ed25519 AAAA test")
    with pytest.raises(InfrastructureFailure, match=r"a subnet of study-1/m6i/abc-1 .* exists, but does not find it"):
        asyncio.run(cloud_of(ec2)._network(order, "us-east-1"))


def test_a_security_group_stays_while_the_placement_group_that_it_names_is_in_use() -> None:
    ec2 = Ec2(
        {"delete_placement_group": ["InvalidPlacementGroup.InUse"] * 2},
        {"describe_security_groups": [group_with_placement(f"nephoscope-{short_id(KEY)}")]},
    )
    asyncio.run(cloud_of(ec2).unmake(KEY))
    deleted = [one for one in ec2.called if one.startswith("delete_")]
    assert deleted == ["delete_placement_group"] * 3 + ["delete_security_group"]


def test_a_placement_group_of_others_that_a_tag_names_is_left_alone() -> None:
    ec2 = Ec2({}, {"describe_security_groups": [group_with_placement("nephoscope-of-others")]})
    asyncio.run(cloud_of(ec2).unmake(KEY))
    assert [one for one in ec2.called if one.startswith("delete_")] == ["delete_security_group"]


def group_with_placement(name: str) -> dict[str, Any]:
    return {"GroupId": "sg-1", "Tags": [*TAGS, {"Key": PLACEMENT_GROUP, "Value": name}]}


def test_when_one_region_fails_nothing_goes_on_in_the_others() -> None:
    ended: list[str] = []

    async def unmake(region: str) -> None:
        if region == "us-east-1":
            raise InfrastructureFailure("not deleted")
        await asyncio.sleep(0.01)
        ended.append(region)

    async def scenario() -> None:
        cloud = AwsCloud(FakeClock(), lambda _region: Ec2(), ["us-east-1", "eu-west-1"])
        with pytest.raises(InfrastructureFailure):
            await cloud.in_each((), unmake)
        assert ended == ["eu-west-1"]

    asyncio.run(scenario())
