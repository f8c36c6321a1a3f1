"""The values that stages pass to each other, all frozen. `store` writes them, everybody may read them.

Names follow the glossary (docs/concepts/glossary.md). Units are SI and come last in a name. A missing value is
`None` and never 0.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from nephoscope.model.events import Event
from nephoscope.model.frozen import Frozen
from nephoscope.model.names import MachineName, Name, Named
from nephoscope.model.quantities import Bound, Bounded, LowerBound, MeasuredValue, Seconds, UnixMs
from nephoscope.model.sentence import NO_SENTENCE, Sentence
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.model.written import Written


@dataclass(frozen=True, order=True)
class Omission(Written):
    """A configuration that has no price, or does not compete; no name of a configuration has a colon."""

    configuration: str
    why: Sentence

    def __str__(self) -> str:
        """'a: no price given'."""
        return f"{self.configuration}: {self.why}"

    @classmethod
    def read(cls, stored: str) -> Self:
        """See `Written`."""
        configuration, _, why = stored.partition(": ")
        return cls(configuration, Sentence(why))


Disturbance = Literal["reject", "record"]
"""What happens to a trial from which the hypervisor took CPU time: it is rejected, or it counts and the loss is
recorded."""


class MachineKind(Frozen):
    """kind.json: what most database machines of a configuration are."""

    schema_: Literal["nephoscope/kind/1"] = Field(default="nephoscope/kind/1", alias="schema")
    facts: dict[str, str] = Field(description="fact -> its value, of those that are known")
    alike: int = Field(ge=2, description="machines of this kind")
    machines: int = Field(ge=2, description="machines of the configuration so far")


_SHARE = "_share"
_WARNINGS = {
    "hours": r"^the (hours|time) includes? (an )?estimates?|^the first read of a volume|loads? (its )?data sets? again",
    "prices": r"the plan uses another region's",
    "placement": r"all replicates of a configuration (share one machine|run on the same hosts)",
}


def plan_warning(stored: Any) -> Any:
    """The fields of a plan's warning that was stored as a sentence alone."""
    if not isinstance(stored, str):
        return stored
    kind = next((kind for kind, pattern in _WARNINGS.items() if re.search(pattern, stored)), "other")
    return {"kind": kind, "text": stored}


def unit_of_metric(name: str, unit: str) -> str:
    """The unit of a metric; shares were stored as plain numbers, which people read as no percentages."""
    return "share" if unit == "1" and name.endswith(_SHARE) else unit


CO_LOCATED = "co-located"
"""Stated condition: client and server share a machine."""
UNENCRYPTED = "none"
"""How the load generator calls sessions without TLS."""
ENCRYPTION = "session encryption"
"""The name under which it is stored beside the settings of a user's server."""
NOT_OBSERVED = "the database's machine was not observed"
"""Stated condition: the server is a managed one, or the user's own elsewhere; facts and telemetry are the client's."""
EMULATED = "emulated"
"""Stated condition: the machines are parts of one, so the numbers describe no real machine."""


class Direction(StrEnum):
    """Which way a metric is better."""

    HIGHER = "higher"
    LOWER = "lower"


Role = Literal["database", "load"] | None
"""Of the machine that a number is of."""


class Metric(Frozen):
    """What a benchmark reports: a name, a unit (SI symbol or a counted thing per second) and a direction."""

    name: str
    unit: str
    direction: Direction
    title: str = Field(description="for people, with the unit left out: 'New-Orders committed'")
    clock: str = Field(default="", description="what the clock measures, for latencies and rates")
    headline: bool = Field(
        default=False,
        description="the metric a benchmark is ranked by; one per job if it has jobs",
    )
    per_cpu: bool = Field(default=False, description="dividing it by the number of CPUs is meaningful")
    counted: str = Field(
        default="", description="its unit behind a number, where 1/s or 1/min says too little: 'selects/s', 'tpmC'"
    )

    @field_validator("unit")
    @classmethod
    def _read_old(cls, unit: str, fields: ValidationInfo) -> str:
        return unit_of_metric(fields.data.get("name", ""), unit)

    @classmethod
    def higher(cls, name: str, unit: str, title: str, clock: str = "", *, counted: str = "", **more: bool) -> Self:
        """One of which more is better; `more` may set `headline` and `per_cpu`."""
        return cls(name=name, unit=unit, direction=Direction.HIGHER, title=title, clock=clock, counted=counted, **more)

    @classmethod
    def lower(cls, name: str, unit: str, title: str, clock: str = "", **more: bool) -> Self:
        """One of which less is better; see `higher`."""
        return cls(name=name, unit=unit, direction=Direction.LOWER, title=title, clock=clock, **more)

    @property
    def definition(self) -> tuple[str, str, Direction]:
        """What must be equal where values of one name are compared."""
        return self.clock, self.unit, self.direction

    def measured(self, value: Bounded, at_s: float | None = None, role: Role = "database") -> "Measurement":
        """A value of it: of a whole trial, or at a moment; or what the value is above."""
        return Measurement.of(self.name, self.unit, value, role, at_s)


