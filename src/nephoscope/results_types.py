"""Rows about machine types and families of them, and about what the checks changed; `results` hands them on."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from nephoscope.frozen import Frozen
from nephoscope.records import Direction


class ComparisonVerdict(StrEnum):
    """Of `left` against `right`, in the metric's own direction."""

    BETTER = "better"
    WORSE = "worse"
    TIE = "tie"
    UNRESOLVED = "unresolved"


class ConfigurationRow(Frozen):
    """What is known of a configuration's database machine: its name as ordered, its CPU as observed."""

    configuration: str
    provider: str
    machine_type: str | None
    family: str | None = Field(description="'m6i', 'n2-standard', 'Ds_v5'")
    vcpus: int | None = Field(description="observed, else as the name of the type says")
    memory_gib_per_vcpu: float | None = Field(description="observed")
    cpu_vendor: str | None = Field(description="'AMD', 'Intel' or 'Arm'")
    cpu_design: str | None = Field(description="by CPUID: 'Milan', 'Ice Lake'; never guessed from a model's name")
    cpu_model: str | None
    threads_per_core: int | None
    numa_nodes: int | None


class FamilyComparison(Frozen):
    """Two groups of machine types, matched in blocks; n are types. family_comparisons.parquet."""

    question: str
    benchmark: str
    metric: str
    per_cpu: bool
    unit: str
    direction: Direction
    left: str
    right: str
    matched_by: str = Field(description="what is equal within a block")
    blocks: int
    n_left: int = Field(description="types of the left group in blocks with both")
    n_right: int
    ratio: float = Field(description="left / right: the median of all ratios within blocks")
    low: float | None = Field(description="of the ratio's interval; None: too few types for one")
    high: float | None
    coverage: float | None
    p_value: float = Field(description="exact, of all relabellings within blocks")
    p_adjusted: float = Field(description="Benjamini-Hochberg over all questions of the study")
    verdict: ComparisonVerdict
    margin_percent: float = Field(description="the study's equivalence margin")
    configurations: list[str]
    matched: list[str] = Field(description="'block side configuration' of each type: '1 left aws-m6a.2xlarge'")
    trials: list[str]


class GateRow(Frozen):
    """A headline metric with and without the trials that the checks keep out. gate.parquet."""

    configuration: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    n_before: int = Field(description="trials with a number, whatever their verdict")
    n_after: int = Field(description="those that count")
    median_before: float
    median_after: float | None = Field(description="None: none is left")
    change_percent: float | None
    reasons: list[str] = Field(description="'check count' of those kept out; a trial may have several")
    trials: list[str] = Field(description="kept out")


class GrowthRow(Frozen):
    """A rate over the number of machines, of configurations that differ in nothing else."""

    group: str = Field(description="'valkey on small': the database, and the machine type where one is named")
    system: str
    benchmark: str
    metric: str
    unit: str
    configurations: list[str] = Field(description="fewest machines first")
    machines: list[int] = Field(description="of each of them")
    medians: list[float] = Field(description="of each of them")
    exponent: float = Field(description="of the power law value = at_one * machines ** exponent")
    at_one: float
    low: float | None = Field(description="of the exponent's interval; None: too few trials for one")
    high: float | None
    coverage: float | None
    growth: Literal["linear", "sub-linear", "none", "not decided"]
    trials: list[str]


class PassRow(Frozen):
    """How often one level passed in one search."""

    benchmark: str
    configuration: str
    trial: str
    replicate: int
    counts: bool = Field(description="the trial counts; a search without a result has levels, too")
    level: float
    unit: str
    points: int = Field(ge=1, description="measured at it, those of the larger client left out")
    confirmations: int = Field(ge=0, description="of the points, those that were to confirm the level")
    passed: int = Field(ge=0, description="points at which the rule held and the load generator was not the limit")
    low: float = Field(description="of the interval of the pass probability, of 95 % or more")
    high: float

    @property
    def share(self) -> float:
        """Of the points that passed: the estimate of the pass probability."""
        return self.passed / self.points


class BoundRow(Frozen):
    """What held the database machines of a configuration back in a benchmark. Shares are of the busiest machine."""

    configuration: str
    benchmark: str
    n: int = Field(ge=1, description="trials that count and whose database machines were all sampled")
    cpu_bound: int = Field(
        ge=0, description="trials in which a machine's measured CPUs were busy, or its quota used up"
    )
    disk_bound: int = Field(ge=0, description="of the others, those in which a disk was busy")
    neither: int = Field(ge=0)
    unknown: int = Field(ge=0, description="CPUs were not busy, and no disk was seen")
    cpu_busy_share: float = Field(description="median of the trials, as all below")
    cpu_quota_used_up_share: float | None = Field(description="of the quota's periods; None: no machine has one")
    disk_busy_share: float | None = Field(description="of the time, with requests under way; None: no disk was seen")
    disk_read_bytes_per_s: float | None
    disk_write_bytes_per_s: float | None
    network_receive_bytes_per_s: float | None
    network_send_bytes_per_s: float | None
    trials: list[str]

    @property
    def words(self) -> str:
        """'CPU-bound', or how many trials are what where they differ."""
        kinds = {
            "CPU-bound": self.cpu_bound,
            "disk-bound": self.disk_bound,
            "neither": self.neither,
            "not known": self.unknown,
        }
        found = {kind: count for kind, count in kinds.items() if count}
        return next(iter(found)) if len(found) == 1 else ", ".join(f"{kind} {count}" for kind, count in found.items())


class WanFloor(Frozen):
    """The least round trip between the two regions of a configuration: light in fibre on the shortest way."""

    configuration: str
    database_region: str
    load_region: str
    distance_m: float = Field(ge=0, description="great circle between the regions' towns")
    round_trip_s: float = Field(ge=0)
