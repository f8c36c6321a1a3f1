"""Rows of the tables that an analysis writes and a report prints. A report computes nothing: every number is a row's.

On disk each table is one Parquet file in the results folder; `analysis.stored` names them. A new field goes to the end
of its table, as scripts read columns of CSV files by their place.
"""

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import Field

from nephoscope.model.events import Event
from nephoscope.model.frozen import Frozen
from nephoscope.model.quantities import LowerBound
from nephoscope.model.records import Direction, Disturbance, Facts, Metric, VerdictKind
from nephoscope.model.sentence import NO_SENTENCE, Sentence
from nephoscope.model.subjects import DatabaseLoad, Extent, Subject, extent_by_subject
from nephoscope.model.words import NOT_DECIDED

Counted = Literal["trials", "machines"]
"""What n counts: trials, or machines, each with the median of its trials."""
Scope = Literal["types", "these machines", "this machine", "not known"]
"""What a statement speaks for. 'types': machines like these, as several of each were measured."""


class ComparisonVerdict(StrEnum):
    """Of `left` against `right`, in the metric's own direction."""

    BETTER = "better"
    WORSE = "worse"
    TIE = "tie"
    UNRESOLVED = "unresolved"

    @property
    def opposite(self) -> "ComparisonVerdict":
        """Of `right` against `left`."""
        match self:
            case ComparisonVerdict.BETTER:
                return ComparisonVerdict.WORSE
            case ComparisonVerdict.WORSE:
                return ComparisonVerdict.BETTER
            case _:
                return self


_IN_WORDS = {
    ComparisonVerdict.BETTER: "better",
    ComparisonVerdict.WORSE: "worse",
    ComparisonVerdict.TIE: "equal",
    ComparisonVerdict.UNRESOLVED: NOT_DECIDED,
}


def disagreement(delivered: ComparisonVerdict | None, quiet: ComparisonVerdict | None) -> str:
    """'better as delivered, but equal in quiet trials'; empty: the two verdicts are the same, or there is only one."""
    if delivered is None or quiet is None or delivered is quiet:
        return ""
    return f"{_IN_WORDS[delivered]} as delivered, but {_IN_WORDS[quiet]} in quiet trials"


class ConfigurationRow(Frozen):
    """What is known about a configuration's database machine: its type as ordered, its CPU as observed."""

    configuration: str
    provider: str
    machine_type: str | None
    family: str | None = Field(description="'m6i', 'n2-standard', 'Ds_v5'")
    vcpus: int | None = Field(description="observed, else taken from the name of the type")
    memory_gib_per_vcpu: float | None = Field(description="observed")
    cpu_vendor: str | None = Field(description="'AMD', 'Intel' or 'Arm'")
    cpu_design: str | None = Field(description="from CPUID: 'Milan', 'Ice Lake'; never guessed from a model name")
    cpu_model: str | None
    threads_per_core: int | None
    numa_nodes: int | None
    labels: dict[str, str] = Field(default={}, description="as the study gives them")
    storage: str | None = Field(
        default=None,
        description="kind of its volumes without their size, or 'local SSD': 'gp3', 'Premium SSD'; None: not stated",
    )

    @property
    def memory(self) -> int | None:
        """About how much memory a vCPU has: GiB as the nearest power of two, as its exponent; types have a bit less."""
        return round(math.log2(self.memory_gib_per_vcpu)) if self.memory_gib_per_vcpu else None


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
    matched_by: str = Field(description="keys that are equal within a block")
    blocks: int
    n_left: int = Field(description="types of the left group, in blocks that hold both groups")
    n_right: int
    ratio: float = Field(description="left / right: the median of all ratios within blocks")
    low: float | None = Field(description="end of the ratio's interval; None: too few types for one")
    high: float | None
    coverage: float | None
    p_value: float = Field(description="exact p-value over all relabellings within blocks")
    p_adjusted: float = Field(description="p-value after Benjamini-Hochberg over all comparisons of the study")
    verdict: ComparisonVerdict
    margin_percent: float = Field(description="the study's equivalence margin")
    configurations: list[str]
    matched: list[str] = Field(description="'block side configuration' of each type: '1 left aws-m6a.2xlarge'")
    trials: list[str]
    subject: Subject


