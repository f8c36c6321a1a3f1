"""Hours before a trial on a cloud: what is kept is not made twice."""

from typing import Any

import pytest

from nephoscope.plan.preparation import (
    EMULATED_HOST_S,
    LOAD_BYTES_PER_S,
    MAKE_S,
    MIGRATE_S,
    RESET_S,
    RESTORE_BYTES_PER_S,
    Before,
)
from nephoscope.study.model import Configuration, Machine
from nephoscope.study.snapshots import MAKE_BYTES_PER_S, STORED_SHARE

SIZE = 600 * LOAD_BYTES_PER_S
LOAD_S, RESTORE_S = 600.0, SIZE / RESTORE_BYTES_PER_S


def configuration(name: str = "a", provider: str = "aws", **database: Any) -> Configuration:
    return Configuration.model_validate({"name": name, "provider": provider, "database": database})


def test_a_fresh_cluster_loads_again_unless_a_bucket_outlives_it() -> None:
    before = Before()
    assert [before.of(configuration(), SIZE).total_s for _ in range(2)] == [MAKE_S + LOAD_S + RESTORE_S] * 2
    assert len(before.notes()) == 1, "PostgreSQL has no fixtures to advise"
    kept = Before()
    stored = {"system": "cockroachdb", "fixtures": "s3://bucket/sets"}
    assert kept.of(configuration(**stored), SIZE).total_s == MAKE_S + LOAD_S + RESTORE_S
    assert kept.of(configuration("b", **stored), SIZE).total_s == MAKE_S + RESTORE_S, (
        "another configuration, the same bucket"
    )
    assert kept.of(configuration("b", **stored), 2 * SIZE).total_s == MAKE_S + 2 * (LOAD_S + RESTORE_S), (
        "another data set"
    )
    assert len(kept.notes()) == 1


@pytest.mark.parametrize(
    ("provider", "version", "advice"),
    [
        ("aws", "22.1.6", "to keep them, set `database.fixtures` to a bucket"),
        ("azure", "23.1.0", "to keep them, set `database.fixtures` to a bucket"),
        ("azure", "22.1.6", "to keep them, set `database.fixtures` to azure-stores://account/container/folder"),
    ],
)
def test_a_bucket_is_advised_only_where_it_can_be_used(provider: str, version: str, advice: str) -> None:
    before = Before()
    one = configuration(provider=provider, system="cockroachdb", version=version)
    assert before.of(one, SIZE).reload_s == 0
    assert len(before.notes()) == 1, "one load is no load too many"
    assert before.of(one, SIZE).reload_s > 0
    assert advice in before.notes()[-1]


@pytest.mark.parametrize(("machines", "times"), [(1, 1), (3, 1), (6, 2), (81, 27)])
def test_a_larger_cluster_loads_and_restores_with_all_of_its_machines(machines: int, times: int) -> None:
    one = Configuration.model_validate({"name": "a", "provider": "aws", "database_machine": {"count": machines}})
    setup = Before().of(one, SIZE)
    assert setup.load_s == LOAD_S / times
    assert setup.restore_s == pytest.approx(RESTORE_S / times)


def test_a_kept_cluster_is_made_once_and_loaded_once() -> None:
    before = Before()
    assert before.of(configuration(), SIZE, "a").total_s == MAKE_S + LOAD_S + RESTORE_S
    assert before.of(configuration(), SIZE, "a").total_s == RESTORE_S
    assert before.of(configuration(), 0, "a").total_s == 0
    assert before.of(configuration("b"), 0, "b").total_s == MAKE_S
    assert len(before.notes()) == 1


def test_each_replicate_creates_and_loads_once_and_a_bucket_serves_all_of_them() -> None:
    def took(before: Before, **database: Any) -> list[float]:
        names = ("a/replicate-1", "a/replicate-1", "a/replicate-2", "a/replicate-2")
        return [before.of(configuration(**database), SIZE, name).total_s for name in names]

    first = MAKE_S + LOAD_S + RESTORE_S
    before = Before()
    assert took(before) == [first, RESTORE_S, first, RESTORE_S]
    assert len(before.notes()) == 1, "its data set is loaded once for each replicate, as it must be"
    kept: dict[str, Any] = {"system": "cockroachdb"}
    assert took(Before(), **kept) == [MAKE_S + LOAD_S + RESET_S, RESET_S] * 2, "its files are put back"
    stored = {**kept, "fixtures": "s3://bucket/sets"}
    assert took(Before(), **stored) == [first + RESET_S, RESET_S, MAKE_S + RESTORE_S + RESET_S, RESET_S]


