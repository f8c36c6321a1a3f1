"""What Azure is asked before the first machine of a subscription: its resource providers, type and quotas, image."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nephoscope.model.errors import EnvironmentProblem, InputError
from nephoscope.providers.azure.plan import Call, image_of
from nephoscope.providers.cloud.order import ClusterOrder
from nephoscope.providers.cloud.questions import Question, require_free

_CPUS = "cores"
"""Azure's name of the quota 'Total Regional vCPUs'."""


def questions(
    subscription: str,
    send: Callable[..., Awaitable[dict[str, Any] | None]],
    listed: Callable[..., Awaitable[list[dict[str, Any]]]],
    order: ClusterOrder,
) -> list[Question]:
    """About the first role of an order. Azure has no dry run, and every cluster has a network of its own.

    Args:
        subscription: whose.
        send: see `AzureCloud.send`.
        listed: see `AzureCloud.listed`.
        order: of the cluster.
    """
    role = order.roles[0]
    region = role.region

    async def registered() -> str:
        for namespace in ("Microsoft.Compute", "Microsoft.Network"):
            answer = await send(Call("resource", "providers", "get", (namespace,)), gone_is_fine=False)
            state = (answer or {}).get("registrationState")
            if state != "Registered":
                raise EnvironmentProblem(
                    f"the subscription may not use {namespace}: it is {state}",
                    hint=f"az provider register --wait --namespace {namespace}",
                )
        return f"{subscription} may use Microsoft.Compute and Microsoft.Network"

    async def quota() -> str:
        sizes = await listed(Call("compute", "resource_skus", "list", ()), filter=f"location eq '{region}'")
        size = next((one for one in sizes if one.get("name") == role.type), None)
        if size is None or _restricted(size, role.zones[0]):
            raise EnvironmentProblem(
                f"this subscription gets no {role.type} in zone {role.zones[0]} of {region}",
                hint="--type with another size, or another --region and --zone: `az vm list-skus --location "
                f"{region} --zone --output table` shows what is restricted",
            )
        capabilities = {one["name"]: one["value"] for one in size.get("capabilities", ())}
        vcpus = float(capabilities.get("vCPUs", 1))
        usage = await listed(Call("compute", "usage", "list", (region,)))
        free = {one["name"]["value"]: one["limit"] - one["currentValue"] for one in usage}
        needed = {name: vcpus for name in (_CPUS, size.get("family")) if name}
        return f"{role.type} has {vcpus:g} vCPUs; {require_free('subscription', region, free, needed)}"

    async def image() -> str:
        named = image_of(role.image)
        if "id" in named:
            return "your own image is looked for when the machine is made"
        parts = (region, named["publisher"], named["offer"], named["sku"], named["version"])
        if await send(Call("compute", "virtual_machine_images", "get", parts)) is None:
            raise InputError(
                f"{region} has no image {role.image}",
                hint="`az vm image list --publisher Debian --all --output table` lists images with their versions",
            )
        return f"{role.image} is there"

    return [
        Question("identity and resource providers", registered),
        Question("type and quota", quota),
        Question("image", image),
    ]


def _restricted(size: Mapping[str, Any], zone: str) -> bool:
    """Whether a size is refused to the subscription in its whole region, or in this zone."""
    return any(
        one.get("type") == "Location" or zone in (one.get("restrictionInfo") or {}).get("zones", ())
        for one in size.get("restrictions") or ()
    )