class GateRow(Frozen):
    """A headline metric with and without the trials that the checks rejected. gate.parquet."""

    configuration: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    n_before: int = Field(description="trials with a number, whatever their verdict")
    n_after: int = Field(description="of these, the valid ones")
    median_before: float
    median_after: float | None = Field(description="None: no trial is left")
    change_percent: float | None
    reasons: list[Sentence] = Field(description="'check count' of the rejected ones; a trial may have several")
    trials: list[str] = Field(description="rejected trials")
    subject: Subject


class GrowthRow(Frozen):
    """A rate against the number of machines, for configurations that differ in nothing else."""

    group: str = Field(description="'valkey on small': the database, and the machine type where one is named")
    system: str
    benchmark: str
    metric: str
    unit: str
    configurations: list[str] = Field(description="fewest machines first")
    machines: list[int] = Field(description="of each of them")
    medians: list[float] = Field(description="of each of them")
    exponent: float = Field(description="exponent of the power law value = at_one * machines ** exponent")
    at_one: float
    low: float | None = Field(description="end of the exponent's interval; None: too few trials for one")
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
    counts: bool = Field(description="the trial is valid; a search without a result has levels, too")
    level: float
    unit: str
    points: int = Field(ge=1, description="points measured at this level, without those of the larger client")
    confirmations: int = Field(ge=0, description="of these, the points meant to confirm the level")
    passed: int = Field(ge=0, description="points at which the rule was met and the load generator was not the limit")
    low: float = Field(description="end of the interval of the pass probability, with coverage of 95 % or more")
    high: float
    subject: Subject

    @property
    def share(self) -> float:
        """Share of points that passed: the estimate of the pass probability."""
        return self.passed / self.points


class BoundRow(Frozen):
    """What limited the database machines of a configuration in a benchmark. Shares are of the busiest machine."""

    configuration: str
    benchmark: str
    phase: str = Field(default="", description="a job, a step or a point of a search; empty: the trial has only one")
    n: int = Field(ge=1, description="valid trials whose database machines were all sampled")
    cpu_bound: int = Field(
        ge=0,
        description="trials in which a machine's measured CPUs were at least 90 % busy in the median second, or its "
        "quota used up in at least 90 % of periods",
    )
    disk_bound: int = Field(
        ge=0, description="of the other trials, those in which a disk was at least 90 % busy in the median second"
    )
    neither: int = Field(ge=0)
    unknown: int = Field(ge=0, description="trials whose CPUs were not busy and for which no disk was observed")
    cpu_busy_share: float = Field(description="median over the trials, as for all values below")
    cpu_quota_used_up_share: float | None = Field(
        description="share of the quota's periods; None: no machine has a quota"
    )
    disk_busy_share: float | None = Field(
        description="share of time with requests in flight; None: no disk was observed"
    )
    disk_read_bytes_per_s: float | None
    disk_write_bytes_per_s: float | None
    network_receive_bytes_per_s: float | None
    network_send_bytes_per_s: float | None
    trials: list[str]
    subject: Subject

    @property
    def words(self) -> str:
        """'CPU-bound', or the number of trials of each kind where they differ."""
        kinds = {
            "CPU-bound": self.cpu_bound,
            "disk-bound": self.disk_bound,
            "neither": self.neither,
            "not known": self.unknown,
        }
        found = {kind: count for kind, count in kinds.items() if count}
        return next(iter(found)) if len(found) == 1 else ", ".join(f"{kind} {count}" for kind, count in found.items())


class WanFloor(Frozen):
    """The shortest possible round trip between a configuration's two regions: light in fibre, shortest path."""

    configuration: str
    database_region: str
    load_region: str
    distance_m: float = Field(ge=0, description="great circle between the regions' cities")
    round_trip_s: float = Field(ge=0)


class WithinRow(Frozen):
    """All values that the valid trials of a configuration have of one network metric: seconds, or replies."""

    configuration: str
    benchmark: str
    metric: str
    unit: str
    trials: int = Field(ge=1, description="trials with values; the values within one are not independent")
    values: int = Field(ge=1)
    mean: float
    deviation: float | None = Field(description="standard deviation of all values; None: there is only one")
    minimum: float
    maximum: float


class RankRow(Frozen):
    """One configuration's rank on one leaderboard, as far as it is certain. ranks.parquet."""

    benchmark: str
    metric: str
    view: Literal["plain", "per CPU", "per dollar"]
    basis: str | None = Field(description="basis of the prices, for the view per dollar")
    configuration: str
    place: int = Field(ge=1, description="rank by the level alone; equal levels share a rank")
    first: int = Field(ge=1, description="1 + the number of configurations that are certainly better")
    last: int = Field(description="all - the number of configurations that are certainly worse")
    of: int = Field(description="configurations on the leaderboard")
    ties: list[str] = Field(description="configurations tied with it: shown to differ by less than the margin")
    subject: Subject
    note: Sentence = Field(default=NO_SENTENCE, description="what steal rejected, if that is over 10 % of its trials")


