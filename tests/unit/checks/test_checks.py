"""Every check gives each of its verdicts, and says why."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from nephoscope.checks.registry import CHECKS
from nephoscope.model.records import (
    Disk,
    Evidence,
    Expected,
    Facts,
    ForeignProcess,
    GeneratorGap,
    MachineKind,
    SearchEvidence,
    Series,
    SustainedEvidence,
)
from nephoscope.model.units import GIB, MIB
from tests.support.evidence import (
    command,
    evidence,
    expected,
    facts,
    operations,
    phase,
    reads,
    requirement,
    sample,
    saturation,
    series,
    telemetry,
)
from tests.support.faulted_load import fault

LOAD = Facts(at_unix_ms=1, cpu_model="Xeon", cpus_online=8, cpus_allowed=8, memory_bytes=2 * GIB, busy_share=0)
USUAL = MachineKind(facts={"cpu_model": "AMD EPYC 9454", "numa_nodes": "2"}, alike=3, machines=4)
WITH_LOAD_MACHINE = {"facts_before": {**facts(), "load": LOAD}, "facts_after": {**facts(), "load": LOAD}}


def _expectation_cases() -> Iterator[tuple[str, dict[str, Any], str | None, str]]:
    for name, field, good, bad, unseen in (
        ("sockets", "sockets", 1, 2, {"sockets": None}),
        ("numa-nodes", "numa_nodes", 2, 1, {"numa_nodes": None}),
        ("cpu-cache", "l3_bytes", int(32.5 * MIB), 34 * MIB, {"l3_bytes": None}),
        ("disk-size", "disk_bytes", 110 * GIB, 112 * GIB, {"disk": Disk()}),
        ("disk-kind", "disk_kind", "ssd", "hdd", {"disk": Disk()}),
        ("filesystem", "filesystem", "ext4", "xfs", {"disk": Disk()}),
        ("mount-options", "mount_options", ["noatime", "barrier"], ["noatime", "nobarrier"], {"disk": Disk()}),
        ("mount-options", "mount_options", ["barrier=1"], ["discard"], {"disk": Disk()}),
        ("clock-source", "clock_source", "tsc", "kvm-clock", {"clock_source": None}),
        ("kernel", "kernel_contains", "6.1", "5.15", {"kernel": None}),
    ):
        asked = {"expected": expected(**{field: good})}
        yield name, asked, "valid", "db: "
        yield name, {"expected": expected(**{field: bad})}, "invalid", ", expected "
        yield name, {**asked, "facts_before": facts(**unseen)}, "unknown", "does not report"
        yield name, {"expected": expected()}, None, ""


def _core_cases() -> Iterator[tuple[str, dict[str, Any], str | None, str]]:
    """The machine has 4 CPUs."""
    for asked, threads, verdict, words in (
        ({"cores": 2}, 2, "valid", "2 cores with 2 threads each"),
        ({"cores": 2, "threads_per_core": 2}, 2, "valid", "2 cores with 2 threads each"),
        ({"threads_per_core": 1}, 1, "valid", "4 cores with 1 thread each"),
        ({"cores": 8, "threads_per_core": 2}, 2, "invalid", "has 4 CPUs, 2 per core, but 8 cores with 2 threads each"),
        ({"cores": 2, "threads_per_core": 2}, 1, "invalid", "has 4 CPUs, 1 per core, but 2 cores with 2 threads each"),
        ({"threads_per_core": 1}, 2, "invalid", "has 4 CPUs, 2 per core, but 2 cores with 1 thread each"),
        ({"cores": 2}, None, "unknown", "does not report its CPUs and their threads"),
    ):
        both = {"facts_before": facts(threads_per_core=threads), "facts_after": facts(threads_per_core=threads)}
        yield "cpu-count", {"expected": expected(**asked), **both}, verdict, words
    other = LOAD.model_copy(update={"threads_per_core": 1})
    beside = {**facts(threads_per_core=2), "load": other}
    masks = {"db": ["cpu0", "cpu1"], "load": ["c"] * 8}
    mixed = {"facts_before": beside, "facts_after": beside, "load_machines": ["load"], "measured_cpus": masks}
    yield "cpu-count", {"expected": expected(cores=2), **mixed}, "valid", "2 cores"


def _clock_cases() -> Iterator[tuple[str, dict[str, Any], str | None, str]]:
    for offset_s, bound_s, verdict, words in (
        (0.2, 0.02, "valid", "load: clock off by +0.200 s before"),
        (
            -0.3,
            0.02,
            "invalid",
            "load: clock off by -0.300 s before the trial (± 0.020 s), limit 0.25 s: set its clock",
        ),
        (0.24, 0.1, "unknown", "reading the clock took too long"),
        (0.3, 0.1, "unknown", "reading the clock took too long"),
        (None, None, "unknown", "load: its clock could not be read before"),
    ):
        load = LOAD.model_copy(update={"clock_offset_s": offset_s, "clock_offset_bound_s": bound_s})
        both = {**facts(clock_offset_s=0.0, clock_offset_bound_s=0.01), "load": load}
        yield "clock-offset", {"facts_before": both, "facts_after": both}, verdict, words
    yield "clock-offset", {"facts_before": facts(clock_offset_s=9.0, clock_offset_bound_s=0.01)}, None, ""
    yield "clock-offset", WITH_LOAD_MACHINE, None, ""
    for steps_s, verdict, words in (
        ([0.001, -0.02, 0.0], "valid", "db: its clock did not jump"),
        ([0.0, 3600.0, 0.0], "invalid", "db: its clock jumped by +3600.000 s (limit 0.25 s)"),
        ([-0.2, -0.2, 0.5], "invalid", "jumped by -0.400 s"),
    ):
        yield "clock-step", {"telemetry": {"db": [sample(clock_step_s=step) for step in steps_s]}}, verdict, words
    yield "clock-step", {"telemetry": {"db": [sample(clock_step_s=None)]}}, None, ""


def _replication_cases() -> Iterator[tuple[str, dict[str, Any], str | None, str]]:
    two = {"standby b": "streaming quorum", "standby c": "streaming quorum"}
    one = {"standby b": "streaming quorum"}
    for before, after, verdict, words in (
        (two, two, "valid", "unchanged after the trial: standby b streaming quorum, standby c streaming quorum"),
        (two, one, "invalid", "standby c: streaming quorum before the trial, not there after it"),
        (two, {**two, "standby b": "catchup potential"}, "invalid", "standby b: streaming quorum before"),
        (one, two, "invalid", "standby c: not there before"),
        (two, {}, "invalid", "standby b: streaming quorum before"),
        (two, None, "unknown", "standby b, standby c: their state after the trial could not be queried"),
        (None, None, None, ""),
    ):
        yield "replication", {"replication_before": before, "replication_after": after}, verdict, words


def _database_cases() -> Iterator[tuple[str, dict[str, Any], str | None, str]]:
    known = {"started": "21:00", "synchronous_commit": "on", "standby b": "streaming"}
    for after, verdict, words in (
        (known, "valid", "unchanged by the trial"),
        ({**known, "standby b": "catchup"}, "valid", "unchanged"),  # which `replication` judges
        ({**known, "started": "21:07"}, "invalid", "started: 21:00 before the trial, 21:07 after it"),
        ({**known, "synchronous_commit": "off"}, "invalid", "synchronous_commit: on before the trial, off after it"),
        ({**known, "work_mem": "1GB"}, "invalid", "work_mem: not there before the trial, 1GB after it"),
        (None, "unknown", "its settings and start could not be queried after the trial"),
    ):
        copies = {"replication_before": {"standby b": "streaming"}, "replication_after": {"standby b": "catchup"}}
        yield "database-unchanged", {"database_before": known, "database_after": after, **copies}, verdict, words
    yield "database-unchanged", {}, None, ""
    for kind, verdict in (("kill", "valid"), ("restart", "valid"), ("pause", "invalid")):
        anew = {
            "database_before": known,
            "database_after": {**known, "started": "21:07"},
            "faults": [fault(1, 2, kind)],
        }
        yield "database-unchanged", anew, verdict, "unchanged" if verdict == "valid" else "started: 21:00"
    other = {"database_before": known, "database_after": {**known, "work_mem": "1GB"}, "faults": [fault(1, 2, "kill")]}
    yield "database-unchanged", other, "invalid", "work_mem: not there before"


def _fault_cases() -> Iterator[tuple[str, dict[str, Any], str | None, str]]:
    """A pause from second 10 to 12 of machine db, and looks of the sampler."""
    pause = fault(10, 12, victim="db")
    for at_s, changes, verdict in (
        (11, {}, "valid"),
        (12.5, {}, "valid"),  # it covers a part of that second
        (9, {}, "invalid"),
        (14, {}, "invalid"),
        (11, {"victim": "other"}, "invalid"),
        (11, {"kind": "kill"}, "invalid"),
    ):
        looks = {"db": [sample(), sample(stopped_processes=3, at_unix_ms=1_000_000 + 1000 * at_s)]}
        faults = [pause.model_copy(update=changes)]
        yield "not-stopped", {"telemetry": looks, "faults": faults}, verdict, ""
    unseen, stays = pause.model_copy(update={"confirmed": False}), pause.model_copy(update={"undone": False})
    for faults, verdict, words in (
        ([pause, pause], "valid", "2 faults seen and undone"),
        ([pause], "unknown", "1 of 2 faults not inflicted"),
        ([pause, unseen], "unknown", "pause on db was not seen there"),
        ([stays, unseen], "invalid", "pause on db was not over afterwards"),
    ):
        yield "faults-confirmed", {"faults": faults, "faults_planned": 2}, verdict, words
    yield "faults-confirmed", {}, None, ""


def _connection_cases() -> Iterator[tuple[str, dict[str, Any], str | None, str]]:
    for lost, mode, verdict, words in (
        (0, "reject", "valid", "no connection was lost"),
        (1, "reject", "invalid", "1 connection was lost and made again"),
        (17, "record", "valid", "17 connections were lost and made again, which the study allows"),
        (None, "reject", None, ""),
    ):
        lively = {"operations": operations(connections_lost=lost), "lost_connections": mode}
        yield "connections-kept", lively, verdict, words


def apart(cpus: list[str]) -> dict[str, Any]:
    """A load machine of its own, with this affinity mask; the server has the first CPU."""
    return {"load_machines": ["load"], "measured_cpus": {"db": ["cpu0"], "load": cpus}}


def saturated(**changes: Any) -> dict[str, Any]:
    return {"operations": operations(saturation=saturation(**changes))}


def gap(kind: Any, length_s: float) -> GeneratorGap:
    return GeneratorGap(kind=kind, at_s=1.5, length_s=length_s)


def searched(outcome: Any, reason: str = "") -> dict[str, Any]:
    return {"operations": operations(search=SearchEvidence(outcome=outcome, reason=reason))}


def kept_up(**changes: Any) -> dict[str, Any]:
    found = SustainedEvidence(
        seconds=30,
        free_bytes=10_000 * MIB,
        free_lost_per_s=float(MIB),
        log_per_s=2.0 * MIB,
        cache_hit_share=0.9,
        debt_per_s=None,
    )
    return {"operations": operations(sustained=found.model_copy(update=changes))}


def falling(count: int, share: float, step_s: float = 1.0) -> list[Series]:
    values = [100 * (1 - share * at / (count - 1)) + 0.3 * (at % 5 - 2) for at in range(count)]
    return [Series(metric="iops", unit="IO/s", step_s=step_s, values=values)]


BUSY = sample()
IDLE = sample(cpus_busy_share={"cpu0": 0.02, "cpu1": 0.0}, disk_busy_share=0.0)
WRITING = IDLE.model_copy(update={"disk_busy_share": 0.9})


def counted_work(*tenths: tuple[int, float], busy: Sequence[float] = (), disk: float = 0.0) -> dict[str, Any]:
    """So many tenths of a second at each rate; and how busy each second was, of the disk those in which CPUs were not.

    The load runs on another clock's seconds than the sampler: half of one later.
    """
    values = [rate for count, rate in tenths for _ in range(count)]
    samples = [
        sample(at_unix_ms=1000 * (second + 1) - 500, cpus_busy_share={"cpu0": one, "cpu1": one},
               disk_busy_share=disk if one < 0.9 else 0.0)
        for second, one in enumerate(busy)
    ]  # fmt: skip
    work = [Series(metric="operations", unit="1/s", step_s=0.1, values=values, at_unix_ms=0)]
    return {"work": work, "series": [], "telemetry": {"db": samples}}


def in_steps(found: dict[str, Any]) -> dict[str, Any]:
    """As of a search, which found nothing."""
    return found | {"work": [], "steps": found["work"]}


SHORT_STOP = ((12, 1000.0), (3, 0.0), (25, 1000.0))
"""At 1.2 s for 0.3 s of 4 s, within the second that the sampler reads at 1.5 s."""
STALLED: dict[str, Any] = {"series": series((3, 100.0), (2, 0.0), (3, 100.0))}

CASES: list[tuple[str, dict[str, Any], str | None, str]] = [
    ("cpu-count", {}, "valid", "2 of 4"),
    ("cpu-count", {"facts_before": facts(cpus_allowed=4)}, "invalid", "4 CPUs were allowed before"),
    ("cpu-count", {"facts_after": facts(cpus_allowed=1)}, "invalid", "1 CPU was allowed after"),
    ("cpu-count", {"facts_before": facts(cpus_allowed=None)}, "unknown", "does not report"),
    ("cpu-count", {"facts_before": {}, "facts_after": {}}, "unknown", "no facts"),
    ("cpu-count", {"expected": expected(cpus=3)}, "invalid", "3 CPUs were requested, but 2 are allowed"),
    ("cpu-count", {"expected": Expected(), "measured_cpus": {}}, "invalid", "not 4"),
    ("cpu-count", {**WITH_LOAD_MACHINE, "measured_cpus": {"db": ["cpu0", "cpu1"], "load": ["c"] * 8}}, "valid", ""),
    *_core_cases(),
    ("equal-machines", {}, None, ""),
    ("equal-machines", {"usual_kind": USUAL}, "valid", "db: like 3 of 4 machines of this configuration"),
    (
        "equal-machines",
        {"usual_kind": USUAL, "facts_before": facts(numa_nodes=1)},
        "invalid",
        "db: numa_nodes is 1, but 2 on 3 of 4 machines",
    ),
    ("equal-machines", {"usual_kind": USUAL, "facts_before": facts(numa_nodes=None)}, "valid", ""),
    (
        "equal-machines",
        {"usual_kind": USUAL, "facts_before": {**facts(), "db-2": LOAD}},
        "invalid",
        "db-2: cpu_model is Xeon, but AMD EPYC 9454",
    ),
    ("equal-machines", {"usual_kind": USUAL, **WITH_LOAD_MACHINE, "load_machines": ["load"]}, "valid", "db: like"),
    ("cpu-model", {}, "valid", "EPYC 9454"),
    ("cpu-model", {"expected": expected(cpu_model_contains="Xeon")}, "invalid", "is not 'Xeon'"),
    ("cpu-model", {"facts_before": facts(cpu_model=None)}, "unknown", "does not report"),
    ("cpu-model", {"facts_before": {}}, "unknown", "no facts"),
    ("cpu-model", {"expected": expected()}, None, ""),
    ("cpu-model", WITH_LOAD_MACHINE, "valid", "db"),
    *_clock_cases(),
    *_replication_cases(),
    *_database_cases(),
    *_fault_cases(),
    *_connection_cases(),
    ("memory", {}, "valid", "16.0 GiB of 16.0"),
    ("memory", {"facts_before": facts(memory_bytes=int(14.5 * GIB))}, "valid", "14.5"),
    ("memory", {"facts_before": facts(memory_bytes=14 * GIB)}, "invalid", "14.0 GiB of 16.0"),
    ("memory", {"facts_before": facts(memory_bytes=None)}, "unknown", "does not report"),
    ("memory", {"expected": expected()}, None, ""),
    ("memory", WITH_LOAD_MACHINE, "valid", "db"),
    *_expectation_cases(),
    (
        "disk-kind",
        {"expected": expected(disk_kind="hdd"), "facts_before": facts(disk=Disk(rotational=True))},
        "valid",
        "",
    ),
    ("cgroup-limit", {}, "valid", "no CPU quota"),
    ("cgroup-limit", {"facts_before": facts(cgroup_cpu_limit=2.0)}, "valid", ""),
    (
        "cgroup-limit",
        {
            "facts_before": facts(cgroup_cpu_limit=0.5),
            "facts_after": facts(cgroup_cpu_limit=0.5),
            "own_quotas": {"db": 0.5},
        },
        "valid",
        "a quota of 0.5 CPUs, which is its own",
    ),
    ("cgroup-limit", {"own_quotas": {"db": 0.5}}, "invalid", "its own quota is 0.5 CPUs, but none was found"),
    (
        "cgroup-limit",
        {"facts_after": facts(cgroup_cpu_limit=0.4), "own_quotas": {"db": 0.5}},
        "invalid",
        "but 0.4 CPUs was found",
    ),
    (
        "cgroup-limit",
        {
            "facts_before": facts(cgroup_cpu_limit=0.5),
            "facts_after": facts(cgroups_seen=False),
            "own_quotas": {"db": 0.5},
        },
        "unknown",
        "its own quota was not observed",
    ),
    (
        "cgroup-limit",
        {"telemetry": telemetry(cpu_quota_used_up_share=0.54)},
        "invalid",
        "db: a CPU quota was used up in 54 % of its periods (limit 1 %), from 0 s on",
    ),
    (
        "cgroup-limit",
        {"telemetry": {"db": [sample(cpu_quota_used_up_share=0.0), sample(at_s=2, cpu_quota_used_up_share=0.9)]}},
        "invalid",
        "in 45 % of its periods (limit 1 %), from 1 s on",
    ),
    ("cgroup-limit", {"telemetry": telemetry(cpu_quota_used_up_share=0.009)}, "valid", "in 0.9 % of its periods"),
    (
        "cgroup-limit",
        {"telemetry": telemetry(at_s=2, disk_limits=["io.max 254:0 riops=100"])},
        "invalid",
        "db: the limits of its control groups on disks changed from none to io.max 254:0 riops=100, seen after 2 s",
    ),
    ("cgroup-limit", {"telemetry": {"db": [sample(disk_limits=["io.max 254:0 riops=100"])] * 2}}, "valid", "no CPU"),
    ("not-stopped", {}, "valid", "db: no process of the trial was stopped"),
    (
        "not-stopped",
        {"telemetry": telemetry(at_s=2, stopped_processes=3)},
        "invalid",
        "db: a process of the trial was stopped by a signal in 1 of 2 looks, first after 2 s",
    ),
    ("not-stopped", {"telemetry": telemetry(frozen=True)}, "invalid", "a process of the trial was frozen in 1 of 2"),
    (
        "not-stopped",
        {"telemetry": telemetry(at_s=7.5, duration_s=6.5)},
        "invalid",
        "db: the sampler stood still for 6.5 s (limit 3 s), from 1 s on",
    ),
    (
        "not-stopped",
        {"telemetry": telemetry(at_s=4, duration_s=2.01, stood_still_s=1.01)},
        "invalid",
        "db: the sampler stood still for 1 s (limit 0.5 s), from 3 s on",
    ),
    ("not-stopped", {"telemetry": telemetry(stood_still_s=0.4)}, "valid", "no process of the trial was stopped"),
    (
        "not-stopped",
        {"telemetry": telemetry(duration_s=2, stood_still_s=1, cpus_steal_share={"cpu0": 0.4, "cpu1": 0})},
        "valid",
        "no process of the trial was stopped",
    ),
    ("not-stopped", {"telemetry": {"db": [sample(stopped_processes=None)]}}, None, ""),
    (
        "cgroup-limit",
        {
            "telemetry": telemetry(cpu_quota_used_up_share=0.9),
            "facts_before": facts(cgroup_cpu_limit=0.5),
            "facts_after": facts(cgroup_cpu_limit=0.5),
            "own_quotas": {"db": 0.5},
        },
        "valid",
        "which is its own",
    ),
    ("cgroup-limit", {"facts_before": facts(cgroups_seen=False)}, "unknown", "could not be read"),
    ("cgroup-limit", {"facts_after": facts(cgroups_seen=None)}, "unknown", "could not be read"),
    ("cgroup-limit", {"facts_after": facts(cgroup_cpu_limit=1.5)}, "invalid", "1.5 CPUs on 2"),
    (
        "cgroup-limit",
        {"facts_before": facts(cgroup_cpu_limit=1.5, cpus_allowed=None), "measured_cpus": {}},
        "unknown",
        "not known",
    ),
    ("machine-unchanged", {}, "valid", "unchanged by the trial"),
    ("machine-unchanged", {"facts_after": facts(cpus_online=8)}, "invalid", "cpus_online from 4 to 8"),
    ("machine-unchanged", {"facts_after": facts(disk=Disk(device="/dev/sdb"))}, "invalid", "/dev/sda to /dev/sdb"),
    ("machine-unchanged", {"facts_after": facts(cpu_model=None)}, "unknown", "observed only once: cpu_model"),
    ("machine-unchanged", {"facts_after": {}}, "unknown", "after the trial"),
    ("machine-unchanged", {"facts_after": facts(busy_share=0.9, at_unix_ms=9)}, "valid", ""),
    ("foreign-load", {}, "valid", "1 % busy before"),
    ("foreign-load", {"facts_before": facts(busy_share=0.2)}, "invalid", "was 20 % busy before the trial (limit 10 %)"),
    ("foreign-load", {"facts_before": facts(busy_share=None)}, "unknown", "before the trial"),
    (
        "foreign-load",
        {"facts_before": facts(cpus_online=16, busy_share=0.06, busy_share_by_cpu={"cpu0": 0.96, "cpu1": 0.0})},
        "invalid",
        "CPUs of the affinity mask were 48 % busy before the trial (limit 10 %)",
    ),
    (
        "foreign-load",
        {"facts_before": facts(busy_share_by_cpu={"cpu0": 0.0})},
        "unknown",
        "CPUs of the affinity mask were not observed before the trial",
    ),
    (
        "foreign-load",
        {"telemetry": telemetry(cpus_busy_share={"cpu0": 0, "cpu2": 1.0, "cpu3": 0.5})},
        "invalid",
        "outside the affinity mask were 39 % busy",
    ),
    (
        "foreign-load",
        {
            "telemetry": telemetry(
                cpus_busy_share={"cpu0": 0, "cpu2": 1.0, "cpu3": 0.5},
                foreign_processes=[ForeignProcess(pid=7, name="burn", cpu_s=0.5)],
            )
        },
        "invalid",
        "(limit 25 %); of one CPU, burn (pid 7) ",
    ),
    ("foreign-load", {"telemetry": {}}, "unknown", "were not observed"),
    ("foreign-load", {"telemetry": {}, "emulated": True}, "valid", "1 % busy before"),
    (
        "foreign-load",
        {"emulated": True, "facts_before": facts(busy_share=0.2)},
        "invalid",
        "was 20 % busy before the trial (limit 10 %)",
    ),
    ("foreign-load", {"telemetry": {}, "measured_cpus": {"db": ["a", "b", "c", "d"]}}, "valid", ""),
    ("foreign-load", {"telemetry": {}, "facts_before": facts(cpus_online=None)}, "unknown", "were not observed"),
    (
        "foreign-load",
        {
            "telemetry": {"db": [sample(cpus_busy_share={"cpu0": 1.0, "cpu1": 1.0})]},
            "facts_before": facts(cpus_online=None),
        },
        "valid",
        "no CPU outside",
    ),
    (
        "foreign-load",
        {"telemetry": {"db": []}, "telemetry_problems": {"db": "line 2 is damaged"}},
        "unknown",
        "not observed (line 2 is damaged)",
    ),
    ("foreign-load", {"facts_before": {}}, "unknown", "no facts"),
    ("steal", {}, "valid", "0 %"),
    ("steal", searched("disturbed", "13 points failed"), "invalid", "13 points failed"),
    ("steal", {**searched("disturbed", "13 points failed"), "disturbance": "record"}, "valid", "0 %"),
    ("steal", searched("unstable"), "valid", "0 %"),
    ("steal", {"telemetry": telemetry(cpu_steal_share=0.05)}, "invalid", "2.5 % of CPU time was stolen (limit 2 %)"),
    ("steal", {"telemetry": {"db": []}}, "unknown", "not recorded"),
    (
        "steal",
        {"telemetry": {"db": []}, "telemetry_problems": {"db": "line 2"}},
        "unknown",
        "during the trial (line 2)",
    ),
    ("steal", {"telemetry": {}, "facts_before": {}}, "unknown", "no machine"),
    ("steal", {**WITH_LOAD_MACHINE}, "unknown", "load: not recorded"),
    (
        "steal",
        {"telemetry": {"db": [sample(cpus_steal_share={"cpu0": 0.1, "cpu1": 0.0, "cpu2": 0.0})]}},
        "invalid",
        "5 % of the CPU time of the affinity mask was stolen (limit 2 %)",
    ),
    (
        "steal",
        {"telemetry": {"db": [sample(cpus_steal_share={"cpu0": 0.1, "cpu2": 0.0})]}},
        "unknown",
        "not recorded",
    ),
    ("sampler-cost", {}, "valid", "0.1 %"),
    ("sampler-cost", {"telemetry": telemetry(sampler_cpu_share=0.02)}, "invalid", "(limit 0.5 %)"),
    ("sampler-cost", {"telemetry": {"db": [sample(sampler_cpu_share=None)]}}, "unknown", "not recorded"),
    ("effective-cpus", {}, "valid", "1.99 effective CPUs of 2"),
    ("effective-cpus", {"cpu_phases": phase(1.9)}, "invalid", "1.90 effective CPUs of 2: 5 % missing"),
    ("effective-cpus", {"cpu_phases": phase(0.99, workers=1)}, "valid", "of 1"),
    (
        "effective-cpus",
        {"cpu_phases": phase(1.9, real_s=10), "telemetry": telemetry(cpus_steal_share={"cpu0": 1.0, "cpu1": 0.0})},
        "valid",
        "1.90 effective CPUs of 2",
    ),
    (
        "effective-cpus",
        {"cpu_phases": phase(1.9), "measured_cpus": {}},
        "unknown",
        "the number of CPUs the workers ran on is not known",
    ),
    ("effective-cpus", {"cpu_phases": phase(1.5, real_s=9.0)}, "invalid", "25 % missing"),
    ("effective-cpus", {"cpu_phases": phase(1.92, real_s=2.0)}, "valid", "1.92 effective CPUs of 2"),
    ("effective-cpus", {"cpu_phases": phase(1.5, real_s=1.9)}, None, ""),
    ("effective-cpus", {"cpu_phases": []}, None, ""),
    ("effective-cpus", {"load_machines": ["db"]}, "valid", "1.99 effective CPUs of 2"),
    ("throttled", {}, "valid", "iops: steady at 100.2 IO/s"),
    (
        "throttled",
        {"series": series((60, 100.0), (60, 40.0))},
        "invalid",
        "throttled after 1 min 00 s: 100.2 IO/s before",
    ),
    ("throttled", {"series": series((180, 100.0), (60, 40.0))}, "invalid", "throttled after 3 min 00 s"),
    ("throttled", {"series": series((60, 100.0), (30, 40.0), (60, 100.0))}, "valid", "not steady, and not throttled"),
    ("throttled", {"series": series((60, 40.0), (60, 100.0))}, "valid", "100.2 after 1 min 00 s"),
    ("throttled", {"series": series((59, 100.0))}, None, ""),
    ("throttled", {"series": []}, None, ""),
    (
        "throttled",
        {"series": falling(120, 0.24)},
        "invalid",
        "iops: declined steadily by 24 % in 2 min 00 s, from 99.9",
    ),
    (
        "throttled",
        {"series": falling(1440, 0.21, step_s=60.0)},
        "invalid",
        "declined steadily by 21 % in 24 h (1.0 days)",
    ),
    ("throttled", {"series": falling(120, 0.03)}, "valid", "steady at"),
    ("stalls", {"series": series((8, 100.0))}, "valid", "iops: dips cost 0 % of the mean"),
    (
        "stalls",
        {"series": series((4, 100.0), (4, 0.0))},
        "valid",
        "iops: nothing was completed for 4 s, from 4 s on, at a cost of 50 % of the mean",
    ),
    (
        "stalls",
        {"series": series((40, 100.0), (30, 0.0), (50, 100.0))},
        "valid",
        "for 30 s, from 40 s on, at a cost of 25 % of the mean",
    ),
    ("stalls", {"series": series((109, 100.0), (11, 0.0))}, "valid", "for 11 s, from 1 min 49 s on"),
    (
        "stalls",
        {"series": series(*[(9, 100.0), (1, 0.0)] * 12)},
        "valid",
        "12 times, for 12 s together, first after 9 s",
    ),
    (
        "stalls",
        {**STALLED, "telemetry": {"db": [BUSY, BUSY, IDLE, BUSY]}},
        "invalid",
        "no measured machine worked meanwhile",
    ),
    ("stalls", {**STALLED, "telemetry": {"db": [BUSY, BUSY, WRITING, BUSY]}}, "valid", "for 2 s, from 3 s on"),
    ("stalls", {**STALLED, "telemetry": {"db": [IDLE, BUSY, BUSY, IDLE]}}, "valid", "for 2 s, from 3 s on"),
    (
        "stalls",
        {**STALLED, "telemetry": {"db": [BUSY, IDLE, BUSY], "other": [BUSY] * 3}},
        "valid",
        "for 2 s, from 3 s on",
    ),
    (
        "stalls",
        {"series": series((99, 100.0), (1, 0.0)), "telemetry": {"db": [BUSY, IDLE, BUSY]}},
        "valid",
        "for 1 s, from 1 min 39 s on",
    ),
    ("stalls", {**STALLED, "telemetry": {"db": [BUSY, BUSY, IDLE, BUSY]}, "margin_percent": 30.0}, "valid", "for 2 s"),
    (
        "stalls",
        {"series": series((6, 100.0), (2, 10.0))},
        "valid",
        "less than half of the usual rate was completed for 2 s, from 6 s on, at a cost of 2",
    ),
    ("stalls", {**STALLED, "operations": operations(attempted=100)}, None, ""),
    (
        "stalls",
        counted_work(*SHORT_STOP, busy=(0.4, 0.7, 1.0, 1.0, 0.5)),
        "invalid",
        "for 0.3 s, from 1.2 s on, at a cost of 7.5 % of the mean, and no measured machine worked meanwhile",
    ),
    ("stalls", counted_work(*SHORT_STOP, busy=(0.4, 1.0, 1.0, 1.0, 0.5)), "valid", "for 0.3 s, from 1.2 s on"),
    ("stalls", counted_work(*SHORT_STOP, busy=(0.4, 0.7, 1.0, 1.0, 0.5), disk=0.4), "valid", "for 0.3 s"),
    ("stalls", counted_work(*SHORT_STOP, busy=(0.4, 0.7, 0.6, 1.0, 0.5)), "valid", "for 0.3 s, from 1.2 s on"),
    ("stalls", counted_work(*SHORT_STOP, busy=(0.0, 0.08, 0.05, 0.08, 0.08)), "valid", "for 0.3 s, from 1.2 s on"),
    (
        "stalls",
        counted_work((12, 1000.0), (1, 400.0), (1, 400.0), (26, 1000.0), busy=(0.4, 0.88, 1.0, 1.0, 0.5)),
        "invalid",
        "less than half of the usual rate was completed for 0.2 s, from 1.2 s on, at a cost of 3.0 % of the mean, and",
    ),
    ("stalls", counted_work((12, 1000.0), (5, 400.0), (23, 1000.0), busy=(0.4, 0.7, 1.0, 1.0, 0.5)), "valid", "0.5 s"),
    (
        "stalls",
        {"work": [Series(metric="CPU time", unit="ms/s", step_s=1.0, values=[2000, 1900, 100, 0, 2000])], "series": []},
        "valid",
        "CPU time: nothing was completed for 1.9 s, from 2 s on, at a cost of 39 % of the mean",
    ),
    (
        "stalls",
        in_steps(counted_work(*SHORT_STOP, busy=(0.4, 0.7, 1.0, 1.0, 0.5))),
        "invalid",
        "operations: nothing was",
    ),
    ("stalls", in_steps(counted_work(*SHORT_STOP, busy=(0.4, 1.0, 1.0, 1.0, 0.5))), None, ""),
    ("stalls", counted_work(*SHORT_STOP), "valid", "operations: nothing was completed for 0.3 s, from 1.2 s on"),
    ("stalls", counted_work((300, 1000.0), (3, 0.0), (300, 1000.0)), "valid", "operations: dips cost 0.5 %"),
    ("stalls", counted_work((300, 1000.0), (6, 0.0), (300, 1000.0)), "valid", "nothing was completed for 0.6 s, from"),
    ("stalls", counted_work(*[(1, 1000.0), (1, 350.0), (1, 1900.0), (1, 0.0)] * 10), "valid", "dips cost 0 %"),
    ("stalls", counted_work(*[(9, 40.0), (1, 0.0)] * 4), "valid", "operations: dips cost 0 % of the mean"),
    ("stalls", counted_work(*[(9, 10.0), (1, 0.0)] * 4), None, ""),
    ("stalls", {"series": []}, None, ""),
    ("cache-served", {}, "valid", "random-read: reads bypassed the page cache"),
    ("cache-served", {"reads": reads(latency_median_s=2e-6)}, "invalid", "took under 2 µs (limit: 4 µs)"),
    ("cache-served", {"reads": reads(bytes_per_s=35e9)}, "invalid", "35 GB/s (limit: 15.75 GB/s)"),
    (
        "cache-served",
        {"reads": reads(direct=False)},
        "invalid",
        "1 GiB read through the page cache with 16 GiB",
    ),
    ("cache-served", {"reads": reads(direct=False, files_bytes=80 * GIB)}, "valid", "80 GiB read"),
    (
        "cache-served",
        {
            "reads": reads(direct=False, files_bytes=80 * GIB),
            "facts_before": {**facts(), "load": LOAD.model_copy(update={"memory_bytes": 128 * GIB})},
            "load_machines": ["load"],
        },
        "valid",
        "80 GiB read through the page cache with 16 GiB of memory",
    ),
    ("cache-served", {"reads": reads(direct=False), "facts_before": {}}, "unknown", "memory size is not known"),
    ("cache-served", {"reads": reads(latency_median_s=None)}, "valid", ""),
    ("cache-served", {"reads": []}, None, ""),
    ("tool-exit", {}, "valid", "1 exited with 0"),
    ("tool-exit", {"commands": [command(0), command(1)]}, "invalid", "fio x.fio on db exited with 1"),
    (
        "tool-exit",
        {"commands": [command(0), command(4, 4, 5)]},
        "valid",
        "1 exited with 0, 1 with a code that means a res",
    ),
    ("tool-exit", {"commands": [command(1, 4, 5)]}, "invalid", "fio x.fio on db exited with 1"),
    ("tool-exit", {"commands": [command(None)]}, "invalid", "killed"),
    ("tool-exit", {"commands": []}, "unknown", "no command"),
    ("generator-exit", {}, "valid", ""),
    ("generator-exit", {"operations": operations(exit_code=4, message="rate not kept")}, "invalid", "4: rate not kept"),
    ("generator-exit", {"operations": operations(exit_code=8, message="stood still")}, "invalid", "8: stood still"),
    ("generator-exit", {"operations": None}, None, ""),
    ("errors", {}, "valid", "0 of 10,000"),
    ("errors", {"operations": operations(failed=10)}, "valid", "10 of 10,000"),
    ("errors", {"operations": operations(failed=11)}, "invalid", "0.11 %"),
    ("errors", {"operations": operations(attempted=0)}, "invalid", "no operation"),
    ("errors", {"operations": None}, None, ""),
    ("consistency", {}, "valid", "12 conditions hold"),
    ("consistency", {"operations": operations(broken_conditions=["3.3.2.1"])}, "invalid", "3.3.2.1"),
    ("consistency", {"operations": operations(conditions_checked=0, conditions_expected=False)}, None, ""),
    (
        "consistency",
        {"operations": operations(conditions_checked=0)},
        "unknown",
        "the study requests checks of the conditions, but they did not run",
    ),
    ("consistency", {"operations": None}, None, ""),
    ("counters", {}, "valid", "2 counters of the server agree"),
    (
        "counters",
        {"operations": operations(counters_compared=0)},
        "unknown",
        "the study requests comparing the counters, but they were not compared",
    ),
    ("counters", {"operations": operations(counters_compared=0, counters_expected=False)}, None, ""),
    ("counters", {"operations": operations(disagreeing_counters=["xact_commit"])}, "invalid", "xact_commit"),
    ("counters", {"operations": None}, None, ""),
    ("audit", {}, "valid", "40 quantities judged, none outside its specification"),
    ("audit", {"operations": operations(audits_unjudged=9)}, "valid", "40 quantities judged, none outside its spec"),
    ("audit", {"operations": operations(audits_unjudged=9)}, "valid", "9 had too few draws"),
    ("audit", {"operations": operations(audits_passed=0, audits_unjudged=9)}, "unknown", "none of 9 quantities"),
    ("audit", {"operations": operations(audits_passed=0)}, "unknown", "none of 0 quantities"),
    ("audit", {"operations": operations(failed_audits=["remote warehouses"])}, "invalid", "remote warehouses"),
    ("audit", {"operations": None}, None, ""),
    ("rate-kept", {}, "valid", "10,000 operations completed in the measurement interval, for 10,000 due in it"),
    ("rate-kept", {"operations": operations(offered=10_101)}, "valid", ""),
    (
        "rate-kept",
        {"operations": operations(offered=10_200, not_sent=150)},
        "invalid",
        "for 10,200 due in it, 150 of which never started: 98 % (required: 99 %)",
    ),
    ("rate-kept", {"operations": operations(offered=0)}, "unknown", "no operation was due"),
    ("rate-kept", {"operations": operations(offered=None)}, None, ""),
    ("rate-kept", {"operations": None}, None, ""),
    ("search-ended", searched("found", "9000 was confirmed 3 times"), "valid", "found: 9000 was confirmed 3 times"),
    ("search-ended", searched("generator bound", "it held"), "invalid", "generator bound: it held"),
    ("search-ended", searched("lower bound"), "invalid", "lower bound: "),
    ("search-ended", searched("unstable"), "invalid", "unstable: "),
    ("search-ended", searched("below min"), "invalid", "below min: "),
    ("search-ended", searched("disturbed"), "invalid", "disturbed: "),
    ("search-ended", {"operations": operations()}, None, ""),
    ("search-ended", {"operations": None}, None, ""),
    (
        "sustained",
        kept_up(),
        "valid",
        "free space lasts 2.8 h at the rate of the confirmations; log 2 MiB/s; the cache",
    ),
    (
        "sustained",
        kept_up(free_lost_per_s=3 * MIB),
        "invalid",
        "lasts 0.93 h at the rate of the confirmations (required: 1 h)",
    ),
    (
        "sustained",
        kept_up(free_lost_per_s=3 * MIB, assured_bytes=90 * MIB, assured_lost_per_s=0.0),
        "valid",
        "free space shrank while blocks filled, but at least 90 MiB remain free: defragmentation kept up; log",
    ),
    (
        "sustained",
        kept_up(free_lost_per_s=3 * MIB, assured_bytes=90 * MIB, assured_lost_per_s=MIB / 30),
        "invalid",
        "lasts 0.93 h at the rate of the confirmations (required: 1 h)",
    ),
    ("sustained", kept_up(free_lost_per_s=3 * MIB, assured_bytes=0, assured_lost_per_s=0.0), "invalid", "0.93 h"),
    ("sustained", kept_up(free_lost_per_s=-1.0), "valid", "no free space was lost"),
    ("sustained", kept_up(free_bytes=None), "unknown", "the free space is not known; log 2 MiB/s"),
    (
        "sustained",
        kept_up(free_bytes=None, free_lost_per_s=None, disk_unseen=True),
        "valid",
        "free space was not observed: the server is the user's own; log 2 MiB/s; the cache served 90 %",
    ),
    ("sustained", kept_up(free_bytes=None, disk_unseen=True, trouble="no writes"), "invalid", "no writes; log 2 MiB/s"),
    ("sustained", kept_up(debt_per_s=MIB), "valid", "the backlog of compaction grew by 1 MiB/s"),
    ("sustained", kept_up(trouble="it takes no writes"), "invalid", "it takes no writes; log 2 MiB/s"),
    ("sustained", {"operations": operations()}, None, ""),
    ("sustained", {"operations": None}, None, ""),
    ("pass-rule", {}, "valid", "TPC-C: 1 limit met"),
    (
        "pass-rule",
        {"operations": operations(requirements=[requirement(0.2), requirement(5.01)])},
        "invalid",
        "TPC-C: new order p90 5.01 s, must be at most 5 s",
    ),
    ("pass-rule", {"operations": operations(requirements=[requirement(5.0)])}, "valid", ""),
    ("pass-rule", {"operations": operations(requirements=[requirement(5.0, relation="below")])}, "invalid", "below 5"),
    (
        "pass-rule",
        {"operations": operations(requirements=[requirement(85, relation="above", limit=85)])},
        "invalid",
        "",
    ),
    (
        "pass-rule",
        {"operations": operations(requirements=[requirement(85, relation="at least", limit=85)])},
        "valid",
        "",
    ),
    (
        "pass-rule",
        {"operations": operations(requirements=[requirement(1), requirement(None)])},
        "valid",
        "1 limit met; 1 had too few operations",
    ),
    (
        "pass-rule",
        {"operations": operations(requirements=[requirement(None)])},
        "unknown",
        "too few operations for its limit",
    ),
    ("pass-rule", {"operations": operations(requirements=[])}, None, ""),
    ("pass-rule", {"operations": None}, None, ""),
    ("generator-bound", {}, "valid", "the busiest of 2 threads used 30 % of a CPU at most"),
    ("generator-bound", {}, "valid", "calibrated at 50 times the trial's round trips"),
    (
        "generator-bound",
        saturated(thread_cpu_share=0.81),
        "invalid",
        "the load generator was the limit: the busiest of 2 threads",
    ),
    ("generator-bound", saturated(threads=1, thread_cpu_share=0.95), "invalid", "its thread used 95 % of a CPU"),
    (
        "generator-bound",
        saturated(calibration_per_s=2900.0),
        "invalid",
        "2.9 times the trial's round trips, a thread 95 % busy (required: 3 times)",
    ),
    (
        "generator-bound",
        saturated(calibration_per_s=1500.0, calibration_thread_cpu_share=0.3),
        "valid",
        "1.5 times the trial's round trips, a thread 30 % busy: bound by the round trip, not by the generator",
    ),
    ("generator-bound", saturated(calibration_per_s=3000.0), "valid", ""),
    ("generator-bound", saturated(round_trips_per_s=0.0), "valid", ""),
    ("generator-bound", saturated(pacing_error_p99_s=0.0021), "invalid", "late by 2.1 ms at p99 (limit 1 ms)"),
    ("generator-bound", saturated(pacing_error_p99_s=None), "valid", ""),
    (
        "generator-bound",
        saturated(queued_while_idle_share=0.02),
        "invalid",
        "2 % of operations late although a connection was free",
    ),
    ("generator-bound", saturated(run_queue_share=0.06), "invalid", "6 % of the time waiting for a CPU (limit 5 %)"),
    ("generator-bound", saturated(run_queue_share=None), "valid", ""),
    (
        "generator-bound",
        saturated(steal_s_per_s=0.12),
        "invalid",
        "3 % of its machine's CPU time was stolen (limit 2 %)",
    ),
    ("generator-bound", saturated(steal_s_per_s=0.04), "valid", "1 % of its machine's CPU time was stolen"),
    ("generator-bound", {**saturated(steal_s_per_s=0.12), "load_machines": []}, "valid", ""),
    ("generator-bound", saturated(throttled_share=0.02), "invalid", "throttled by its cgroup in 2 % of periods (limit"),
    (
        "generator-bound",
        saturated(gaps=[gap("stopped", 6.02)]),
        "invalid",
        "stood still for 6 s, from 1.5 s on: it was stopped",
    ),
    (
        "generator-bound",
        {
            **saturated(gaps=[gap("stopped", 0.1)], calibration_per_s=None),
            "expected": expected(co_located=True),
        },
        "invalid",
        "it was stopped or frozen, or its machine was suspended or paused",
    ),
    (
        "generator-bound",
        saturated(gaps=[gap("stopped", 0.058)], measured_s=3.0),
        "invalid",
        "stood still for 58 ms, from 1.5 s on, at a cost of 1.9 % of the mean",
    ),
    (
        "generator-bound",
        saturated(gaps=[gap("stopped", 0.058)], measured_s=60.0),
        "valid",
        "stood still for 58 ms, from 1.5 s on, at a cost of 0.10 % of the mean",
    ),
    ("generator-bound", saturated(gaps=[gap("stopped", 0.058)] * 6, measured_s=60.0), "invalid", "for 0.3 s together"),
    ("generator-bound", saturated(gaps=[gap("stopped", 0.5)], measured_s=3600.0), "invalid", "stood still for 0.5 s"),
    (
        "generator-exit",
        {"operations": operations(exit_code=8, saturation=saturation(gaps=[gap("stopped", 0.1)]))},
        "valid",
        "exited with 8, as it noticed",
    ),
    ("generator-bound", saturated(gaps=[gap("delayed", 0.7)]), "valid", "had no CPU 1 times, for 0.7 s at most"),
    ("generator-bound", saturated(retransmitted_segments=3), "valid", "warning: 3 segments retransmitted"),
    ("generator-bound", saturated(dropped_packets=2), "valid", "warning: 2 packets dropped"),
    (
        "generator-bound",
        {
            **saturated(pacing_error_p99_s=0.004, run_queue_share=0.4),
            "expected": expected(co_located=True),
        },
        "valid",
        "co-located, so only reported: late by 4 ms at p99, 40 % of the time waiting for a CPU",
    ),
    (
        "generator-bound",
        {**saturated(throttled_share=0.2), "expected": expected(co_located=True)},
        "invalid",
        "throttled by its cgroup in 20 % of periods (limit 1 %)",
    ),
    (
        "generator-bound",
        {
            **saturated(throttled_share=0.2),
            "expected": expected(co_located=True),
            "load_machines": ["db"],
            "own_quotas": {"db": 1.0},
        },
        "valid",
        "so only reported: throttled by its cgroup in 20 % of periods",
    ),
    (
        "generator-bound",
        {**saturated(thread_cpu_share=0.9), "expected": expected(co_located=True)},
        "invalid",
        "used 90 % of a CPU at most (limit 80 %)",
    ),
    (
        "generator-bound",
        {**saturated(calibration_per_s=1500.0), "expected": expected(co_located=True)},
        "invalid",
        "(required: 3 times)",
    ),
    (
        "generator-bound",
        {"expected": expected(co_located=True)},
        "valid",
        "30 % of the CPUs it shares with the server",
    ),
    (
        "generator-bound",
        {**saturated(run_queue_share=0.4), **apart(["cpu0", "cpu1"]), "emulated": True},
        "valid",
        "emulated on the same CPUs, so only reported: 40 % of the time waiting for a CPU",
    ),
    (
        "generator-bound",
        {**saturated(run_queue_share=0.4), **apart(["cpu1"]), "emulated": True},
        "invalid",
        "40 % of the time waiting for a CPU (limit 5 %)",
    ),
    (
        "generator-bound",
        {**saturated(run_queue_share=0.4), **apart(["cpu0"])},
        "invalid",
        "40 % of the time waiting for a CPU (limit 5 %)",
    ),
    ("generator-bound", saturated(calibration_per_s=None), "unknown", "was not calibrated"),
    ("generator-bound", saturated(calibration_thread_cpu_share=None), "unknown", "was not calibrated"),
    ("generator-bound", saturated(thread_cpu_share=None), "unknown", "did not report how busy"),
    ("generator-bound", {"operations": operations(saturation=None)}, "unknown", "did not report how busy"),
    ("generator-bound", {"operations": None}, None, ""),
]
BY_NAME: dict[str, Callable[[Evidence], Any]] = {check.name: check for check in CHECKS}


def test_verdict(subtests: pytest.Subtests) -> None:
    for name, changes, kind, reason in CASES:
        with subtests.test(name=name):
            verdict = BY_NAME[name](evidence(**changes))
            if kind is None:
                assert verdict is None
                continue
            assert verdict is not None
            assert (verdict.check, verdict.verdict) == (name, kind), verdict.reason
            assert reason in verdict.reason


def test_every_check_is_shown_to_refuse_and_to_pass() -> None:
    shown = {(name, kind) for name, _, kind, _ in CASES}
    for check in CHECKS:
        assert {(check.name, "valid"), (check.name, "invalid")} <= shown
