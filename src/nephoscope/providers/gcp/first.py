"""What Compute Engine is asked before the first machine of a project: type and quotas, image, network."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from nephoscope.model.errors import InputError
from nephoscope.providers.cloud.order import ClusterOrder
from nephoscope.providers.cloud.questions import Question, require_free
from nephoscope.providers.gcp.plan import Call

_IMAGE = re.compile(r"projects/(?P<project>[^/]+)/global/images/(?P<family>family/)?(?P<name>[^/]+)")


def questions(project: str, send: Callable[[Call], Awaitable[dict[str, Any]]], order: ClusterOrder) -> list[Question]:
    """About the first role of an order. Google has no dry run: the first machine shows the rights to make one.

    Args:
        project: whose.
        send: see `GcpCloud.send`.
        order: of the cluster.
    """
    role = order.roles[0]
    region, zone = role.region, role.zones[0]

    async def quota() -> str:
        names = {"project": project, "zone": zone, "machineType": role.type}
        vcpus = int((await send(Call("MachineTypesClient", "get", "GetMachineTypeRequest", names)))["guestCpus"])
        of_project = await send(Call("ProjectsClient", "get", "GetProjectRequest", {"project": project}))
        of_region = await send(Call("RegionsClient", "get", "GetRegionRequest", {"project": project, "region": region}))
        quotas = (*of_project.get("quotas", ()), *of_region.get("quotas", ()))
        free = {one["metric"]: one["limit"] - one.get("usage", 0) for one in quotas}
        needed = {"CPUS_ALL_REGIONS": vcpus, "CPUS": vcpus, "IN_USE_ADDRESSES": 1, "SSD_TOTAL_GB": 20}
        return f"{project}: {role.type} has {vcpus} vCPUs; {require_free('project', region, free, needed)}"

    async def image() -> str:
        named = _IMAGE.fullmatch(role.image)
        if named is None:
            raise InputError(f"{role.image!r} is no image", hint="projects/PROJECT/global/images/NAME")
        if named["family"]:
            names = {"project": named["project"], "family": named["name"]}
            call = Call("ImagesClient", "get_from_family", "GetFromFamilyImageRequest", names)
        else:
            names = {"project": named["project"], "image": named["name"]}
            call = Call("ImagesClient", "get", "GetImageRequest", names)
        return f"{(await send(call))['name']} is there"

    async def network() -> str:
        names = {"project": project, "network": "default"}
        await send(Call("NetworksClient", "get", "GetNetworkRequest", names))
        return "the project has its network default"

    return [
        Question("identity, type and quota", quota, project),
        Question("image", image),
        Question("network", network),
    ]
