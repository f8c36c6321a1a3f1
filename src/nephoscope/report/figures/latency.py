"""The figure of latencies: a panel per operation, a sign per percentile, recognised by metric names."""

from nephoscope.model import numbers as people
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow, LowerBoundRow, Statistic
from nephoscope.report.figures import charts
from nephoscope.report.figures.searches import LIMIT
from nephoscope.report.figures.theme import PERCENTILE_COLOURS, sign
from nephoscope.report.parts import Book, Figure, KeyEntry
from nephoscope.report.tables.rows import data_of_figure
from nephoscope.report.wording import operation_title, percentile_number, percentile_of, statistic_row, text_of_bound

Group = list[tuple[str, Metric, list[Statistic]]]
"""For one operation: percentile, metric, statistics."""


def latency_figures(book: Book, row: BenchmarkRow) -> list[Figure]:
    """Latency by operation and percentile; times from different clocks never share an axis."""
    by_clock = _by_clock(book, row)
    return [figure for clock, groups in by_clock.items() for figure in book.figures(_figure, row, clock, groups)]


def _figure(book: Book, row: BenchmarkRow, clock: str, groups: dict[str, Group]) -> Figure:
    statistics = [statistic for group in groups.values() for _, _, found in group for statistic in found]
    ends = [end for statistic in statistics for end in statistic.compared[1:3]]
    scale = people.scale_for("s", [statistic.compared.value for statistic in statistics])
    domain = (scale.value(min(ends)), scale.value(max(ends)))
    percentiles = sorted({name for group in groups.values() for name, _, _ in group}, key=percentile_number)
    measured = {statistic.configuration for statistic in statistics}
    configurations = [name for name in book.lookup.configurations if name in measured]
    log = "logarithmic" if domain[0] > 0 else "linear"
    drawn = []
    for operation, group in groups.items():
        title = operation_title(group[0][1], operation)
        rows = [
            {
                **statistic_row(one, scale),
                "percentile": name,
            }
            for name, _, found in group
            for one in found
        ]
        axis = f"{scale.unit}, {log} axis   ·   ← lower is better"
        spec = charts.latency(configurations, percentiles, rows, domain, axis)
        spoken = (
            f"{title}: percentiles {', '.join(name for name, _, _ in group)} of each configuration, lower is better."
        )
        drawn.append((title, spoken, spec))
    return book.figure(
        f"Latency by operation in {row.benchmark}",
        f"{scale.unit}, lower is better",
        "Signs: level of each percentile over replicates; bars: its interval. All panels share one "
        f"{log} axis, which does not start at zero. {_beyond(book, row, groups, scale)}"
        + (f"Clock: {clock}" if clock else ""),
        drawn,
        key=[
            KeyEntry(sign(i)[1], PERCENTILE_COLOURS[min(i, len(PERCENTILE_COLOURS) - 1)], name)
            for i, name in enumerate(percentiles)
        ],
        table=data_of_figure(book, statistics, f"{row.benchmark}: times"),
        columns=min(3 if len(drawn) != 4 else 2, len(drawn)),
    )


def _beyond(book: Book, row: BenchmarkRow, groups: dict[str, Group], scale: people.Scale) -> str:
    """What the tool could only tell a lower bound of, in words: it has no place on the axis."""
    names = {metric.name: name for group in groups.values() for name, metric, _ in group}
    beyond = [
        f"{bound.configuration} {names[bound.metric]} {text_of_bound(bound.value, scale)} {scale.unit}"
        for bound in book.lookup[LowerBoundRow]
        if bound.benchmark == row.benchmark and bound.metric in names
    ]
    return f"Beyond what the tool can tell, and not drawn: {', '.join(beyond)}. " if beyond else ""


def _by_clock(book: Book, row: BenchmarkRow) -> dict[str, dict[str, Group]]:
    figures: dict[str, dict[str, Group]] = {}
    for metric in row.metrics:
        parsed = percentile_of(metric)
        found = book.lookup.statistics_of(row.benchmark, metric.name)
        if parsed and found and not metric.name.startswith(LIMIT):
            group = figures.setdefault(metric.clock, {}).setdefault(parsed[0], [])
            group.append((parsed[1], metric, found))
    return figures
