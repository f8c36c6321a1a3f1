"""Machines of Azure, by its SDKs: the thin shell around `azure_plan`.

Credentials and subscription are those of your environment (`az login`, AZURE_SUBSCRIPTION_ID). Never run on a real
account: rehearsed on a small fake of Azure Resource Manager, see docs/how-to/run-on-azure.md.
"""

import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from nephoscope.machines.waiting import Clock
from nephoscope.model.errors import EnvironmentProblem, InfrastructureFailure, InputError, NephoscopeError, ToolMissing
from nephoscope.providers.azure.errors import GONE, of_code
from nephoscope.providers.azure.plan import Call, group_call, group_of, image_of, machine_of, making_steps
from nephoscope.providers.cloud.order import CLUSTER, STUDY, ClusterOrder, Question, require_free
from nephoscope.providers.cloud.provider import Cloud, CloudMachine, MadeOnce, patiently, together
from nephoscope.providers.cloud.unmaking import Unseen, unmade

UNMAKE_TIMEOUT_S = 1800.0
"""Deleting a group takes some minutes."""
_LOOK_EVERY_S = 5.0
_POLL_EVERY_S = 5
_THREADS = 128
"""The SDK waits in a thread for long operations, a minute for each machine. Threads start as needed."""
INSTALL = "pip install 'nephoscope[azure]'"
_LOGIN = "run `az login`, and set AZURE_SUBSCRIPTION_ID=<id> in this terminal"
_FORCED = "Microsoft.Compute/virtualMachines"
"""Ended without a shutdown when their group goes."""


@dataclass(frozen=True)
class Left:
    """What there is of a cluster."""

    names: tuple[str, ...]
    """Its resource group, or nothing."""


@dataclass(frozen=True)
class Api:
    """The API and its account."""

    subscription: str
    client_of: Callable[[str], Any]
    """Makes the SDK's management client: of 'compute', 'network' or 'resource'."""


class AzureCloud(Cloud):
    """See `Cloud`."""

    name = "azure"

    def __init__(self, clock: Clock, api: Callable[[], Api] | None = None) -> None:
        """Calls no API yet.

        Args:
            clock: for waits.
            api: default: Azure, as configured by your environment.
        """
        self._clock = clock
        make = api or azure_api
        self._apis: MadeOnce[str, Api] = MadeOnce(lambda _: make())
        self._client: MadeOnce[str, Any] = MadeOnce(lambda name: self._api().client_of(name))
        self._unseen: dict[str, Unseen] = {}
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="azure")

    @override
    async def clusters(self, study: str, regions: Collection[str] = ()) -> list[str]:
        """One list has the groups of all regions."""
        wanted = f"tagName eq '{STUDY}' and tagValue eq {quoted(study)}"
        groups = await self.listed(Call("resource", "resource_groups", "list", ()), filter=wanted)
        tags = [group.get("tags") or {} for group in groups]
        return sorted(one[CLUSTER] for one in tags if one.get(STUDY) == study and CLUSTER in one)

    @override
    async def machines(self, key: str, regions: Sequence[str]) -> list[CloudMachine]:
        group = group_of(key)
        machines, interfaces, addresses = await together(
            self.listed(Call("compute", "virtual_machines", "list", (group,))),
            self.listed(Call("network", "network_interfaces", "list", (group,))),
            self.listed(Call("network", "public_ip_addresses", "list", (group,))),
        )
        machines = [one for one in machines if tag_of(one, CLUSTER) == key]
        views = await together(
            *(self.send(Call("compute", "virtual_machines", "instance_view", (group, one["name"]))) for one in machines)
        )
        return [
            machine_of(one, view, interfaces, addresses)
            for one, view in zip(machines, views, strict=True)
            if view is not None
        ]

    @override
    async def make(self, order: ClusterOrder) -> None:
        """Deletes what is left of an earlier cluster of this key first, as it has the resource group."""
        steps = making_steps(order, self.subscription)
        await self.unmake(order.key, order.regions)
        with self._unseen_of(order.key).requesting(group_of(order.key)):
            await self.send(group_call(order), gone_is_fine=False)
        for step in steps:
            await together(*(self.send(call, gone_is_fine=False) for call in step))

    @override
    async def unmake(self, key: str, regions: Collection[str] = ()) -> None:
        """All of it is in one group.

        Raises:
            EnvironmentProblem: a group has its name, but not its tags.
        """
        await unmade(
            f"Azure did not delete all of {key}",
            lambda: self._left(key),
            lambda left: [Call("resource", "resource_groups", "begin_delete", (name,)) for name in left.names],
            lambda call: self.send(call, force_deletion_types=_FORCED),
            self._clock,
            self._unseen_of(key),
            look_every_s=_LOOK_EVERY_S,
            timeout_s=UNMAKE_TIMEOUT_S,
        )
        self._unseen.pop(key, None)

    @override
    def questions(self, order: ClusterOrder) -> Sequence[Question]:
        return questions(self.subscription, self.send, self.listed, order)

    def _unseen_of(self, key: str) -> Unseen:
        return self._unseen.setdefault(key, Unseen(self._clock))

    async def _left(self, key: str) -> Left:
        name = group_of(key)
        group = await self.send(Call("resource", "resource_groups", "get", (name,)))
        if group is not None and tag_of(group, CLUSTER) != key:
            raise EnvironmentProblem(
                f"the resource group {name} has the name of {key}, but its tag {CLUSTER} is "
                f"{tag_of(group, CLUSTER)!r}, so nephoscope did not make it and leaves it as it is",
                hint="delete or rename that group if nobody needs it, then run the same command again",
            )
        return Left(() if group is None else (name,))

    async def send(self, call: Call, *, gone_is_fine: bool = True, **options: str) -> dict[str, Any] | None:
        """The answer, of a long operation its final one; None: no such resource."""

        def send() -> dict[str, Any] | None:
            try:
                answer = self._ask(call, **options)
                return as_json(answer.result() if call.method.startswith("begin_") else answer)
            except Exception as error:
                if gone_is_fine and code_of(error) in GONE:
                    return None
                raise

        return await patiently(send, typed, self._clock, self._threads)

    async def listed(self, call: Call, **options: str) -> list[dict[str, Any]]:
        """All pages; none if the group does not exist."""

        def read() -> list[dict[str, Any]]:
            try:
                return [as_json(one) for one in self._ask(call, **options)]
            except Exception as error:
                if code_of(error) in GONE:
                    return []
                raise

        return await patiently(read, typed, self._clock)

    def _ask(self, call: Call, **options: str) -> Any:
        client = self._client(call.client)
        return getattr(getattr(client, call.operations), call.method)(*call.arguments, **options)

    @override
    async def account(self) -> str:
        return self.subscription

    @property
    def subscription(self) -> str:
        """The account's."""
        return self._api().subscription

    def _api(self) -> Api:
        return self._apis(self.name)


