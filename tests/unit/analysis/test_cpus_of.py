"""What a number per CPU is divided by."""

import pytest

from nephoscope.analysis.collect import cpus_of
from nephoscope.benchmarks.base import Benchmark
from nephoscope.benchmarks.database.kv import Kv
from nephoscope.benchmarks.storage.fio import Fio
from nephoscope.model.records import StartedRecord

TWO, FOUR = ["cpu0", "cpu1"], ["cpu0", "cpu1", "cpu2", "cpu3"]
CLUSTER = {"db-1": TWO, "db-2": TWO, "db-3": TWO, "load": FOUR, "load-2": FOUR}
ROLES = {"database": "db-1", "load": "load", "load 2": "load-2"}
ALONE = {"database": "here", "load": "here"}


@pytest.mark.parametrize(
    ("benchmark", "machines", "measured_cpus", "cpus"),
    [
        (Kv(), ROLES, CLUSTER, 6),
        (Fio(), ROLES, CLUSTER, 2),
        (None, ROLES, CLUSTER, 2),
        (Kv(), ALONE, {"here": TWO}, 2),
        (Kv(), ROLES, {**CLUSTER, "db-3": []}, None),
        (Kv(), ROLES, {}, None),
        (None, {"database": "here"}, {"here": TWO}, 2),
    ],
)
def test_all_machines_of_a_database_count_and_of_others_the_one_that_is_measured(
    benchmark: Benchmark | None, machines: dict[str, str], measured_cpus: dict[str, list[str]], cpus: int | None
) -> None:
    started = StartedRecord(
        at_unix_ms=1, nephoscope_version="1", machines=machines, measured_cpus=measured_cpus, tool_versions={}
    )
    assert cpus_of(started, benchmark) == cpus
