"""How a load is shared by several machines; that outputs become one is held on real ones in tests/contract."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.database.point_select import PointSelect, PointSelectParameters
from nephoscope.benchmarks.load import shards
from nephoscope.benchmarks.load.spec import (
    KvWorkload,
    LoadSpec,
    NullWorkload,
    PostgresTarget,
    RespTarget,
    Shard,
    TpccWorkload,
)
from nephoscope.databases.base import Endpoint
from nephoscope.machines.remote import Command, Completed, MachineHandle
from nephoscope.model.errors import InputError
from nephoscope.providers.base import cluster_of
from tests.support.site import site_here

ENDPOINT = Endpoint("postgresql://u@127.0.0.1:1/d", {}, "", "user")


def spec(**given: Any) -> LoadSpec:
    target = PostgresTarget(dsn=ENDPOINT.dsn)
    return LoadSpec(action="run", target=target, workload=NullWorkload(), seed=1, **{"connections": 6, **given})


def test_each_machine_has_its_part_of_one_load() -> None:
    parts = shards.shares(spec(workers=9, threads=4, duration_s=7), 3, start_at_unix_ms=77)
    assert [part.shard for part in parts] == [Shard(index=index, count=3) for index in range(3)]
    assert {(p.connections, p.workers, p.threads, p.start_at_unix_ms, p.duration_s) for p in parts} == {
        (2, 3, 2, 77, 7)
    }
    assert {part.workers for part in shards.shares(spec(), 2, start_at_unix_ms=0)} == {None}


def test_the_start_waits_for_rows_to_be_counted() -> None:
    def lead_of_s(workload: Any, **target: Any) -> float:
        whole = spec(connections=100).model_copy(update={"workload": workload})
        return shards.lead_of_s(whole.model_copy(update=target))

    assert lead_of_s(NullWorkload()) == pytest.approx(4)
    assert lead_of_s(TpccWorkload(warehouses=1_000)) == pytest.approx(4 + 30)
    assert lead_of_s(KvWorkload(rows=2_000_000)) == pytest.approx(4 + 2)
    assert lead_of_s(KvWorkload(rows=2_000_000), target=RespTarget(dsn="redis://127.0.0.1:1")) == pytest.approx(4)


@pytest.mark.parametrize("given", [{"connections": 7}, {"workers": 5}])
def test_what_cannot_be_shared_equally_is_refused(given: dict[str, int]) -> None:
    with pytest.raises(InputError, match=r"[75] (connections|workers) cannot be divided equally among 2 load machines"):
        shards.shares(spec(**given), 2, start_at_unix_ms=0)


def test_it_is_refused_before_data_is_loaded(tmp_path: Path) -> None:
    site, _ = site_here(tmp_path)
    two = replace(site, cluster=cluster_of("two", [site.cluster.load] * 3, 1), connections=5)
    with pytest.raises(InputError, match="5 connections"):
        PointSelect().connections(two, PointSelectParameters())
    assert PointSelect().connections(replace(two, connections=4), PointSelectParameters()) == 4


def test_a_shard_that_fails_ends_the_others(tmp_path: Path) -> None:
    site, _ = site_here(tmp_path)
    ended: list[str] = []

    async def execute(machine: MachineHandle, name: str, command: Command) -> Completed:
        if name == "run.shard-1":
            return Completed(tuple(command.argv), 3, b"", b"no route", 0.1)
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(name)
        raise AssertionError

    two = replace(site, cluster=cluster_of("two", [site.cluster.load] * 3, 1), execute=execute)
    completed = asyncio.run(shards.drive(two, "run", ENDPOINT, spec(), timeout_s=5))
    assert completed.exit_code == 3
    assert ended == ["run.shard-0"]
