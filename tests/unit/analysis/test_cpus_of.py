"""What a number per CPU is divided by."""

import pytest

from nephoscope.analysis.collect import cpus_of
from nephoscope.model.records import StartedRecord
from nephoscope.model.subjects import Subject

TWO, FOUR = ["cpu0", "cpu1"], ["cpu0", "cpu1", "cpu2", "cpu3"]
CLUSTER = {"db-1": TWO, "db-2": TWO, "db-3": TWO, "load": FOUR, "load-2": FOUR}
ROLES = {"database": "db-1", "load": "load", "load 2": "load-2"}
ALONE = {"database": "here", "load": "here"}


@pytest.mark.parametrize(
    ("subject", "machines", "measured_cpus", "cpus"),
    [
        (Subject.DATABASE, ROLES, CLUSTER, 6),
        (Subject.STORAGE, ROLES, CLUSTER, 2),
        (Subject.CPU, ROLES, CLUSTER, 2),
        (Subject.DATABASE, ALONE, {"here": TWO}, 2),
        (Subject.DATABASE, ROLES, {**CLUSTER, "db-3": []}, None),
        (Subject.DATABASE, ROLES, {}, None),
        (Subject.CPU, {"database": "here"}, {"here": TWO}, 2),
    ],
)
def test_all_machines_of_a_database_count_and_of_others_the_one_that_is_measured(
    subject: Subject, machines: dict[str, str], measured_cpus: dict[str, list[str]], cpus: int | None
) -> None:
    started = StartedRecord(
        at_unix_ms=1, nephoscope_version="1", machines=machines, measured_cpus=measured_cpus, tool_versions={}
    )
    assert cpus_of(started, subject) == cpus