class NetworkRow(Frozen):
    """What one machine sent and received in one trial, while its load was driven. network.parquet."""

    trial: str
    configuration: str
    benchmark: str
    machine: str
    role: str
    sampled_s: float
    received_bytes: float = Field(description="on every interface except loopback, whoever sent them")
    sent_bytes: float
    valid: bool = Field(description="the trial is valid")
    subject: Subject


class ClaimRow(Frozen):
    """What these data say about one claim, by one metric. claims.parquet."""

    claim: str = Field(description="its id in the claims file")
    text: str
    source: str
    kind: Literal["better", "tie", "not-worse", "first", "last"]
    benchmark: str
    metric: str
    view: Literal["plain", "per CPU", "per dollar"]
    basis: str | None
    verdict: Literal["supported", "refuted", "not decided"]
    expected: Literal["supported", "refuted", "not decided"] | None
    holds: bool = Field(description="the verdict is the expected one; if none is expected: it is not refuted")
    reason: Sentence = Field(description="why it is not decided")
    unit_of_n: str = Field(description="'replicates' of two configurations, or 'configurations' of two groups")
    n_left: int
    n_right: int
    blocks: int
    ratio: float | None = Field(description="left / right")
    low: float | None
    high: float | None
    coverage: float | None
    p_value: float | None
    p_adjusted: float | None = Field(
        description="p-value after Holm over all claims about groups; of two configurations that of their comparison"
    )
    matched: list[str] = Field(description="'block side configuration' of each: '1 left aws-m6a.2xlarge'")
    trials: list[str]
    subject: Subject | None = Field(description="None: no such benchmark was measured")