class Measurement(Frozen):
    """One number read from raw output. `at_s`: seconds since the start; None if the number covers the whole trial."""

    metric: str
    unit: str
    value: MeasuredValue
    role: Role = None
    at_s: Seconds | None = None
    bound: Bound | None = Field(
        default=None, description="'lower': the tool only says that it is above `value`; None: it is `value`"
    )

    @field_validator("unit")
    @classmethod
    def _read_old(cls, unit: str, fields: ValidationInfo) -> str:
        return unit_of_metric(fields.data.get("metric", ""), unit)

    @classmethod
    def of(cls, metric: str, unit: str, value: Bounded, role: Role = "database", at_s: float | None = None) -> Self:
        """A number of a whole trial, or at a moment; or what it is above."""
        if isinstance(value, LowerBound):
            return cls(metric=metric, unit=unit, value=value.above, role=role, at_s=at_s, bound="lower")
        return cls(metric=metric, unit=unit, value=value, role=role, at_s=at_s)


def measured(metrics: Iterable[Metric], values: Mapping[str, Bounded | None]) -> list[Measurement]:
    """The numbers of a whole trial by the names of their metrics, in the order of these; None: not known."""
    return [metric.measured(value) for metric in metrics if (value := values.get(metric.name)) is not None]


class VerdictKind(StrEnum):
    """Three values, because a check that crashed did not pass."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"


class Verdict(Frozen):
    """The result of one check for one attempt, with its reason."""

    check: str
    verdict: VerdictKind
    reason: Sentence
    events: list[Event] = Field(default=[], description="that the reason tells of, for whoever shows the number")


class Disk(Frozen):
    """The disk below a machine's data folder."""

    device: str | None = None
    filesystem: str | None = None
    mount_options: str | None = None
    size_bytes: int | None = None
    free_bytes: int | None = None
    rotational: bool | None = None
    scheduler: str | None = None


class Facts(Frozen):
    """What was observed on a machine at one moment. None: this machine does not report it."""

    at_unix_ms: UnixMs | None = Field(description="None: imported, and not stored there")
    hostname: str | None = None
    boot_id: str | None = Field(
        default=None, description="drawn by the kernel at each boot: equal under all names of a running machine"
    )
    cpu_model: str | None = None
    core_kinds: dict[str, int | None] = Field(
        default={}, description="model -> cores of a CPU with several kinds; empty: one kind, or unknown"
    )
    cpu_vendor: str | None = None
    cpu_family: int | None = Field(
        default=None, description="from CPUID; with the two below it identifies the CPU's design"
    )
    cpu_model_number: int | None = None
    cpu_stepping: int | None = None
    architecture: str | None = None
    cpus_online: int | None = None
    cpus_allowed: int | None = Field(default=None, description="CPUs in the affinity mask of whatever is measured")
    sockets: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    numa_nodes: int | None = None
    l2_bytes: int | None = None
    l3_bytes: int | None = None
    memory_bytes: int | None = None
    memory_available_bytes: int | None = None
    kernel: str | None = None
    os: str | None = None
    virtualization: str | None = Field(default=None, description="hypervisor vendor, 'none' on bare metal")
    system_vendor: str | None = Field(default=None, description="from DMI: 'Amazon EC2', 'Google', 'QEMU'")
    product: str | None = Field(default=None, description="from DMI: 't3.micro', 'Google Compute Engine'")
    clock_source: str | None = None
    frequency_governor: str | None = None
    congestion_control: str | None = None
    swap_bytes: int | None = None
    open_files_limit: int | None = None
    load_1m: float | None = None
    clock_offset_s: Seconds | None = Field(default=None, description="its clock - the controller's")
    clock_offset_bound_s: Seconds | None = Field(default=None, description="uncertainty of that offset")
    steal_share: float | None = Field(default=None, description="of all CPU time over `observed_for_s`")
    busy_share: float | None = Field(
        default=None, description="busy share of all CPU time over `observed_for_s`, by any process"
    )
    busy_share_by_cpu: dict[str, float] = Field(
        default={}, description="the same for each CPU, by name ('cpu0'); empty: not observed"
    )
    observed_for_s: Seconds | None = None
    cgroup_cpu_limit: float | None = Field(default=None, description="in CPUs; None: no limit found")
    cgroups_seen: bool | None = Field(
        default=None,
        description="True: a limit would have been found, or the kernel has no cgroups; None: not checked",
    )
    disk: Disk = Disk()


