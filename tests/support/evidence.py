"""Good evidence of one attempt, and its parts with changes, for tests of the checks."""

from typing import Any

from nephoscope.model.records import (
    CommandRecord,
    CpuPhase,
    Disk,
    Evidence,
    Expected,
    Facts,
    OperationEvidence,
    Reads,
    Requirement,
    Saturation,
    Series,
    TelemetrySample,
)
from nephoscope.model.units import GIB, MIB

GOOD_FACTS = Facts(
    at_unix_ms=1,
    cpu_model="AMD EPYC 9454",
    cpus_online=4,
    cpus_allowed=2,
    memory_bytes=16 * GIB,
    busy_share=0.01,
    busy_share_by_cpu={"cpu0": 0.0, "cpu1": 0.02, "cpu2": 0.02, "cpu3": 0.0},
    cgroups_seen=True,
    sockets=1,
    numa_nodes=2,
    l3_bytes=32 * MIB,
    clock_source="tsc",
    kernel="6.1.0-38-amd64",
    disk=Disk(device="/dev/sda", size_bytes=100 * GIB, rotational=False, filesystem="ext4", mount_options="rw,noatime"),
)


def facts(**changes: Any) -> dict[str, Facts]:
    return {"db": GOOD_FACTS.model_copy(update=changes)}


def sample(**changes: Any) -> TelemetrySample:
    values: dict[str, Any] = {
        "at_s": 1,
        "duration_s": 1,
        "cpu_busy_share": 0.5,
        "cpu_user_share": 0.4,
        "cpu_system_share": 0.1,
        "cpu_iowait_share": 0,
        "cpu_steal_share": 0.0,
        "clock_step_s": 0.0,
        "stopped_processes": 0,
        "frozen": False,
        "cpus_busy_share": {"cpu0": 1.0, "cpu1": 1.0, "cpu2": 0.02, "cpu3": 0.04},
        "cpus_steal_share": {"cpu0": 0.0, "cpu1": 0.0, "cpu2": 0.0, "cpu3": 0.0},
        "disk_read_bytes_per_s": None,
        "disk_write_bytes_per_s": None,
        "network_receive_bytes_per_s": None,
        "network_send_bytes_per_s": None,
        "sampler_cpu_share": 0.001,
    }
    return TelemetrySample(**{**values, **changes})


def telemetry(**changes: Any) -> dict[str, list[TelemetrySample]]:
    return {"db": [sample(), sample(**changes)]}


def command(exit_code: int | None, *allowed: int) -> CommandRecord:
    return CommandRecord(
        argv=["fio", "x.fio"],
        machine="db",
        started_unix_ms=1,
        duration_s=1,
        exit_code=exit_code,
        allowed_exit_codes=list(allowed),
    )


def requirement(observed: float | None, **changes: Any) -> Requirement:
    values: dict[str, Any] = {
        "what": "new order p90",
        "observed": observed,
        "relation": "at most",
        "limit": 5.0,
        "unit": "s",
        "source": "TPC-C",
    }
    return Requirement(**{**values, **changes})


def saturation(**changes: Any) -> Saturation:
    values: dict[str, Any] = {
        "threads": 2,
        "thread_cpu_share": 0.3,
        "run_queue_share": 0.01,
        "steal_s_per_s": 0.0,
        "throttled_share": 0.0,
        "pacing_error_p99_s": 0.0001,
        "queued_while_idle_share": 0.0,
        "retransmitted_segments": 0,
        "dropped_packets": 0,
        "round_trips_per_s": 1000.0,
        "calibration_per_s": 50_000.0,
        "calibration_thread_cpu_share": 0.95,
    }
    return Saturation(**{**values, **changes})


def operations(**changes: Any) -> OperationEvidence:
    values: dict[str, Any] = {
        "attempted": 10_000,
        "failed": 0,
        "client_cpu_share": 0.3,
        "broken_conditions": [],
        "conditions_checked": 12,
        "conditions_expected": True,
        "counters_compared": 2,
        "counters_expected": True,
        "audits_passed": 40,
        "audits_unjudged": 0,
        "offered": 10_000,
        "not_sent": 0,
        "requirements": [requirement(0.2)],
        "saturation": saturation(),
        "connections_lost": 0,
        "exit_code": 0,
    }
    return OperationEvidence(**{**values, **changes})


def series(*levels: tuple[int, float]) -> list[Series]:
    """So many values around each level."""
    values = [level * (1 + at % 5 / 1000) for count, level in levels for at in range(count)]
    return [Series(metric="iops", unit="IO/s", step_s=1.0, values=values)]


def reads(**changes: Any) -> list[Reads]:
    values = {"job": "random-read", "direct": True, "files_bytes": GIB, "bytes_per_s": 1e8, "latency_median_s": 1e-4}
    return [Reads(**{**values, **changes})]


def phase(effective: float, *, workers: int = 2, real_s: float = 60.0) -> list[CpuPhase]:
    return [CpuPhase(workers=workers, cpu_s=effective * real_s, real_s=real_s)]


def evidence(**changes: Any) -> Evidence:
    values: dict[str, Any] = {
        "expected": Expected(
            cpus=2,
            memory_bytes=16 * GIB,
            cpu_model_contains="epyc",
            sockets=1,
            numa_nodes=2,
            l3_bytes=32 * MIB,
            disk_bytes=100 * GIB,
            disk_kind="ssd",
            filesystem="ext4",
            mount_options=["noatime"],
            clock_source="tsc",
            kernel_contains="6.1",
        ),
        "facts_before": facts(),
        "facts_after": facts(),
        "telemetry": telemetry(),
        "commands": [command(0)],
        "operations": operations(),
        "measured_cpus": {"db": ["cpu0", "cpu1"]},
        "load_machines": ["db"],
        "series": series((90, 100.0)),
        "reads": reads(),
        "cpu_phases": phase(1.99),
    }
    return Evidence(**{**values, **changes})


def expected(**changes: Any) -> Expected:
    return Expected(**{"cpus": 2, **changes})