TrialState = Literal["finished", "failed", "interrupted", "running", "not run", "planned", "not needed", "altered"]


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
        description="CPUs in the affinity masks, observed: of all machines of a database under load, else of one "
        "machine"
    )
    state: TrialState = Field(
        description="not needed: no open question needed it any more, so that it was not started; altered: its files "
        "were changed after it had ended"
    )
    verdict: VerdictKind | None = Field(description="verdict of all checks together; None if the trial did not finish")
    reasons: list[Sentence] = Field(
        description="'check: reason' for everything that is not valid; failure message and hint"
    )
    attempt: int | None = Field(description="the attempt that is used")
    attempts: int
    other_kinds: list[str] = Field(
        default=[],
        description="of each attempt on machines unlike most of the configuration's (`equal_machines`): the facts in "
        "which they differ, as 'cpu_model, numa_nodes'",
    )
    started_unix_ms: int | None
    duration_s: float | None
    client_cpu_share: float | None
    conditions: list[str] = Field(description="stated conditions, for example 'co-located'")
    folder: str | None = Field(description="of the attempt, relative to the results folder")
    subject: Subject
    stolen_share: float | None = Field(
        default=None, description="of CPU time, by the hypervisor, on the machine that lost most; None: not known"
    )
    disturbance: Disturbance | None = Field(
        default=None, description="how steal was judged; None: the trial did not finish, or is imported"
    )
    at_baseline: bool = Field(
        default=False, description="the loss is that of burstable machines whose credits are spent: no disturbance"
    )
    machine: str | None = Field(
        default=None,
        description="the machine or cluster under test: equal for trials on the same one; None: not known which",
    )
    has_digests: bool | None = Field(
        default=None,
        description="whether digests of its files were stored, so that changes are noticed; None: it has not ended",
    )
    rejected_by: list[str] = Field(
        default=[], description="checks whose verdict is not valid, in the order of `reasons`"
    )
    differs_in: list[str] = Field(default=[], description="facts in `other_kinds`, each once")
    events: list[Event] = Field(
        default=[], description="stalls, costly dips, stops of the load generator and lost connections in it"
    )
    also: list[str] = Field(
        default=[],
        description="other benchmarks of the study of which it is a trial, too: on its machine, their parameters are "
        "equal to its own",
    )

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Every benchmark of the study that it is a trial of, its own first."""
        return self.benchmark, *self.also

    @property
    def counts(self) -> bool:
        """True if its numbers enter the statistics."""
        return self.state == "finished" and self.verdict is VerdictKind.VALID


class MeasurementRow(NamedTuple):
    """One number of one trial. measurements.parquet and measurements.csv.

    A study has hundreds of thousands of them. A tuple is a tenth of a model's size and is made in a third of its time;
    it checks nothing, as its values are those of a `Measurement`, or of a table that was checked.
    """

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


class LowerBoundRow(Frozen):
    """Metrics whose tool could not tell how large they are: lower bounds, in no statistic and no comparison.

    lower_bounds.parquet.
    """

    configuration: str
    benchmark: str
    metric: str
    unit: str
    above: float = Field(description="the median of the valid trials is more than this, with each unknown value larger")
    or_equal: bool = Field(description="the median may be `above` itself")
    n: int = Field(ge=1, description="valid trials")
    bounded: int = Field(ge=1, description="of these, those whose value is only known to be above the tool's limit")
    trials: list[str]
    subject: Subject

    @property
    def value(self) -> LowerBound:
        """The median of the valid trials."""
        return LowerBound(above=self.above, or_equal=self.or_equal)


class Estimate(NamedTuple):
    """A value of one configuration, with its interval and how often such intervals contain the true value."""

    value: float
    low: float
    high: float
    coverage: float


class Statistic(Frozen):
    """One metric of one configuration over its valid replicates. statistics.parquet. No NaN; None: unknown."""

    configuration: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    per_cpu: bool = Field(description="True: every value divided by the CPUs of its trial first")
    cpus: int | None
    n: int = Field(ge=1, description="valid replicates, or machines where `counted` says so")
    n_excluded: int = Field(ge=0, description="replicates that are not valid, whatever the reason")
    median: float
    low: float = Field(description="end of the interval of the median: an order statistic")
    high: float
    coverage: float = Field(description="exact coverage of [low, high], distribution-free; below 0.95 when n < 6")
    margin_percent: float | None = Field(
        description="half the interval / median; None if the median is 0 or there is only one value"
    )
    cv_percent: float | None
    range_percent: float | None = Field(description="(max - min) / median")
    mad: float
    minimum: float
    maximum: float
    more_replicates_needed: int = Field(ge=0, description="replicates missing until the interval reaches 95 %")
    outliers: list[str] = Field(description="trials with a modified z-score above 3.5, if n >= 6: flagged")
    trials: list[str] = Field(description="the valid replicates, by value")
    subject: Subject
    counted: Counted = Field(default="trials", description="what n counts; a machine has the median of its trials")
    machines: int | None = Field(default=None, description="number of machines that were measured; None: not known")
    scope: Scope = Field(default="not known", description="what the median and its interval speak for")
    level: float | None = Field(
        default=None,
        description="what ratios are quotients of: the geometric mean with blocks removed; the median of values in "
        "steps, and of metrics that are not headlines; None: a value is not above 0, so that there are no ratios",
    )
    level_low: float | None = Field(
        default=None, description="end of the interval of the level; with fewer than 3 values that of the median"
    )
    level_high: float | None = None
    level_coverage: float | None = Field(default=None, description="coverage of [level_low, level_high]")
    pulling: int = Field(
        default=0, description="values that pull the level away from the median: the far ones on its side"
    )
    pulling_percent: float | None = Field(
        default=None, description="how far the middle one of these is from the median; None: there are none"
    )
    set_aside: list[str] = Field(
        default=[], description="trials whose values are so far from all others that the level leaves them out"
    )
    set_aside_percent: float | None = Field(
        default=None, description="how far the furthest of these is from the median; None: there are none"
    )
    second_kind: int = Field(
        default=0, description="values of the less frequent kind, if the values came in two kinds with a gap between"
    )
    second_kind_percent: float | None = Field(
        default=None, description="how far the level of these is from that of the others; None: there is one kind"
    )
    widened: float = Field(
        default=1.0,
        description="by what factor intervals of ratios are wider, as values depend on those before; 1: none does",
    )

    @property
    def middle(self) -> Estimate:
        """The median with its interval."""
        return Estimate(self.median, self.low, self.high, self.coverage)

    @property
    def compared(self) -> Estimate:
        """What stands where configurations are compared: the level, or the median of a metric without ratios."""
        if self.level is None or self.level_low is None or self.level_high is None or self.level_coverage is None:
            return self.middle
        return Estimate(self.level, self.level_low, self.level_high, self.level_coverage)


MIN_EXTRAPOLATED = 4
"""With fewer values of a configuration, their spread says nothing about how many replicates would decide a pair."""
MAX_TIMES_MORE = 3
"""No text asks for more additional replicates than this many times those that were taken: ratio and spread are too
uncertain for that. Four times the replicates halve the interval, so a pair that needs more is close to half-way between
a tie and a difference."""


class Comparison(Frozen):
    """Two configurations, one metric. comparisons.parquet.

    Its trials are those of both sides in statistics.parquet: repeated for each pair, they would be most of a report.
    """

    benchmark: str
    metric: str
    unit: str
    direction: Direction
    per_cpu: bool
    left: str
    right: str
    n_left: int
    n_right: int
    ratio: float = Field(description="left / right: the quotient of their levels in statistics.parquet")
    low: float | None = Field(description="end of the ratio's interval; None below the minimum n")
    high: float | None
    coverage: float | None = Field(description="coverage of the interval; exact for rank sums")
    p_value: float
    p_adjusted: float = Field(
        description="adjusted p-value: Benjamini-Hochberg within the leaderboard of a headline metric, else over all "
        "other metrics"
    )
    verdict: ComparisonVerdict
    margin_percent: float = Field(description="the study's equivalence margin")
    minimum_detectable_percent: float | None
    more_replicates_needed: int | None = Field(description="estimate, if unresolved; None: unknown")
    subject: Subject
    delivered: ComparisonVerdict | None = Field(
        default=None, description="verdict over all valid trials; None: no trial of either side lost CPU time"
    )
    quiet: ComparisonVerdict | None = Field(
        default=None, description="verdict over the trials that lost little CPU time; `verdict` needs both to agree"
    )
    quiet_ratio: float | None = Field(default=None, description="left / right in quiet trials")
    reason: Sentence = Field(default=NO_SENTENCE, description="why `verdict` is not the one as delivered; empty: it is")
    note: Sentence = Field(
        default=NO_SENTENCE, description="what steal rejected, if that is over 10 % of the trials of a side"
    )
    counted_left: Counted = Field(default="trials", description="what n_left counts")
    counted_right: Counted = "trials"
    machines_left: int | None = Field(default=None, description="number of machines on the left; None: not known")
    machines_right: int | None = None
    scope: Scope = Field(default="not known", description="what the verdict speaks for")
    ratio_of_medians: float | None = Field(
        default=None, description="quotient of the medians; on the other side of 1 than the ratio, nothing is decided"
    )

    @property
    def is_disputed(self) -> bool:
        """Whether the interval excludes 1, and the medians put the two the other way round."""
        if self.low is None or self.high is None or self.ratio_of_medians is None:
            return False
        return (self.low > 1 > self.ratio_of_medians) or (self.high < 1 < self.ratio_of_medians)

    def trials_in(self, rows: Iterable[Statistic]) -> list[str]:
        """Ids of the trials of both sides, from the statistics of its metric."""
        return [trial for row in rows if row.configuration in {self.left, self.right} for trial in row.trials]

    def mirrored(self) -> "Comparison":
        """The same two with the right one on the left."""
        delivered, quiet = self.delivered and self.delivered.opposite, self.quiet and self.quiet.opposite
        return self.model_copy(
            update={
                **sides_exchanged(self),
                "n_left": self.n_right,
                "n_right": self.n_left,
                "counted_left": self.counted_right,
                "counted_right": self.counted_left,
                "machines_left": self.machines_right,
                "machines_right": self.machines_left,
                "verdict": self.verdict.opposite,
                "delivered": delivered,
                "quiet": quiet,
                "quiet_ratio": None if self.quiet_ratio is None else 1 / self.quiet_ratio,
                "ratio_of_medians": None if self.ratio_of_medians is None else 1 / self.ratio_of_medians,
                "reason": disagreement(delivered, quiet),
            }
        )

    @property
    def more_to_measure(self) -> int | None:
        """`more_replicates_needed`, unless it is far more than the replicates from which it is estimated."""
        more = self.more_replicates_needed
        return more if more is not None and more <= MAX_TIMES_MORE * self._n_estimated_from else None

    @property
    def is_hardly_decidable(self) -> bool:
        """Whether the estimate is so large that it says only one thing: a few more replicates will not decide it."""
        known = self._n_estimated_from > 0 and self.more_replicates_needed is not None
        return known and self.more_to_measure is None

    @property
    def _n_estimated_from(self) -> int:
        """Replicates of the side with fewer; 0: too few for any estimate."""
        least = min(self.n_left, self.n_right)
        return least if least >= MIN_EXTRAPOLATED else 0


class Insight(Frozen):
    """One sentence with its evidence, by a named rule."""

    rule: str
    text: Sentence
    kind: Literal["answer", "warning", "note"]
    benchmark: str | None = None
    trials: list[str] = Field(description="evidence: ids of the trials behind it")
    numbers: dict[str, float] = Field(default={}, description="every number in the text, unrounded")


class MachineRow(Frozen):
    """What was observed on one configuration's machine; replicates that differ give several rows."""

    configuration: str
    machine: str
    facts: Facts
    trials: list[str]
    differs_in: list[str] = Field(description="facts in which it differs from the configuration's first row")


