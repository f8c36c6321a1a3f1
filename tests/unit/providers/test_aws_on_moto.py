"""The provider against moto's EC2 over HTTP by the real SDK, with what moto lacks injected; machines are fake ones."""

import asyncio
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import boto3
import pytest

from nephoscope.model.errors import (
    CapacityLacking,
    InfrastructureFailure,
    InputError,
    NephoscopeError,
    QuotaReached,
    Throttled,
)
from nephoscope.providers.aws.cloud import AwsCloud
from nephoscope.providers.aws.plan import Cpus, group_call
from nephoscope.providers.cloud.order import order_of
from nephoscope.providers.cloud.provider import CloudProvider
from nephoscope.run.cleaning import clean
from nephoscope.run.clock import FakeClock
from tests.support.made_cloud import AtOnce, request_of
from tests.support.moto_ec2 import KEYS, REGIONS, Refuse, client_of, moto_server

pytestmark = pytest.mark.whole

run = asyncio.run
WEST: dict[str, Any] = {"region": "us-west-2", "zone": "us-west-2a"}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with moto_server() as url:
        yield url


@pytest.fixture
def url(server: str) -> Iterator[str]:
    yield server
    assert {region: there(server, region) for region in REGIONS} == dict.fromkeys(REGIONS, (0, 0, 0))


class Leaping(FakeClock):
    """Ten minutes for every wait."""

    def elapse(self, seconds: float) -> None:
        super().elapse(600.0 if seconds else 0.0)


def nothing(_operation: str, _arguments: dict[str, Any]) -> str | None:
    return None


def provider(url: str, refuse: Refuse = nothing, clock: FakeClock | None = None) -> CloudProvider:
    clock = clock or FakeClock()
    return CloudProvider(AwsCloud(clock, client_of(url, refuse), REGIONS), AtOnce(), clock, "me@here")


@cache
def ec2_of(url: str, region: str = REGIONS[0]) -> Any:
    return client_of(url)(region)


def there(url: str, region: str = REGIONS[0]) -> tuple[int, int, int]:
    """Machines, volumes (moto gives one to a machine that asks for none) and groups that exist."""
    ec2 = ec2_of(url, region)
    alive = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}]
    ours = [{"Name": "tag-key", "Values": ["nephoscope-cluster"]}]
    instances = [one for page in ec2.describe_instances(Filters=alive)["Reservations"] for one in page["Instances"]]
    return (
        len(instances),
        len(ec2.describe_volumes()["Volumes"]),
        len(ec2.describe_security_groups(Filters=ours)["SecurityGroups"]),
    )


def test_created_twice_is_one_cluster_also_by_the_next_controller_and_deleted_twice_is_no_error(url: str) -> None:
    first, second = provider(url), provider(url)
    cluster = run(first.create(request_of()))
    assert [machine.name for machine in cluster.machines] == ["database-1", "database-2", "database-3", "load"]
    assert there(url) == (4, 4, 1)
    again = run(second.create(request_of()))
    assert [machine.name for machine in again.machines] == [machine.name for machine in cluster.machines]
    assert there(url) == (4, 4, 1)
    run(second.delete(cluster.key))
    run(first.delete(cluster.key))
    run(provider(url).delete(cluster.key))


def test_clusters_are_listed_by_tags_in_every_region_and_another_study_does_not_see_them(url: str) -> None:
    clouds = provider(url)
    east, west = request_of("a"), request_of("b", **WEST)
    run(clouds.create(east))
    run(clouds.create(west))
    assert run(provider(url).list("study-1")) == [east.key, west.key]
    assert run(provider(url).list("study")) == []
    for key in run(provider(url).list("study-1")):
        run(provider(url).delete(key))
    assert run(provider(url).list("study-1")) == []


def test_the_cpus_of_a_type_are_asked_for_when_the_study_wants_fewer(url: str) -> None:
    cloud = AwsCloud(FakeClock(), client_of(url), REGIONS)
    fewer = {"type": "i3en.6xlarge", "cores": 8}
    order = order_of(request_of(database_machine=fewer), "me@here", "ssh-ed25519 AAAA test")
    database, load = (run(cloud._cpus(role)) for role in order.roles)
    assert (database, load) == (Cpus(cores=12, threads_per_core=2), None)