class ForeignProcess(Frozen):
    """A process that is not the trial's, and the CPU time that it used with its ended children."""

    pid: int
    name: str = Field(description="of the program, or of an interpreter and its script: 'python3 burn.py'")
    cpu_s: Seconds = Field(description="since the sampler last read the processes of others")


class TelemetrySample(Frozen):
    """One interval of a machine's counters, as rates. Shares are of all CPUs of the machine together."""

    at_s: Seconds = Field(description="end of the interval, in seconds since the sampler's start")
    duration_s: Seconds
    cpu_busy_share: float
    cpu_user_share: float
    cpu_system_share: float
    cpu_iowait_share: float
    cpu_steal_share: float
    cpus_busy_share: dict[str, float] = Field(description="busy share of each CPU, by its name ('cpu0')")
    cpus_steal_share: dict[str, float] = Field(description="stolen share of each CPU, by its name")
    cpu_quota_used_up_share: float | None = Field(
        default=None, description="share of the quota's periods; None: there is no quota"
    )
    stopped_processes: int | None = Field(
        default=None, description="the trial's processes that a signal had stopped at its end; None: not recorded"
    )
    frozen: bool | None = Field(
        default=None, description="a control group of the trial was frozen at its end; None: not recorded"
    )
    disk_limits: list[str] = Field(
        default=[], description="limits of control groups of the trial on disks at its end: file, device and value"
    )
    stood_still_s: Seconds | None = Field(
        default=None,
        description="how much too long the sampler slept without a wait for a CPU; None: not recorded",
    )
    cpus_interrupt_share: dict[str, float] = Field(
        default={}, description="share of each CPU that was spent in interrupts, by its name; empty: not recorded"
    )
    foreign_cpus: float | None = Field(
        default=None,
        description="CPUs that others kept busy, neither the trial nor the kernel's threads and interrupts; a little "
        "below 0 if nobody did, because the kernel counts machine and processes by two clocks; None: not known",
    )
    kernel_cpus: float | None = Field(
        default=None, description="CPUs that interrupts and, as far as they were read, kernel threads kept busy"
    )
    foreign_named_s: Seconds | None = Field(
        default=None,
        description="CPU time of the processes of others, since they were last read; None: not read in this interval",
    )
    foreign_processes: list[ForeignProcess] = Field(default=[], description="those that used most, the first the most")
    disk_read_bytes_per_s: float | None
    disk_write_bytes_per_s: float | None
    disk_busy_share: float | None = Field(
        default=None, description="share of time with requests in flight, of the busiest disk"
    )
    network_receive_bytes_per_s: float | None
    network_send_bytes_per_s: float | None
    sampler_cpu_share: float | None = Field(default=None, description="the sampler's CPU time, as a share of one core")
    clock_step_s: Seconds | None = Field(default=None, description="by how much the wall clock jumped; None: not known")
    at_unix_ms: UnixMs | None = Field(default=None, description="`at_s` by the machine's clock; None: not recorded")


class CommandRecord(Frozen):
    """One command that was executed for a trial."""

    argv: list[str]
    machine: str
    started_unix_ms: UnixMs
    duration_s: Seconds
    exit_code: int | None = Field(description="None: killed or never ended")
    allowed_exit_codes: list[int] = Field(
        default=[], description="exit codes besides 0 that mean results and not failures"
    )
    output: str | None = Field(default=None, description="name of its raw files (.stdout, .stderr), when kept")


