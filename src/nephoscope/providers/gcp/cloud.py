"""Machines of Google Compute Engine, by its SDK: the thin shell around `gcp_plan`.

Credentials and project are those of your environment (application default credentials, GOOGLE_CLOUD_PROJECT). Never run
on a real account: rehearsed on gcplocal, see docs/how-to/run-on-gcp.md.
"""

import json
import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from nephoscope.machines.waiting import Clock
from nephoscope.model.errors import EnvironmentProblem, InfrastructureFailure, InputError, NephoscopeError, ToolMissing
from nephoscope.providers.cloud.order import CLUSTER, STUDY, ClusterOrder, Question, require_free
from nephoscope.providers.cloud.provider import Cloud, CloudMachine, MadeOnce, patiently, together
from nephoscope.providers.cloud.unmaking import Unseen, unmade
from nephoscope.providers.gcp.errors import GONE, IN_USE, THERE, of_reason, plain
from nephoscope.providers.gcp.plan import (
    Call,
    Left,
    aggregated_list,
    ending_calls,
    firewall_calls,
    firewall_list,
    keys_of,
    label_filter,
    machine_calls,
    machine_of,
    name_filter,
    network_of,
    of_cluster,
    operation_call,
    placement_calls,
    subnet_call,
)

_LOOK_EVERY_S = 2.0
_CALL_TIMEOUT_S = 60.0
INSTALL = "pip install 'nephoscope[gcp]'"
LOGIN = "run `gcloud auth application-default login`, and set GOOGLE_CLOUD_PROJECT=<project> in this terminal"


@dataclass(frozen=True)
class Api:
    """The API and its account."""

    project: str
    client_of: Callable[[str], Any]
    """Makes a client of the SDK ('InstancesClient')."""


