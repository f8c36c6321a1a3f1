"""What an analysis hands to the report: every table, and what the study was.

On disk: `analysis.json` and one Parquet file for each table, in the results folder; all can be rebuilt from `trials/`.
"""

from typing import Literal

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Plan, SourceRecord
from nephoscope.model.rows import (
    BenchmarkRow,
    BoundRow,
    CheckRow,
    ClaimRow,
    CommandRow,
    Comparison,
    ConfigurationRow,
    CostLineRow,
    CostRow,
    ErrorRow,
    FamilyComparison,
    GateRow,
    GrowthRow,
    Insight,
    MachineRow,
    MeasurementRow,
    NetworkRow,
    PassRow,
    PriceComparison,
    PricePerformance,
    RankRow,
    Statistic,
    TransferRow,
    TrialRow,
    WanFloor,
)


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
