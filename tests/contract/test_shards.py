"""Two load machines drive one load on a real PostgreSQL, and their outputs become one whose histograms are the sum."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.database.kv import Kv, KvParameters
from nephoscope.benchmarks.database.oltp import OltpInsert, OltpInsertParameters
from nephoscope.benchmarks.database.point_select import PointSelect, PointSelectParameters
from nephoscope.benchmarks.histograms import merged
from nephoscope.benchmarks.load import benchmark as load_benchmark
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import LoadBenchmark
from nephoscope.machines.remote import MachineHandle
from nephoscope.providers.base import Cluster
from tests.support.real_parts import needs
from tests.support.server import Server, server
from tests.support.site import raw_of, site_here

pytestmark = needs("postgres", "nephoscope-load")

PARAMETERS = PointSelectParameters(rows=1000, ramp_s=0.3, duration_s=1.2, pace="constant", rate_per_s=400)


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("postgres")) as running:
        yield running


def site_of_two(postgres: Server, folder: Path) -> Site:
    """The server's machine, and two of the generator's: all of them this one."""
    site, _ = site_here(folder, cpus=(0, 1))
    here = postgres.cluster.load
    loads = [MachineHandle(name, here.remote, here.address, here.cpus, here.data_dir) for name in ("one", "two")]
    cluster = Cluster(postgres.cluster.key, postgres.cluster.database, loads[0], (loads[1],))
    return replace(
        site,
        cluster=cluster,
        connections=4,
        load_program=load_program(),
        database=postgres.database,
        endpoint=postgres.endpoint,
    )


INSERTS = OltpInsertParameters(
    tables=2, rows=500, connections=4, ramp_s=0.3, duration_s=1.2, pace="constant", rate_per_s=400
)
WRITES = KvParameters(
    rows=1000, read_percent=50, writes="new", connections=4, ramp_s=0.3, duration_s=1.2, pace="constant", rate_per_s=400
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "parameters", "operation", "rows"),
    [
        (OltpInsert(), INSERTS, "insert", "(SELECT count(*) FROM sbtest1) + (SELECT count(*) FROM sbtest2)"),
        (Kv(), WRITES, "write", "(SELECT count(*) FROM kv)"),
    ],
    ids=["oltp-insert", "kv"],
)
def test_each_machine_adds_rows_of_its_own_and_the_server_has_the_sum(
    postgres: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    benchmark: LoadBenchmark,
    parameters: Any,
    operation: str,
    rows: str,
) -> None:
    monkeypatch.setattr(load_benchmark, "CALIBRATION_S", 0.3)
    site = site_of_two(postgres, tmp_path)

    async def scenario() -> int:
        copy = await benchmark.prepare(site, parameters)
        assert copy is not None
        await benchmark.run(replace(site, endpoint=copy), parameters)
        return int(await postgres.database._sql(postgres.cluster, copy, f"SELECT {rows}"))

    there = postgres.loop.run_until_complete(asyncio.wait_for(scenario(), 300))
    raw = raw_of(site)
    outputs = [load_output.read(raw[f"load-run{part}.stdout"]) for part in (".shard-0", ".shard-1", "")]
    one, two, whole = (written(output, operation) for output in outputs)
    assert one > 0
    assert two > 0
    assert whole == one + two
    assert there == 1000 + whole
    assert all(row.outcome != "failed" for row in outputs[2].finished.operations)
    values = {row.metric for row in benchmark.parse(raw, parameters)}
    assert f"{operation}.response_mean" in values


def written(output: load_output.LoadOutput, operation: str) -> int:
    """In ramp and measurement."""
    return sum(
        row.all for row in output.finished.operations if row.operation == operation and row.outcome == "committed"
    )


def response_counts(lines: list[dict[str, Any]]) -> dict[tuple[str, int], int]:
    """How many response times of each operation fell into each bucket, the ramp too."""
    found: Counter[tuple[str, int]] = Counter()
    rows = [row for line in lines if line["event"] == "interval" for row in line["operations"]]
    for row in rows:
        histogram = merged([row["histograms"]["response"]])
        for bucket in histogram.get_recorded_iterator():
            found[row["operation"], bucket.value_iterated_to] += bucket.count_added_in_this_iter_step
    return dict(found)


@pytest.mark.slow
def test_two_machines_are_one_load_and_its_histograms_are_their_sum(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_benchmark, "CALIBRATION_S", 0.3)
    site, benchmark = site_of_two(postgres, tmp_path), PointSelect()

    async def scenario() -> None:
        copy = await benchmark.prepare(site, PARAMETERS)
        await benchmark.run(replace(site, endpoint=copy), PARAMETERS)

    postgres.loop.run_until_complete(asyncio.wait_for(scenario(), 300))
    raw = raw_of(site)
    names = ["load-run.shard-0.stdout", "load-run.shard-1.stdout", "load-run.stdout"]
    one, two, whole = ([json.loads(line) for line in raw[name].splitlines()] for name in names)
    assert [line["spec"]["shard"]["index"] for line in (one[0], two[0])] == [0, 1]
    assert one[0]["spec"]["start_at_unix_ms"] == two[0]["spec"]["start_at_unix_ms"]
    assert whole[0]["shards"] == 2
    assert whole[0]["spec"]["connections"] == 4
    summed = Counter(response_counts(one)) + Counter(response_counts(two))
    assert response_counts(whole) == dict(summed)
    assert sum(summed.values()) > 0
    assert whole[-1]["offered"] == one[-1]["offered"] + two[-1]["offered"] == 480
    assert load_output.read(raw["load-run.stdout"]).finished.exit_code == 0
    values = {row.metric: row.value for row in benchmark.parse(raw, PARAMETERS) if row.at_s is None}
    assert values["selects_per_s"] > 0
    evidence = benchmark.operations(raw, PARAMETERS, 2)
    assert evidence.failed_audits == []
    assert evidence.saturation is not None
    assert evidence.saturation.calibration_per_s is not None
