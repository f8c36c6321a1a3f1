"""What bound a benchmark: CPUs before a disk, the busiest machine before the others, trials that count alone."""

import pytest

from nephoscope.analysis.bounds import Kind, bounds_of, kind_of
from nephoscope.analysis.inputs import ObservedMachine
from nephoscope.model.records import Facts, ResourceUse, VerdictKind
from tests.unit.analysis.study_builder import trial


def use(
    machine: str, cpu: float, disk: float | None = None, written: float | None = None, quota: float | None = None
) -> ResourceUse:
    return ResourceUse(
        machine=machine,
        sampled_s=60,
        cpu_busy_share=cpu,
        cpu_quota_used_up_share=quota,
        disk_busy_share=disk,
        disk_read_bytes_per_s=None,
        disk_write_bytes_per_s=written,
        network_receive_bytes_per_s=None,
        network_send_bytes_per_s=None,
    )


def seen(name: str, machine: str, role: str = "database") -> ObservedMachine:
    return ObservedMachine(trial=name, configuration="a", role=role, machine=machine, facts=Facts(at_unix_ms=1))


@pytest.mark.parametrize(
    ("machines", "kind"),
    [
        ([use("1", 0.5, 0.2), use("2", 0.95, 0.99)], "cpu"),
        ([use("1", 0.5, 0.2), use("2", 0.6, 0.9)], "disk"),
        ([use("1", 0.89, 0.89)], "neither"),
        ([use("1", 0.89, None)], "unknown"),
        ([use("1", 0.9, None)], "cpu"),
        ([use("1", 0.2, 0.2, quota=0.95), use("2", 0.2, 0.95)], "cpu"),
        ([use("1", 0.2, 0.2, quota=0.85)], "neither"),
    ],
)
def test_the_busiest_machine_decides(machines: list[ResourceUse], kind: Kind) -> None:
    assert kind_of(machines) == kind


def test_only_trials_that_count_with_all_database_machines_and_no_load_machine() -> None:
    trials = [trial(f"t{number}", "a", number) for number in (1, 2, 3)]
    refused, half = trial("t4", "a", 4, verdict=VerdictKind.INVALID), trial("t5", "a", 5)
    idle = [use("1", 0.1, 0.1, 10.0), use("2", 0.3, 0.2, 30.0), use("load", 1.0, 1.0)]
    resources = {
        "t1": idle,
        "t2": [use("1", 0.2, 0.95, 20.0), use("2", 0.1, 0.1, 10.0), use("load", 1.0)],
        "t3": idle,
        "t4": [use("1", 1.0), use("2", 1.0)],
        "t5": [use("1", 1.0)],
    }
    machines = [
        seen(name, machine, "load" if machine == "load" else "database")
        for name in resources
        for machine in ("1", "2", "load")
    ]
    (row,) = bounds_of([*trials, refused, half], resources, machines)
    assert (row.n, row.cpu_bound, row.disk_bound, row.neither, row.unknown) == (3, 0, 1, 2, 0)
    assert (row.cpu_busy_share, row.disk_busy_share, row.disk_write_bytes_per_s) == (0.3, 0.2, 30.0)
    assert row.network_send_bytes_per_s is None
    assert row.cpu_quota_used_up_share is None
    assert row.words == "disk-bound 1, neither 2"
    assert row.trials == ["t1", "t2", "t3"]
    (one,) = bounds_of(trials[:1], resources, machines)
    assert one.words == "neither"
    assert bounds_of(trials, {}, machines) == []


def test_each_phase_has_its_own_limit() -> None:
    phases = {"fio-read": use("1", 0.2, 0.98), "fio-write": use("1", 0.2, 0.1)}
    both = use("1", 0.2, 0.5).model_copy(update={"phases": phases})
    found = bounds_of([trial("t1", "a")], {"t1": [both]}, [seen("t1", "1")])
    assert [(row.phase, row.words) for row in found] == [("fio-read", "disk-bound"), ("fio-write", "neither")]