class CommandRow(Frozen):
    """The commands of one benchmark on one configuration, listed once; the other replicates ran the same."""

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
    sqlstate: str = Field(
        description="40001: serialization failure; 40P01: deadlock; 40003: completion unknown; 57P01: server shut "
        "down; or lost: the connection; data: impossible rows; protocol: its violation"
    )
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
    notes: list[Sentence] = Field(default=[], description="what the benchmark says about these parameters")
    metrics: list[Metric]
    subject: Subject
    database_load: DatabaseLoad | None = Field(
        default=None, description="what it asks of a database; None: another subject"
    )
    extent: Extent = Field(
        default_factory=lambda row: extent_by_subject(row["subject"]),
        description="the part of a configuration that it measures",
    )
    measured_s: float | None = Field(
        default=None, description="time in which it measures its headline after a search; None: it does not search"
    )


class CheckRow(Frozen):
    """One check and the trials it rejected."""

    check: str
    text: Sentence
    valid: int
    invalid: int
    unknown: int


class RawFileRow(Frozen):
    """One file of a trial's raw output, of the attempt that is used. raw_files.parquet."""

    trial: str
    file: str = Field(description="path below the attempt's folder `raw`")
    size_bytes: int = Field(ge=0)
    sha256: str


class TwoSided(Protocol):
    """A ratio of two sides, left / right, with its interval."""

    @property
    def left(self) -> str:
        """Its name."""

    @property
    def right(self) -> str:
        """Its name."""

    @property
    def ratio(self) -> float:
        """Left / right."""

    @property
    def low(self) -> float | None:
        """End of the ratio's interval; None: too few values for one."""

    @property
    def high(self) -> float | None:
        """The other end."""


