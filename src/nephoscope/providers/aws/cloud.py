"""Machines of AWS EC2, by boto3: the thin shell around `aws_plan`. Credentials are those of your environment.

Never run on a real account: rehearsed on moto, see docs/how-to/run-on-aws.md.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from typing_extensions import override

from nephoscope.model.errors import EnvironmentProblem, InfrastructureFailure, InputError, NephoscopeError, ToolMissing
from nephoscope.providers.aws.errors import GONE, IN_USE, THERE, NotAllowed, of_code
from nephoscope.providers.aws.plan import (
    Call,
    Cpus,
    Left,
    ending_calls,
    group_call,
    ingress_call,
    keys_of,
    left_of,
    machine_of,
    machines_call,
    placement_call,
)
from nephoscope.providers.cloud.order import CLUSTER, STUDY, ClusterOrder, RoleOrder
from nephoscope.providers.cloud.provider import Clock, Cloud, CloudMachine, MadeOnce, patiently

ClientOf = Callable[[str | None], Any]
"""The EC2 client of a region; `None`: the environment's region."""

UNMAKE_TIMEOUT_S = 900.0
"""Bare metal takes minutes to terminate."""
_LOOK_EVERY_S = 5.0
_INSTALL = "pip install 'nephoscope[aws]'"
_ALIVE = ["pending", "running", "stopping", "stopped"]


