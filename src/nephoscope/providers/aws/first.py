"""What AWS is asked before the first machine of an account: identity, rights, type and quota, image, network."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nephoscope.model.errors import EnvironmentProblem, InputError
from nephoscope.providers.aws.call import Call
from nephoscope.providers.aws.errors import NotAllowed
from nephoscope.providers.aws.plan import group_call
from nephoscope.providers.cloud.order import ClusterOrder
from nephoscope.providers.cloud.questions import Question, require_free

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
