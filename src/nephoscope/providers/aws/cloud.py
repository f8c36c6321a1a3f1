"""Machines of AWS EC2, by boto3: the thin shell around `aws_plan`. Credentials are those of your environment.

Never run on a real account: rehearsed on moto, see docs/how-to/run-on-aws.md.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from typing_extensions import override

from nephoscope.machines.waiting import Clock
from nephoscope.model.errors import EnvironmentProblem, InfrastructureFailure, InputError, NephoscopeError, ToolMissing
from nephoscope.providers.aws import network
from nephoscope.providers.aws.call import Call, carrying
from nephoscope.providers.aws.errors import DONE, GONE, IN_USE, SUBNET_THERE, THERE, NotAllowed, of_code
from nephoscope.providers.aws.network import OwnNetwork
from nephoscope.providers.aws.plan import (
    Cpus,
    Left,
    Site,
    ending_calls,
    group_call,
    ingress_call,
    keys_of,
    left_of,
    machine_of,
    machines_calls,
    placement_call,
)
from nephoscope.providers.cloud.order import CLUSTER, STUDY, ClusterOrder, Question, RoleOrder, require_free
from nephoscope.providers.cloud.provider import Cloud, CloudMachine, MadeOnce, patiently, together
from nephoscope.providers.cloud.unmaking import Unseen, unmade

ClientOf = Callable[[str | None], Any]
"""The EC2 client of a region; `None`: the environment's region."""

PEERING_TIMEOUT_S = 120.0
"""Two regions know of a new connection within seconds."""
_LOOK_EVERY_S = 5.0
_INSTALL = "pip install 'nephoscope[aws]'"
_ALIVE = ("pending", "running", "stopping", "stopped")


class Kind(NamedTuple):
    """A kind of resources that EC2 lists."""

    operation: str
    """That lists them, as boto3 names it."""
    name: str
    """Under which a page of its answer holds them."""


RESERVATIONS = Kind("describe_instances", "Reservations")
VOLUMES = Kind("describe_volumes", "Volumes")
GROUPS = Kind("describe_security_groups", "SecurityGroups")
VPCS = Kind("describe_vpcs", "Vpcs")
SUBNETS = Kind("describe_subnets", "Subnets")
TABLES = Kind("describe_route_tables", "RouteTables")
GATEWAYS = Kind("describe_internet_gateways", "InternetGateways")
PEERINGS = Kind("describe_vpc_peering_connections", "VpcPeeringConnections")
SNAPSHOTS = Kind("describe_snapshots", "Snapshots")


