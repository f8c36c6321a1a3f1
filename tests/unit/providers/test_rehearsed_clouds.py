"""What every provider does that makes its clusters elsewhere, each against its cloud played here, by its real SDK.

One file, as the SDKs take seconds to be imported.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nephoscope.model.errors import CapacityLacking, EnvironmentProblem, InfrastructureFailure, NephoscopeError
from nephoscope.providers.azure.cloud import AzureCloud, azure_api
from nephoscope.providers.base import Provider
from nephoscope.providers.cloud.order import ClusterOrder, order_of
from nephoscope.providers.cloud.provider import Cloud, CloudMachine, CloudProvider, Life
from nephoscope.providers.gcp.cloud import GcpCloud, google_api
from nephoscope.providers.gcp.plan import name_of
from nephoscope.run.cleaning import clean
from nephoscope.run.clock import FakeClock
from tests.support import fake_arm, gcplocal_compute
from tests.support.orders import far_request, request_to_azure, request_to_gcp
from tests.support.permissions import granted_on_azure, granted_on_google, needed_on_azure, needed_on_google
from tests.support.rehearsed_clouds import CLOUDS, ERRORS, Rehearsed

pytestmark = pytest.mark.whole

run = asyncio.run
KEY = "study-1/m6i/abc-1"


SLOW = {"aws"}
"""moto takes a second of CPU for a cluster."""


ALL = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in CLOUDS]
IN_SEVERAL_CALLS = [one for one in ALL if one.values != ("fake",)]


@pytest.fixture(params=ALL, scope="module")
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """Whatever the tests did, nothing was asked that the page on this cloud does not tell a user to grant."""
    with CLOUDS[request.param](tmp_path_factory.mktemp(request.param)) as rehearsed:
        yield rehearsed
        assert rehearsed.needed() - rehearsed.granted() == set()
        assert bool(rehearsed.needed()) == (request.param != "fake")


@pytest.fixture
def cloud(played: Rehearsed) -> Iterator[Rehearsed]:
    """Nothing is left of whatever a test did."""
    yield played
    played.refuse(None)
    played.lists("filtered")
    run(clean([played.controller()], "study-1", FakeClock()))
    assert played.left() == []


def keys(provider: Provider, study: str = "study-1") -> list[str]:
    return run(provider.list(study))


def test_created_twice_is_one_cluster(cloud: Rehearsed) -> None:
    provider = cloud.controller()
    first = run(provider.create(cloud.request()))
    there = cloud.left()
    second = run(provider.create(cloud.request()))
    assert cloud.left() == there != []
    assert [machine.name for machine in first.machines] == [machine.name for machine in second.machines]
    assert len(first.database) == cloud.request().configuration.database_machine.count
    assert not first.co_located


def test_the_next_controller_finds_what_was_made(cloud: Rehearsed) -> None:
    key = run(cloud.controller().create(cloud.request())).key
    there = cloud.left()
    successor = cloud.controller()
    assert keys(successor) == [key]
    assert run(successor.create(cloud.request())).key == key
    assert cloud.left() == there


@pytest.mark.parametrize("kind", ERRORS)
def test_a_refusal_has_its_class_and_leaves_nothing(cloud: Rehearsed, kind: str) -> None:
    """The last machine is refused when the others are made."""
    cloud.refuse(kind)
    controller = cloud.controller()
    with pytest.raises(ERRORS[kind]) as raised:
        run(controller.create(cloud.request()))
    assert raised.value.hint or not isinstance(controller, CloudProvider), "every cloud says what to try"
    assert cloud.left() == []
    assert keys(cloud.controller()) == []


@pytest.mark.parametrize("played", IN_SEVERAL_CALLS, indirect=True)
def test_what_a_dead_controller_had_half_made_is_found_and_given_back(cloud: Rehearsed) -> None:
    died = cloud.controller()
    assert isinstance(died, CloudProvider)
    cloud.refuse("capacity")
    with pytest.raises(CapacityLacking):
        run(died._cloud.make(order_of(cloud.request(), "me@here", "ssh-ed25519 AAAA test")))
    cloud.refuse(None)
    assert cloud.left() != []
    assert keys(cloud.controller()) == [KEY]
    with pytest.raises(InfrastructureFailure, match=r"load|ended the machine"):  # why, if its cloud says so
        run(cloud.controller().create(cloud.request()))
    assert cloud.left() == []


OTHER_STUDIES = ("*", "?tudy-1", "study", "x' or tagName eq 'nephoscope-study")
"""Texts that a filter or a prefix may take for `study-1`."""


@pytest.mark.parametrize("shown", ["filtered", "all"])
def test_what_only_looks_like_a_cluster_of_others_is_neither_listed_nor_deleted(cloud: Rehearsed, shown: str) -> None:
    """A list may show more than was asked for: EC2 takes `*` and `?` in a filter for any text."""
    run(cloud.controller().create(cloud.request()))
    there = cloud.left()
    cloud.lists(shown)
    provider = cloud.controller()
    for study in OTHER_STUDIES:
        assert keys(provider, study) == [], study
    for key in ("*", "study-1/m6i/abc-?", "study-1"):
        run(provider.delete(key))
        if isinstance(provider, CloudProvider):
            assert run(provider._cloud.machines(key, [cloud.request().configuration.region or ""])) == [], key
    assert keys(provider) == [KEY]
    cloud.lists("filtered")
    assert cloud.left() == there


@pytest.mark.parametrize("played", IN_SEVERAL_CALLS, indirect=True)
def test_a_cluster_that_is_made_among_others_touches_none_of_them(cloud: Rehearsed) -> None:
    """Even where lists show everything: a new cluster adopts nothing, and its failure deletes nothing."""
    run(cloud.controller().create(cloud.request("other")))
    there = cloud.left()
    cloud.lists("all")
    controller = cloud.controller()
    cluster = run(controller.create(cloud.request()))
    assert [machine.name for machine in cluster.machines][-1] == "load"
    run(controller.delete(cluster.key))
    cloud.refuse("capacity")
    with pytest.raises(CapacityLacking):
        run(controller.create(cloud.request()))
    cloud.lists("filtered")
    assert cloud.left() == there


def test_clusters_are_listed_by_their_study_alone(cloud: Rehearsed) -> None:
    provider = cloud.controller()
    first = run(provider.create(cloud.request())).key
    second = run(provider.create(cloud.request("def", 2))).key
    assert keys(provider) == sorted([first, second])
    assert keys(provider, "study") == keys(provider, "STUDY-1") == []


def test_a_cluster_is_deleted_by_its_key_by_anybody_and_again(cloud: Rehearsed) -> None:
    key = run(cloud.controller().create(cloud.request())).key
    other = run(cloud.controller().create(cloud.request("def", 2))).key
    run(cloud.controller().delete(key))
    assert keys(cloud.controller()) == [other]
    run(cloud.controller().delete(key))
    run(cloud.controller().delete("study-1/never/there-1"))
    assert keys(cloud.controller()) == [other]
    run(cloud.controller().create(cloud.request()))
    assert keys(cloud.controller()) == sorted([key, other])


@pytest.mark.parametrize("played", IN_SEVERAL_CALLS, indirect=True)
def test_two_regions_and_three_zones_are_one_cluster_whose_machines_know_their_places(cloud: Rehearsed) -> None:
    request = far_request(cloud.request)
    cluster = run(cloud.controller().create(request))
    there = cloud.left()
    zones, load = request.configuration.database_machine.zones, request.configuration.load_machine
    assert [machine.name for machine in cluster.machines] == ["database-1", "database-2", "database-3", "load"]
    assert [machine.zone for machine in cluster.database] == zones
    assert {machine.region for machine in cluster.database} == {request.configuration.region}
    assert load is not None
    assert (cluster.load.region, [cluster.load.zone]) == (load.region, load.zones)
    run(cloud.controller().create(request))  # the next controller finds it
    assert cloud.left() == there
    run(cloud.controller().delete(cluster.key))
    assert cloud.left() == []


@pytest.mark.parametrize("played", IN_SEVERAL_CALLS, indirect=True)
def test_a_region_without_capacity_takes_the_other_one_back(cloud: Rehearsed) -> None:
    cloud.refuse("capacity")
    with pytest.raises(CapacityLacking):
        run(cloud.controller().create(far_request(cloud.request)))
    assert cloud.left() == []


@pytest.mark.parametrize("played", IN_SEVERAL_CALLS, indirect=True)
def test_a_controller_that_dies_between_two_regions_leaves_nothing_that_is_not_found(cloud: Rehearsed) -> None:
    """After more and more changes, until it lives to the end; the next one makes the cluster of the same key."""
    request, changes = far_request(cloud.request), 0
    order = order_of(request, "me@here", "ssh-ed25519 AAAA test")
    while True:
        died = cloud.controller()
        assert isinstance(died, CloudProvider)
        cloud.die_at(changes)
        try:
            run(died._cloud.make(order))
        except NephoscopeError:
            cloud.die_at(None)
            assert keys(cloud.controller()) == ([KEY] if cloud.left() else [])
            run(cloud.controller().delete(KEY))
            assert cloud.left() == []
            changes += 6
        else:
            break
    cloud.die_at(None)
    assert changes >= 6
    assert len(run(cloud.controller().create(request)).machines) == 4


@pytest.fixture(scope="module")
def google() -> Iterator[gcplocal_compute.Rehearsal]:
    with gcplocal_compute.gcplocal() as server:
        yield server


def gcp(server: gcplocal_compute.Rehearsal, clock: FakeClock | None = None) -> GcpCloud:
    return GcpCloud(clock or FakeClock(), lambda: gcplocal_compute.api_of(server))


@pytest.fixture(scope="module")
def arm() -> Iterator[fake_arm.FakeArm]:
    with fake_arm.fake_arm() as server:
        yield server


def azure(server: fake_arm.FakeArm, clock: FakeClock | None = None) -> AzureCloud:
    return AzureCloud(clock or FakeClock(), lambda: fake_arm.api_of(server))


def order_to_gcp(**more: Any) -> ClusterOrder:
    return order_of(request_to_gcp(**more), "me@here", "ssh-ed25519 AAAA test")


def order_to_azure(**more: Any) -> ClusterOrder:
    return order_of(request_to_azure(**more), "me@here", "ssh-ed25519 AAAA test")


def machines(cloud: Cloud) -> dict[str, CloudMachine]:
    return {one.name: one for one in run(cloud.machines(KEY, ""))}


def test_google_s_sdk_takes_everything_that_may_be_asked_for(google: gcplocal_compute.Rehearsal) -> None:
    """Its types refuse a field that they do not know."""
    database = {
        "type": "n2-standard-8",
        "cores": 2,
        "threads_per_core": 1,
        "cpu_platform": "Intel Ice Lake",
        "volumes": [{"kind": "hyperdisk-balanced", "size": 100, "iops": 8000, "throughput": 500}],
    }
    load = {"type": "n2-standard-8", "local_ssds": 2}
    cloud = {"spot": True, "placement_group": "spread"}
    run(gcp(google).make(order_to_gcp(database_machine=database, load_machine=load, cloud=cloud)))
    made = {one["name"].removeprefix(f"{name_of(KEY)}-"): one for one in google.of("instances")}
    assert made["database-1"]["minCpuPlatform"] == "Intel Ice Lake"
    assert made["database-1"]["advancedMachineFeatures"] == {"visibleCoreCount": 2, "threadsPerCore": 1}
    assert made["load"]["scheduling"]["terminationTime"] == "2027-01-15T07:58:00Z"
    assert [disk["type"] for disk in made["load"]["disks"]] == ["PERSISTENT", "SCRATCH", "SCRATCH"]
    (disk,) = [one for one in google.of("disks") if "-data-" in one["name"]]
    assert (disk["provisionedIops"], disk["provisionedThroughput"]) == ("8000", "500")
    run(gcp(google).unmake(KEY))
    assert google.left == []


def test_azure_makes_everything_before_it_names_it(arm: fake_arm.FakeArm) -> None:
    """The fake refuses what names something that is not there."""
    load = {"type": "Standard_D8s_v5", "cores": 2, "threads_per_core": 1}
    run(azure(arm).make(order_to_azure(cloud={"placement_group": "cluster"}, load_machine=load)))
    customised = arm.of("virtualMachines", "load")["properties"]["hardwareProfile"]["vmSizeProperties"]
    assert customised == {"vCPUsAvailable": 2, "vCPUsPerCore": 1}
    assert arm.of("disks", "database-1-data-1")["properties"]["diskIOPSReadWrite"] == 8000
    made = machines(azure(arm))
    assert sorted(made) == ["database-1", "database-2", "load"]
    assert {one.life for one in made.values()} == {Life.RUNNING}
    assert all(one.public_address and one.private_address and one.zone == "1" for one in made.values())
    assert len({one.public_address for one in made.values()}) == len({one.id for one in made.values()}) == 3
    run(azure(arm).unmake(KEY))
    assert arm.resources == {}


def test_google_s_role_holds_every_call(google: gcplocal_compute.Rehearsal) -> None:
    google.asked.clear()
    account = "reader@p.iam.gserviceaccount.com"
    run(gcp(google).make(order_to_gcp(cloud={"placement_group": "cluster", "identity": account})))
    run(gcp(google).clusters("study-1"))
    with pytest.raises(NephoscopeError):  # gcplocal has no subnets
        run(gcp(google).make(order_to_gcp(cloud={"subnet": "mine"})))
    run(gcp(google).unmake(KEY))
    needed, granted = needed_on_google(google.asked), granted_on_google()
    assert {"compute.instances.create", "compute.firewalls.delete", "compute.zoneOperations.get"} < needed
    assert needed - granted == set()
    # Google asks for these itself, when a request contains labels, tags, a network or an identity.
    inside = ("set", "use", "updatePolicy")
    unseen = {one for one in granted - needed if not one.rpartition(".")[2].startswith(inside)}
    elsewhere = (
        "compute.snapshots.",
        "compute.images.",
        "compute.machineTypes.",
        "compute.networks.",
        "compute.projects.",
        "compute.regions.",
    )
    of_other_tests = {one for one in granted if one.startswith(elsewhere)}  # of data sets, and of a first run
    assert unseen - of_other_tests == {"compute.disks.create", "compute.disks.createSnapshot", "compute.disks.delete"}


def test_azure_is_told_the_identity_of_database_machines_alone(arm: fake_arm.FakeArm) -> None:
    group = f"/subscriptions/{fake_arm.SUBSCRIPTION}/resourceGroups/g"
    reader = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/reader"
    run(azure(arm).make(order_to_azure(cloud={"identity": reader})))
    told = {name: arm.of("virtualMachines", name).get("identity") for name in arm.names("virtualMachines")}
    run(azure(arm).unmake(KEY))
    assert told.pop("load") is None
    assert told
    assert all(one == {"type": "UserAssigned", "userAssignedIdentities": {reader: {}}} for one in told.values())


def test_azure_s_role_holds_every_call(arm: fake_arm.FakeArm) -> None:
    arm.asked.clear()
    run(azure(arm).make(order_to_azure(cloud={"placement_group": "cluster"})))
    machines(azure(arm))
    run(azure(arm).clusters("study-1"))
    run(azure(arm).unmake(KEY))
    run(azure(arm).make(order_of(far_request(request_to_azure), "me@here", "ssh-ed25519 AAAA test")))
    run(azure(arm).unmake(KEY))
    needed, granted = needed_on_azure(arm.asked), granted_on_azure()
    assert "Microsoft.Compute/virtualMachines/instanceView/read" in needed
    assert "Microsoft.Network/virtualNetworks/virtualNetworkPeerings/write" in needed
    assert needed - granted == set()
    # Azure asks for these itself, when a request refers to a resource, waits for it, or deletes it with its group.
    unseen = {one for one in granted - needed if not one.endswith(("/action", "/delete", "/read"))}
    assert unseen == {"Microsoft.Compute/snapshots/write"}  # asked in a test of its own


def test_a_machine_of_google_that_stopped_by_itself_gives_its_name_back(google: gcplocal_compute.Rehearsal) -> None:
    """Compute Engine makes no machine of a name that a stopped one has."""
    cloud = gcp(google)
    run(cloud.make(order_to_gcp()))
    google.stop(f"{name_of(KEY)}-load")
    assert machines(cloud)["load"].life is Life.ENDED
    run(cloud.make(order_to_gcp()))
    assert machines(cloud)["load"].life is Life.RUNNING
    run(cloud.unmake(KEY))


def test_a_machine_of_azure_that_stopped_by_itself_goes_before_new_ones_come(arm: fake_arm.FakeArm) -> None:
    cloud = azure(arm)
    run(cloud.make(order_to_azure()))
    arm.views["load"] = [fake_arm.RUNNING[0], {"code": "PowerState/stopped"}]
    before = machines(cloud)["load"]
    assert before.life is Life.ENDED
    arm.views.clear()
    run(cloud.make(order_to_azure()))
    assert machines(cloud)["load"].id != before.id
    run(cloud.unmake(KEY))


def test_a_call_that_is_throttled_is_made_again(google: gcplocal_compute.Rehearsal, arm: fake_arm.FakeArm) -> None:
    at_google = [gcplocal_compute.Refusal("rateLimitExceeded")] * 2
    at_azure = [fake_arm.Refusal("TooManyRequests", 429)] * 2
    google.refuse = lambda method, _kind, _name: at_google.pop() if method == "POST" and at_google else None
    arm.refuse = lambda method, _kind, _name: at_azure.pop() if method == "PUT" and at_azure else None
    clock = FakeClock()
    run(gcp(google, clock).make(order_to_gcp()))
    run(azure(arm, clock).make(order_to_azure()))
    assert (at_google, at_azure) == ([], [])
    assert clock.monotonic_s() >= 3
    run(gcp(google).unmake(KEY))
    run(azure(arm).unmake(KEY))


def test_google_s_project_must_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    credentials = tmp_path / "mine.json"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(credentials))
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    with pytest.raises(EnvironmentProblem, match=r"mine\.json"):
        google_api()
    user = {"type": "authorized_user", "client_id": "x", "client_secret": "x", "refresh_token": "x"}
    credentials.write_text(json.dumps(user))
    with pytest.raises(EnvironmentProblem, match="no project"):
        google_api()
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "mine")
    assert google_api().project == "mine"


def test_azure_s_subscription_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
    with pytest.raises(EnvironmentProblem, match="no subscription"):
        azure_api()
    monkeypatch.setenv("AZURE_SUBSCRIPTION_ID", fake_arm.SUBSCRIPTION)
    assert azure_api().subscription == fake_arm.SUBSCRIPTION