class GcpCloud(Cloud):
    """See `Cloud`."""

    name = "gcp"

    def __init__(self, clock: Clock, api: Callable[[], Api] | None = None) -> None:
        """Calls no API yet.

        Args:
            clock: for waits.
            api: default: Google, as configured by your environment.
        """
        self._clock = clock
        self._unseen: dict[str, Unseen] = {}
        make = api or google_api
        self._apis: MadeOnce[str, Api] = MadeOnce(lambda _: make())
        self._client: MadeOnce[str, Any] = MadeOnce(lambda name: self._api().client_of(name))

    @override
    async def clusters(self, study: str, regions: Collection[str] = ()) -> list[str]:
        """One list has what is in all regions."""
        found = await together(
            self._everywhere("Instances", "instances", label_filter(STUDY, study)),
            self._everywhere("Disks", "disks", label_filter(STUDY, study)),
            self._everywhere("ResourcePolicies", "resource_policies", name_filter(None)),
            self._firewalls(None),
        )
        return sorted(keys_of((one for what in found for one in what), study))

    @override
    async def machines(self, key: str, regions: Sequence[str]) -> list[CloudMachine]:
        found = await self._everywhere("Instances", "instances", label_filter(CLUSTER, key))
        return [machine_of(one, key) for one in of_cluster(found, key)]

    @override
    async def make(self, order: ClusterOrder) -> None:
        """Deletes what is left of an earlier cluster of this key first, as it has the names."""
        await self.unmake(order.key, order.regions)
        project = self.project
        await self.done(firewall_calls(order, project, await self._network(order, project)))
        await self.done(placement_calls(order, project))
        unseen = self._unseen_of(order.key)

        async def machine(call: Call) -> None:
            with unseen.requesting(call.arguments["instanceResource"]["name"]):
                await self.done([call])

        await together(*map(machine, machine_calls(order, project)))

    @override
    async def unmake(self, key: str, regions: Collection[str] = ()) -> None:
        await unmade(
            f"GCP did not delete all of {key}",
            lambda: self._left(key),
            lambda left: ending_calls(left, self.project),
            lambda call: self.send(call, fine=GONE | IN_USE),
            self._clock,
            self._unseen_of(key),
            look_every_s=_LOOK_EVERY_S,
        )
        self._unseen.pop(key, None)

    @override
    def questions(self, order: ClusterOrder) -> Sequence[Question]:
        return questions(self.project, self.send, order)

    def _unseen_of(self, key: str) -> Unseen:
        return self._unseen.setdefault(key, Unseen(self._clock))

    async def _left(self, key: str) -> Left:
        of_key = label_filter(CLUSTER, key)
        found = await together(
            self._everywhere("Instances", "instances", of_key),
            self._everywhere("Disks", "disks", of_key),
            self._everywhere("ResourcePolicies", "resource_policies", name_filter(key)),
            self._firewalls(key),
        )
        return Left(*(of_cluster(resources, key) for resources in found))

    async def _network(self, order: ClusterOrder, project: str) -> str:
        """Of the subnet that is named, else the default one; a network of Google's reaches all regions.

        Raises:
            InputError: the subnets of two regions belong to different networks.
        """
        name = order.cloud.subnet
        if name is None:
            return f"projects/{project}/global/networks/default"
        found = [network_of(await self.send(subnet_call(order, project, one)), name) for one in order.regions]
        if len(set(found)) > 1:
            raise InputError(
                f"the subnets {name!r} of {' and '.join(order.regions)} belong to different networks",
                hint="set `subnet` to a name that one network has in both regions",
            )
        return found[0]

    async def done(self, calls: Iterable[Call], *, fine: frozenset[str] = THERE) -> None:
        """Sends calls concurrently and waits until their operations have ended; errors that are `fine` are none.

        Raises:
            NephoscopeError: one failed; the others have ended, too.
        """

        async def one(call: Call) -> None:
            operation = await self.send(call, fine=fine)
            while operation and operation["status"] != "DONE":
                await self._clock.sleep(_LOOK_EVERY_S)
                operation = await self.send(operation_call(operation, call))
            failed = operation.get("error", {}).get("errors", [])
            if failed and plain(failed[0]["code"]) not in fine:
                status = operation.get("httpErrorStatusCode")
                raise of_reason(failed[0]["code"], status and int(status), failed[0].get("message", ""))

        await together(*map(one, calls))

    async def _everywhere(self, resources: str, items: str, matching: str) -> list[dict[str, Any]]:
        """What all zones or regions have."""
        call = aggregated_list(resources, self.project, matching)
        return await self.read(call, lambda pages: [one for _, scope in pages for one in getattr(scope, items)])

    async def _firewalls(self, key: str | None) -> list[dict[str, Any]]:
        return await self.read(firewall_list(self.project, key), list)

    async def read(self, call: Call, taken: Callable[[Any], list[Any]]) -> list[dict[str, Any]]:
        """What a list contains; `taken` are its items."""

        def read() -> list[dict[str, Any]]:
            return [as_json(one) for one in taken(self._ask(call))]

        return await patiently(read, typed, self._clock)

    async def send(self, call: Call, *, fine: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The answer; empty for an error that is fine."""

        def send() -> dict[str, Any]:
            try:
                return as_json(self._ask(call))
            except Exception as error:
                if plain(reason_of(error)) in fine:
                    return {}
                raise

        return await patiently(send, typed, self._clock)

    def _ask(self, call: Call) -> Any:
        from google.cloud import compute_v1

        asked = getattr(compute_v1, call.request).from_json(json.dumps(dict(call.arguments)))
        return getattr(self._client(call.client), call.method)(request=asked, retry=None, timeout=_CALL_TIMEOUT_S)

    @override
    async def account(self) -> str:
        return self.project

    @property
    def project(self) -> str:
        """The account's."""
        return self._api().project

    def _api(self) -> Api:
        return self._apis(self.name)


def as_json(message: Any) -> dict[str, Any]:
    """A message of the SDK with the names of the REST reference."""
    from google.protobuf.json_format import MessageToDict

    found: dict[str, Any] = MessageToDict(type(message).pb(message))
    return found


def google_api() -> Api:
    """Compute Engine as configured by your environment.

    Raises:
        ToolMissing: the SDK is not installed.
        EnvironmentProblem: there are no credentials, or no project.
    """
    try:
        import google.auth
        from google.auth.exceptions import GoogleAuthError
        from google.cloud import compute_v1
    except ImportError as error:
        raise ToolMissing("google-cloud-compute is not installed, but provider 'gcp' needs it", hint=INSTALL) from error
    try:
        credentials, found = google.auth.default(scopes=["https://www.googleapis.com/auth/compute"])
    except GoogleAuthError as error:
        raise EnvironmentProblem(f"no access to GCP: {error}", hint=LOGIN) from error
    project = os.environ.get("GOOGLE_CLOUD_PROJECT") or found
    if not project:
        raise EnvironmentProblem("no access to GCP: no project is set", hint=LOGIN)
    return Api(str(project), lambda name: getattr(compute_v1, name)(credentials=credentials))


def reason_of(error: Exception) -> str:
    """Google's own reason for an error; empty: it gives none."""
    errors = getattr(error, "errors", None) or [{}]
    first = errors[0] if isinstance(errors[0], dict) else {}
    return str(first.get("reason") or getattr(error, "reason", None) or "")


def typed(error: Exception) -> NephoscopeError | None:
    """The typed error for an error of the SDK; None: it is not one of the SDK's."""
    from google.api_core.exceptions import GoogleAPICallError
    from google.auth.exceptions import GoogleAuthError, TransportError
    from requests.exceptions import RequestException

    if isinstance(error, GoogleAPICallError):
        return of_reason(reason_of(error), int(error.code) if error.code else None, str(error.message))
    if isinstance(error, TransportError | RequestException):
        return InfrastructureFailure(f"GCP does not answer: {error}")
    if isinstance(error, GoogleAuthError):
        return EnvironmentProblem(f"no access to GCP: {error}", hint=LOGIN)
    return None


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
