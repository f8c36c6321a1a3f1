"""The tables of one study, by what the rules of `insights` ask of them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from statistics import median

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.delivered_rows import DeliveredRow, StealRow
from nephoscope.model.grouped import grouped
from nephoscope.model.looks import Look
from nephoscope.model.price_rows import (
    CostLineRow,
    CostRow,
    PriceComparison,
    PricePerformance,
    TransferRow,
    bases_in_order,
)
from nephoscope.model.questions import BestRow, ContrastRow, View
from nephoscope.model.records import ENCRYPTION, Metric
from nephoscope.model.rows import (
    Comparison,
    ConfigurationRow,
    FamilyComparison,
    GateRow,
    GrowthRow,
    LowerBoundRow,
    MachineRow,
    MeasurementRow,
    RankRow,
    Statistic,
    TrialRow,
)
from nephoscope.model.scopes import OVERALL
from nephoscope.model.usable import UsableCell

STORED = AnalysedStudy.model_fields.keys()
"""What a stored analysis has."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Everything about one study that rules may use; lists are sorted."""

    trials: list[TrialRow]
    measurements: list[MeasurementRow]
    statistics: list[Statistic]
    comparisons: list[Comparison]
    machines: list[MachineRow]
    metrics: Mapping[str, Sequence[Metric]]
    """The study's name for a benchmark -> the metrics it declares."""
    margin_percent: float
    """The study's equivalence margin."""
    seed: int
    configurations: Sequence[ConfigurationRow] = ()
    usable: Sequence[UsableCell] = ()
    family_comparisons: Sequence[FamilyComparison] = ()
    gate: Sequence[GateRow] = ()
    growth: Sequence[GrowthRow] = ()
    lower_bounds: Sequence[LowerBoundRow] = ()
    ranks: Sequence[RankRow] = ()
    best: Sequence[BestRow] = ()
    contrasts: Sequence[ContrastRow] = ()
    costs: Sequence[CostRow] = ()
    basis: str | None = None
    """The first kind of prices of the study; None: nothing has a price."""
    cost_lines: Sequence[CostLineRow] = ()
    transfers: Sequence[TransferRow] = ()
    price_performance: Sequence[PricePerformance] = ()
    price_comparisons: Sequence[PriceComparison] = ()
    looks: Sequence[Look] = ()
    not_repeatable: Sequence[int] = ()
    """Blocks of looks that stored trials do not give again."""
    judged_again: str | None = None
    """How stored steal was judged again for this analysis; None: as when the trials ran."""
    steal: Sequence[StealRow] = ()
    delivered: Sequence[DeliveredRow] = ()
    imported: bool = False
    """Whether somebody else measured the study."""
    tool_versions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Tool -> all versions used by any trial, sorted."""
    encryption: Mapping[str, str] = field(default_factory=dict)
    """Configuration on a user's own server -> how its sessions were encrypted."""

    @classmethod
    def of(
        cls,
        study: AnalysedStudy,
        usable: Sequence[UsableCell],
        not_repeatable: Sequence[int],
        tool_versions: Mapping[str, Sequence[str]],
    ) -> "Findings":
        """The tables of a study, and what its analysis knows besides and does not store."""
        shared = {name.name: getattr(study, name.name) for name in fields(cls) if name.name in STORED}
        return cls(
            **shared | {"usable": usable, "not_repeatable": not_repeatable, "tool_versions": tool_versions},
            basis=next(iter(bases_in_order(study.costs, study.bases)), None),
            imported=study.source is not None,
            metrics={row.benchmark: row.metrics for row in study.benchmarks},
            margin_percent=study.equivalence_margin_percent,
            encryption={name: held[ENCRYPTION] for name, held in study.database_settings.items() if ENCRYPTION in held},
        )

    def headlines(self) -> Iterator[tuple[str, Metric]]:
        """(benchmark, metric) of every metric that a benchmark is ranked by, sorted."""
        for benchmark, metrics in sorted(self.metrics.items()):
            for metric in metrics:
                if metric.headline:
                    yield benchmark, metric

    def title(self, benchmark: str, metric: str) -> str:
        """The title of a metric; its name when no benchmark declares it."""
        titles = {declared.name: declared.title for declared in self.metrics.get(benchmark, ())}
        return titles.get(metric, metric)

    def statistics_of(self, benchmark: str, metric: str, *, per_cpu: bool = False) -> list[Statistic]:
        """The statistics of one metric, sorted by configuration."""
        return list(self._statistics.get((benchmark, metric, per_cpu), ()))

    def comparisons_of(self, benchmark: str, metric: str, *, per_cpu: bool = False) -> list[Comparison]:
        """The comparisons of one metric, sorted by left and right."""
        return list(self._comparisons.get((benchmark, metric, per_cpu), ()))

    def trials_of(self, pair: Comparison) -> list[str]:
        """The trials of both sides."""
        return pair.trials_in(self.statistics_of(pair.benchmark, pair.metric, per_cpu=pair.per_cpu))

    def bests_of(self, benchmark: str, metric: str, *, view: View = "plain", basis: str | None = None) -> list[BestRow]:
        """The best of each scope, the overall one first."""
        return list(self._bests.get((benchmark, metric, view, basis), ()))

    def best_of(self, benchmark: str, metric: str, *, view: View = "plain", basis: str | None = None) -> BestRow | None:
        """The best of all configurations; None if fewer than two compete."""
        rows = self.bests_of(benchmark, metric, view=view, basis=basis)
        return next((row for row in rows if row.scope == OVERALL), None)

    def ranks_of(self, benchmark: str, metric: str) -> list[RankRow]:
        """The ranks of one metric as measured, best median first."""
        return [row for row in self.ranks if (row.benchmark, row.metric, row.view) == (benchmark, metric, "plain")]

    def values_of(self, row: Statistic) -> list[float]:
        """The values behind a plain statistic: of its trials in their order, or of its machines."""
        found = self._values[row.metric]
        if row.counted == "trials":
            return [found[trial] for trial in row.trials]
        machine = {trial.trial: trial.machine for trial in self.trials}
        by_machine = grouped(row.trials, lambda trial: machine[trial])
        return [median(found[trial] for trial in trials) for trials in by_machine.values()]

    def costs_of(self, configuration: str) -> list[CostRow]:
        """What a month of it costs, in the order of price bases."""
        return list(self._costs.get(configuration, ()))

    @cached_property
    def durations_s(self) -> Mapping[tuple[str, str], list[float]]:
        """Durations of the trials that finished, by benchmark and configuration."""
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        for row in self.trials:
            if row.state == "finished" and row.duration_s:
                for benchmark in row.benchmarks:
                    found[benchmark, row.configuration].append(row.duration_s)
        return dict(found)

    @cached_property
    def _costs(self) -> Mapping[str, list[CostRow]]:
        return grouped(self.costs, lambda row: row.configuration)

    @cached_property
    def _values(self) -> Mapping[str, dict[str, float]]:
        """Metric -> trial -> its value; a trial has one, whatever benchmarks it is a trial of."""
        found: dict[str, dict[str, float]] = defaultdict(dict)
        for row in self.measurements:
            if row.at_s is None:
                found[row.metric][row.trial] = row.value
        return dict(found)

    @cached_property
    def _statistics(self) -> Mapping[tuple[str, str, bool], list[Statistic]]:
        return grouped(self.statistics, lambda row: (row.benchmark, row.metric, row.per_cpu))

    @cached_property
    def _bests(self) -> Mapping[tuple[str, str, View, str | None], list[BestRow]]:
        return grouped(self.best, lambda row: (row.benchmark, row.metric, row.view, row.basis))

    @cached_property
    def _comparisons(self) -> Mapping[tuple[str, str, bool], list[Comparison]]:
        return grouped(self.comparisons, lambda row: (row.benchmark, row.metric, row.per_cpu))

    def headline_statistics(self) -> list[Statistic]:
        """The plain statistics of all headline metrics."""
        return [row for benchmark, metric in self.headlines() for row in self.statistics_of(benchmark, metric.name)]
