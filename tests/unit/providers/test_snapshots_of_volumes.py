"""Data sets kept as snapshots of volumes, on each cloud played here: whole ones stay, and serve the next cluster."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.stages import data_sets
from nephoscope.app.stages.data_sets import KeptSet, Stores
from nephoscope.model.errors import NephoscopeError
from nephoscope.providers.base import Cluster, ClusterRequest
from nephoscope.providers.cloud.order import CLUSTER
from nephoscope.providers.cloud.provider import CloudProvider
from nephoscope.providers.cloud.snapshots import (
    DATA_SET,
    LAYOUT,
    PART,
    REGION,
    Snapshot,
    Snapshots,
    by_machine,
    newest,
    sets_of,
    unfinished,
)
from nephoscope.run.cleaning import clean
from nephoscope.run.clock import FakeClock
from nephoscope.study.model import SNAPSHOTS, Configuration
from nephoscope.study.snapshots import SnapshotPlace, layout_of, place_of
from tests.support.rehearsed_clouds import CLOUDS, Rehearsed

run = asyncio.run
TPCC = "nephoscope_tpcc_0123456789ab"
SLOW = {"aws"}
"""moto takes a second of CPU for a cluster."""
DATABASE = {"system": "cockroachdb", "version": "22.1.6", "fixtures": SNAPSHOTS}


@pytest.fixture(
    params=[pytest.param(one, marks=[pytest.mark.slow] if one in SLOW else []) for one in CLOUDS if one != "fake"]
)
def cloud(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rehearsed]:
    """Nothing was asked that the page on this cloud does not tell a user to grant."""
    with CLOUDS[request.param](tmp_path) as rehearsed:
        yield rehearsed
        assert rehearsed.needed() - rehearsed.granted() == set()


def request_to(cloud: Rehearsed, trial: str = "abc", **more: Any) -> ClusterRequest:
    return replace(cloud.request(trial, database=DATABASE, **more), data_set=TPCC)


def controller(cloud: Rehearsed) -> CloudProvider:
    found = cloud.controller()
    assert isinstance(found, CloudProvider)
    return found


def kept_by(cloud: Rehearsed, trial: str = "abc", **more: Any) -> Cluster:
    """A cluster whose volumes were kept."""
    cluster = run(controller(cloud).create(request_to(cloud, trial, **more)))
    assert cluster.volumes is not None
    run(cluster.volumes.keep())
    return cluster


def listed(cloud: Rehearsed) -> list[KeptSet]:
    place = place_of(request_to(cloud).configuration)
    assert place is not None
    return run(data_sets.kept([place], stores(cloud, place))).sets


def stores(cloud: Rehearsed, place: SnapshotPlace) -> Stores:
    return Stores({}, {place.provider: snapshots_of(cloud)})


def snapshots_of(cloud: Rehearsed) -> Snapshots:
    found = controller(cloud)._snapshots
    assert found is not None
    return found


def test_a_data_set_is_kept_once_outlives_its_cluster_and_ends_by_its_name(cloud: Rehearsed) -> None:
    cluster = kept_by(cloud)
    machines = len(cluster.database)
    assert len(cloud.snapshots()) == machines
    assert cluster.volumes is not None
    run(cluster.volumes.keep())
    run(controller(cloud).delete(cluster.key))
    assert (cloud.left(), len(cloud.snapshots())) == ([], machines)
    assert run(controller(cloud).list("study-1")) == [], "a whole data set is no cluster"

    again = run(controller(cloud).create(request_to(cloud, "def")))
    assert again.volumes is not None
    run(again.volumes.keep())
    assert len(cloud.snapshots()) == machines, "what did not serve it is replaced"
    run(clean([controller(cloud)], "study-1", FakeClock()))
    [found] = listed(cloud)
    assert (found.name, found.whole, len(found.snapshots)) == (TPCC, True, machines)
    [row] = data_sets.rows_of([found], found.stored_unix_ms)
    assert f"{machines} snapshots of" in row.where
    assert row.usd_per_month is not None
    assert row.usd_per_month > 0
    left = run(
        data_sets.delete([found], stores(cloud, SnapshotPlace(found.place.provider, found.snapshots[0].tags[REGION])))
    )
    assert (left, cloud.snapshots()) == ([], [])


def test_volumes_of_the_next_cluster_come_from_the_snapshots_of_their_places(cloud: Rehearsed) -> None:
    run(controller(cloud).delete(kept_by(cloud).key))
    [whole] = listed(cloud)
    made: list[Any] = []
    provider = controller(cloud)
    make = provider._cloud.make

    async def noting(order: Any) -> None:
        made.append(order)
        await make(order)

    provider._cloud.make = noting  # type: ignore[method-assign]
    cluster = run(provider.create(request_to(cloud, "def")))
    [role] = [role for role in made[0].roles if role.role == "database"]
    assert [role.snapshots[name] for name in role.names] == [(one.id,) for one in whole.snapshots]
    assert "data-set-$number" in role.boot
    assert "mkfs" not in role.boot.partition("apt")[0]
    assert [one.name for one in cluster.database] == list(role.names)
    other = replace(request_to(cloud, "ghi"), data_set="nephoscope_tpcc_ba9876543210")
    run(provider.create(other))
    assert not made[1].roles[0].snapshots, "another data set"
    run(clean([provider], "study-1", FakeClock()))
    assert cloud.left() == []


def test_a_controller_that_dies_while_it_keeps_a_data_set_leaves_nothing_that_is_not_found(cloud: Rehearsed) -> None:
    """After one more change each time, until it lives to the end."""
    changes = 0
    while True:
        request = request_to(cloud, f"t{changes}")
        cluster = run(controller(cloud).create(request))
        assert cluster.volumes is not None
        cloud.die_at(changes)
        try:
            run(cluster.volumes.keep())
        except NephoscopeError:
            cloud.die_at(None)
            run(controller(cloud).delete(request.key))
            assert (cloud.left(), cloud.snapshots(), listed(cloud)) == ([], [], [])
            changes += 1
            continue
        break
    cloud.die_at(None)
    assert changes >= len(cluster.database)
    run(controller(cloud).delete(request.key))
    assert [one.whole for one in listed(cloud)] == [True]


def test_snapshots_without_their_cluster_are_listed_as_one_until_they_are_deleted(cloud: Rehearsed) -> None:
    cluster = kept_by(cloud)
    run(controller(cloud)._cloud.unmake(cluster.key))
    there = run(snapshots_of(cloud).found(there_region(cloud)))
    run(snapshots_of(cloud).delete(there[1:]))
    assert run(controller(cloud).list("study-1")) == [cluster.key]
    [found] = listed(cloud)
    assert (found.whole, "unfinished" in found.where) == (False, True)
    run(clean([controller(cloud)], "study-1", FakeClock()))
    assert cloud.snapshots() == []


def there_region(cloud: Rehearsed) -> str:
    return request_to(cloud).configuration.region or ""


def snapshot(number: int, of: int = 2, **more: Any) -> Snapshot:
    tags = {DATA_SET: TPCC, LAYOUT: "l", CLUSTER: "s/c", PART: f"{number} of {of}", **more.pop("tags", {})}
    return Snapshot(
        **{"id": f"snap-{number}", "tags": tags, "size_bytes": 1, "made_unix_ms": 1, "complete": True, **more}
    )


def test_only_whole_sets_are_used_the_newest_first() -> None:
    first, second = snapshot(1), snapshot(2)
    assert newest([first], TPCC, "l") is None
    assert newest([first, replace(second, complete=False)], TPCC, "l") is None
    assert unfinished([first]) == {"s/c": [first]}
    assert newest([first, second], TPCC, "other") is None
    later = [snapshot(n, id=f"new-{n}", made_unix_ms=2, tags={CLUSTER: "s/d"}) for n in (1, 2)]
    found = newest([*later, first, second], TPCC, "l")
    assert found is not None
    assert by_machine(found, ["database-1", "database-2"]) == {"database-1": ("new-1",), "database-2": ("new-2",)}
    twice = [first, snapshot(1, id="again"), second]
    assert [one.whole for one in sets_of(twice)] == [True]
    assert unfinished(twice) == {}


def configuration(provider: str = "aws", **more: Any) -> Configuration:
    machine = {"type": "m6i.large", "count": 3, "volumes": [{"kind": "gp3", "size": 100}], **more.pop("machine", {})}
    database = {**DATABASE, **more.pop("database", {})}
    return Configuration.model_validate(
        {"name": "a", "provider": provider, "region": "r", "database_machine": machine, "database": database, **more}
    )


def test_a_data_set_fits_machines_of_another_type_and_kind_of_volume_but_of_no_other_size() -> None:
    one = layout_of(configuration())
    other_kind = {"type": "r5.large", "volumes": [{"kind": "io2", "size": 100, "iops": 4000}]}
    assert layout_of(configuration(machine=other_kind)) == one
    assert layout_of(configuration(database={"connections": 5})) == one
    for changed in (
        {"machine": {"count": 5}},
        {"machine": {"volumes": [{"kind": "gp3", "size": 200}]}},
        {"machine": {"filesystem": "xfs"}},
        {"machine": {"zones": ["a", "b", "c"]}},
        {"database": {"version": "23.1.0"}},
        {"database": {"settings": {"kv.range_merge.queue_enabled": "false"}}},
    ):
        assert layout_of(configuration(**changed)) != one, changed
    assert layout_of(configuration("azure")) != layout_of(configuration("azure", machine=other_kind)), "other sectors"
