"""Rows of the tables that an analysis writes and a report prints. A report computes nothing: every number is a row's.

On disk each table is one Parquet file in the results folder; `analysis.stored` names them. A new field goes to the end
of its table, as scripts read columns of CSV files by their place.
"""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Direction, Facts, Metric, VerdictKind
from nephoscope.model.subjects import Subject


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
    subject: Subject


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
    subject: Subject


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
    subject: Subject


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
    subject: Subject

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
    subject: Subject

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


class RankRow(Frozen):
    """One configuration's place on one leaderboard, as far as it is certain. ranks.parquet."""

    benchmark: str
    metric: str
    view: Literal["plain", "per CPU", "per dollar"]
    basis: str | None = Field(description="of the prices, of the view per dollar")
    configuration: str
    place: int = Field(ge=1, description="by the median alone; equal medians share one")
    first: int = Field(ge=1, description="1 + the number of configurations that are certainly better")
    last: int = Field(description="all - the number of configurations that are certainly worse")
    of: int = Field(description="configurations on the leaderboard")
    ties: list[str] = Field(
        description="configurations that are a tie with it: shown to differ by less than the margin"
    )
    subject: Subject


class CostRow(Frozen):
    """A month of one configuration under one basis, or why it has no price. costs.parquet."""

    configuration: str
    basis: str = Field(description="of the machines' price: on-demand, reserved-1y, ..., or 'stated' by the study")
    terms: str = Field(description="of a commitment, as far as the source says")
    provider: str | None
    region: str | None
    machine_type: str | None
    family: str | None = Field(description="'m6i', 'n2-standard', 'Ds_v5'")
    vcpus: int | None = Field(description="as the name of the type says")
    method: str = Field(description="of counting a month")
    hours: float = Field(description="of a month")
    counted: str = Field(description="which machines count")
    machines: int = Field(description="how many they are")
    usd_per_hour: float | None = Field(description="of one machine, without volumes; of the cluster when stated")
    machine_month_usd: float | None = Field(description="of one machine with its volumes; of the cluster when stated")
    month_usd: float | None = Field(description="of all machines that count")
    storage_share: float | None = Field(description="part of the volumes, from 0 to 1")
    break_even_hours: float | None = Field(
        description="hours of use a month from which the commitment is cheaper than on-demand; None: never, or no price"
    )
    formula: str = Field(description="as it prints itself, with prices, sources and what is missing")
    reason_missing: str | None
    price_row: str | None = Field(description="id of the machine's row in the price book")
    source: str | None
    date: str | None
    age_days: int | None = Field(description="of the price on the day of the study")


class CostLineRow(Frozen):
    """One product of the formula: amount x hours x rate. cost_lines.parquet."""

    configuration: str
    basis: str
    what: str
    amount: float
    unit: str
    hours: float | None = Field(description="None: the rate is by the month")
    rate_usd: float
    usd: float = Field(description="a month, of one machine")
    price_row: str
    source: str
    licence: str
    date: str


class NetworkRow(Frozen):
    """What one machine sent and received in one trial, while its load was driven. network.parquet."""

    trial: str
    configuration: str
    benchmark: str
    machine: str
    role: str
    sampled_s: float
    received_bytes: float = Field(description="over every interface but loopback, whoever sent them")
    sent_bytes: float
    valid: bool = Field(description="the trial counts")
    subject: Subject


class TransferRow(Frozen):
    """A month of the bytes between the machines of a cluster, one way, as measured. transfers.parquet."""

    configuration: str
    benchmark: str
    way: str = Field(description="'same zone', 'between zones', 'between regions', or 'none'")
    here: str | None = Field(description="region that the bytes leave")
    there: str | None
    stood: bool = Field(description="the machines stood so; False: what it would cost if they did")
    billed: Literal["sent", "sent and received", "sent by load", "received by load"] = Field(
        description="of all machines, or of the load machine alone"
    )
    n: int = Field(description="trials that count, with counters of every machine")
    bytes_per_s: float = Field(description="that are billed: median of the trials")
    month_usd: float | None = Field(description="when it goes on all month; None: no price")
    hours: float = Field(description="of a month")
    unit: str | None = Field(description="'GB' of 10^9 bytes, or 'GiB' of 2^30")
    tiers: list[str] = Field(description="'above up_to dollars' of each tier, in its unit; '-': no end is known")
    formula: str
    reason_missing: str | None
    price_row: str | None
    source: str | None
    date: str | None
    trials: list[str]
    subject: Subject