class AwsCloud(Cloud):
    """See `Cloud`."""

    name = "aws"

    def __init__(
        self,
        clock: Clock,
        client_of: ClientOf | None = None,
        regions: Sequence[str] | None = None,
        service_of: "Callable[[str | None, str], Any] | None" = None,
    ) -> None:
        """Calls no API yet.

        Args:
            clock: for waits.
            client_of: makes clients; default: boto3's, without its own retries.
            regions: where to look for existing resources; default: all regions enabled for the account.
            service_of: makes clients of other services, by region and name; default: boto3's, none with `client_of`.
        """
        self._clock = clock
        self._client: MadeOnce[str | None, Any] = MadeOnce(client_of or boto3_client)
        self._service_of = service_of or (None if client_of else boto3_client)
        self._regions = tuple(regions) if regions else None
        self._seen_in: dict[str, tuple[str, ...]] = {}
        self._unseen: dict[tuple[str, str], Unseen] = {}
        """By cluster and region."""

    @override
    async def clusters(self, study: str, regions: Collection[str] = ()) -> list[str]:
        async def of(region: str) -> set[str]:
            resources = await self.instances(region, STUDY, study, {"instance-state-name": _ALIVE})
            for kind in (VOLUMES, GROUPS, VPCS):
                resources += await self.carrying(region, kind, STUDY, study)
            return keys_of(resources)

        return sorted(set().union(*await self.in_each(regions, of)))

    @override
    async def machines(self, key: str, regions: Sequence[str]) -> list[CloudMachine]:
        self._seen_in[key] = tuple(regions)
        return [machine_of(one) for region in regions for one in await self.instances(region, CLUSTER, key)]

    @override
    async def make(self, order: ClusterOrder) -> None:
        """What is left of an earlier cluster in two regions goes first: networks have no names to find them by."""
        self._seen_in[order.key] = order.regions
        own: Mapping[str, _Network] = {}
        if len(order.regions) > 1:
            await self.in_each(order.regions, lambda region: self._unmake(order.key, region))
            own = await self._joined_networks(order)
        sites = {region: await self._site(order, region, own.get(region)) for region in order.regions}
        for role in order.roles:
            for call in machines_calls(order, role, sites[role.region], await self._cpus(role)):
                with self._unseen_of(order.key, role.region).requesting(call.arguments["ClientToken"]) as names:
                    made = await self.send(role.region, call)
                    names.update(str(one["InstanceId"]) for one in made["Instances"])

    @override
    async def unmake(self, key: str, regions: Collection[str] = ()) -> None:
        """In the regions where this controller made it or looked for it, else in those given."""
        await self.in_each(self._seen_in.pop(key, regions), lambda region: self._unmake(key, region))

    @override
    async def account(self) -> str | None:
        if self._service_of is None:
            return None
        return str((await self._ask_service(None, "sts", Call("get_caller_identity", {})))["Account"])

    @override
    def questions(self, order: ClusterOrder) -> Sequence[Question]:
        return questions(self.send, self._ask_service, order)

    async def _ask_service(self, region: str | None, service: str, call: Call) -> Mapping[str, Any]:
        def ask() -> Mapping[str, Any]:
            client = (self._service_of or boto3_client)(region, service)
            answer: Mapping[str, Any] = getattr(client, call.operation)(**call.arguments)
            return answer

        return await patiently(ask, typed, self._clock)

    async def _site(self, order: ClusterOrder, region: str, own: "_Network | None") -> Site:
        """The groups of a region, made or found."""
        vpc = own.vpc if own is not None else await self._vpc_of_subnet(order)
        with self._unseen_of(order.key, region).requesting("the security group") as names:
            made = await self.send(region, group_call(order, vpc), fine=THERE)
            names.update([str(made["GroupId"])] if made else [])
        found = [made] if made else await self.carrying(region, GROUPS, CLUSTER, order.key)
        if not found:
            raise InfrastructureFailure(
                f"AWS reports that the security group of {order.key} exists, but does not find it"
            )
        group = str(found[0]["GroupId"])
        others = [network.addresses(order, other) for other in order.regions if own is not None and other != region]
        await self.send(region, ingress_call(order, group, others), fine=THERE)
        placement = placement_call(order)
        if placement is not None:
            await self.send(region, placement, fine=THERE)
        return Site(group, own.subnets if own is not None else {})

    async def _joined_networks(self, order: ClusterOrder) -> "dict[str, _Network]":
        """A network in each region, with routes to each other."""
        here, there = order.regions
        found = {region: await self._network(order, region) for region in order.regions}
        asked = await self.send(here, network.peering_call(order, found[here].vpc, found[there].vpc, there))
        peering = str(asked["VpcPeeringConnection"]["VpcPeeringConnectionId"])
        await self._until_peering(there, peering, network.WAITS)
        await self.send(there, network.accept_call(peering), fine=DONE)
        for region, other in ((here, there), (there, here)):
            await self._until_peering(region, peering, network.JOINED)
            cidr = network.addresses(order, other)
            await self.send(region, network.route_over_call(found[region].table, cidr, peering), fine=DONE)
        return found

    async def _network(self, order: ClusterOrder, region: str) -> "_Network":
        with self._unseen_of(order.key, region).requesting("the network") as names:
            vpc = str((await self.send(region, network.vpc_call(order, region)))["Vpc"]["VpcId"])
            names.add(vpc)
        made = await self.send(region, network.gateway_call(order))
        gateway = str(made["InternetGateway"]["InternetGatewayId"])
        await self.send(region, network.attach_call(vpc, gateway), fine=DONE)
        made = await self.send(region, network.table_call(order, vpc))
        table = str(made["RouteTable"]["RouteTableId"])
        await self.send(region, network.route_out_call(table, gateway), fine=DONE)
        subnets = {}
        for zone, call in network.subnet_calls(order, region, vpc).items():
            subnets[zone] = await self._subnet(order, region, call)
            await self.send(region, network.associate_call(table, subnets[zone]), fine=DONE)
        return _Network(vpc, table, subnets)

    async def _subnet(self, order: ClusterOrder, region: str, call: Call) -> str:
        """The id of a subnet, made or found."""
        made = await self.send(region, call, fine=SUBNET_THERE)
        if made:
            return str(made["Subnet"]["SubnetId"])
        vpc, cidr = call.arguments["VpcId"], call.arguments["CidrBlock"]
        subnets = await self.carrying(region, SUBNETS, CLUSTER, order.key)
        found = [one for one in subnets if (one["VpcId"], one["CidrBlock"]) == (vpc, cidr)]
        if not found:
            raise InfrastructureFailure(
                f"AWS reports that a subnet of {order.key} with the addresses {cidr} exists, but does not find it"
            )
        return str(found[0]["SubnetId"])

    async def _until_peering(self, region: str, peering: str, wanted: str) -> None:
        """Until a region reports the connection in this state.

        Raises:
            InfrastructureFailure: it does not in time.
        """
        until_s = self._clock.monotonic_s() + PEERING_TIMEOUT_S
        while True:
            said = await self.send(region, network.look_call(peering), fine=GONE)
            state = next((one["Status"]["Code"] for one in said.get("VpcPeeringConnections", ())), "unknown")
            if state == wanted:
                return
            if self._clock.monotonic_s() > until_s:
                raise InfrastructureFailure(
                    f"the peering connection {peering} is {state} in {region}, not {wanted}, after "
                    f"{PEERING_TIMEOUT_S:.0f} s"
                )
            await self._clock.sleep(_LOOK_EVERY_S)

    async def _unmake(self, key: str, region: str) -> None:
        placements_gone: set[str] = set()

        async def send(call: Call) -> None:
            _, code = await self._answer(region, call, GONE | IN_USE)
            if call.operation == "delete_placement_group" and code not in IN_USE:
                placements_gone.add(call.arguments["GroupName"])

        await unmade(
            f"AWS did not delete all of {key}",
            lambda: self._left(key, region),
            lambda left: ending_calls(left, placements_gone),
            send,
            self._clock,
            self._unseen_of(key, region),
            look_every_s=_LOOK_EVERY_S,
        )
        self._unseen.pop((key, region), None)

    def _unseen_of(self, key: str, region: str) -> Unseen:
        return self._unseen.setdefault((key, region), Unseen(self._clock))

    async def _left(self, key: str, region: str) -> Left:
        return left_of(
            await self.instances(region, CLUSTER, key),
            await self.carrying(region, VOLUMES, CLUSTER, key),
            await self.carrying(region, GROUPS, CLUSTER, key),
            await self._own_network(region, key),
        )

    async def _own_network(self, region: str, key: str) -> OwnNetwork:
        """Without a network there is nothing else of it; an unattached gateway is left only beside one."""
        vpcs = await self.carrying(region, VPCS, CLUSTER, key)
        if not vpcs:
            return OwnNetwork()
        parts = [await self.carrying(region, kind, CLUSTER, key) for kind in (SUBNETS, TABLES, GATEWAYS, PEERINGS)]
        return network.network_of(vpcs, *parts)

    async def _vpc_of_subnet(self, order: ClusterOrder) -> str | None:
        """Of the subnet that is named; None: the default one."""
        if order.cloud.subnet is None:
            return None
        said = await self.send(order.regions[0], Call("describe_subnets", {"SubnetIds": [order.cloud.subnet]}))
        return str(said["Subnets"][0]["VpcId"])

    async def _cpus(self, role: RoleOrder) -> Cpus | None:
        """Of the type; None: the study does not ask for others."""
        if role.machine.cores is None and role.machine.threads_per_core is None:
            return None
        said = await self.send(role.region, Call("describe_instance_types", {"InstanceTypes": [role.type]}))
        found = said["InstanceTypes"][0]["VCpuInfo"]
        return Cpus(int(found["DefaultCores"]), int(found["DefaultThreadsPerCore"]))

    async def instances(
        self, region: str, tag: str, value: str, more: Mapping[str, Sequence[str]] | None = None
    ) -> list[dict[str, Any]]:
        """Machines with exactly this tag, as the API describes them; `more` filters save time."""
        reservations = await self.listed(region, RESERVATIONS, {f"tag:{tag}": [value], **(more or {})})
        return carrying((one for reservation in reservations for one in reservation["Instances"]), tag, value)

    async def carrying(
        self, region: str, kind: Kind, tag: str, value: str, **more: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Resources of a kind with exactly this tag, as the API describes them; `more` arguments as they are."""
        return carrying(await self.listed(region, kind, {f"tag:{tag}": [value]}, **more), tag, value)

    async def listed(
        self, region: str, kind: Kind, filters: Mapping[str, Sequence[str]], **more: Sequence[str]
    ) -> list[dict[str, Any]]:
        """What EC2 lists for filters, in whose values it takes `*` and `?` for any text; see `carrying`."""
        wanted = [{"Name": name, "Values": list(values)} for name, values in filters.items()]

        def read() -> list[dict[str, Any]]:
            pages = self._client(region).get_paginator(kind.operation).paginate(Filters=wanted, **more)
            return [one for page in pages for one in page[kind.name]]

        return await patiently(read, typed, self._clock)

    async def send(self, region: str | None, call: Call, *, fine: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The answer; empty if the error code is acceptable."""
        answer, _ = await self._answer(region, call, fine)
        return answer

    async def _answer(self, region: str | None, call: Call, fine: frozenset[str]) -> tuple[dict[str, Any], str | None]:
        """The answer; or an empty one, and the error code that is acceptable."""

        def send() -> tuple[dict[str, Any], str | None]:
            try:
                answer: dict[str, Any] = getattr(self._client(region), call.operation)(**call.arguments)
            except Exception as error:
                code = code_of(error)
                if code in fine:
                    return {}, code
                raise
            return answer, None

        return await patiently(send, typed, self._clock)

    async def in_each(self, regions: Collection[str], look: Callable[[str], Awaitable[Any]]) -> list[Any]:
        """What exists in each of these regions, or, if none are given, in each region of the account.

        Of the latter, those that these credentials cannot access are skipped: we own nothing there.

        Raises:
            NotAllowed: they cannot access a given region, or any region at all.
        """
        if regions:
            return await together(*(look(region) for region in sorted(regions)))
        return await self._everywhere(look)

    async def _everywhere(self, look: Callable[[str], Awaitable[Any]]) -> list[Any]:
        regions = self._regions
        if regions is None:
            said = await self.send(None, Call("describe_regions", {}))
            regions = tuple(one["RegionName"] for one in said["Regions"])
        found: list[Any] = []
        refused: list[NotAllowed] = []

        async def one(region: str) -> None:
            try:
                found.append(await look(region))
            except NotAllowed as error:
                refused.append(error)

        await together(*map(one, regions))
        if refused and not found:
            raise refused[0]
        return found


@dataclass(frozen=True)
class _Network:
    """A network that was made in a region, by ids."""

    vpc: str
    table: str
    """Of its routes."""
    subnets: Mapping[str, str]
    """By zone."""


def boto3_client(region: str | None, service: str = "ec2") -> Any:
    """EC2 of a region, or another service, as your environment configures it; retries are nephoscope's own.

    Raises:
        ToolMissing: boto3 is not installed.
    """
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise ToolMissing("boto3 is not installed, but provider 'aws' needs it", hint=_INSTALL) from error
    session = boto3.session.Session()
    where = region or session.region_name or "us-east-1"
    return session.client(service, region_name=where, config=Config(retries={"total_max_attempts": 1}))


def code_of(error: Exception) -> str | None:
    """EC2's error code; None: not an answer of EC2."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else None


def typed(error: Exception) -> NephoscopeError | None:
    """The typed error for an error of the SDK; None: it is not one of the SDK's."""
    from botocore import exceptions as sdk

    if isinstance(error, sdk.ClientError):
        return of_code(code_of(error) or "", str(error.response.get("Error", {}).get("Message", "")))
    if isinstance(error, sdk.ParamValidationError):
        return InputError(f"AWS rejected the request: {error}")
    if isinstance(error, sdk.HTTPClientError | sdk.ConnectionError):
        return InfrastructureFailure(f"AWS does not answer: {error}")
    if isinstance(error, sdk.BotoCoreError):
        return EnvironmentProblem(
            f"no access to AWS: {error}", hint="make `aws sts get-caller-identity` work in this terminal"
        )
    return None


Send = Callable[..., Awaitable[dict[str, Any]]]
_ALLOWED = frozenset({"DryRunOperation"})
"""EC2's answer to a dry run of what is allowed."""
_STANDARD = re.compile(r"[acdimrtz]\d")
_QUOTA = "L-1216C47A"
"""'Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances', in vCPUs."""


def questions(
    send: Send,
    ask_service: Callable[[str, str, Call], Awaitable[Mapping[str, Any]]],
    order: ClusterOrder,
) -> list[Question]:
    """About the first role of an order.

    A dry run of a machine needs its security group, which does not exist yet: only making that is tried.

    Args:
        send: a call to EC2, see `AwsCloud.send`.
        ask_service: region, service and call of another service.
        order: of the cluster.
    """
    role = order.roles[0]
    region, zone = role.region, role.zones[0]

    async def identity() -> str:
        caller = await ask_service(region, "sts", Call("get_caller_identity", {}))
        return f"account {caller['Account']}, {caller['Arn']}"

    async def rights() -> str:
        call = group_call(order, None)
        await send(region, Call(call.operation, {**call.arguments, "DryRun": True}), fine=_ALLOWED)
        return "a dry run of making a security group is allowed"

    async def quota() -> str:
        answer = await send(region, Call("describe_instance_types", {"InstanceTypes": [role.type]}))
        vcpus = int(answer["InstanceTypes"][0]["VCpuInfo"]["DefaultVCpus"])
        if not _STANDARD.match(role.type):
            return f"{role.type} has {vcpus} vCPUs; the quota of its family is not looked up"
        wanted = Call("get_service_quota", {"ServiceCode": "ec2", "QuotaCode": _QUOTA})
        try:
            limit = float((await ask_service(region, "service-quotas", wanted))["Quota"]["Value"])
        except NotAllowed:
            return f"{role.type} has {vcpus} vCPUs; these credentials may not read quotas"
        usage = require_free("account", region, {"Standard vCPUs": limit}, {"Standard vCPUs": vcpus})
        return f"{role.type} has {vcpus} vCPUs; {usage} if no other machine runs"

    return [
        Question("identity", identity),
        Question("rights", rights),
        Question("type and quota", quota),
        Question("image", lambda: _image(send, region, role.image)),
        Question("network", lambda: _network(send, region, zone)),
    ]


async def _image(send: Send, region: str, image: str) -> str:
    if not image.startswith("ami-"):
        return f"EC2 resolves {image} when it makes the machine"
    images = (await send(region, Call("describe_images", {"ImageIds": [image]})))["Images"]
    if not images or images[0]["State"] != "available":
        raise InputError(
            f"{region} has no image {image} that is available",
            hint="an id of an image is of one region: --image with one of this region",
        )
    return f"{image} is available, for {images[0]['Architecture']}"


async def _network(send: Send, region: str, zone: str) -> str:
    filters = {"availability-zone": [zone], "default-for-az": ["true"]}
    wanted = [{"Name": name, "Values": values} for name, values in filters.items()]
    subnets = (await send(region, Call("describe_subnets", {"Filters": wanted})))["Subnets"]
    if not subnets:
        raise EnvironmentProblem(
            f"{zone} has no default subnet",
            hint=f"aws ec2 create-default-subnet --availability-zone {zone}, or another --region and --zone",
        )
    if not subnets[0]["MapPublicIpOnLaunch"]:
        raise EnvironmentProblem(
            f"the default subnet of {zone} gives machines no public address",
            hint=f"aws ec2 modify-subnet-attribute --map-public-ip-on-launch --subnet-id {subnets[0]['SubnetId']}",
        )
    return f"{zone} has a default subnet with public addresses"
