"""The section on the machines' own performance: CPU, network, storage, and small compared with large machines.

It selects statistics from the analysis; it computes nothing but counts of replies in the bins of a histogram.
"""

from collections.abc import Iterator

from nephoscope.analysis.lookup import best_first, headlines
from nephoscope.insights.names import metric_title
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow
from nephoscope.model.subjects import Subject
from nephoscope.report.figures import row_charts
from nephoscope.report.figures.network import network_figures
from nephoscope.report.figures.results import Results, all_steps, of_databases, results_of
from nephoscope.report.figures.spec import coloured
from nephoscope.report.figures.steps import best_over_warehouses, over_memory, over_warehouses
from nephoscope.report.figures.storage import by_storage, storage_figures
from nephoscope.report.figures.tops import best_of_clouds, consistency, small_and_large, tops
from nephoscope.report.parts import Book, Figure, line_key
from nephoscope.report.tables.rows import data_of_figure
from nephoscope.report.wording import direction_text, statistic_row, unit_text

MAX_RANKED = 40
"""Configurations in a ranking; the leaderboard has all of them."""
FEW = 10
"""Configurations whose order per CPU one ranking shows."""


Part = tuple[str, str, list[Figure]]
"""Anchor, heading and figures of a part of a section; one without figures gets no heading."""


def machine_numbers(book: Book) -> list[Part]:
    """Everything that the study's microbenchmarks measured."""
    rows = book.lookup.study.benchmarks
    others = [row for row in rows if row.subject is not Subject.DATABASE]
    each = [results_of(book.lookup, row, metric) for row in others for metric in _per_cpu(row)]
    cpu = [figure for row in rows if row.subject is Subject.CPU for figure in _cpus(book, row)]
    network = [figure for row in rows if row.subject is Subject.NETWORK for figure in _compared(book, row)]
    network += [figure for row in rows for figure in network_figures(book, row)]
    storage = [figure for row in rows for figure in storage_figures(book, row)]
    compared = [*each, *of_databases(book.lookup)]
    sizes = [figure for results in compared for figure in book.figures(small_and_large, results)]
    parts = [
        ("numbers-cpu", "CPU", cpu),
        ("numbers-network", "Network", network),
        ("numbers-storage", "Storage", storage),
        ("numbers-sizes", "Small and large machines", sizes),
    ]
    return [part for part in parts if part[2]]


def _cpus(book: Book, row: BenchmarkRow) -> list[Figure]:
    """What all CPUs of a machine do together, and what one of them does."""
    compared, many = _compared(book, row), len(book.lookup.configurations) > FEW
    found = [results_of(book.lookup, row, metric) for metric in _per_cpu(row) if many]
    each = [figure for results in found for figure in book.figures(tops, results, per_cpu=True)]
    ranked = [figure for metric in _per_cpu(row) for figure in book.figures(_ranking, row, metric)]
    return [*compared, *each, *ranked]


def _compared(book: Book, row: BenchmarkRow) -> list[Figure]:
    """The best machine of each cloud, and the best ones overall and of each cloud."""
    found = [results_of(book.lookup, row, metric) for metric in headlines(row)]
    draws = (best_of_clouds, tops)
    return [figure for results in found for draw in draws for figure in book.figures(draw, results)]


def _per_cpu(row: BenchmarkRow) -> list[Metric]:
    return [metric for metric in headlines(row) if metric.per_cpu]


def _ranking(book: Book, row: BenchmarkRow, metric: Metric) -> Figure | None:
    statistics = book.lookup.statistics_of(row.benchmark, metric.name, per_cpu=True)
    if not statistics:
        return None
    best = best_first(statistics, metric)
    shown, scale = best[:MAX_RANKED], book.lookup.scale(row.benchmark, metric, per_cpu=True)
    rows = [{**statistic_row(one, scale), "number": scale.number(one.compared)} for one in shown]
    title = metric_title(metric, per_cpu=True)
    axis = f"{unit_text(scale, per_cpu=True)}, {direction_text(metric.direction)}"
    names, most = [one.configuration for one in shown], max(scale.value(one.high) for one in shown)
    more = f" Only the best {MAX_RANKED} of {len(best)} are drawn." if len(best) > MAX_RANKED else ""
    return book.figure(
        f"{row.benchmark}: {title}, ranked",
        axis,
        "Each trial's value was divided by the CPUs of the trial first; the line is the "
        f"interval of their level. Bars start at zero.{more}",
        [
            (
                "",
                f"Bars of {title}, best first: "
                + ", ".join(f"{one.configuration} {scale.text(one.compared)}" for one in shown[:6]),
                row_charts.bars(names, rows, axis, coloured(book.lookup.configurations), most=most),
            )
        ],
        key=line_key(shown),
        table=data_of_figure(book, shown, f"{row.benchmark}: {title}"),
    )


def database_numbers(book: Book) -> list[Part]:
    """Figures that compare many machines; a study of one cloud, size and storage has few of them or none."""
    found, steps = of_databases(book.lookup), list(all_steps(book.lookup))
    best = [figure for results in found for figure in _best(book, results)]
    storage = [
        figure for results in found for figure in book.figures(by_storage, results, per_cpu=bool(results.per_cpu))
    ]
    over = (over_warehouses, best_over_warehouses)
    warehouses = [figure for one in steps for draw in over for figure in book.figures(draw, one)]
    memory = [figure for one in found for figure in book.figures(consistency, one)]
    memory += [figure for one in steps for figure in book.figures(over_memory, one)]
    parts = [
        ("databases-best", "The best machines", best),
        ("databases-storage", "Kinds of storage", storage),
        ("databases-warehouses", "More warehouses", warehouses),
        ("databases-memory", "Memory", memory),
    ]
    return [part for part in parts if part[2]]


def _best(book: Book, results: Results) -> Iterator[Figure]:
    yield from book.figures(best_of_clouds, results)
    yield from book.figures(tops, results)
    if results.per_cpu:
        yield from book.figures(tops, results, per_cpu=True)
