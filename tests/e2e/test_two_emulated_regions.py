"""Two regions of two zones, and a database over three zones, on emulated hosts (root): measured and reported."""

import asyncio
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation
from nephoscope.app.stages.planning import load, plan
from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import MeasurementRow, WanFloor
from nephoscope.run.study import adopt_plan, run_study
from nephoscope.store.folder import ResultsFolder
from tests.e2e.test_failures_on_emulated_hosts import world
from tests.support.real_parts import needs

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("postgres", "nephoscope-load", "sshd", "ping", "iperf3")]

BETWEEN_REGIONS_MS, BETWEEN_ZONES_MS = 12.0, 2.0
STUDY = f"""
name = "far"
replicates = 1

[[regions]]
name = "virginia"
latitude = 39.04
longitude = -77.49

[[regions]]
name = "ohio"
latitude = 39.96
longitude = -83.00

[[machine_types]]
name = "node"
vcpus = 1
memory_gib = 1
disk_gib = 8

[[configurations]]
name = "two-regions"
provider = "emulated"
region = "virginia"
database_machine = {{ type = "node", count = 2, zones = ["virginia-1", "virginia-2"] }}
load_machine = {{ type = "node", count = 2, region = "ohio", zones = ["ohio-1", "ohio-2"] }}
links = [
  {{ between = ["virginia-1", "ohio-1"], round_trip_ms = {BETWEEN_REGIONS_MS} }},
  {{ between = ["virginia-1", "ohio-2"], round_trip_ms = {BETWEEN_REGIONS_MS} }},
  {{ between = ["virginia-2", "ohio-1"], round_trip_ms = {BETWEEN_REGIONS_MS} }},
  {{ between = ["virginia-2", "ohio-2"], round_trip_ms = {BETWEEN_REGIONS_MS} }},
]

[[configurations]]
name = "three-zones"
provider = "emulated"
region = "virginia"
database_machine = {{ type = "node", count = 3, zones = ["virginia-1", "virginia-2", "virginia-3"] }}
load_machine = {{ type = "node", zones = ["virginia-1"] }}
links = [
  {{ between = ["virginia-1", "virginia-2"], round_trip_ms = {BETWEEN_ZONES_MS} }},
  {{ between = ["virginia-1", "virginia-3"], round_trip_ms = {BETWEEN_ZONES_MS} }},
  {{ between = ["virginia-2", "virginia-3"], round_trip_ms = {BETWEEN_ZONES_MS} }},
]
database = {{ connections = 2 }}

[[benchmarks]]
uses = "ping"
configurations = ["two-regions"]
parameters = {{ duration_s = 4, interval_s = 0.02 }}

[[benchmarks]]
uses = "throughput"
configurations = ["two-regions"]
parameters = {{ duration_s = 4 }}

[[benchmarks]]
uses = "tpcc"
configurations = ["three-zones"]
parameters = {{ warehouses = 1, ramp_s = 1, duration_s = 6 }}
"""


def test_a_network_chapter_between_regions_and_tpcc_over_zones_are_reported(tmp_path: Path) -> None:
    results = ResultsFolder(tmp_path / "out")
    adopt_plan(results, STUDY, plan(load(STUDY, "far.toml")), replan=False)

    async def measured() -> None:
        async with asyncio.timeout(500):
            await run_study(results, world())

    asyncio.run(measured())
    states = {row.benchmark: (row.state, row.reasons) for row in evaluation.status(results)}
    expected = dict.fromkeys(("ping", "throughput", "tpcc"), "finished")
    assert {name: state for name, (state, _) in states.items()} == expected, states
    found = evaluation.analyze(results)
    (floor,) = found[WanFloor]
    assert (floor.database_region, floor.load_region) == ("virginia", "ohio")
    assert floor.round_trip_s == pytest.approx(0.0047, rel=0.05)
    (shortest,) = [row.value for row in found[MeasurementRow] if row.metric == "round_trip_min"]
    assert 0.9 * BETWEEN_REGIONS_MS < 1000 * shortest < 2 * BETWEEN_REGIONS_MS
    evaluation.report(results)
    pages = "".join(page.read_text() for page in results.path.rglob("*.html"))
    trials = {row.benchmark: row for row in evaluation.status(results)}
    if trials["ping"].verdict is VerdictKind.VALID:
        assert "light in fibre" in pages
    else:  # whatever else runs on this machine rejects trials of emulated hosts
        assert "foreign-load" in " ".join(map(str, trials["ping"].reasons)), trials["ping"].reasons