class AwsCloud(Cloud):
    """See `Cloud`."""

    name = "aws"

    def __init__(self, clock: Clock, client_of: ClientOf | None = None, regions: Sequence[str] | None = None) -> None:
        """Calls no API yet.

        Args:
            clock: for waits.
            client_of: makes clients; default: boto3's, without its own retries.
            regions: where to look for existing resources; default: all regions enabled for the account.
        """
        self._clock = clock
        self._client: MadeOnce[str | None, Any] = MadeOnce(client_of or boto3_client)
        self._regions = tuple(regions) if regions else None
        self._seen_in: dict[str, str] = {}

    @override
    async def clusters(self, study: str) -> list[str]:
        async def of(region: str) -> set[str]:
            instances = {"instance-state-name": _ALIVE}
            resources = [*await self._instances(region, STUDY, study, instances)]
            resources += await self._volumes(region, STUDY, study)
            resources += await self._groups(region, STUDY, study)
            return keys_of(resources)

        return sorted(set().union(*await self._everywhere(of)))

    @override
    async def machines(self, key: str, region: str) -> list[CloudMachine]:
        self._seen_in[key] = region
        return [machine_of(one) for one in await self._instances(region, CLUSTER, key)]

    @override
    async def make(self, order: ClusterOrder) -> None:
        region = order.region
        self._seen_in[order.key] = region
        made = await self._send(region, group_call(order, await self._vpc(order)), fine=THERE)
        found = [made] if made else await self._groups(region, CLUSTER, order.key)
        if not found:
            raise InfrastructureFailure(
                f"AWS reports that the security group of {order.key} exists, but does not find it"
            )
        group = str(found[0]["GroupId"])
        await self._send(region, ingress_call(order, group), fine=THERE)
        placement = placement_call(order)
        if placement is not None:
            await self._send(region, placement, fine=THERE)
        for role in order.roles:
            await self._send(region, machines_call(order, role, group, await self._cpus(order, role)))

    @override
    async def unmake(self, key: str) -> None:
        region = self._seen_in.pop(key, None)
        if region is not None:
            await self._unmake(key, region)
        else:
            await self._everywhere(lambda region: self._unmake(key, region))

    async def _unmake(self, key: str, region: str) -> None:
        until_s = self._clock.monotonic_s() + UNMAKE_TIMEOUT_S
        before: list[Call] = []
        while not (left := await self._left(key, region)).nothing:
            calls = ending_calls(left)
            if self._clock.monotonic_s() > until_s:
                what = ", ".join([*left.instances, *left.volumes, *left.groups])
                raise InfrastructureFailure(
                    f"AWS has not deleted all of {key}: {what} still exist", hint="run `nephoscope clean` to try again"
                )
            if calls == before:  # nothing new since then: they are being deleted
                await self._clock.sleep(_LOOK_EVERY_S)
            for call in calls:
                await self._send(region, call, fine=GONE | IN_USE)
            before = calls

    async def _left(self, key: str, region: str) -> Left:
        return left_of(
            await self._instances(region, CLUSTER, key),
            await self._volumes(region, CLUSTER, key),
            await self._groups(region, CLUSTER, key),
        )

    async def _vpc(self, order: ClusterOrder) -> str | None:
        """Of the subnet that is named; None: the default one."""
        if order.cloud.subnet is None:
            return None
        said = await self._send(order.region, Call("describe_subnets", {"SubnetIds": [order.cloud.subnet]}))
        return str(said["Subnets"][0]["VpcId"])

    async def _cpus(self, order: ClusterOrder, role: RoleOrder) -> Cpus | None:
        """Of the type; None: the study does not ask for others."""
        if role.machine.cores is None and role.machine.threads_per_core is None:
            return None
        said = await self._send(order.region, Call("describe_instance_types", {"InstanceTypes": [role.type]}))
        found = said["InstanceTypes"][0]["VCpuInfo"]
        return Cpus(int(found["DefaultCores"]), int(found["DefaultThreadsPerCore"]))

    async def _instances(
        self, region: str, tag: str, value: str, more: Mapping[str, list[str]] | None = None
    ) -> list[dict[str, Any]]:
        pages = await self._pages(region, "describe_instances", {f"tag:{tag}": [value], **(more or {})})
        return [one for page in pages for reservation in page["Reservations"] for one in reservation["Instances"]]

    async def _volumes(self, region: str, tag: str, value: str) -> list[dict[str, Any]]:
        pages = await self._pages(region, "describe_volumes", {f"tag:{tag}": [value]})
        return [one for page in pages for one in page["Volumes"]]

    async def _groups(self, region: str, tag: str, value: str) -> list[dict[str, Any]]:
        pages = await self._pages(region, "describe_security_groups", {f"tag:{tag}": [value]})
        return [one for page in pages for one in page["SecurityGroups"]]

    async def _pages(self, region: str, operation: str, filters: Mapping[str, Iterable[str]]) -> list[dict[str, Any]]:
        wanted = [{"Name": name, "Values": list(values)} for name, values in filters.items()]

        def read() -> list[dict[str, Any]]:
            return list(self._client(region).get_paginator(operation).paginate(Filters=wanted))

        return await patiently(read, typed, self._clock)

    async def _send(self, region: str | None, call: Call, *, fine: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The answer; empty if the error code is acceptable."""

        def send() -> dict[str, Any]:
            try:
                answer: dict[str, Any] = getattr(self._client(region), call.operation)(**call.arguments)
            except Exception as error:
                if code_of(error) in fine:
                    return {}
                raise
            return answer

        return await patiently(send, typed, self._clock)

    async def _everywhere(self, look: Callable[[str], Awaitable[Any]]) -> list[Any]:
        """What exists in each region. Regions that these credentials cannot access are skipped: we own nothing there.

        Raises:
            NotAllowed: they cannot access any region.
        """
        regions = self._regions
        if regions is None:
            said = await self._send(None, Call("describe_regions", {}))
            regions = tuple(one["RegionName"] for one in said["Regions"])
        found: list[Any] = []
        refused: list[NotAllowed] = []

        async def one(region: str) -> None:
            try:
                found.append(await look(region))
            except NotAllowed as error:
                refused.append(error)

        await asyncio.gather(*map(one, regions))
        if refused and not found:
            raise refused[0]
        return found


def boto3_client(region: str | None) -> Any:
    """EC2 of a region as your environment configures it; retries are nephoscope's own.

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
    return session.client("ec2", region_name=where, config=Config(retries={"total_max_attempts": 1}))


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
        return InputError(f"AWS does not accept the request: {error}")
    if isinstance(error, sdk.HTTPClientError | sdk.ConnectionError):
        return InfrastructureFailure(f"AWS does not answer: {error}")
    if isinstance(error, sdk.BotoCoreError):
        return EnvironmentProblem(
            f"no access to AWS: {error}", hint="make `aws sts get-caller-identity` work in this terminal"
        )
    return None
