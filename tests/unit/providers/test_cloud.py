"""What is the same in all clouds: one cluster for one key, all machines or none, waits by a clock."""

import asyncio
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import (
    CapacityLacking,
    InfrastructureFailure,
    InputError,
    MachineLost,
    MachinePreempted,
    NephoscopeError,
    Throttled,
)
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.cloud.provider import CloudMachine, CloudProvider, EndedByUser, Life, patiently
from nephoscope.providers.cloud.unmaking import VISIBLE_TIMEOUT_S, Unseen
from nephoscope.run.clock import FakeClock
from nephoscope.study.model import Machine
from tests.support.made_cloud import AtOnce, MadeCloud, request_of

run = asyncio.run


def provider(cloud: MadeCloud, connect: AtOnce | None = None) -> CloudProvider:
    return CloudProvider(cloud, connect or AtOnce(), FakeClock(), "me@here")


def test_created_twice_is_one_cluster() -> None:
    cloud = MadeCloud()
    clouds = provider(cloud)
    first, second = run(clouds.create(request_of())), run(clouds.create(request_of()))
    assert [machine.name for machine in first.machines] == ["database-1", "database-2", "database-3", "load"]
    assert first is second
    assert cloud.made == 4
    assert run(clouds.list("study-1")) == [first.key]
    assert run(clouds.list("study")) == []


def test_a_cluster_of_another_study_that_carries_a_study_s_tag_is_not_listed() -> None:
    class Mistagged(MadeCloud):
        async def clusters(self, study: str, regions: Collection[str] = ()) -> list[str]:
            return ["payroll-0123abcd/db", "study-1/m6i/abc-1", "study-11/m6i/abc-1"]

    assert run(provider(Mistagged()).list("study-1")) == ["study-1/m6i/abc-1"]


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (None, True),
        (InfrastructureFailure("no answer"), True),
        (asyncio.CancelledError(), True),
        (CapacityLacking("none"), False),
    ],
)
def test_an_empty_list_is_believed_unless_something_was_requested_lately(
    error: BaseException | None, waits: bool
) -> None:
    clock = FakeClock()
    unseen = Unseen(clock)
    assert not unseen.waits
    with suppress(BaseException), unseen.requesting("i-1"):
        if error is not None:
            raise error
    assert unseen.waits is waits
    unseen.listed(["i-2"])
    assert unseen.waits is waits
    clock.elapse(VISIBLE_TIMEOUT_S)
    assert not unseen.waits


def test_what_was_listed_once_is_not_waited_for() -> None:
    unseen = Unseen(FakeClock())
    with unseen.requesting("a request") as names:
        names.update(["i-1", "i-2"])
    unseen.listed(["i-1"])
    assert unseen.waits
    unseen.listed(["i-2"])
    assert not unseen.waits


def test_the_next_controller_finds_the_cluster_of_the_one_that_died() -> None:
    cloud = MadeCloud()
    run(provider(cloud).create(request_of()))
    connect = AtOnce()
    again = run(provider(cloud, connect).create(request_of()))
    assert cloud.made == 4
    assert sorted(connect.entered) == ["i-1", "i-2", "i-3", "i-4"]
    assert again.load.name == "load"


def test_a_cluster_is_made_whole_or_not_at_all() -> None:
    cloud = MadeCloud(refuse={"load": CapacityLacking("none")})
    with pytest.raises(CapacityLacking):
        run(provider(cloud).create(request_of()))
    assert cloud.made == 3
    assert cloud.there == {}


def test_a_cluster_that_cannot_be_entered_is_given_back() -> None:
    cloud = MadeCloud()
    with pytest.raises(MachineLost):
        run(provider(cloud, AtOnce(MachineLost("no sshd"))).create(request_of()))
    assert cloud.there == {}


