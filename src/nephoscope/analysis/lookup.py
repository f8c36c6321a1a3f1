"""Finds the rows of an `AnalysedStudy` that a sentence or a section needs: the only index of them."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, TypeVar

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.numbers import Scale, scale_for
from nephoscope.model.price_rows import CostRow, PricedQuantity, PricePerformance, bases_in_order, priced_quantity
from nephoscope.model.questions import BestRow, View
from nephoscope.model.records import ENCRYPTION, Direction, Metric
from nephoscope.model.rows import (
    BenchmarkRow,
    Comparison,
    ConfigurationRow,
    MachineRow,
    MeasurementRow,
    RankRow,
    Statistic,
    TrialRow,
)
from nephoscope.model.subjects import Extent
from nephoscope.model.written import OVERALL

Row = TypeVar("Row")
MetricKey = tuple[str, str]
"""Benchmark, metric."""


@dataclass(frozen=True)
class Lookup:
    """A study, and its rows grouped when somebody first asks; every list keeps the order of its table."""

    study: AnalysedStudy

    def __getitem__(self, row: type[Row]) -> list[Row]:
        """The rows of a table by their model."""
        return self.study[row]

    @cached_property
    def configurations(self) -> list[str]:
        """Names in the order of the study file, then any others that trials, machines or statistics have."""
        seen = [row.configuration for rows in (self[MachineRow], self[TrialRow], self[Statistic]) for row in rows]
        planned = sorted(row.intent.configuration_name for row in self.study.plan.trials)
        return [name for name in unique([*self.study.named, *planned, *seen]) if name in {*seen}]

    @cached_property
    def trials(self) -> Mapping[str, TrialRow]:
        """By id."""
        return {row.trial: row for row in self[TrialRow]}

    @cached_property
    def statistics(self) -> Mapping[tuple[str, str, bool], Mapping[str, Statistic]]:
        """By benchmark, metric and per CPU, then by configuration."""
        groups = grouped(self[Statistic], lambda row: (row.benchmark, row.metric, row.per_cpu))
        return {key: {row.configuration: row for row in rows} for key, rows in groups.items()}

    @cached_property
    def values(self) -> Mapping[MetricKey, list[MeasurementRow]]:
        """The numbers of whole trials."""
        return self._measured[False]

    @cached_property
    def series(self) -> Mapping[MetricKey, list[MeasurementRow]]:
        """The numbers within trials."""
        return self._measured[True]

    @cached_property
    def _measured(self) -> Mapping[bool, Mapping[MetricKey, list[MeasurementRow]]]:
        also = {row.trial: row.also for row in self[TrialRow] if row.also}
        found: dict[bool, dict[MetricKey, list[MeasurementRow]]] = {False: defaultdict(list), True: defaultdict(list)}
        for row in self[MeasurementRow]:
            for benchmark in (row.benchmark, *also.get(row.trial, ())):
                found[row.at_s is not None][benchmark, row.metric].append(row)
        return {within: dict(groups) for within, groups in found.items()}

    @cached_property
    def ranks(self) -> Mapping[tuple[str, str, str, str | None], Mapping[str, RankRow]]:
        """By benchmark, metric, view and price basis, then by configuration."""
        groups = grouped(self[RankRow], lambda row: (row.benchmark, row.metric, row.view, row.basis))
        return {key: {row.configuration: row for row in rows} for key, rows in groups.items()}

    def trials_of(self, benchmark: str, configuration: str | None = None) -> list[TrialRow]:
        """Trials of a benchmark in plan order."""
        return list(self._trials_of.get((benchmark, configuration), ()))

    def trials_of_pair(self, pair: Comparison) -> list[str]:
        """Ids of the trials of both sides."""
        return pair.trials_in(self.statistics[pair.benchmark, pair.metric, pair.per_cpu].values())

    @cached_property
    def _trials_of(self) -> Mapping[tuple[str, str | None], list[TrialRow]]:
        found: dict[tuple[str, str | None], list[TrialRow]] = defaultdict(list)
        for row in sorted(self[TrialRow], key=lambda row: row.position):
            found[row.benchmark, None].append(row)
            found[row.benchmark, row.configuration].append(row)
        return dict(found)

    def headlines(self) -> Iterator[tuple[str, Metric]]:
        """(benchmark, metric) of every metric that a benchmark is ranked by, sorted by benchmark."""
        for row in sorted(self.study.benchmarks, key=lambda row: row.benchmark):
            for metric in headlines(row):
                yield row.benchmark, metric

    @cached_property
    def headline_statistics(self) -> list[Statistic]:
        """The plain statistics of all headline metrics."""
        return [row for benchmark, metric in self.headlines() for row in self.statistics_of(benchmark, metric.name)]

    def title(self, benchmark: str, metric: str) -> str:
        """The title of a metric; its name where no benchmark declares it."""
        declared = self.metrics.get((benchmark, metric))
        return declared.title if declared else metric

    def comparisons_of(self, benchmark: str, metric: str, *, per_cpu: bool = False) -> list[Comparison]:
        """The comparisons of one metric, sorted by left and right."""
        return self._comparisons.get((benchmark, metric, per_cpu), [])

    @cached_property
    def _comparisons(self) -> Mapping[tuple[str, str, bool], list[Comparison]]:
        return grouped(self[Comparison], lambda row: (row.benchmark, row.metric, row.per_cpu))

    def pair(self, benchmark: str, metric: str, left: str, right: str, *, per_cpu: bool = False) -> Comparison | None:
        """The stored comparison of two configurations, seen from the left one."""
        for row in self.comparisons_of(benchmark, metric, per_cpu=per_cpu):
            if {row.left, row.right} == {left, right}:
                return row if row.left == left else row.mirrored()
        return None

    def bests_of(self, benchmark: str, metric: str, *, view: View = "plain", basis: str | None = None) -> list[BestRow]:
        """The best of each scope, the overall one first."""
        return self._bests.get((benchmark, metric, view, basis), [])

    def best_of(self, benchmark: str, metric: str, *, view: View = "plain", basis: str | None = None) -> BestRow | None:
        """The best of all; None if fewer than two compete."""
        rows = self.bests_of(benchmark, metric, view=view, basis=basis)
        return next((row for row in rows if row.scope == OVERALL), None)

    @cached_property
    def _bests(self) -> Mapping[tuple[str, str, View, str | None], list[BestRow]]:
        return grouped(self[BestRow], lambda row: (row.benchmark, row.metric, row.view, row.basis))

    def values_behind(self, row: Statistic) -> list[float]:
        """The values of a plain statistic: of its trials in their order, or the median of each of its machines."""
        value = {one.trial: one.value for one in self.values[row.benchmark, row.metric]}
        if row.counted == "trials":
            return [value[trial] for trial in row.trials]
        by_machine = grouped(row.trials, lambda trial: self.trials[trial].machine)
        return [median(value[trial] for trial in trials) for trials in by_machine.values()]

    @cached_property
    def encryption(self) -> Mapping[str, str]:
        """Configuration on a user's own server -> how its sessions were encrypted."""
        in_force = self.study.database_settings
        return {name: settings[ENCRYPTION] for name, settings in in_force.items() if ENCRYPTION in settings}

    @cached_property
    def metrics(self) -> Mapping[MetricKey, Metric]:
        """Every metric by benchmark and name, in the order of benchmarks, the headline metrics of each first."""
        return {
            (row.benchmark, metric.name): metric
            for row in self.study.benchmarks
            for metric in [*headlines(row), *row.metrics]
        }

    @cached_property
    def places_of_metrics(self) -> Mapping[MetricKey, int]:
        """The place of each metric in `metrics`."""
        return {key: place for place, key in enumerate(self.metrics)}

    @cached_property
    def price_boards(self) -> Mapping[tuple[str, str, str], list[PricePerformance]]:
        """What a unit of each metric costs a month, by benchmark, metric and price basis."""
        return grouped(self[PricePerformance], lambda row: (row.benchmark, row.metric, row.basis))

    @cached_property
    def bases(self) -> list[str]:
        """Price bases on which something has a price; see `bases_in_order`."""
        return bases_in_order(self[CostRow], self.study.bases)

    @property
    def basis(self) -> str | None:
        """The price basis of everything that shows only one; None without prices."""
        return next(iter(self.bases), None)

    @cached_property
    def extents(self) -> Mapping[str, Extent]:
        """Benchmark -> the part of a configuration that it measures."""
        return {row.benchmark: row.extent for row in self.study.benchmarks}

    def cost_of(self, configuration: str, basis: str | None) -> CostRow | None:
        """A month of the whole configuration on a basis; None: there is no row."""
        return next((row for row in self.costs.get(configuration, ()) if row.basis == basis), None)

    @cached_property
    def costs(self) -> Mapping[str, list[CostRow]]:
        """By configuration."""
        return grouped(self[CostRow], lambda row: row.configuration)

    def prices_of(self, benchmark: str, metric: str) -> list[PricePerformance]:
        """What a unit of the metric costs on that basis; empty without prices, or where less is better."""
        return self.price_boards.get((benchmark, metric, self.basis or ""), [])

    def sold(self, metric: Metric) -> PricedQuantity:
        """How much of a metric a price is quoted for, as much over the whole report of each with its unit."""
        return priced_quantity(metric.unit, self._least_usd.get(metric.unit, 0.0)).of(metric)

    @cached_property
    def _least_usd(self) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for row in self[PricePerformance]:
            found[row.unit] = min(row.usd_per_unit, found.get(row.unit, row.usd_per_unit))
        return found

    @cached_property
    def described(self) -> Mapping[str, ConfigurationRow]:
        """What is known of each configuration's machine."""
        return {row.configuration: row for row in self[ConfigurationRow]}

    @cached_property
    def asked(self) -> Mapping[str, Mapping[str, Any]]:
        """Configuration as analysed -> what the study asks for."""
        named = {row.trial: row.configuration for row in self[TrialRow]}
        planned = (row.intent for row in self.study.plan.trials)
        return {named[intent.id]: intent.configuration for intent in planned if intent.id in named}

    @cached_property
    def labels(self) -> list[str]:
        """Names of all labels, in the order of the study."""
        return unique(label for row in self[ConfigurationRow] for label in row.labels)

    @cached_property
    def cpus(self) -> Mapping[str, int | None]:
        """Configuration -> CPUs of one machine that were measured; None when unknown."""
        # Database machines come before load machines, so they win.
        return {row.configuration: row.facts.cpus_allowed for row in reversed(self[MachineRow])}

    def statistics_of(self, benchmark: str, metric: str, *, per_cpu: bool = False) -> list[Statistic]:
        """The statistic of each configuration that has one, in the study's order of configurations."""
        found = self.statistics.get((benchmark, metric, per_cpu), {})
        return [found[name] for name in sorted(found, key=self._place.__getitem__)]

    def of_configuration(self, benchmark: str, metric: str, configuration: str) -> list[Statistic]:
        """The statistic of one configuration; empty when it has none."""
        return [one for one in self.statistics_of(benchmark, metric) if one.configuration == configuration]

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.configurations)}

    def ranked(self, benchmark: str, metric: Metric) -> list[str]:
        """All configurations with a trial, best level first; those without a valid trial last."""
        found = self.statistics.get((benchmark, metric.name, False), {})
        begun = {row.configuration for row in self.trials_of(benchmark)}
        missing = sorted(begun - found.keys(), key=self._place.__getitem__)
        best = best_first(self.statistics_of(benchmark, metric.name), metric)
        return [one.configuration for one in best] + missing

    def scale(self, benchmark: str, metric: Metric, *, per_cpu: bool = False) -> Scale:
        """How to write the values of this metric, the same for every configuration."""
        rows = self.statistics_of(benchmark, metric.name, per_cpu=per_cpu)
        return (
            scale_of(metric, rows)
            if rows
            else scale_for(metric.unit, [row.value for row in self.values.get((benchmark, metric.name), [])])
        )


def scale_of(metric: Metric, rows: Sequence[Statistic]) -> Scale:
    """How to write these statistics: a round trip within a zone in microseconds, though others are between regions."""
    return scale_for(metric.unit, [row.compared.value for row in rows])


def best_first(statistics: Iterable[Statistic], metric: Metric) -> list[Statistic]:
    """Best level first; equal levels in the order given."""
    sign = -1 if metric.direction is Direction.HIGHER else 1
    return sorted(statistics, key=lambda one: sign * one.compared.value)


def headlines(benchmark: BenchmarkRow) -> list[Metric]:
    """The metrics that a benchmark is ranked by; the first metric if none is marked."""
    return [metric for metric in benchmark.metrics if metric.headline] or benchmark.metrics[:1]


def unique(names: Iterable[str]) -> list[str]:
    """Each name once, in the order of its first appearance."""
    return list(dict.fromkeys(names))


Key = TypeVar("Key", bound=Hashable)


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Key -> its rows; keys in the order of their first row, rows in the order given."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups
