"""The figure of latencies: a panel per operation, a sign per percentile, recognised by metric names."""

from collections.abc import Mapping
from dataclasses import dataclass

from nephoscope.model import numbers as people
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow, LowerBoundRow, Statistic
from nephoscope.report.figures import charts
from nephoscope.report.figures.searches import LIMIT
from nephoscope.report.figures.spec import Spec
from nephoscope.report.figures.theme import PERCENTILE_COLOURS, sign
from nephoscope.report.parts import Book, Figure, KeyEntry
from nephoscope.report.tables.rows import data_of_figure
from nephoscope.report.wording import operation_title, percentile_number, percentile_of, statistic_row, text_of_bound

Group = list[tuple[str, Metric, list[Statistic]]]
"""For one operation: percentile, metric, statistics."""
Groups = dict[str, Group]
"""By operation."""


def groups_of(book: Book, row: BenchmarkRow) -> Groups:
    """Every latency of which a percentile was measured."""
    groups: Groups = {}
    for metric in row.metrics:
        parsed = percentile_of(metric)
        found = book.lookup.statistics_of(row.benchmark, metric.name)
        if parsed and found and not metric.name.startswith(LIMIT):
            groups.setdefault(parsed[0], []).append((parsed[1], metric, found))
    return groups


@dataclass(frozen=True)
class Times:
    """Latencies that share an axis."""

    groups: Groups
    called: Mapping[str, str]
    """Configuration -> its name for a reader, in the order of rows."""

    @property
    def statistics(self) -> list[Statistic]:
        """Of all groups."""
        return [one for group in self.groups.values() for _, _, found in group for one in found]

    @property
    def scale(self) -> people.Scale:
        """Of all panels."""
        return people.scale_for("s", [one.compared.value for one in self.statistics])

    @property
    def percentiles(self) -> list[str]:
        """Lowest first."""
        return sorted({name for group in self.groups.values() for name, _, _ in group}, key=percentile_number)

    @property
    def log(self) -> str:
        """'logarithmic' where no time is zero."""
        return "logarithmic" if min(one.compared.low for one in self.statistics) > 0 else "linear"

    @property
    def key(self) -> list[KeyEntry]:
        """Of the percentiles."""
        last = len(PERCENTILE_COLOURS) - 1
        return [KeyEntry(sign(i)[1], PERCENTILE_COLOURS[min(i, last)], name) for i, name in enumerate(self.percentiles)]

    def panels(self, axis: str) -> list[tuple[str, str, Spec]]:
        """One for each operation."""
        scale, statistics = self.scale, self.statistics
        domain = (
            scale.value(min(one.compared.low for one in statistics)),
            scale.value(max(one.compared.high for one in statistics)),
        )
        drawn = []
        for operation, group in self.groups.items():
            title = operation_title(group[0][1], operation)
            rows = [
                {**statistic_row(one, scale), "configuration": self.called[one.configuration], "percentile": name}
                for name, _, found in group
                for one in found
            ]
            spec = charts.latency(list(self.called.values()), self.percentiles, rows, domain, axis)
            names = ", ".join(name for name, _, _ in group)
            drawn.append((title, f"{title}: percentiles {names} of each configuration, lower is better.", spec))
        return drawn


def latency_figures(book: Book, row: BenchmarkRow) -> list[Figure]:
    """Latency by operation and percentile; times from different clocks never share an axis."""
    by_clock: dict[str, Groups] = {}
    for operation, group in groups_of(book, row).items():
        for percentile in group:
            by_clock.setdefault(percentile[1].clock, {}).setdefault(operation, []).append(percentile)
    return [figure for clock, groups in by_clock.items() for figure in book.figures(_figure, row, clock, groups)]


def _figure(book: Book, row: BenchmarkRow, clock: str, groups: Groups) -> Figure:
    measured = {one.configuration for group in groups.values() for _, _, found in group for one in found}
    times = Times(groups, {name: name for name in book.lookup.configurations if name in measured})
    scale, log = times.scale, times.log
    drawn = times.panels(f"{scale.unit}, {log} axis, lower is better")
    return book.figure(
        f"Latency by operation in {row.benchmark}",
        f"{scale.unit}, lower is better",
        "Signs: level of each percentile over replicates; bars: its interval. All panels share one "
        f"{log} axis, which does not start at zero. {_beyond(book, row, groups, scale)}"
        + (f"Clock: {clock}" if clock else ""),
        drawn,
        key=times.key,
        table=data_of_figure(book, times.statistics, f"{row.benchmark}: times"),
        columns=min(3 if len(drawn) != 4 else 2, len(drawn)),
    )


def _beyond(book: Book, row: BenchmarkRow, groups: Groups, scale: people.Scale) -> str:
    """What the tool could only tell a lower bound of, in words: it has no place on the axis."""
    names = {metric.name: name for group in groups.values() for name, metric, _ in group}
    beyond = [
        f"{bound.configuration} {names[bound.metric]} {text_of_bound(bound.value, scale)} {scale.unit}"
        for bound in book.lookup[LowerBoundRow]
        if bound.benchmark == row.benchmark and bound.metric in names
    ]
    return f"Beyond what the tool can tell, and not drawn: {', '.join(beyond)}. " if beyond else ""