Relation = Literal["at least", "above", "at most", "below"]
"""Relation of what was observed to a limit."""


class Series(Frozen):
    """A rate with one value per interval of a trial; the intervals are equally long."""

    metric: str
    unit: str
    step_s: Seconds = Field(gt=0)
    values: list[float]
    at_unix_ms: float | None = Field(default=None, description="when the first interval began; None: not known")


class Reads(Frozen):
    """What a job reports about its reads from files or a device."""

    job: str
    direct: bool = Field(description="bypasses the page cache")
    files_bytes: int = Field(gt=0)
    memory_bytes: int | None = Field(default=None, gt=0, description="limit of the page cache; None: the machine's")
    bytes_per_s: float = Field(gt=0)
    latency_median_s: Seconds | None = Field(ge=0, description="None: not known")


class CpuPhase(Frozen):
    """A period in which workers did nothing but compute."""

    workers: int = Field(ge=1)
    cpu_s: Seconds = Field(ge=0, description="user and system time of all workers")
    real_s: Seconds = Field(gt=0)


class NetworkBytes(Frozen):
    """Bytes that a machine received and sent while it was sampled, on every interface except loopback."""

    machine: str
    sampled_s: Seconds = Field(gt=0)
    received_bytes: float = Field(ge=0)
    sent_bytes: float = Field(ge=0)


class ResourceUse(Frozen):
    """What a machine did while it was sampled: medians over the seconds, so that the start and the end weigh little."""

    machine: str
    sampled_s: Seconds = Field(gt=0)
    cpu_busy_share: float = Field(
        ge=0, le=1, description="busy share, with stolen time, of the CPUs available to whatever is measured"
    )
    cpu_quota_used_up_share: float | None = Field(
        default=None, ge=0, le=1, description="share of the periods of its CPU quota; None: it has none"
    )
    disk_busy_share: float | None = Field(
        description="share of time with requests in flight, of the busiest disk; None: not observed"
    )
    disk_read_bytes_per_s: float | None
    disk_write_bytes_per_s: float | None
    network_receive_bytes_per_s: float | None
    network_send_bytes_per_s: float | None
    stolen_share: float | None = Field(
        default=None,
        description="mean over the trial of the CPU time that the hypervisor withheld from the machine or from its "
        "affinity mask, whichever lost more; None: not known",
    )
    at_baseline: bool = Field(
        default=False, description="a burstable machine that lost CPU time at a steady level: its credits were spent"
    )
    phases: dict[str, "ResourceUse"] = Field(
        default={},
        description="the same during each command that was measured, by its output: jobs, steps, points of a search; "
        "empty: there was only one, or it was not recorded when",
    )


FaultKind = Literal[
    "kill",
    "pause",
    "restart",
    "rolling-restart",
    "zone-outage",
    "slow-disk",
    "stalled-disk",
    "partition",
    "partial-partition",
    "one-way-partition",
    "loss",
]
ServerRole = Literal["primary", "replica"]
"""A primary takes writes; a replica copies one primary."""
VictimRule = Literal["primary", "replica", "any"]
"""Which servers a fault may hit; of several, the trial's seed draws."""
OF_OUTAGE = "outage."
"""Prefix of the metrics that have a value for each fault."""
ERRORS = "errors_"
"""Prefix of the metrics that count errors by their class."""
ERROR_CLASSES: Mapping[str, str] = MappingProxyType({
    "lost": "the connection was lost",
    "away": "the server was ending or starting",
    "not_primary": "the server may not write, or keys have moved",
    "conflict": "other transactions",
    "other": "others",
})  # fmt: skip
"""Name of a class -> what it is."""
OUTAGE_LASTED = f"{OF_OUTAGE}lasted"
WRITES_LOST = "writes_lost"
WRITES_ACKNOWLEDGED = "writes_acknowledged"