def as_json(model: Any) -> dict[str, Any]:
    """A model of the SDK with the names of the REST reference; empty for none."""
    found: dict[str, Any] = model.as_dict() if model is not None else {}
    return found


def quoted(text: str) -> str:
    """A text in a filter of the API, whatever is in it."""
    return "'" + text.replace("'", "''") + "'"


def tag_of(resource: Mapping[str, Any], name: str) -> str | None:
    """The value of a resource's tag; None: it has no such tag."""
    return (resource.get("tags") or {}).get(name)


def clients(subscription: str, credential: Any, **options: Any) -> Callable[[str], Any]:
    """Creates management clients; retries are nephoscope's own."""
    from azure.mgmt.compute import ComputeManagementClient
    from azure.mgmt.network import NetworkManagementClient
    from azure.mgmt.resource.resources import ResourceManagementClient

    kinds = {
        "compute": ComputeManagementClient,
        "network": NetworkManagementClient,
        "resource": ResourceManagementClient,
    }
    ours = {"retry_total": 0, "polling_interval": _POLL_EVERY_S, **options}
    return lambda name: kinds[name](credential, subscription, **ours)


def azure_api() -> Api:
    """Azure Resource Manager as configured by your environment.

    Raises:
        ToolMissing: an SDK is not installed.
        EnvironmentProblem: no subscription is named.
    """
    subscription = os.environ.get("AZURE_SUBSCRIPTION_ID")
    try:
        from azure.identity import DefaultAzureCredential

        if not subscription:
            raise EnvironmentProblem("no access to Azure: no subscription is set", hint=_LOGIN)
        return Api(subscription, clients(subscription, DefaultAzureCredential()))
    except ImportError as error:
        raise ToolMissing("Azure's SDKs are not installed, but provider 'azure' needs them", hint=INSTALL) from error


def code_of(error: Exception) -> str:
    """Azure's own error code; empty: it gives none."""
    return str(getattr(getattr(error, "error", None), "code", None) or "")


def typed(error: Exception) -> NephoscopeError | None:
    """The typed error for an error of the SDK; None: it is not one of the SDK's."""
    from azure.core.exceptions import AzureError, HttpResponseError

    if isinstance(error, HttpResponseError) and (error.response is not None or code_of(error)):
        details = getattr(error.error, "details", None) or ()
        inner = tuple(str(detail.code) for detail in details if getattr(detail, "code", None))
        said = getattr(error.error, "message", None) or error.message
        target = str(getattr(error.error, "target", None) or "")
        return of_code(code_of(error), error.status_code, str(said), inner, target)
    if isinstance(error, HttpResponseError):
        said = str(error.message).partition("\n")[0]  # then follow all the ways to log in
        return EnvironmentProblem(f"no access to Azure: {said}", hint=_LOGIN)
    if isinstance(error, AzureError):
        return InfrastructureFailure(f"Azure does not answer: {error.message}")
    return None


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