def test_emulated_machines_take_their_time_one_by_one() -> None:
    before = Before()
    three = configuration(provider="emulated").model_copy(update={"database_machine": Machine(count=3)})
    assert [before.of(one, SIZE).total_s for one in (configuration(provider="emulated"), three, three)] == [
        EMULATED_HOST_S,
        3 * EMULATED_HOST_S,
        3 * EMULATED_HOST_S,
    ]
    (note,) = before.notes()
    assert "emulated machine" in note
    kept = Before()
    assert [kept.of(three, SIZE, "a").total_s for _ in range(2)] == [3 * EMULATED_HOST_S, 0]


@pytest.mark.parametrize(("provider", "starts"), [("aws", (3, 2)), ("emulated", (2, 2)), ("ssh", (2, 2))])
def test_servers_of_aerospike_compare_their_partitions_after_each_start(provider: str, starts: tuple[int, int]) -> None:
    """Of a trial, of its data set, and once more to load that, where loading is counted."""
    three = {"database_machine": Machine(count=3)}
    one = configuration(provider=provider, system="aerospike").model_copy(update=three)
    other = configuration(provider=provider, system="valkey").model_copy(update=three)
    migrates, does_not = Before(), Before()
    more_s = [migrates.of(one, SIZE, "a").total_s - does_not.of(other, SIZE, "a").total_s for _ in range(2)]
    assert more_s == [count * MIGRATE_S for count in starts]
    assert Before().of(one, 0).total_s == Before().of(other, 0).total_s, "no trial without data starts a server"


@pytest.mark.parametrize("provider", ["local", "ssh", "fake", "other"])
def test_nothing_is_guessed_where_nobody_makes_machines(provider: str) -> None:
    before = Before()
    assert before.of(configuration(provider=provider), SIZE).total_s == 0
    assert before.notes() == []


@pytest.mark.parametrize(("provider", "rate"), [("aws", 100), ("azure", 60), ("gcp", None)])
def test_snapshots_serve_every_cluster_with_volumes_of_one_size(provider: str, rate: int | None) -> None:
    """The first read is slow on two clouds; a volume with less throughput is read no faster than that."""
    kept = {"system": "cockroachdb", "fixtures": "snapshots"}

    def machines(size: int = 100, **volume: float) -> Configuration:
        machine = Machine.model_validate({"count": 3, "volumes": [{"kind": "k", "size": size, **volume}]})
        return configuration(provider=provider, **kept).model_copy(update={"database_machine": machine})

    before = Before()
    stored = STORED_SHARE * SIZE
    first = before.of(machines(), SIZE, "a/replicate-1")
    assert (first.load_s, first.restore_s) == (LOAD_S, RESET_S + stored / MAKE_BYTES_PER_S)
    assert before.of(machines(), SIZE, "a/replicate-1").total_s == RESET_S
    reads_s = stored / (rate * 2**20) if rate else 0.0
    assert before.of(machines(), SIZE, "b/replicate-1").total_s == pytest.approx(MAKE_S + RESET_S + reads_s)
    assert before.of(machines(), SIZE).total_s == pytest.approx(MAKE_S + RESET_S + reads_s), "a cluster of its own"
    slower = before.of(machines(throughput=50), SIZE, "c/replicate-1").restore_s
    assert slower == pytest.approx(RESET_S + (stored / (50 * 2**20) if rate else 0.0))
    assert before.of(machines(200), SIZE, "d/replicate-1").load_s == LOAD_S, "volumes of another size"
    assert any("first read" in note for note in before.notes()) == (rate is not None)


def test_of_two_data_sets_on_a_cluster_only_the_larger_one_is_kept_in_snapshots() -> None:
    kept = {"system": "cockroachdb", "fixtures": "snapshots"}
    machine = Machine.model_validate({"count": 3, "volumes": [{"kind": "gp3", "size": 100}]})
    one = configuration(**kept).model_copy(update={"database_machine": machine})
    before = Before()
    for cluster in ("a/replicate-1", "a/replicate-2"):
        assert before.of(one, SIZE, cluster, carried_bytes=2 * SIZE).load_s == LOAD_S
        assert before.of(one, 2 * SIZE, cluster, carried_bytes=2 * SIZE).load_s == (
            2 * LOAD_S if cluster.endswith("1") else 0
        )