class InflictedFault(Frozen):
    """A fault that a benchmark inflicted on a server, by the clock of the load machine."""

    kind: FaultKind
    victim: str = Field(description="the server's machine")
    rule: VictimRule = Field(default="primary", description="by which it was chosen")
    role: ServerRole = Field(default="primary", description="what the server was when it was chosen")
    begin_unix_ms: float = Field(description="just before it was applied")
    lifted_unix_ms: float = Field(description="when its undoing began; of a restart, when the server was up again")
    end_unix_ms: float = Field(description="when it was undone")
    complete_unix_ms: float | None = Field(
        default=None, description="when all servers were up and all copies complete; None: not known, or not in time"
    )
    rested_unix_ms: float | None = Field(
        default=None, description="when the next baseline could begin; None: not known"
    )
    until_unix_ms: float | None = Field(
        default=None, description="when the clients had their usual rate again; None: not known"
    )
    confirmed: bool = Field(description="the server's machine showed it")
    undone: bool = Field(description="it showed that it was over")
    problem: Sentence = Field(default=NO_SENTENCE, description="what went wrong; empty: nothing")

    def covers(self, from_unix_ms: float, to_unix_ms: float) -> bool:
        """Whether it was going on at some moment between these, or the clients had not their usual rate again."""
        return self.begin_unix_ms < to_unix_ms and from_unix_ms < (self.until_unix_ms or self.end_unix_ms)


class Observations(Frozen):
    """What a benchmark's output shows besides its numbers; input for the checks."""

    reads: list[Reads] = []
    cpu_phases: list[CpuPhase] = []
    work: list[Series] = Field(default=[], description="what was completed, in steps below a second")
    faults: list[InflictedFault] = Field(default=[], description="in order of time")
    faults_planned: int = Field(default=0, description="that there should be")


class SearchEvidence(Frozen):
    """How a search for the highest load ended."""

    outcome: Literal["found", "lower bound", "generator bound", "unstable", "below min", "disturbed"]
    reason: Sentence = Field(description="for people")


class SustainedEvidence(Frozen):
    """What the confirmations of a search cost the database besides response times. None: not reported."""

    seconds: float = Field(gt=0, description="of all confirmations, set-up included")
    free_bytes: int | None = Field(description="after the last one, on the machine with the least")
    free_lost_per_s: float | None = Field(description="negative: space was freed")
    assured_bytes: int | None = Field(
        default=None, description="after the last one: free space that remains at worst while defragmentation keeps up"
    )
    assured_lost_per_s: float | None = Field(default=None, description="defragmentation fell behind, or the data grew")
    disk_unseen: bool = Field(
        default=False, description="the user's own server, whose disk nephoscope does not inspect"
    )
    log_per_s: float | None
    cache_hit_share: float | None
    debt_per_s: float | None = Field(description="growth of the backlog of compaction or defragmentation")
    trouble: Sentence = Field(
        default=NO_SENTENCE, description="why it rejected writes, or what it lost; empty: neither happened"
    )


class Requirement(Frozen):
    """A limit that a method sets before a number is valid."""

    what: str
    observed: float | None = Field(description="None: too few operations to decide")
    relation: Relation
    limit: float
    unit: str
    source: str = Field(description="who set the rule")
    bound: Bound | None = Field(default=None, description="'lower': it is above `observed`, by an unknown amount")

    @property
    def met(self) -> bool | None:
        """None: not known. A lower bound decides only what every value above it decides."""
        if self.observed is None:
            return None
        reached = self.observed >= self.limit
        if self.bound is not None:
            return (self.relation in {"at least", "above"}) if reached else None
        return {
            "at least": reached,
            "above": self.observed > self.limit,
            "at most": self.observed <= self.limit,
            "below": not reached,
        }[self.relation]


class OperationErrors(Frozen):
    """How often operations of a kind were retried, or failed, with one SQLSTATE, over the whole action."""

    operation: str
    sqlstate: str = Field(description="or `lost` (the connection), `data` (impossible rows), `protocol`")
    kind: Literal["retried", "failed"]
    count: int = Field(ge=1)


class GeneratorGap(Frozen):
    """A time in which the load generator itself did nothing although it wanted to."""

    kind: Literal["stopped", "delayed"] = Field(
        description="stopped by a signal, frozen, or suspended or paused with its machine; or delayed: it was ready, "
        "and others had the CPU"
    )
    at_s: float = Field(description="when it was last seen at work, since the load started")
    length_s: float = Field(ge=0)


