"""EC2 by moto's server: real HTTP and the real SDK, no account. What it lacks is injected: capacity, quota, throttling.

Requests that EC2's published definition does not allow are refused. moto ignores ClientToken, drops IOPS and throughput
given in RunInstances, never lacks capacity, knows no placement groups and starts no sshd.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from nephoscope.machines.fake import AnswerTo
from nephoscope.machines.remote import MachineHandle
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.cloud.provider import CloudMachine
from nephoscope.study.model import Machine
from tests.support.definitions import of_ec2
from tests.support.fake_cloud import machine_of_answers

REGIONS = ("us-east-1", "us-west-2")
KEYS = {"aws_access_key_id": "moto", "aws_secret_access_key": "moto"}

Refuse = Callable[[str, dict[str, Any]], str | None]
"""Operation and its arguments -> the error code that it is refused with; `None`: it goes to moto."""


@contextmanager
def moto_server() -> Iterator[str]:
    """The server's URL; nothing of an earlier one is in it."""
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.ec2.models import ec2_backends
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for region in REGIONS:
        ec2_backends[DEFAULT_ACCOUNT_ID][region].reset()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


Shows = Callable[[str], str | None]
"""Operation -> what its lists show: 'all', whatever their filters say; 'nothing' yet; `None`: what moto says."""


def client_of(
    url: str,
    refuse: Refuse = lambda _operation, _arguments: None,
    shows: Shows = lambda _operation: None,
) -> Callable[[str | None], Any]:
    """Clients whose calls are refused as asked, before they are sent: as EC2 answers, by the SDK's own events."""
    from botocore.awsrequest import AWSResponse
    from botocore.config import Config

    def make(region: str | None) -> Any:
        config = Config(retries={"total_max_attempts": 1})
        client = _session().client("ec2", region_name=region or REGIONS[0], endpoint_url=url, config=config)

        def before_call(model: Any, params: dict[str, Any], **_: Any) -> tuple[Any, dict[str, Any]] | None:
            shown = shows(model.name) if model.name.startswith("Describe") else None
            if shown == "nothing":
                lists: dict[str, list[Any]] = {
                    name: [] for name, shape in model.output_shape.members.items() if shape.type_name == "list"
                }
                return AWSResponse(url, 200, {}, None), {**lists, "ResponseMetadata": {"HTTPStatusCode": 200}}
            if shown == "all":
                params["body"] = {name: said for name, said in params["body"].items() if "Filter" not in name}
            return _refusal(url, refuse(model.name, params["body"]))

        client.meta.events.register("provide-client-params.ec2", _as_defined)
        client.meta.events.register("before-call.ec2", before_call)
        return client

    return make


