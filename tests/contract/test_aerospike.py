"""kv and YCSB on Aerospike, from loading to the checks: on two nodes that only look like it."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.base import RawOutput, Site
from nephoscope.benchmarks.database.kv import Kv, KvParameters
from nephoscope.benchmarks.database.ycsb import Ycsb, YcsbParameters
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import FIXTURE, RUN
from nephoscope.databases.base import Endpoint
from nephoscope.databases.fake import FakeDatabase
from nephoscope.providers.base import Cluster
from tests.support.real_parts import needs
from tests.support.site import raw_of, site_here
from tests.support.testkit import load_with_testkit

pytestmark = needs("nephoscope-load")
TIMES = {"ramp_s": 0, "duration_s": 1, "connections": 4}


class OneCopy(FakeDatabase):
    """Keeps no copies: what is loaded is what is driven."""

    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        return endpoint

    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        return endpoint


@pytest.fixture
def dsn() -> Iterator[str]:
    argv = [load_with_testkit(), "fake-aerospike", "--nodes", "2", "--namespace", "test"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        addresses = json.loads(server.stdout.readline())["addresses"]
        try:
            yield f"aerospike://{','.join(addresses)}/test"
        finally:
            server.terminate()


async def driven(benchmark: Any, site: Site, parameters: Any) -> RawOutput:
    endpoint = await benchmark.prepare(site, parameters)
    await benchmark.run(replace(site, endpoint=endpoint), parameters)
    return raw_of(site)


@pytest.mark.parametrize(
    ("benchmark_", "parameters", "operations"),
    [
        (Kv(), KvParameters(rows=2_000, read_percent=80, **TIMES), {"read", "write"}),
        pytest.param(
            *(Ycsb(), YcsbParameters(rows=500, mix="f", **TIMES), {"read", "read_modify_write"}),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["kv", "ycsb f"],
)
def test_a_benchmark_loads_drives_and_checks_records(
    tmp_path: Path, dsn: str, benchmark_: Any, parameters: Any, operations: set[str]
) -> None:
    site, _ = site_here(tmp_path)
    site = replace(
        site,
        database=OneCopy(),
        endpoint=Endpoint(dsn, {}, "fake", "fake"),
        load_program=load_with_testkit(),
        connections=4,
    )
    raw = asyncio.run(driven(benchmark_, site, parameters))
    loaded, finished = (load_output.read(raw[f"{name}.stdout"]).finished for name in (FIXTURE, RUN))
    assert sum(row.rows for row in loaded.tables) == parameters.rows
    assert finished.exit_code == 0, finished.message
    assert {row.operation for row in finished.operations if row.all} == operations
    assert finished.counters, "the servers own counts were not read"
    # A busy machine may draw too little in a second for a judgement, which is None.
    assert finished.audit
    assert [row for row in finished.audit if row.passed is False] == []
    values = {row.metric: row.value for row in benchmark_.parse(raw, parameters) if row.at_s is None}
    assert values["operations_per_s"] > 100
    evidence = benchmark_.operations(raw, parameters, client_cpus=1)
    assert evidence.attempted > 100