@pytest.mark.parametrize("named", ["InstanceProfileName", "Arn"])
def test_database_machines_run_as_the_identity_that_is_named_and_the_load_machine_does_not(
    url: str, named: str
) -> None:
    iam = boto3.client("iam", region_name=REGIONS[0], endpoint_url=url, **KEYS)
    profile = iam.create_instance_profile(InstanceProfileName="reader")["InstanceProfile"]
    cloud = {"image": "ami-12c6146b", "ingress": "203.0.113.7/32", "identity": profile[named]}
    cluster = run(provider(url).create(request_of(cloud=cloud)))
    found = ec2_of(url).describe_iam_instance_profile_associations()["IamInstanceProfileAssociations"]
    machines = {one.id: one.name for one in run(provider(url)._cloud.machines(cluster.key, REGIONS[:1]))}
    run(provider(url).delete(cluster.key))
    assert {one["IamInstanceProfile"]["Arn"] for one in found} == {profile["Arn"]}
    # moto tells it of the first of several that are asked for at once.
    assert [machines[one["InstanceId"]] for one in found] == ["database-1"]
    iam.delete_instance_profile(InstanceProfileName="reader")


def answers(operation: str, codes: list[str | None], that: Callable[[dict[str, Any]], bool] = lambda _: True) -> Refuse:
    """The first calls of an operation end so, in order; later ones go through."""

    def refuse(called: str, arguments: dict[str, Any]) -> str | None:
        return codes.pop(0) if called == operation and that(arguments) and codes else None

    return refuse


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        ("InsufficientInstanceCapacity", CapacityLacking),
        pytest.param("VcpuLimitExceeded", QuotaReached, marks=pytest.mark.slow),
    ],
)
def test_what_the_second_role_lacks_undoes_the_first(url: str, code: str, meaning: type[NephoscopeError]) -> None:
    clouds = provider(url, answers("RunInstances", [None, code]))
    with pytest.raises(meaning):
        run(clouds.create(request_of()))
    assert there(url) == (0, 0, 0)
    cluster = run(clouds.create(request_of()))  # the same again, once there is some
    assert there(url) == (4, 4, 1)
    run(clouds.delete(cluster.key))


def test_machines_that_lists_do_not_show_yet_are_not_left_behind(url: str) -> None:
    """EC2's lists follow its creations some seconds later."""
    clock = FakeClock()
    made_s: list[float] = []
    codes: list[str | None] = [None, "InsufficientInstanceCapacity"]

    def refuse(called: str, _arguments: dict[str, Any]) -> str | None:
        if called.startswith("Create") or called == "RunInstances":
            made_s.append(clock.monotonic_s())
        return codes.pop(0) if called == "RunInstances" else None

    def shows(_called: str) -> str | None:
        return "nothing" if made_s and clock.monotonic_s() < made_s[-1] + 40 else None

    cloud = AwsCloud(clock, client_of(url, refuse, shows), REGIONS)
    with pytest.raises(CapacityLacking):
        run(CloudProvider(cloud, AtOnce(), clock, "me@here").create(request_of()))
    assert there(url) == (0, 0, 0)


def test_what_is_refused_at_once_and_listed_at_once_is_not_waited_for(url: str) -> None:
    clock = FakeClock()
    with pytest.raises(CapacityLacking):
        run(provider(url, answers("RunInstances", ["InsufficientInstanceCapacity"]), clock).create(request_of()))
    assert there(url) == (0, 0, 0)
    assert clock.monotonic_s() < 10


def test_only_the_regions_of_a_study_are_asked(url: str) -> None:
    asked: list[str | None] = []

    def client(region: str | None) -> Any:
        asked.append(region)
        return client_of(url)(region)

    configuration = request_of(**WEST).configuration
    clouds = CloudProvider(AwsCloud(FakeClock(), client), AtOnce(), FakeClock(), "me@here")
    assert run(clouds.find("study-1", [configuration])) == ()
    assert run(clean([clouds], "study-1", FakeClock())).left == []
    assert asked == ["us-west-2"]
    with pytest.raises(InputError, match="not the name of a region"):
        run(clouds.find("study-1", [configuration.model_copy(update={"region": "us-west-2 OR x"})]))


def test_throttling_is_waited_for_at_every_call(url: str) -> None:
    operations = ["CreateSecurityGroup", "AuthorizeSecurityGroupIngress", "RunInstances", "DescribeInstances"]
    operations += ["TerminateInstances", "DeleteSecurityGroup", "DescribeVolumes"]
    left = dict.fromkeys(operations, 2)

    def refuse(called: str, _arguments: dict[str, Any]) -> str | None:
        left[called] = left.get(called, 0) - 1
        return "RequestLimitExceeded" if left[called] >= 0 else None

    clouds = provider(url, refuse)
    cluster = run(clouds.create(request_of()))
    assert there(url) == (4, 4, 1)
    run(clouds.delete(cluster.key))
    assert max(left.values()) < 0