def sides_exchanged(row: TwoSided) -> dict[str, Any]:
    """The fields of the same comparison with left and right exchanged."""
    return {
        "left": row.right,
        "right": row.left,
        "ratio": 1 / row.ratio,
        "low": None if row.high is None else 1 / row.high,
        "high": None if row.low is None else 1 / row.low,
    }


class StealRow(Frozen):
    """How often the hypervisor withheld CPU time from the trials of one configuration. steal.parquet."""

    configuration: str
    limit_share: float = Field(description="of CPU time; a trial that lost more is counted in `over`")
    n: int = Field(ge=1, description="finished trials whose loss is known, rejected ones included")
    over: int = Field(ge=0)
    share: float = Field(description="over / n")
    low: float = Field(description="end of the share's interval with a coverage of 95 % or more (Clopper-Pearson)")
    high: float
    rejected: int = Field(ge=0, description="trials rejected for steal and for nothing else")
    median_stolen_share: float = Field(description="of CPU time, over the trials")
    highest_stolen_share: float
    trials: list[str] = Field(description="trials that lost more than the limit")


class DeliveredRow(Frozen):
    """A metric as delivered and in quiet trials, where some trial lost CPU time. delivered.parquet."""

    configuration: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    per_cpu: bool
    n: int = Field(ge=0, description="valid trials; 0: steal rejected all")
    median: float | None = Field(description="as delivered: of all valid trials")
    n_quiet: int = Field(ge=0, description="valid trials behind the quiet median: they lost at most 2 % of CPU time")
    quiet_median: float | None
    quiet_low: float | None = Field(description="end of the interval of the quiet median")
    quiet_high: float | None
    quiet_coverage: float | None
    n_rejected: int = Field(ge=0, description="trials rejected for steal and for nothing else")
    rejected_share: float = Field(description="n_rejected / (n + n_rejected)")
    median_with_rejected: float | None = Field(description="None: none was rejected for steal")
    trials: list[str] = Field(description="trials that lost more, whether they count or not")
    subject: Subject