@pytest.mark.parametrize("listed", [True, False])
def test_a_machine_that_is_taken_back_while_it_boots_was_preempted(listed: bool) -> None:
    spot = {"image": "ami-12c6146b", "ingress": "203.0.113.7/32", "spot": True}
    cloud, request = MadeCloud(), request_of(cloud=spot)

    class TakenBack(AtOnce):
        async def __call__(self, machine: CloudMachine, asked: Machine, request: ClusterRequest) -> MachineHandle:
            if machine.name != "load":
                return await super().__call__(machine, asked, request)
            cloud.end(request.key, "load", MachinePreempted("Server.SpotInstanceTermination"))
            if not listed:
                cloud.there[request.key].pop()
            raise MachineLost("load did not finish booting")

    with pytest.raises(MachinePreempted) as caught:
        run(provider(cloud, TakenBack()).create(request))
    assert ("preempted by" in caught.value.message) is not listed
    assert cloud.there == {}


def test_a_cluster_of_which_a_machine_was_taken_back_is_lost_and_given_back() -> None:
    cloud = MadeCloud()
    clouds = provider(cloud)
    key = run(clouds.create(request_of())).key
    cloud.end(key, "database-2", MachineLost("spot"))
    with pytest.raises(MachineLost, match="spot"):
        run(provider(cloud).create(request_of()))
    assert cloud.there == {}


def test_a_kept_cluster_that_is_made_again_is_entered_again() -> None:
    cloud = MadeCloud()
    clouds = provider(cloud)
    first = run(clouds.create(request_of()))
    ended = [replace(one, life=Life.ENDED) for one in cloud.there.pop(first.key)]
    cloud.told = lambda machines: [*ended, *machines]
    second = run(clouds.create(request_of()))
    assert second is not first
    assert run(clouds.create(request_of())) is second
    assert cloud.made == 2 * len(ended)


def test_a_preemptible_machine_that_is_gone_was_taken_back() -> None:
    spot = {"image": "ami-12c6146b", "ingress": "203.0.113.7/32", "spot": True}
    cloud, request = MadeCloud(), request_of(cloud=spot)
    key = run(provider(cloud).create(request)).key
    assert run(provider(cloud).why_lost(request)) is None, "all are there: the network was at fault"
    cloud.end(key, "load", MachinePreempted("Server.SpotInstanceTermination"))
    assert str(run(provider(cloud).why_lost(request))) == "Server.SpotInstanceTermination"
    cloud.there[key] = [one for one in cloud.there[key] if one.name != "load"]
    said = run(provider(cloud).why_lost(request))
    assert isinstance(said, MachinePreempted)
    assert said.message.startswith("load of study-1/m6i/abc-1: preempted by aws")
    assert "`spot = false`" in said.hint
    assert run(provider(cloud).why_lost(request_of())) is None, "nobody takes back a machine that is not preemptible"


def test_a_preemption_explains_more_than_other_ends_and_an_end_by_a_user_explains_nothing() -> None:
    spot = {"image": "ami-12c6146b", "ingress": "203.0.113.7/32", "spot": True}
    cloud, request = MadeCloud(), request_of(cloud=spot)
    key = run(provider(cloud).create(request)).key
    cloud.end(key, "database-1", EndedByUser("Client.UserInitiatedShutdown"))
    assert run(provider(cloud).why_lost(request)) is None
    cloud.end(key, "database-2", MachineLost("Client.InstanceInitiatedShutdown"))
    assert str(run(provider(cloud).why_lost(request))) == "Client.InstanceInitiatedShutdown"
    cloud.end(key, "load", MachinePreempted("Server.SpotInstanceTermination"))
    assert str(run(provider(cloud).why_lost(request))) == "Server.SpotInstanceTermination"


def test_machines_that_ended_before_do_not_stand_in_the_way_of_new_ones() -> None:
    cloud = MadeCloud()
    clouds = provider(cloud)
    key = run(clouds.create(request_of())).key
    gone = [replace(machine, life=Life.ENDED) for machine in cloud.there[key]]
    run(clouds.delete(key))
    cloud.told = lambda machines: [*gone, *machines]
    run(clouds.create(request_of()))
    assert cloud.made == 8