class Saturation(Frozen):
    """The load generator's own counters over the measurement interval. None: not available."""

    threads: int = Field(ge=1)
    thread_cpu_share: float | None = Field(
        description="the busiest thread's CPU share of wall time in its busiest second"
    )
    run_queue_share: float | None = Field(
        description="time ready but not running, beyond waking up, as a share of the worst thread's wall time"
    )
    steal_s_per_s: float | None = Field(
        description="share of its machine's CPU time that the hypervisor gave to others"
    )
    machine_cpus: int | None = Field(default=None, description="of its machine or machines; null: not reported")
    throttled_share: float | None = Field(description="periods of 100 ms in which the cgroup's quota was used up")
    pacing_error_p99_s: Seconds | None = Field(description="its own lateness; None: nothing was paced")
    queued_while_idle_share: float | None = Field(
        description="operations started over 1 ms late although a connection was free"
    )
    retransmitted_segments: int | None
    dropped_packets: int | None
    gaps: list[GeneratorGap] = Field(default=[], description="in which the generator itself did nothing")
    measured_s: float | None = Field(default=None, description="length of the interval; null: an earlier version's")
    round_trips_per_s: float
    calibration_per_s: float | None = Field(
        description="empty round trips per second on the same number of connections, before the trial"
    )
    calibration_thread_cpu_share: float | None = Field(description="as `thread_cpu_share`, during calibration")


class OperationEvidence(Frozen):
    """What a database benchmark reports about itself; input for the checks."""

    attempted: int = Field(ge=0, description="operations completed in the measurement interval")
    failed: int = Field(ge=0)
    client_cpu_share: float | None = Field(description="client CPU time / (CPUs of its machine x interval)")
    broken_conditions: list[str] = Field(description="consistency conditions that do not hold")
    conditions_checked: int = Field(ge=0)
    conditions_expected: bool = Field(description="the workload has conditions, and checking them was requested")
    counters_compared: int = Field(ge=0)
    counters_expected: bool = Field(description="the workload has counters, and comparing them was requested")
    disagreeing_counters: list[str] = Field(default=[], description="server counters that differ from the client's")
    audits_passed: int = Field(ge=0)
    audits_unjudged: int = Field(ge=0, description="quantities with too few draws to judge")
    failed_audits: list[str] = Field(default=[], description="random draws outside their specification")
    offered: int | None = Field(default=None, description="arrivals due in the interval; None: closed pace")
    not_sent: int | None = Field(default=None, description="of these, never started; None: closed pace")
    errors: list[OperationErrors] = []
    requirements: list[Requirement] = []
    saturation: Saturation | None = Field(default=None, description="None: the output does not say")
    search: SearchEvidence | None = Field(default=None, description="None: the load was given, not searched for")
    sustained: SustainedEvidence | None = Field(default=None, description="None: not checked")
    isolation: str | None = Field(
        default=None, description="of the transactions, as the server shows it; None: not asked, or it has none"
    )
    statements_through_pooler: Literal["named", "unnamed"] | None = Field(
        default=None, description="how they were prepared; None: no connection pooler answered for the server"
    )
    encryption: str | None = Field(
        default=None, description="of the sessions, none or protocol and cipher; None: the output does not say"
    )
    connections_lost: int | None = Field(
        default=None, ge=0, description="and made again in the measurement interval; None: the output does not say"
    )
    first_connection_lost_s: float | None = Field(
        default=None, description="start of the second in which the first of them was, since the measurement began"
    )
    exit_code: int
    message: str = ""


class Expected(Frozen):
    """What a trial's configuration demands, as far as a check can compare it with facts."""

    cpus: int | Literal["all"] = "all"
    cores: int | None = Field(default=None, description="that the machine has; None: as many as its type")
    threads_per_core: int | None = Field(default=None, description="None: as many as its type has")
    memory_bytes: int | None = None
    cpu_model_contains: str | None = None
    sockets: int | None = None
    numa_nodes: int | None = None
    l3_bytes: int | None = Field(default=None, description="all instances together")
    disk_bytes: int | None = None
    disk_kind: Literal["ssd", "hdd"] | None = None
    filesystem: str | None = None
    mount_options: list[str] | None = Field(default=None, description="as findmnt shows them, or 'barrier'")
    clock_source: str | None = None
    kernel_contains: str | None = None
    co_located: bool = False


