"""What analysis hands to the report: rows of tables and sentences, nothing left to compute.

On disk: `analysis.json` and one Parquet file for each of the tables that `analysis.stored` names, all in the results
folder, all rebuildable from `trials/`.
"""

from typing import Any, Literal

from pydantic import Field

from nephoscope.frozen import Frozen
from nephoscope.records import Direction, Facts, Metric, Plan, SourceRecord, VerdictKind
from nephoscope.results_costs import (
    ClaimRow,
    CostLineRow,
    CostRow,
    EditionOverall,
    EditionRow,
    NetworkRow,
    PricePerformance,
    RankRow,
    TransferRow,
)
from nephoscope.results_types import (
    BoundRow,
    ComparisonVerdict,
    ConfigurationRow,
    FamilyComparison,
    GateRow,
    GrowthRow,
    PassRow,
    WanFloor,
)

__all__ = [
    "BoundRow",
    "ClaimRow",
    "ComparisonVerdict",
    "ConfigurationRow",
    "CostLineRow",
    "CostRow",
    "EditionOverall",
    "EditionRow",
    "FamilyComparison",
    "GateRow",
    "GrowthRow",
    "NetworkRow",
    "PassRow",
    "PricePerformance",
    "RankRow",
    "TransferRow",
    "WanFloor",
]
"""Defined in `results_costs` and `results_types`; everything else is defined here."""


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


class ErrorRow(Frozen):
    """Operations of one benchmark on one configuration that were retried or failed with one SQLSTATE, all trials."""

    configuration: str
    benchmark: str
    operation: str
    sqlstate: str
    kind: Literal["retried", "failed"]
    count: int = Field(ge=1)
    trials: list[str]


class BenchmarkRow(Frozen):
    """One benchmark of the study, for the methods page."""

    benchmark: str
    uses: str
    version: int
    title: str
    parameters: dict[str, Any]
    notes: list[str] = Field(default=[], description="what the benchmark tells of these parameters")
    metrics: list[Metric]


class CheckRow(Frozen):
    """One check and what it refused."""

    check: str
    text: str
    valid: int
    invalid: int
    unknown: int


class Levels(Frozen):
    """What verdicts and intervals were made with: a page that repeats them for other prices needs it."""

    alpha: float = Field(default=0.05, description="of the claims of one family")
    confidence: float = Field(default=0.95, description="of intervals")
    exact_pairs: int = Field(default=2500, description="up to so many pairs of values a p-value is enumerated")


class AnalysedStudy(Frozen):
    """Everything a report shows. It computes nothing on top."""

    schema_: Literal["nephoscope/analysis/1"] = Field(default="nephoscope/analysis/1", alias="schema")
    study: str
    title: str
    description: str
    seed: int
    replicates: int
    equivalence_margin_percent: float
    study_toml: str
    nephoscope_version: str
    tool_versions: dict[str, str] = Field(description="several versions of one tool are joined by ' | '")
    started_unix_ms: int | None
    ended_unix_ms: int | None
    plan: Plan
    benchmarks: list[BenchmarkRow]
    trials: list[TrialRow]
    measurements: list[MeasurementRow]
    statistics: list[Statistic]
    comparisons: list[Comparison]
    insights: list[Insight]
    machines: list[MachineRow]
    commands: list[CommandRow]
    errors: list[ErrorRow] = []
    checks: list[CheckRow]
    database_settings: dict[str, dict[str, str]] = Field(description="configuration -> settings in force")
    levels: Levels = Levels()
    ranks: list[RankRow] = []
    costs: list[CostRow] = []
    cost_lines: list[CostLineRow] = []
    network: list[NetworkRow] = []
    transfers: list[TransferRow] = []
    price_performance: list[PricePerformance] = []
    price_comparisons: list[PriceComparison] = []
    claims: list[ClaimRow] = []
    price_date: str | None = Field(default=None, description="the day at whose prices costs are")
    configurations: list[ConfigurationRow] = []
    family_comparisons: list[FamilyComparison] = []
    gate: list[GateRow] = []
    wan_floors: list[WanFloor] = []
    growth: list[GrowthRow] = []
    passes: list[PassRow] = []
    bounds: list[BoundRow] = []
    source: SourceRecord | None = Field(default=None, description="of imported results; None: measured here")
    inputs_digest: str | None = Field(default=None, description="of all that it was made from; None: not known")


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
