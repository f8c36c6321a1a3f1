"""Which trials ran on the same machine, by provider."""

import pytest

from nephoscope.analysis.machines import SeenMachine, Sighting, machine_keys


def sighting(trial: str, provider: str, *machines: SeenMachine, **more: str) -> Sighting:
    return Sighting(trial, provider, machines, **more)


def groups(*sightings: Sighting) -> list[set[str]]:
    keys = machine_keys(sightings)
    return sorted(({one for one in keys if keys[one] == key} for key in {*keys.values()} - {None}), key=min)


def test_a_cloud_s_machines_are_its_cluster_s() -> None:
    fresh = [sighting(name, "aws", SeenMachine("db"), cluster=f"study/a/{name}-1") for name in "xy"]
    kept = [sighting(name, "gcp", SeenMachine("db"), cluster="study/b") for name in "zu"]
    assert groups(*fresh, *kept) == [{"u", "z"}, {"x"}, {"y"}]


@pytest.mark.parametrize("provider", ["aws", "other"])
def test_a_result_without_a_lease_or_of_an_import_is_not_known(provider: str) -> None:
    assert machine_keys([sighting("x", provider, SeenMachine("db", "ip-10-0-0-1"))]) == {"x": None}


def test_hosts_are_told_apart_by_boot_id_and_by_name() -> None:
    assert groups(
        sighting("first", "ssh", SeenMachine("db1", "alpha", "boot-1")),
        sighting("by another name", "ssh", SeenMachine("10.0.0.1", "alpha", "boot-1")),
        sighting("started anew", "ssh", SeenMachine("db1", "alpha", "boot-2")),
        sighting("no cluster", "ssh", SeenMachine("db1", "alpha")),
        sighting("another host", "ssh", SeenMachine("db2", "alpha", "boot-3")),
    ) == [{"another host"}, {"by another name", "no cluster", "first", "started anew"}]


def test_a_cluster_of_hosts_is_all_its_hosts() -> None:
    one, two, three = (SeenMachine(name, name, f"boot-{name}") for name in ("db1", "db2", "db3"))
    assert groups(sighting("x", "ssh", one, two), sighting("y", "ssh", two, one), sighting("z", "ssh", one, three)) == [
        {"x", "y"},
        {"z"},
    ]


def test_this_machine_and_its_parts_are_one() -> None:
    assert groups(
        sighting("local", "local", SeenMachine("local", "bench", "boot-1")),
        sighting("part", "emulated", SeenMachine("database-1", "database-1", "boot-1")),
        sighting("parts", "emulated", *(SeenMachine(f"database-{n}", f"database-{n}", "boot-1") for n in (1, 2))),
    ) == [{"local", "part", "parts"}]
    assert groups(*(sighting(name, "local", SeenMachine("local", name)) for name in ("mine", "yours"))) == [
        {"mine"},
        {"yours"},
    ]


def test_a_server_of_one_s_own_is_the_machine() -> None:
    here = SeenMachine("local", "bench")
    assert groups(*(sighting(name, "local", here, server=name) for name in ("db1", "db2"))) == [{"db1"}, {"db2"}]


def test_an_import_says_which_runs_shared_a_machine_or_nothing() -> None:
    runs = (
        sighting(name, "aws", SeenMachine("c5"), stated=log) for name, log in (("x", "a1"), ("y", "a1"), ("z", "b2"))
    )
    assert groups(*runs, sighting("without a log", "aws", SeenMachine("c5"))) == [{"x", "y"}, {"z"}]


def test_a_machine_that_was_not_observed_is_not_known() -> None:
    assert machine_keys([sighting("x", "local")]) == {"x": None}