class PricePerformance(Frozen):
    """What one unit of a headline metric costs a month. price_performance.parquet.

    The cost is a constant, so the ends of the interval are those of the median, divided.
    """

    configuration: str
    benchmark: str
    metric: str
    basis: str
    unit: str = Field(description="of the metric; dollars a month are for one of it")
    n: int
    month_usd: float
    median: float = Field(description="of the metric, in its unit")
    usd_per_unit: float = Field(description="month_usd / median: $/tpmC where the metric is tpmC")
    low: float
    high: float
    coverage: float
    usd_per_unit_with_transfer: float | None = Field(
        description="(month_usd + transfer where the machines stood) / median; None: that transfer has no price"
    )
    usd_per_million: float | None = Field(
        description="operations of machines that are busy all month; None: it counts none"
    )
    front: Literal["on it", "open", "behind"] = Field(
        description="of cost against the median: nobody is cheaper and better; open: somebody is, not for certain"
    )
    discount_to_lead_percent: float | None = Field(
        description="on its machines alone, to cost as little as the leader; 0: it leads; None: none does"
    )
    price_row: str | None
    source: str | None
    date: str | None
    trials: list[str]
    subject: Subject


class EditionRow(Frozen):
    """One configuration and headline metric in two studies, after / before."""

    configuration: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    n_before: int
    n_after: int
    ratio: float
    low: float | None
    high: float | None
    coverage: float | None
    p_adjusted: float
    verdict: ComparisonVerdict
    basis: str
    month_before_usd: float | None
    month_after_usd: float | None
    price_ratio: float | None
    dollar_ratio: float | None = Field(description="of performance per dollar")
    dollar_low: float | None
    dollar_high: float | None
    dollar_p_adjusted: float | None
    dollar_verdict: ComparisonVerdict | None
    subject: Subject


class EditionOverall(Frozen):
    """One headline metric over all configurations that two studies hold like for like, after / before."""

    benchmark: str
    metric: str
    direction: Direction
    configurations: int
    least_n: int = Field(description="replicates of the configuration and study that has fewest")
    ratio: float = Field(description="geometric mean of the ratios of medians")
    low: float | None = Field(description="of its BCa bootstrap interval; None below six replicates")
    high: float | None
    coverage: float | None = Field(description="nominal: a bootstrap has no exact one")
    subject: Subject


class ClaimRow(Frozen):
    """What these data say of one claim, by one metric. claims.parquet."""

    claim: str = Field(description="its id in the claims file")
    text: str
    source: str
    kind: Literal["better", "tie", "first", "last"]
    benchmark: str
    metric: str
    view: Literal["plain", "per CPU", "per dollar"]
    basis: str | None
    verdict: Literal["supported", "refuted", "not decided"]
    expected: Literal["supported", "refuted", "not decided"] | None
    holds: bool = Field(description="the verdict is the expected one; without one: it is not refuted")
    reason: str = Field(description="why it is not decided")
    unit_of_n: str = Field(description="'replicates' of two configurations, or 'configurations' of two groups")
    n_left: int
    n_right: int
    blocks: int
    ratio: float | None = Field(description="left / right")
    low: float | None
    high: float | None
    coverage: float | None
    p_value: float | None
    p_adjusted: float | None = Field(description="Holm over all claims of the file that could be decided")
    matched: list[str] = Field(description="'block side configuration' of each: '1 left aws-m6a.2xlarge'")
    trials: list[str]
    subject: Subject | None = Field(description="None: no such benchmark was measured")


class TrialRow(Frozen):
    """One planned trial and how it went. trials.parquet."""

    trial: str = Field(description="trial id")
    configuration: str
    benchmark: str = Field(description="the study's name for it")
    uses: str
    replicate: int
    block: int
    position: int
    position_in_block: int
    cpus: int | None = Field(
        description="in the affinity masks, observed: of all machines of a database that is driven, else of one machine"
    )
    state: Literal["finished", "failed", "interrupted", "running", "not run", "planned"]
    verdict: VerdictKind | None = Field(description="of all checks together; None when it did not finish")
    reasons: list[str] = Field(description="'check: reason' of everything that is not valid; failure message and hint")
    attempt: int | None = Field(description="the attempt that counts")
    attempts: int
    started_unix_ms: int | None
    duration_s: float | None
    client_cpu_share: float | None
    conditions: list[str] = Field(description="stated conditions, for example 'co-located'")
    folder: str | None = Field(description="of the attempt, relative to the results folder")
    subject: Subject

    @property
    def counts(self) -> bool:
        """True when its numbers enter statistics."""
        return self.state == "finished" and self.verdict is VerdictKind.VALID


