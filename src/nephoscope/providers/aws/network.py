"""The networks of a cluster in two regions, as requests to EC2; pure.

Default networks of all regions have the same addresses, so they cannot be joined. A cluster in two regions gets a
network (VPC) of its own in each, with a subnet for each zone, a way to the internet for its controller, and a peering
connection between them. Machines talk to each other by private addresses, as within a region. Everything has the
cluster's tags from its creation on. The network is created first and deleted last, so it is enough to look for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nephoscope.providers.aws.call import Call, tagged
from nephoscope.providers.cloud.order import ClusterOrder

EVERYWHERE = "0.0.0.0/0"
WAITS, JOINED = "pending-acceptance", "active"
"""States of a peering connection: the other region may accept it; it is usable."""
_ENDED = frozenset({"deleted", "deleting", "expired", "failed", "rejected"})
_ZONE_ADDRESSES = 16
"""Third numbers of an address that a zone has: 4,096 addresses, and 16 zones in a network."""


@dataclass(frozen=True)
class OwnNetwork:
    """What exists of it in a region, by id."""

    vpcs: tuple[str, ...] = ()
    subnets: tuple[str, ...] = ()
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Table of routes -> ids by which subnets use it."""
    gateways: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Internet gateway -> networks that it is attached to."""
    peerings: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Ids of all that is left."""
        return (*self.vpcs, *self.subnets, *self.tables, *self.gateways, *self.peerings)


def addresses(order: ClusterOrder, region: str) -> str:
    """The network's addresses in a region: those of two regions must differ."""
    return f"{_beginning(order, region)}.0.0/16"


def vpc_call(order: ClusterOrder, region: str) -> Call:
    """The network of a region, without which nothing else of it can be."""
    arguments = {"CidrBlock": addresses(order, region), "TagSpecifications": [tagged("vpc", order.tags)]}
    return Call("create_vpc", arguments)


def gateway_call(order: ClusterOrder) -> Call:
    """What lets the controller in, and machines fetch packages."""
    return Call("create_internet_gateway", {"TagSpecifications": [tagged("internet-gateway", order.tags)]})


def attach_call(vpc: str, gateway: str) -> Call:
    """Joins a network and its gateway."""
    return Call("attach_internet_gateway", {"VpcId": vpc, "InternetGatewayId": gateway})


def table_call(order: ClusterOrder, vpc: str) -> Call:
    """A table of routes with the cluster's tags, which a network's own table does not get."""
    return Call("create_route_table", {"VpcId": vpc, "TagSpecifications": [tagged("route-table", order.tags)]})


def subnet_calls(order: ClusterOrder, region: str, vpc: str) -> dict[str, Call]:
    """Of each zone where machines are to be."""
    beginning = _beginning(order, region)
    return {
        zone: Call(
            "create_subnet",
            {
                "VpcId": vpc,
                "AvailabilityZone": zone,
                "CidrBlock": f"{beginning}.{_ZONE_ADDRESSES * index}.0/20",
                "TagSpecifications": [tagged("subnet", order.tags)],
            },
        )
        for index, zone in enumerate(order.zones(region))
    }


def associate_call(table: str, subnet: str) -> Call:
    """A subnet uses the routes of the table."""
    return Call("associate_route_table", {"RouteTableId": table, "SubnetId": subnet})


def route_out_call(table: str, gateway: str) -> Call:
    """To the internet."""
    return Call("create_route", {"RouteTableId": table, "DestinationCidrBlock": EVERYWHERE, "GatewayId": gateway})


def route_over_call(table: str, cidr: str, peering: str) -> Call:
    """To the network in the other region."""
    return Call(
        "create_route",
        {"RouteTableId": table, "DestinationCidrBlock": cidr, "VpcPeeringConnectionId": peering},
    )


def peering_call(order: ClusterOrder, vpc: str, other: str, other_region: str) -> Call:
    """Asks for a connection between two networks."""
    return Call(
        "create_vpc_peering_connection",
        {
            "VpcId": vpc,
            "PeerVpcId": other,
            "PeerRegion": other_region,
            "TagSpecifications": [tagged("vpc-peering-connection", order.tags)],
        },
    )


def accept_call(peering: str) -> Call:
    """For the other region."""
    return Call("accept_vpc_peering_connection", {"VpcPeeringConnectionId": peering})


def look_call(peering: str) -> Call:
    """Asks how the connection stands."""
    return Call("describe_vpc_peering_connections", {"VpcPeeringConnectionIds": [peering]})


def _beginning(order: ClusterOrder, region: str) -> str:
    return f"10.{order.regions.index(region)}"


def network_of(
    vpcs: Sequence[Mapping[str, Any]],
    subnets: Sequence[Mapping[str, Any]],
    tables: Sequence[Mapping[str, Any]],
    gateways: Sequence[Mapping[str, Any]],
    peerings: Sequence[Mapping[str, Any]],
) -> OwnNetwork:
    """What exists of a cluster's network according to the lists of a region."""
    return OwnNetwork(
        tuple(one["VpcId"] for one in vpcs),
        tuple(one["SubnetId"] for one in subnets),
        {
            one["RouteTableId"]: tuple(use["RouteTableAssociationId"] for use in one.get("Associations", ()))
            for one in tables
        },
        {one["InternetGatewayId"]: tuple(at["VpcId"] for at in one.get("Attachments", ())) for one in gateways},
        tuple(one["VpcPeeringConnectionId"] for one in peerings if one["Status"]["Code"] not in _ENDED),
    )


def network_ending_calls(network: OwnNetwork) -> list[Call]:
    """What ends a network when nothing is in it any more, in the order that its parts need each other.

    The network itself goes when all else is gone, because the rest is only looked for beside it.
    """
    calls = [Call("delete_vpc_peering_connection", {"VpcPeeringConnectionId": one}) for one in network.peerings]
    for table, uses in network.tables.items():
        calls += [Call("disassociate_route_table", {"AssociationId": one}) for one in uses]
        calls.append(Call("delete_route_table", {"RouteTableId": table}))
    calls += [Call("delete_subnet", {"SubnetId": one}) for one in network.subnets]
    for gateway, attached in network.gateways.items():
        calls += [Call("detach_internet_gateway", {"InternetGatewayId": gateway, "VpcId": one}) for one in attached]
        calls.append(Call("delete_internet_gateway", {"InternetGatewayId": gateway}))
    return calls or [Call("delete_vpc", {"VpcId": one}) for one in network.vpcs]