def _refusal(url: str, code: str | None) -> tuple[Any, dict[str, Any]] | None:
    """The answer to a call that is refused; `None`: it is sent."""
    from botocore.awsrequest import AWSResponse

    if code is None:
        return None
    answer = {"Error": {"Code": code, "Message": "injected"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    return AWSResponse(url, 400, {}, None), answer


def _as_defined(params: dict[str, Any], model: Any, **_: Any) -> None:
    """Refuses what EC2's own definition does not allow, as the SDK refuses a part of it."""
    from botocore.exceptions import ParamValidationError

    if complaints := of_ec2(model.name, params):
        raise ParamValidationError(report="\n".join(complaints))


def service_of(
    url: str, quota_vcpus: float = 5.0, refuse: Refuse = lambda _operation, _arguments: None
) -> Callable[[str | None, str], Any]:
    """Clients of other services by region and name; moto has quotas of VPC alone, so that answer is made here."""
    from botocore.awsrequest import AWSResponse
    from botocore.config import Config

    def quota(**_: Any) -> tuple[Any, dict[str, Any]]:
        answer = {"Quota": {"Value": quota_vcpus}, "ResponseMetadata": {"HTTPStatusCode": 200}}
        return AWSResponse(url, 200, {}, None), answer

    def before_call(model: Any, params: dict[str, Any], **_: Any) -> tuple[Any, dict[str, Any]] | None:
        return _refusal(url, refuse(model.name, params))

    def make(region: str | None, service: str) -> Any:
        config = Config(retries={"total_max_attempts": 1})
        client = _session().client(service, region_name=region or REGIONS[0], endpoint_url=url, config=config)
        client.meta.events.register(f"before-call.{service}", before_call)
        client.meta.events.register("before-call.service-quotas.GetServiceQuota", quota)
        return client

    return make


@cache
def _session() -> Any:
    """One for all: it keeps the description of EC2, which takes half a second to read."""
    import boto3

    return boto3.session.Session(**KEYS)


def left(client: Any) -> list[str]:
    """Ids of all that a region has with nephoscope's tags, also of what costs nothing; rules and addresses without."""
    tagged = [{"Name": "tag-key", "Values": ["nephoscope-study"]}]
    machines = [one for each in client.describe_instances(Filters=tagged)["Reservations"] for one in each["Instances"]]
    peerings = client.describe_vpc_peering_connections()["VpcPeeringConnections"]  # moto takes no filters there
    groups = client.describe_security_groups()["SecurityGroups"]
    own = [one["GroupId"] for one in groups if one["GroupName"] != "default"]
    rules = client.describe_security_group_rules(Filters=[{"Name": "group-id", "Values": own}]) if own else {}
    return [
        *(one["InstanceId"] for one in machines if one["State"]["Name"] != "terminated"),
        *(one["VolumeId"] for one in client.describe_volumes(Filters=tagged)["Volumes"]),
        *(one["GroupId"] for one in client.describe_security_groups(Filters=tagged)["SecurityGroups"]),
        *(one["VpcId"] for one in client.describe_vpcs(Filters=tagged)["Vpcs"]),
        *(one["SubnetId"] for one in client.describe_subnets(Filters=tagged)["Subnets"]),
        *(one["RouteTableId"] for one in client.describe_route_tables(Filters=tagged)["RouteTables"]),
        *(one["InternetGatewayId"] for one in client.describe_internet_gateways(Filters=tagged)["InternetGateways"]),
        *(one["VpcPeeringConnectionId"] for one in peerings if one["Status"]["Code"] != "deleted"),
        *(one["SecurityGroupRuleId"] for one in rules.get("SecurityGroupRules", [])),
        *(one["AllocationId"] for one in client.describe_addresses()["Addresses"]),
    ]


def snapshots(client: Any) -> list[dict[str, Any]]:
    """All that a region has with nephoscope's tags."""
    tagged = [{"Name": "tag-key", "Values": ["nephoscope-study"]}]
    found: list[dict[str, Any]] = client.describe_snapshots(Filters=tagged, OwnerIds=["self"])["Snapshots"]
    return found


def carried_by(client: Any, machine: str) -> set[str]:
    """Names of the data sets that the volumes of a machine hold from their beginning."""
    attached = [{"Name": "attachment.instance-id", "Values": [machine]}]
    found = [one.get("SnapshotId") for one in client.describe_volumes(Filters=attached)["Volumes"]]
    sources = list(filter(None, found))
    ours = {one["SnapshotId"]: one["Tags"] for one in snapshots(client)}
    tags = [tag for source in sources for tag in ours.get(source, ())]
    return {tag["Value"] for tag in tags if tag["Key"] == "nephoscope-data-set"}


class FakeConnect:
    """Machines of moto have no sshd: this one answers for them, by what is installed (`programs`).

    Commands that are kept are begun once for each machine, and go on without their controller.
    """

    def __init__(
        self, folder: Path, programs: dict[str, AnswerTo], client: Callable[[str | None], Any] | None = None
    ) -> None:
        """`client` of a region asks which snapshots the volumes of a machine come from."""
        self._folder = folder
        self._programs = programs
        self._client = client

    async def key(self, scratch: Path) -> str:
        return "ssh-ed25519 AAAA fake"

    async def __call__(self, machine: CloudMachine, asked: Machine, request: ClusterRequest) -> MachineHandle:
        cpus = 8 if isinstance(asked.cpus, str) else asked.cpus
        home = self._folder / f"{quote(request.key, safe='')}.{machine.id}"
        (home / "jobs").mkdir(parents=True, exist_ok=True)
        if self._client is not None and machine.role == "database":
            for name in carried_by(self._client(request.configuration.region), machine.id):
                (home / name).touch()
        return machine_of_answers(machine.name, home, self._programs, cpus)

    def begun(self, name: str) -> Counter[str]:
        """Cluster's key -> how often a command of that name was begun on its machines."""
        counts: Counter[str] = Counter()
        for home in self._folder.iterdir():
            counts[unquote(home.name.rpartition(".")[0])] += len(list((home / "jobs").glob(f"{name}@*")))
        return counts


def tag_in(arguments: dict[str, Any], key: str) -> str:
    """A tag's value in the arguments of a call, as they go over the wire."""
    where = next(name for name, value in arguments.items() if value == key)
    return str(arguments[f"{where.removesuffix('.Key')}.Value"])