class MeasurementRow(Frozen):
    """One number of one trial. measurements.parquet and measurements.csv."""

    trial: str
    configuration: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    value: float
    role: str | None
    at_s: float | None
    replicate: int
    block: int
    position: int
    valid: bool
    subject: Subject


class Statistic(Frozen):
    """One metric of one configuration over its valid replicates. statistics.parquet. No NaN; None: not known."""

    configuration: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    per_cpu: bool = Field(description="True: every value divided by the CPUs of its trial first")
    cpus: int | None
    n: int = Field(ge=1, description="valid replicates")
    n_excluded: int = Field(ge=0, description="replicates that did not count, whatever the reason")
    median: float
    low: float = Field(description="of the interval of the median: an order statistic")
    high: float
    coverage: float = Field(description="exact coverage of [low, high], distribution-free; below 0.95 when n < 6")
    margin_percent: float | None = Field(
        description="half the interval / median; None when the median is 0, and of one value"
    )
    cv_percent: float | None
    range_percent: float | None = Field(description="(max - min) / median")
    mad: float
    minimum: float
    maximum: float
    more_replicates_needed: int = Field(ge=0, description="until the interval reaches 95 %")
    outliers: list[str] = Field(description="trials with a modified z-score over 3.5: flagged, never dropped")
    trials: list[str] = Field(description="the valid replicates, by value")
    subject: Subject


class Comparison(Frozen):
    """Two configurations, one metric. comparisons.parquet."""

    benchmark: str
    metric: str
    unit: str
    direction: Direction
    per_cpu: bool
    left: str
    right: str
    n_left: int
    n_right: int
    ratio: float = Field(description="left / right, Hodges-Lehmann on logs")
    low: float | None = Field(description="of the ratio's interval; None below the least n")
    high: float | None
    coverage: float | None = Field(description="exact coverage of the interval")
    p_value: float
    p_adjusted: float = Field(description="Holm within the headline metrics, Benjamini-Hochberg within all others")
    verdict: ComparisonVerdict
    margin_percent: float = Field(description="the study's equivalence margin")
    minimum_detectable_percent: float | None
    more_replicates_needed: int | None = Field(description="estimate, when unresolved; None: not known")
    trials: list[str]
    subject: Subject


class PriceComparison(Comparison):
    """Two configurations by performance per dollar, under one basis. price_comparisons.parquet."""

    basis: str


class Insight(Frozen):
    """One sentence with its evidence, by a named rule."""

    rule: str
    text: str
    kind: Literal["answer", "warning", "note"]
    benchmark: str | None = None
    trials: list[str] = Field(description="evidence: ids of the trials behind it")
    numbers: dict[str, float] = Field(default={}, description="every number in the text, unrounded")


class MachineRow(Frozen):
    """What was observed of one configuration's machine; replicates that differ make several rows."""

    configuration: str
    machine: str
    facts: Facts
    trials: list[str]
    differs_in: list[str] = Field(description="facts in which it differs from the configuration's first row")


class CommandRow(Frozen):
    """What ran for one benchmark on one configuration, once; the rest of the replicates ran the same."""

    configuration: str
    benchmark: str
    argv: list[str]
    machine: str
    trial: str
    subject: Subject


class ErrorRow(Frozen):
    """Operations of one benchmark on one configuration that were retried or failed with one SQLSTATE, all trials."""

    configuration: str
    benchmark: str
    operation: str
    sqlstate: str
    kind: Literal["retried", "failed"]
    count: int = Field(ge=1)
    trials: list[str]
    subject: Subject


class BenchmarkRow(Frozen):
    """One benchmark of the study, for the methods page."""

    benchmark: str
    uses: str
    version: int
    title: str
    parameters: dict[str, Any]
    notes: list[str] = Field(default=[], description="what the benchmark tells of these parameters")
    metrics: list[Metric]
    subject: Subject


class CheckRow(Frozen):
    """One check and what it refused."""

    check: str
    text: str
    valid: int
    invalid: int
    unknown: int


class ImportedRow(Frozen):
    """One number that somebody else measured. measurements.parquet and measurements.csv of an import."""

    run: str = Field(description="first 12 hexadecimal digits of the SHA-256 of the run's logs")
    provider: str = Field(description="as all of the label: claimed, not observed")
    machine_type: str
    date: str
    number: str
    tool: str
    metric: str
    unit: str
    direction: Direction
    threads: int | None
    at_s: float | None = Field(description="end of the interval; None: of the whole")
    value: float
    verdict: VerdictKind = Field(description="of the run and of this number together")
    reasons: list[str] = Field(description="'check: reason' of everything that is not valid")
    source: str
    licence: str
    subject: Subject
