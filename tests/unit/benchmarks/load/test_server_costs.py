"""What an operation costs the server: growth between two readings within the measurement / operations between them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from nephoscope.benchmarks.base import Ended
from nephoscope.benchmarks.load import counting
from nephoscope.benchmarks.load.contract import ClientUse, Interval
from nephoscope.benchmarks.load.server_costs import COUNTED, SAMPLED, Reading, happened, measurements
from nephoscope.benchmarks.load.spec import LoadSpec, PointSelectWorkload, PostgresTarget
from nephoscope.databases.base import Endpoint, HasCounters
from nephoscope.databases.fake import FakeDatabase
from nephoscope.databases.postgres import counters as of_postgres
from nephoscope.databases.upkeep import counters_of_valkey
from nephoscope.model.errors import OutputUnreadable, ToolFailed
from nephoscope.providers.base import Cluster
from tests.support.site import raw_of, site_here

THREE_SECONDS = [
    Ended(1000.0 * second, 1000.0 * (second + 1), operations)
    for second, operations in ((10, 100), (11, 300), (12, 100))
]


def readings(*moments: tuple[float, float], counter: str = "cpu_s", **more: float) -> list[Reading]:
    return [Reading(at * 1000, {counter: value, **more}) for at, value in moments]


def costs(machines: Sequence[Sequence[Reading]], ended: Sequence[Ended] = THREE_SECONDS) -> Mapping[str, float]:
    return {row.metric: row.value for row in measurements(SAMPLED, ended, machines)}


def cpu(*machines: Sequence[Reading]) -> float | None:
    return costs(machines).get("server_cpu_per_operation")


def test_ramp_and_end_do_not_count_and_operations_end_evenly_within_a_second() -> None:
    # 50 of the first second's operations, 300, and 50 of the last.
    assert cpu(readings((9.5, 1), (10.5, 10), (12.5, 14), (13.5, 99))) == pytest.approx(4 / 400)
    assert cpu(readings((10, 10), (13, 15))) == pytest.approx(5 / 500)


@pytest.mark.parametrize(
    "machines",
    [
        pytest.param([[]], id="no server was seen, as in results of earlier versions"),
        pytest.param([readings((10.5, 1), (11, 2))], id="less than a second"),
        pytest.param([readings((10.5, 5), (12.5, 1))], id="another server"),
        pytest.param([readings((10.5, 1), (12.5, 5)), []], id="one of two machines is not known"),
        pytest.param([], id="no machine"),
    ],
)
def test_what_is_not_known_is_no_number(machines: Sequence[Sequence[Reading]]) -> None:
    assert costs(machines) == {}


def test_machines_and_parts_of_a_search_add_up() -> None:
    one = readings((10.5, 1), (12.5, 5))
    assert cpu(one, readings((10, 0), (13, 5))) == pytest.approx(4 / 400 + 5 / 500)
    later = [
        replace(part, from_unix_ms=part.from_unix_ms + 60_000, to_unix_ms=part.to_unix_ms + 60_000)
        for part in THREE_SECONDS
    ]
    found = costs([[*one, *readings((40, 900), (70, 1000), (73, 1010))]], [*THREE_SECONDS, *later])
    assert found == {"server_cpu_per_operation": pytest.approx((4 + 10) / (400 + 500))}


def test_switches_are_not_known_where_processes_came_and_went_unseen() -> None:
    def switches(unseen_s: float) -> float | None:
        lines = [
            Reading(at, {"cpu_s": used, "context_switches": 400 * used, "unseen_cpu_s": unseen_s * used})
            for at, used in ((10_500, 0.0), (12_500, 1.0))
        ]
        return costs([lines]).get("server_context_switches_per_operation")

    assert switches(0.01) == pytest.approx(1)
    assert switches(0.2) is None


def test_what_the_server_did_during_the_measurement_is_counted() -> None:
    looks = readings((9.5, 1), (10.5, 4), (12.5, 6), (13.5, 9), counter="checkpoints")
    assert [(row.metric, row.value) for row in happened(THREE_SECONDS, looks)] == [("checkpoints_in_measurement", 2)]
    nothing = readings((10.5, 4), (12.5, 4), counter="vacuums")
    assert [(row.metric, row.value) for row in happened(THREE_SECONDS, nothing)] == [("vacuums_in_measurement", 0)]
    restarted = readings((10.5, 4), (12.5, 0), counter="checkpoints")
    for unknown in (restarted, readings((10.5, 4), (12.5, 6)), []):
        assert list(happened(THREE_SECONDS, unknown)) == []


class _Counting(FakeDatabase, HasCounters):
    asked = 0

    async def counters(self, cluster: Cluster, endpoint: Endpoint) -> Mapping[str, float]:
        self.asked += 1
        if self.asked > 2:
            raise ToolFailed("it does not answer")
        return {"log_bytes": 1000.0 * self.asked}


def _interval(index: int, phase: Literal["ramp", "measure"]) -> Interval:
    return Interval(
        event="interval", index=index, phase=phase, at_unix_ms=10_000 + 1000 * index, start_s=index, end_s=index + 1,
        operations=[], errors=[], client=ClientUse(cpu_s=0, in_flight=0),
    )  # fmt: skip


def test_a_servers_counters_are_read_after_the_first_and_the_last_second_of_the_measurement(tmp_path: Path) -> None:
    site, _ = site_here(tmp_path)
    database, endpoint = _Counting(), Endpoint("fake://", {}, "1", "fake")
    spec = LoadSpec(action="run", target=PostgresTarget(dsn="postgresql://x"), workload=PointSelectWorkload(rows=1),
                    seed=1, connections=1, ramp_s=1, duration_s=3)  # fmt: skip

    async def drive() -> None:
        async with counting.counting(replace(site, database=database), endpoint, spec) as on_interval:
            for index in range(4):
                on_interval(_interval(index, "measure" if index else "ramp"))
                await asyncio.sleep(0)

    asyncio.run(drive())
    first, last = counting.readings(raw_of(site))
    assert first.at_unix_ms >= 12_000
    assert last.at_unix_ms == 14_000, "nothing is driven after the last second"
    asyncio.run(drive())
    assert len(counting.readings(raw_of(site))) == 2, "a look that fails costs no trial"
    ended = [Ended(11_000, 12_000, 10), Ended(12_000, 13_000, 10), Ended(13_000, 14_000, 10)]
    (row,) = measurements(COUNTED, ended, [counting.readings(raw_of(site))])
    assert (row.metric, row.unit) == ("counted_log_bytes_per_operation", "B")
    assert row.value == pytest.approx(1000 / 20, rel=0.2)
    with pytest.raises(OutputUnreadable, match="server-counters"):
        counting.readings({counting.COUNTERS: b"{"})
    assert counting.readings({}) == []


def test_what_servers_say_is_read_by_version_and_damage_is_told() -> None:
    assert [("op_bytes" in text, "pg_stat_io" in text) for text in map(of_postgres.statement, (None, "15", "17", "18"))
            ] == [(False, False), (False, False), (True, True), (False, True)]  # fmt: skip
    assert of_postgres.read('{"log_bytes": 8, "read_bytes": null}') == {"log_bytes": 8.0}
    info = "used_cpu_sys:1.5\r\nused_cpu_user:2\r\ntotal_net_input_bytes:7\r\ntotal_net_output_bytes:9\r\n"
    found = {"cpu_s": 3.5, "received_bytes": 7.0, "sent_bytes": 9.0}
    assert counters_of_valkey(info) == found
    log = "aof_current_size:12\r\naof_rewrite_in_progress:{}\r\n"
    assert counters_of_valkey(info + log.format(0)) == {**found, "log_bytes": 12.0}
    assert counters_of_valkey(info + log.format(1)) == found
    for read, text in ((of_postgres.read, "[1]"), (of_postgres.read, "x"), (counters_of_valkey, "used_cpu_sys:x\n")):
        with pytest.raises(OutputUnreadable):
            read(text)