class Evidence(Frozen):
    """Everything the checks may use, for one attempt."""

    expected: Expected
    facts_before: dict[str, Facts]
    facts_after: dict[str, Facts]
    telemetry: dict[str, list[TelemetrySample]] = Field(description="by machine; empty when the sampler failed")
    telemetry_problems: dict[str, str] = Field(default={}, description="by machine: why its telemetry cannot be read")
    commands: list[CommandRecord]
    operations: OperationEvidence | None = None
    measured_cpus: dict[str, list[str]] = Field(description="by machine: names of the CPUs in its affinity mask")
    emulated: bool = Field(default=False, description="the machines are parts of one and share its other CPUs")
    disturbance: Disturbance = Field(default="reject", description="in force when the trial ran")
    lost_connections: Disturbance = Field(default="reject", description="in force when the trial ran")
    margin_percent: float | None = Field(default=None, description="of a tie in the study; None: not known")
    burstable: dict[str, str] = Field(
        default={}, description="machine -> its machine type, of machines whose type earns CPU credits"
    )
    own_quotas: dict[str, float] = Field(
        default={}, description="by machine: CPUs of the quota that its specification includes"
    )
    load_machines: list[str] = Field(default=[], description="names of the machines of the load generator")
    usual_kind: MachineKind | None = Field(
        default=None, description="None: the study does not demand equal machines, or no kind is usual yet"
    )
    replication_before: dict[str, str] | None = Field(
        default=None, description="copy -> state; None: there is only one copy"
    )
    replication_after: dict[str, str] | None = Field(
        default=None, description="the same; None: it could not be queried"
    )
    database_before: dict[str, str] | None = Field(
        default=None, description="settings in force, start, role and version of the database; None: not queried"
    )
    database_after: dict[str, str] | None = Field(default=None, description="the same; None: it could not be queried")
    series: list[Series] = []
    work: list[Series] = Field(
        default=[],
        description="work that was completed, in the finest steps that were recorded; empty: `series` is all there is",
    )
    steps: list[Series] = Field(default=[], description="the same of each step that led a search to `work`")
    reads: list[Reads] = []
    cpu_phases: list[CpuPhase] = []
    faults: list[InflictedFault] = []
    faults_planned: int = 0


class BenchmarkUse(Frozen):
    """A benchmark with its parameters resolved (defaults filled in), as a study uses it."""

    name: Name = Field(description="unique in the study; the name in charts")
    uses: Name = Field(description="the benchmark's own name in the registry")
    version: int
    parameters: dict[str, Any]


class TrialIntent(Frozen):
    """trial.json: the definition of a trial, written before anything starts. Its id is a hash of all inputs."""

    schema_: Literal["nephoscope/trial/1"] = Field(default="nephoscope/trial/1", alias="schema")
    id: str
    study: Name
    configuration: Named = Field(description="the whole configuration, as in the study, defaults filled in")
    benchmark: BenchmarkUse
    replicate: int = Field(ge=1)
    block: int = Field(ge=1)
    position: int = Field(ge=1, description="in the whole plan")
    position_in_block: int = Field(ge=1)
    seed: int
    disturbance: Disturbance | None = Field(default=None, description="None: imported")
    lost_connections: Disturbance = "reject"
    margin_percent: float | None = Field(
        default=None, description="smaller differences are ties in its study; None: imported, or not known"
    )

    @property
    def configuration_name(self) -> str:
        """Name of the configuration."""
        return str(self.configuration["name"])


class StartedRecord(Frozen):
    """started.json: what was actually started."""

    schema_: Literal["nephoscope/started/1"] = Field(default="nephoscope/started/1", alias="schema")
    at_unix_ms: UnixMs | None = Field(description="None: imported, and not stored there")
    nephoscope_version: str
    machines: dict[str, MachineName] = Field(description="role -> machine name; further load machines are 'load 2' ...")
    measured_cpus: dict[str, list[str]] = Field(
        default={},
        description="machine -> names of the CPUs in the affinity mask of whatever is measured ('cpu0')",
    )
    tool_versions: dict[str, str]
    conditions: list[str] = Field(default=[], description="stated conditions, for example 'co-located'")
    disturbance: Disturbance | None = Field(default=None, description="in force for this attempt; None: imported")
    same_machine: str | None = Field(
        default=None,
        description="imported: a text that trials on the same machine share, as far as the source shows it; None: it "
        "does not, or the trial was measured here",
    )

    @property
    def client_cpus(self) -> int | None:
        """CPUs that the load generator may use on all its machines; None: not known."""
        return sum(len(self.measured_cpus.get(name, [])) for name in self.load_machines) or None

    @property
    def load_machines(self) -> list[str]:
        """Names of the machines of the load generator."""
        return [name for role, name in self.machines.items() if role == "load" or role.startswith("load ")]