@pytest.mark.slow
def test_an_account_that_is_throttled_for_long_ends_the_attempt_and_leaves_nothing(url: str) -> None:
    clouds = provider(url, answers("RunInstances", ["RequestLimitExceeded"] * 99))
    with pytest.raises(Throttled):
        run(clouds.create(request_of()))
    assert there(url) == (0, 0, 0)


@pytest.mark.slow
def test_what_cannot_be_deleted_yet_is_tried_until_it_can(url: str) -> None:
    clouds = provider(url, answers("DeleteSecurityGroup", ["DependencyViolation"] * 3))
    run(clouds.delete(run(clouds.create(request_of())).key))
    assert there(url) == (0, 0, 0)


@pytest.mark.slow
def test_what_cannot_be_deleted_at_all_is_told_with_its_name(url: str) -> None:
    clouds = provider(url, answers("DeleteSecurityGroup", ["DependencyViolation"] * 999), Leaping())
    cluster = run(clouds.create(request_of()))
    with pytest.raises(InfrastructureFailure, match=r"sg-"):
        run(clouds.delete(cluster.key))
    run(provider(url).delete(cluster.key))


@pytest.mark.slow
def test_a_volume_that_outlived_its_machine_is_found_and_deleted(url: str) -> None:
    cluster = run(provider(url).create(request_of()))
    ec2 = ec2_of(url)
    (volume, *_) = ec2.describe_volumes()["Volumes"]
    attached = volume["Attachments"][0]
    ec2.detach_volume(VolumeId=volume["VolumeId"], InstanceId=attached["InstanceId"])
    run(provider(url).delete(cluster.key))
    assert there(url) == (0, 0, 0)


@pytest.mark.slow
def test_a_region_that_credentials_may_not_enter_is_passed_over(url: str) -> None:
    west = client_of(url, lambda _operation, _arguments: "UnauthorizedOperation")
    clouds = CloudProvider(
        AwsCloud(FakeClock(), lambda region: (west if region == REGIONS[1] else client_of(url))(region), REGIONS),
        AtOnce(),
        FakeClock(),
        "me@here",
    )
    request = request_of()
    run(clouds.create(request))
    assert run(clouds.list("study-1")) == [request.key]
    run(clouds.delete(request.key))


@pytest.mark.slow
def test_ec2_was_told_of_type_zone_image_volumes_and_what_a_shutdown_does(url: str) -> None:
    clouds = provider(url)
    request = request_of()
    run(clouds.create(request))
    ec2 = ec2_of(url)
    instances = [one for page in ec2.describe_instances()["Reservations"] for one in page["Instances"]]
    alive = [one for one in instances if one["State"]["Name"] == "running"]
    assert sorted(one["InstanceType"] for one in alive) == ["c6i.2xlarge", *["m6i.2xlarge"] * 3]
    assert {one["Placement"]["AvailabilityZone"] for one in alive} == {"us-east-1a"}
    assert {one["ImageId"] for one in alive} == {"ami-12c6146b"}
    for one in alive:
        said = ec2.describe_instance_attribute(
            InstanceId=one["InstanceId"], Attribute="instanceInitiatedShutdownBehavior"
        )
        assert said["InstanceInitiatedShutdownBehavior"]["Value"] == "terminate"
        for disk in one["BlockDeviceMappings"]:
            assert disk["Ebs"]["DeleteOnTermination"] is True
    volumes = ec2.describe_volumes()["Volumes"]
    kinds = sorted((one["VolumeType"], one["Size"]) for one in volumes if one["VolumeType"] == "gp3")
    assert kinds == [("gp3", 100)] * 3
    assert all({"Key": "nephoscope-cluster", "Value": request.key} in one["Tags"] for one in volumes)
    run(clouds.delete(request.key))


@pytest.mark.slow
def test_a_group_whose_making_was_not_answered_is_found_and_used(url: str) -> None:
    clouds = provider(url)
    ec2, request = ec2_of(url), request_of()
    call = group_call(order_of(request, "me@here", "ssh-ed25519 AAAA test"), None)
    ec2.create_security_group(**call.arguments)
    run(clouds.create(request))
    assert there(url) == (4, 4, 1)
    run(clouds.delete(request.key))