def test_machines_are_waited_for_until_all_are_told_of_and_run() -> None:
    cloud, clock = MadeCloud(), FakeClock()
    looks = iter(range(100))

    def told(machines: list[CloudMachine]) -> list[CloudMachine]:
        look = next(looks)
        if look < 3:  # a list may lag behind what was made
            return machines[:1]
        life = Life.STARTING if look < 10 else Life.RUNNING
        return [replace(machine, life=life) for machine in machines]

    cloud.told = told
    run(CloudProvider(cloud, AtOnce(), clock, "me").create(request_of()))
    assert cloud.made == 4
    assert clock.monotonic_s() == 18.0


@pytest.mark.parametrize("life", [Life.STARTING, None])
def test_machines_that_never_come_are_lost(life: Life | None) -> None:
    cloud = MadeCloud()
    cloud.told = lambda machines: [replace(machine, life=life) for machine in machines] if life else []
    with pytest.raises(MachineLost):
        run(provider(cloud).create(request_of()))
    assert cloud.there == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"cloud": None},
        {"zone": None},
        {"region": None},
        {"database_machine": {"count": 3}},
        {"load_machine": {"type": "c6i.large", "region": "eu-west-1"}},
    ],
)
def test_what_a_cloud_must_know_is_asked_for_before_anything_is_made(wrong: dict[str, Any]) -> None:
    cloud = MadeCloud()
    with pytest.raises(InputError):
        run(provider(cloud).create(request_of(**wrong)))
    assert cloud.made == 0


class Asked(Exception):
    pass


def refusing(errors: list[NephoscopeError]) -> tuple[list[int], Callable[[], str]]:
    done: list[int] = []

    def call() -> str:
        done.append(1)
        if errors:
            raise Asked(errors.pop(0))
        return "answer"

    return done, call


def meant(error: Exception) -> NephoscopeError | None:
    return error.args[0] if isinstance(error, Asked) else None


@pytest.mark.parametrize("passing", [Throttled("slowly"), InfrastructureFailure("a fault of theirs")])
def test_a_throttled_call_is_made_again_after_longer_and_longer_waits(passing: NephoscopeError) -> None:
    clock = FakeClock()
    done, call = refusing([passing] * 3)
    assert run(patiently(call, meant, clock)) == "answer"
    assert len(done) == 4
    assert clock.monotonic_s() == 1 + 2 + 4


def test_a_call_that_is_throttled_for_long_is_given_up_as_throttled() -> None:
    clock = FakeClock()
    _, call = refusing([Throttled("slowly")] * 99)
    with pytest.raises(Throttled):
        run(patiently(call, meant, clock))
    assert clock.monotonic_s() == 63.0


def test_what_waiting_does_not_change_is_said_at_once() -> None:
    clock = FakeClock()
    done, call = refusing([CapacityLacking("none")])
    with pytest.raises(CapacityLacking):
        run(patiently(call, meant, clock))
    assert len(done) == 1
    assert clock.monotonic_s() == 0


def test_a_call_that_is_cancelled_ends_first() -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        go_on.wait(10)
        ended.set()

    async def scenario() -> None:
        task = asyncio.create_task(patiently(call, meant, FakeClock()))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scenario())
    assert ended.is_set()


def test_ended_machines_of_an_earlier_cluster_are_not_taken_for_those_of_this_one() -> None:
    cloud = MadeCloud()
    clouds = provider(cloud)
    key = run(clouds.create(request_of())).key
    gone = [replace(machine, life=Life.ENDED, why=MachineLost("spot")) for machine in cloud.there[key]]
    run(clouds.delete(key))
    run(clouds.create(request_of()))
    cloud.told = lambda machines: [*gone, *machines]
    run(provider(cloud).create(request_of()))
    assert cloud.made == 8