class FactsRecord(Frozen):
    """facts/<machine>.json: before and after, with the tools' verbatim answers."""

    schema_: Literal["nephoscope/facts/1"] = Field(default="nephoscope/facts/1", alias="schema")
    machine: MachineName
    before: Facts
    after: Facts | None = None
    verbatim: dict[str, str] = Field(default={}, description="command -> its output, when first inspected")


class Status(Frozen):
    """status.json: the commit mark of an attempt, written last."""

    schema_: Literal["nephoscope/status/1"] = Field(default="nephoscope/status/1", alias="schema")
    state: Literal["finished", "failed", "interrupted"]
    failure_class: str | None = None
    message: Sentence | None = None
    hint: Sentence | None = None
    at_unix_ms: UnixMs | None = Field(description="None: imported, and not stored there")
    duration_s: Seconds | None = Field(description="None: imported, and not stored there")
    files: dict[str, str] | None = Field(
        default=None,
        description="path below the attempt -> SHA-256 of every other file, when this one was written; None: they were "
        "left out",
    )


class PlannedTrial(Frozen):
    """One row of a plan."""

    intent: TrialIntent
    expected_duration_s: Seconds
    price_usd: float | None = Field(description="None: the configuration has no price")


WarningKind = Literal["scale", "hours", "method", "placement", "prices", "skipped", "other"]


class PlanWarning(Frozen):
    """What a plan warns of before anything starts."""

    kind: WarningKind = Field(
        description="hours: of how long the study takes; other: not known, stored by an earlier nephoscope"
    )
    text: Sentence = Field(description="for people")

    def __str__(self) -> str:
        """The text."""
        return str(self.text)


class Plan(Frozen):
    """plan.json: ordered, randomised trials. Equal study, equal bytes."""

    schema_: Literal["nephoscope/plan/1"] = Field(default="nephoscope/plan/1", alias="schema")
    study: Name
    seed: int
    trials: list[PlannedTrial]
    expected_duration_s: Seconds
    price_usd: float | None
    unpriced: list[Omission] = Field(description="configurations without a price, and why")
    warnings: list[Annotated[PlanWarning, BeforeValidator(plan_warning)]]
    stop: Literal["never", "decided"] = Field(
        default="never", description="decided: trials that no open question needs are left out, see looks/"
    )
    simulated: bool = Field(default=False, description="a rehearsal: no machine exists, a program draws every number")


class ImportedBenchmark(Frozen):
    """A benchmark that somebody else ran: names of its numbers, which no benchmark of nephoscope declares."""

    name: Name
    subject: Subject = Field(description="as its importer says")
    title: str = Field(description="for people")
    parameters: dict[str, Any] = Field(default={}, description="as far as the source says")
    metrics: list[Metric]
    database_load: DatabaseLoad | None = Field(
        default=None, description="of a database benchmark: as its importer says; None for other subjects"
    )


class SourceRecord(Frozen):
    """source.json: where imported results come from, and what is not known about them."""

    schema_: Literal["nephoscope/source/1"] = Field(default="nephoscope/source/1", alias="schema")
    format: Name = Field(description="which importer read it")
    source: str = Field(description="who published it, and where")
    licence: str
    unknown: list[Sentence] = Field(description="what the source does not say, so that nobody assumes it")
    benchmarks: list[ImportedBenchmark]
    rule: Sentence = Field(
        default=NO_SENTENCE, description="which results were taken as replicates of one benchmark, for people"
    )
    checks: dict[str, str] = Field(default={}, description="check of the importer -> its sentence for the report")
    left_out: list[Sentence] = Field(
        default=[], description="'file: reason' for every file that was found but not read"
    )


class Derived(Frozen):
    """Measurements and verdicts of one attempt."""

    measurements: list[Measurement]
    errors: list[OperationErrors] | None
    """None: the benchmark does not count its operations."""
    network: list[NetworkBytes]
    """By machine, without machines whose counters were not read."""
    resources: list[ResourceUse]
    """By machine, without machines that were not sampled."""
    verdicts: list[Verdict]
